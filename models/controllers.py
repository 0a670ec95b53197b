"""Conventional controllers to compare with: computed torque (S1, 3.5) and an independent PID for each joint.

Both follow a set point that is at q_r with velocity v_r when the robot is measured at q with velocity v, and that goes
on with velocity v_d in the step of h s to come: for an exact model and an exact measurement no error ever begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.control import ControlSimulation
from simloop.models.faults import cannot_drive

# rad/s: 5 Hz, what industrial arms are tuned to, and slow enough that the PID of every robot here is stable with steps
# of 1/200 s, its joints' inertia coupled up to sevenfold.
NATURAL_FREQUENCY = 30.0
# No overshoot.
DAMPING_RATIO = 1.0
# The PID's derivative is low-passed at this many times the natural frequency: high enough to leave the damping, low
# enough to keep the difference of two noisy measurements out of the motors.
FILTER_RATIO = 5.0


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{name} is {value:g}; it must be greater than 0")


class ComputedTorque:
    """τ = M(q) [q̈_d + K_v (q̇_d − q̇) + K_p (q_d − q)] + C(q, q̇) q̇ + g(q) (S1, 3.5).

    K_p = ω², K_v = 2 ζ ω with the natural frequency ω (rad/s) and the damping ratio ζ, the same for all joints, since
    M decouples them. M, C and g are the model's inverse dynamics for a step of h s, which is stable while
    h² ω² + 4 ζ h ω < 4. A robot heavier by the part e stays e M⁻¹ g / ω² behind. With ω = 1/h and ζ = 1/2 the law is
    that of the control simulation with rigid motors: the error is taken back in two steps.
    """

    def __init__(self, arm: Arm, natural_frequency: float, damping_ratio: float) -> None:
        _positive(natural_frequency=natural_frequency, damping_ratio=damping_ratio)
        self._model = ControlSimulation(arm, np.zeros(arm.n))
        self._Kp = natural_frequency**2
        self._Kv = 2.0 * damping_ratio * natural_frequency

    def force(
        self,
        q: Vector,
        v: Vector,
        q_r: Vector,
        v_r: Vector,
        v_d: Vector,
        h: float,
        tau: Vector,
        reached: Vector,
        fault: Vector,
    ) -> None:
        """Write the joint forces into `tau` and the velocity that they give the model into `reached`."""
        a = (v_d - v_r) / h + self._Kv * (v_r - v) + self._Kp * (q_r - q)
        self._model.force_to(q, v, v + h * a, h, tau, reached, fault)

    def force_of(self, q: Vector, v: Vector, v_next: Vector, h: float, tau: Vector) -> None:
        """Write the forces that take the model from velocity v at q to v_next in h s into `tau`."""
        self._model.force_to(q, v, v_next, h, tau, np.empty_like(tau))


@dataclass
class PidMemory:
    """The integral's force (n), N or N·m, and the low-passed velocity (n)."""

    integral: Vector
    velocity: Vector


class JointPid:
    """A PID for each joint, which knows neither the other joints nor gravity.

    τ = K_p (q_r − q) + ∫ K_i (q_r − q) dt − K_d v_f, the derivative on the measurement alone, low-passed with the time
    constant 1/(`filter_ratio` · ω). With `inertia` J (n), that of each joint with the others held, kg or kg·m², the
    gains place the poles of J s² on (s + ω)(s² + 2 ζ ω s + ω²): K_d = (1 + 2 ζ) ω J, K_p = (1 + 2 ζ) ω² J, K_i = ω³ J.
    A constant force leaves no error; a constant acceleration a of the set point leaves (1 + 2 ζ) a / ω².

    Anti-windup: a motor gives no more than `limit` (n), and the integral of one at its limit goes no further that way.
    """

    def __init__(
        self, inertia: Vector, limit: Vector, natural_frequency: float, damping_ratio: float, filter_ratio: float
    ) -> None:
        _positive(natural_frequency=natural_frequency, damping_ratio=damping_ratio, filter_ratio=filter_ratio)
        shape = 1.0 + 2.0 * damping_ratio
        self.Kp = shape * natural_frequency**2 * inertia
        self.Ki = natural_frequency**3 * inertia
        self.Kd = shape * natural_frequency * inertia
        self._filter_time = 1.0 / (filter_ratio * natural_frequency)
        self._limit = limit

    def force(self, memory: PidMemory, error: Vector, v: Vector, h: float, tau: Vector, fault: Vector) -> None:
        """Advance `memory` by h s and write the joint forces into `tau`; a joint that cannot be driven gets none."""
        memory.velocity += (v - memory.velocity) * (h / (h + self._filter_time))
        wanted = self.Kp * error - self.Kd * memory.velocity + memory.integral
        growth = h * self.Ki * error
        driven = ~cannot_drive(fault)
        growing = driven & ((np.abs(wanted + growth) <= self._limit) | (wanted * error < 0.0))
        memory.integral[growing] += growth[growing]
        wanted[growing] += growth[growing]
        np.clip(wanted, -self._limit, self._limit, out=tau)
        tau[~driven] = 0.0


def inertia_of_joints(arm: Arm, q: Vector) -> Vector:
    """The inertia of each joint at q with the others held (n), kg or kg·m²."""
    arm.kinematics(q)
    return arm.inertia().diagonal().copy()
