"""The XML of system structures: parsed with no document type, read with errors that name what they are about."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from xml.etree.ElementTree import Element
from xml.parsers import expat

from simloop.master.errors import SimloopError

__all__ = [
    "ANNOTATION",
    "SSB",
    "SSC",
    "SSD",
    "SSM",
    "SSV",
    "Element",
    "SspError",
    "local",
    "need",
    "number",
    "parse",
    "truth",
    "whole",
]

_STANDARD = "http://ssp-standard.org/SSP1/SystemStructure"
SSC, SSD, SSV, SSM, SSB = (
    f"{{{_STANDARD}{name}}}"
    for name in ("Common", "Description", "ParameterValues", "ParameterMapping", "SignalDictionary")
)
ANNOTATION = "{urn:simloop:ssp}"
# Deeper than any document of this standard; an honest parser's memory goes with it.
DEEPEST = 64


class SspError(SimloopError):
    """A system structure package that cannot be used."""


def parse(data: bytes, name: str) -> Element:
    """The root element of the document `name`, of tags "{namespace}local"."""
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    depth = 0

    def refuse(*_: object) -> None:
        raise SspError(f"{name!r} declares a document type (<!DOCTYPE …> or <!ENTITY …>), which is not accepted")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise SspError(f"{name!r} has elements nested more than {DEEPEST} deep")
        builder.start(_braced(tag), {_braced(key): value for key, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_braced(tag))

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, UnicodeError, LookupError) as error:
        raise SspError(f"{name!r} is not XML: {error}") from None


def _braced(tag: str) -> str:
    return "{" + tag if "}" in tag else tag


def need(element: Element, attribute: str) -> str:
    value = element.get(attribute)
    if value is None:
        raise SspError(f"a {local(element)} has no {attribute}")
    return value


def local(element: Element) -> str:
    """The element's tag without its namespace."""
    return element.tag.rpartition("}")[2]


def number(element: Element, attribute: str, otherwise: float | None = None) -> float:
    text = element.get(attribute)
    if text is None and otherwise is not None:
        return otherwise
    try:
        value = float(need(element, attribute))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SspError(f"the {attribute} of a {local(element)} is {text!r}; it must be a finite number")
    return value


def whole(element: Element, attribute: str, otherwise: int | None = None) -> int:
    value = number(element, attribute, otherwise)
    if value != round(value):
        raise SspError(f"the {attribute} of a {local(element)} is {value}; it must be a whole number")
    return int(value)


def truth(element: Element, attribute: str, otherwise: str | None = None) -> bool:
    text = element.get(attribute, otherwise)
    if text not in ("true", "1", "false", "0"):
        raise SspError(f"the {attribute} of a {local(element)} is {text!r}; it must be true or false")
    return text in ("true", "1")
