"""The page inside a unit: what it is, its ports in a table, a picture of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from xml.etree.ElementTree import Element

from simloop.fmus.slave import Kind, Port, Role

_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.2em .8em;border-bottom:1px solid #ccc}"
    "td.number{text-align:right;white-space:nowrap}"
)
_COLUMNS = ("Port", "Type", "Unit", "Start", "Least", "Most", "Meaning")


def write_page(description: Element, ports: Sequence[Port], picture: str) -> str:
    """HTML for a unit of that model description; `picture` is an SVG element."""
    name, what = escape(description.get("modelName", "")), escape(description.get("description", ""))
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f"<title>{name}</title><style>{_STYLE}</style></head>",
        f"<body><h1>{name}</h1><p>{what}.</p>{picture}",
        f"<p>FMI 2.0 co-simulation, GUID <code>{escape(description.get('guid', ''))}</code>, written by simloop "
        f"{escape(description.get('version', ''))}, under the Apache License 2.0 "
        '(<a href="licenses/license.txt">text</a>). State can be saved, restored and serialised. Outputs change in a '
        "step only, never when an input is set.</p>",
    ]
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    groups = {
        "Inputs": [port for port in ports if port.role is Role.INPUT],
        "Outputs": [port for port in ports if port.role is Role.OUTPUT],
        "Parameters": [port for port in ports if port.role is Role.PARAMETER and not port.tunable],
        "Tunable parameters, which may be set between steps": [port for port in ports if port.tunable],
    }
    for title, group in groups.items():
        if group:
            parts.append(f"<h2>{title}</h2><table><tr>{head}</tr>{''.join(map(_row, group))}</table>")
    return "\n".join([*parts, "</body></html>\n"])


def _row(port: Port) -> str:
    name = port.name if port.size is None else f"{port.name}[1] … {port.name}[{port.size}]"
    units = sorted(set(port.each(port.unit))) if port.kind is Kind.REAL else []
    starts = [] if port.role is Role.OUTPUT else port.each(port.start)
    cells = [f"<td><code>{escape(name)}</code></td><td>{port.kind.name.capitalize()}</td>"]
    cells.append(f"<td>{escape(', '.join(units))}</td>")
    cells += [f'<td class="number">{escape(_span(values))}</td>' for values in (starts, port.least, port.most)]
    return f"<tr>{''.join(cells)}<td>{escape(port.description)}</td></tr>\n"


def _span(values: object) -> str:
    """The values of a port's elements in short: one when they are all the same."""
    if values is None:
        return ""
    many = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    texts = list(dict.fromkeys(f"{value:.6g}" if isinstance(value, float) else str(value) for value in many))
    return texts[0] if len(texts) == 1 else ", ".join(texts)
