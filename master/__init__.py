"""Co-simulation of any FMUs, with rollback: components, systems of them, schedules, results."""

from simloop.master.component import Component, ObjectComponent, Variable
from simloop.master.errors import (
    CannotRollBackError,
    NameNotFoundError,
    SimloopError,
    UnitError,
    WiringError,
)
from simloop.master.fmu import FmuComponent
from simloop.master.pace import Lateness, Pace
from simloop.master.result import Result
from simloop.master.run import TimedWrite, run
from simloop.master.schedule import Locate, Restore, Save, Schedule, Set, Step, Transfer
from simloop.master.simulation_in_the_loop import simulation_in_the_loop
from simloop.master.system import System
from simloop.master.trust import Claimed, Verified

__all__ = [
    "CannotRollBackError",
    "Claimed",
    "Component",
    "FmuComponent",
    "Lateness",
    "Locate",
    "NameNotFoundError",
    "ObjectComponent",
    "Pace",
    "Restore",
    "Result",
    "Save",
    "Schedule",
    "Set",
    "SimloopError",
    "Step",
    "System",
    "TimedWrite",
    "Transfer",
    "UnitError",
    "Variable",
    "Verified",
    "WiringError",
    "run",
    "simulation_in_the_loop",
]
