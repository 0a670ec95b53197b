"""XML from a stranger: parsed with no document type, and so with no entities to expand or files to fetch."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from xml.etree.ElementTree import Element
from xml.parsers import expat

__all__ = ["Element", "XmlError", "numbers", "parse_xml"]


class XmlError(ValueError):
    """Text that is not XML, or XML that declares a document type; the message goes on from the file's name."""


def parse_xml(data: bytes) -> Element:
    if not data.strip():
        raise XmlError("is empty")
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.ordered_attributes = False

    def refuse(*_: object) -> None:
        raise XmlError("declares a document type (<!DOCTYPE …> or <!ENTITY …>); remove it")

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise XmlError(f"is not XML: {error}") from None
    except (UnicodeError, LookupError, ValueError) as error:
        if isinstance(error, XmlError):
            raise
        raise XmlError(f"is not XML: {error}") from None
    return builder.close()


def numbers(text: str, count: int | None = None) -> tuple[float, ...]:
    """The finite numbers in an attribute; a ValueError says what is wrong, to go on from the attribute's name."""
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        raise ValueError(f"is {text!r}, which is not a number" + ("" if count == 1 else " each")) from None
    if not all(map(math.isfinite, values)):
        raise ValueError(f"is {text!r}; it must be finite")
    if count is not None and len(values) != count:
        raise ValueError(f"is {text!r}; it must be {count} number{'s' if count > 1 else ''}")
    return values
