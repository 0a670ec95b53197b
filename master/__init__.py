"""Co-simulation of any FMUs, with rollback: components, systems of them, algorithms, results."""

from simloop.master.account import Account
from simloop.master.adaptive import Adaptive, Tolerance
from simloop.master.binding import INTERPRETED
from simloop.master.checkpoint import Checkpoint
from simloop.master.component import Component, ObjectComponent, Variable
from simloop.master.errors import (
    CannotRollBackError,
    LoopError,
    NameNotFoundError,
    SimloopError,
    StepDiscardedError,
    StepError,
    StepTooSmallError,
    UnitError,
    WiringError,
    ZenoError,
)
from simloop.master.events import Event, Located, Values
from simloop.master.executor import COMPILED
from simloop.master.extrapolation import HOLD, LINEAR, QUADRATIC, Extrapolation
from simloop.master.fmu import FmuComponent
from simloop.master.function import FunctionComponent
from simloop.master.gauss_seidel import gauss_seidel
from simloop.master.iterative import iterative
from simloop.master.jacobi import jacobi
from simloop.master.multi_rate import multi_rate
from simloop.master.pace import Lateness, Pace
from simloop.master.result import Result
from simloop.master.retry import Retry
from simloop.master.run import TimedWrite, run
from simloop.master.schedule import Iterate, Locate, Restore, Save, Schedule, Set, Step, Transfer
from simloop.master.simulation_in_the_loop import simulation_in_the_loop
from simloop.master.solvers import FixedPoint, Newton
from simloop.master.structure import algebraic_loops
from simloop.master.system import System
from simloop.master.trust import Claimed, Verified

__all__ = [
    "COMPILED",
    "HOLD",
    "INTERPRETED",
    "LINEAR",
    "QUADRATIC",
    "Account",
    "Adaptive",
    "CannotRollBackError",
    "Checkpoint",
    "Claimed",
    "Component",
    "Event",
    "Extrapolation",
    "FixedPoint",
    "FmuComponent",
    "FunctionComponent",
    "Iterate",
    "Lateness",
    "Locate",
    "Located",
    "LoopError",
    "NameNotFoundError",
    "Newton",
    "ObjectComponent",
    "Pace",
    "Restore",
    "Result",
    "Retry",
    "Save",
    "Schedule",
    "Set",
    "SimloopError",
    "Step",
    "StepDiscardedError",
    "StepError",
    "StepTooSmallError",
    "System",
    "TimedWrite",
    "Tolerance",
    "Transfer",
    "UnitError",
    "Values",
    "Variable",
    "Verified",
    "WiringError",
    "ZenoError",
    "algebraic_loops",
    "gauss_seidel",
    "iterative",
    "jacobi",
    "multi_rate",
    "run",
    "simulation_in_the_loop",
]
