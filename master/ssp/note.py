"""simloop's annotation in a system structure: the schedule, which SSP itself cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from xml.etree.ElementTree import SubElement

from simloop.master.run import TimedWrite
from simloop.master.schedule import Locate, Operation, Schedule
from simloop.master.seconds import exact_seconds
from simloop.master.simulation_in_the_loop import simulation_in_the_loop
from simloop.master.ssp.xml import ANNOTATION, Element, SspError, need, number
from simloop.master.system import System

_EXPLANATION = (
    "simloop steps this system by a schedule that SSP cannot express: in each macro step the control simulation is "
    "rolled back and replayed to where the plant went. A tool that does not know this annotation steps every "
    "component once, which gives other results."
)
_ROLES = ("planner", "control", "plant")


@dataclass(frozen=True)
class ScheduleNote:
    """The simulation in the loop, by the names of its planner, control and plant where they are not called that.

    `step` is the macro step, s; `located` is an output of the plant and the tolerance, s, to which the instants are
    located at which it falls below zero.
    """

    roles: Mapping[str, str]
    step: Fraction
    located: tuple[str, float] | None = None
    writes: tuple[TimedWrite, ...] = ()

    def schedule(self, system: System) -> Schedule:
        plant_step: Operation | None = None
        if self.located is not None:
            plant_step = Locate(self.roles.get("plant", "plant"), *self.located)
        return simulation_in_the_loop(system, **self.roles, plant_step=plant_step)


def read_note(element: Element) -> ScheduleNote:
    algorithm = need(element, "algorithm")
    if algorithm != "simulation_in_the_loop":
        raise SspError(f"its schedule is {algorithm!r}; simulation_in_the_loop is known")
    located = None
    if element.get("indicator") is not None:
        located = (need(element, "indicator"), number(element, "tolerance"))
    writes = tuple(
        TimedWrite(_moment(need(write, "time")), need(write, "name"), need(write, "value"))
        for write in element.findall(f"{ANNOTATION}Write")
    )
    roles = {role: name for role in _ROLES if (name := element.get(role)) is not None}
    return ScheduleNote(roles, exact_seconds("step", need(element, "step")), located, writes)


def _moment(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SspError(f"the time of a Write is {text!r}; it must be a time in s") from None


def write_note(parent: Element, note: ScheduleNote) -> None:
    attributes = {"algorithm": "simulation_in_the_loop", **note.roles, "step": str(note.step)}
    if note.located is not None:
        attributes |= {"indicator": note.located[0], "tolerance": repr(note.located[1])}
    schedule = SubElement(parent, f"{ANNOTATION}Schedule", {**attributes, "explanation": _EXPLANATION})
    for write in note.writes:
        about = {"time": str(write.time), "name": write.name, "value": str(write.value)}
        SubElement(schedule, f"{ANNOTATION}Write", about)
