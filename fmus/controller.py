"""What every control unit shares: its ports, and how a replay judges contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from simloop.fmus.slave import FORCE, VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.faults import WORDS, Fault, cannot_drive


class Controller(Slave):
    """A step finds the force `tau` for `q_d`. With `replay` set it also takes in `q_measured`, where that force took
    the robot, and judges contact: the robot is not where it should be, or another force took it there (S1, 7.1).

    The master steps it, sends `tau` to the robot, rolls it back, and steps it again with `replay`.
    """

    def __init__(
        self,
        instance_name: str,
        resources: str,
        arm: Arm,
        home: Sequence[float],
        gains: Sequence[Port],
        state: type[UnitState],
        *,
        force_starts_from: tuple[str, ...] = (),
        **parts: Any,
    ) -> None:
        """`gains` are the controller's own parameters; `force_starts_from` those that its first force depends on."""
        n, units = arm.n, arm.units
        velocity, force = [VELOCITY[u] for u in units], [FORCE[u] for u in units]
        threshold = "a contact is reported when any joint differs by more in a replay; 0 is off"
        ports = [
            Port("q_d", Role.INPUT, "Joint position wanted at the end of the step", n, unit=units, start=home),
            Port(
                "q_measured",
                Role.INPUT,
                "Joint position measured at the end of the step",
                n,
                unit=units,
                start=home,
            ),
            Port("replay", Role.INPUT, "Step to q_measured instead of q_d", kind=Kind.BOOLEAN, start=False),
            Port(
                "fault",
                Role.INPUT,
                f"Fault that each joint is known to have: {WORDS}",
                n,
                kind=Kind.INTEGER,
                start=0,
                least=0,
                most=max(Fault),
            ),
            Port("tau", Role.OUTPUT, "Joint force needed to reach q_d", n, unit=force, starts_from=force_starts_from),
            Port(
                "tau_replay",
                Role.OUTPUT,
                "Joint force needed to reach q_measured",
                n,
                unit=force,
                starts_from=force_starts_from,
            ),
            Port("v_d", Role.OUTPUT, "Joint velocity needed to reach q_d", n, unit=velocity),
            Port("q", Role.OUTPUT, "Joint position to plan on from", n, unit=units),
            Port("v", Role.OUTPUT, "Joint velocity to plan on from", n, unit=velocity),
            Port(
                "q_predicted",
                Role.OUTPUT,
                "Joint position that tau was expected to lead to; a replay takes that back",
                n,
                unit=units,
            ),
            Port(
                "contact_by_position",
                Role.OUTPUT,
                "Contact by position difference",
                kind=Kind.BOOLEAN,
                start=False,
            ),
            Port("contact_by_force", Role.OUTPUT, "Contact by force difference", kind=Kind.BOOLEAN, start=False),
            *gains,
            Port("position_threshold", Role.PARAMETER, f"Position (m or rad): {threshold}", least=0, tunable=True),
            Port("force_threshold", Role.PARAMETER, f"Force (N or N.m): {threshold}", least=0, tunable=True),
        ]
        super().__init__(instance_name, resources, ports, state, **parts)
        self.arm = arm
        self.q_d, self.q_measured, self.replay = map(self.view, ("q_d", "q_measured", "replay"))
        self.fault = self.view("fault")
        self.tau, self.tau_replay, self.v_d = map(self.view, ("tau", "tau_replay", "v_d"))
        self.q_out, self.v_out, self.q_predicted = map(self.view, ("q", "v", "q_predicted"))
        self.by_position, self.by_force = self.view("contact_by_position"), self.view("contact_by_force")

    def prepare(self) -> None:
        self._position_threshold = self.not_negative("position_threshold")
        self._force_threshold = self.not_negative("force_threshold")

    def _judge_contact(self) -> None:
        self.by_position[0] = self._exceeds(self._position_threshold, self.q_measured, self.q_d)
        self.by_force[0] = self._exceeds(self._force_threshold, self.tau, self.tau_replay)

    def _exceeds(self, threshold: float, one: Vector, other: Vector) -> bool:
        """Whether a joint that is driven differs by more: one that has failed goes its own way, or is held by more than
        its motor."""
        if threshold == 0.0:
            return False
        difference = one - other
        if np.count_nonzero(self.fault):
            difference[cannot_drive(self.fault)] = 0.0
        return bool(np.abs(difference).max() > threshold)


def holding_force(arm: Arm, q: Vector) -> Vector:
    """The joint force that holds the arm still at q."""
    rest, force = np.zeros(arm.n), np.zeros(arm.n)
    arm.inverse(q, rest, rest, 1.0, force)
    return force
