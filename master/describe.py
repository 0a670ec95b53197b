"""A unit in words: what `simloop info` prints, and what `simloop validate` finds wrong with it."""

from __future__ import annotations

from pathlib import Path

from simloop.master.archive import unpacked
from simloop.master.component import Variable
from simloop.master.description import Description, broken_rules, read_description
from simloop.master.trust import VERIFIED, Judgement, Verdict, Verified

_GOOD = (Judgement.EXACT, Judgement.WITHIN_TOLERANCE, Judgement.NOT_OFFERED)


def describe_unit(path: Path) -> str:
    with unpacked(path) as folder:
        description = read_description(folder, path)
    model, unit = description.model, description.abilities
    lines = [
        f"{model.modelName}: {model.description or 'no description'}",
        f"FMI {model.fmiVersion} co-simulation, GUID {model.guid}",
        f"state can be saved and restored: {_yes(unit.canGetAndSetFMUstate)}, "
        f"serialised: {_yes(unit.canSerializeFMUstate)}, "
        f"variable step: {_yes(unit.canHandleVariableCommunicationStepSize)}",
        _told(VERIFIED.judge(path, description)),
        *_ports(description),
    ]
    return "\n".join(lines)


def problems_of(path: Path, trust: Verified = VERIFIED) -> tuple[list[str], Verdict | None]:
    """What is wrong with a unit by FMI's rules and by a check of its state, made anew; the verdict of that check.

    A unit that cannot be opened at all is a SimloopError. One that breaks the rules is not loaded, so has no verdict.
    """
    with unpacked(path) as folder:
        read_description(folder, path)
        problems = broken_rules(folder)
    if problems:
        return problems, None
    verdict = trust.check(path)
    for what, finding in (("state", verdict.state), ("written state", verdict.written)):
        if finding.judgement not in _GOOD:
            problems.append(f"{what}: {finding.judgement.value}: {finding.reason}")
    return list(dict.fromkeys(problems)), verdict


def _told(verdict: Verdict) -> str:
    parts = []
    for what, finding in (("state check", verdict.state), ("written state", verdict.written)):
        reason = f" ({finding.reason})" if finding.reason else ""
        parts.append(f"{what}: {finding.judgement.value}{reason}")
    return ", ".join(parts)


def _ports(description: Description) -> list[str]:
    about = {v.name: v.description or "" for v in description.model.modelVariables}
    variables = description.variables.values()
    width = max((len(v.name) for v in variables), default=0)
    lines = []
    for causality in ("input", "output", "parameter", "structuralParameter"):
        group = [v for v in variables if v.causality == causality]
        if group:
            lines.append(f"{causality}s:")
        for v in group:
            text = about.get(v.name) or about.get(v.name.rpartition("[")[0], "")
            lines.append(f"  {v.name:<{width}}  {_type_of(v)}  {text}".rstrip())
    return lines


def _type_of(v: Variable) -> str:
    start = "" if v.start is None else f" = {v.start.hex() if isinstance(v.start, bytes) else v.start}"
    unit = f" {v.unit}" if v.unit not in (None, "1") else ""
    items = " of " + ", ".join(name for name, _ in v.items) if v.items else ""
    tunable = ", tunable" if v.variability == "tunable" else ""
    return f"{v.type}{items}{start}{unit}{tunable}"


def _yes(flag: object) -> str:
    return "yes" if flag else "no"
