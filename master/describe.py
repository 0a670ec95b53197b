"""A unit in words: what `simloop info` prints."""

from __future__ import annotations

from pathlib import Path

from simloop.master.fmu import read_description


def describe_unit(path: Path) -> str:
    description = read_description(path)
    unit = description.coSimulation
    lines = [
        f"{description.modelName}: {description.description or 'no description'}",
        f"FMI {description.fmiVersion} co-simulation, GUID {description.guid}",
        f"state can be saved and restored: {_yes(unit.canGetAndSetFMUstate)}, "
        f"serialised: {_yes(unit.canSerializeFMUstate)}, "
        f"variable step: {_yes(unit.canHandleVariableCommunicationStepSize)}",
    ]
    width = max((len(v.name) for v in description.modelVariables), default=0)
    for causality in ("input", "output", "parameter"):
        variables = [v for v in description.modelVariables if v.causality == causality]
        if variables:
            lines.append(f"{causality}s:")
        for v in variables:
            start = "" if v.start is None else f" = {v.start}"
            unit_name = f" {v.unit}" if v.unit not in (None, "1") else ""
            lines.append(f"  {v.name:<{width}}  {v.type}{start}{unit_name}  {v.description or ''}".rstrip())
    return "\n".join(lines)


def _yes(flag: object) -> str:
    return "yes" if flag else "no"
