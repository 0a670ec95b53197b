"""What a step of the redundancy resolution costs for nine degrees, with clearance and limits, and what its parts take.

The mobile manipulator follows the hand of `mobile-teleop` past a shelf and a ball, so that several pairs of bodies are
always within the influence distance; its limits, and with them the quadratic programme, act part of the time. The steps
of that motion are made again, in the order of the motion, round by round: the whole step, the same step written with
numpy and loops, and the step with a clock around each part, which makes it a little slower. Prints medians, on one
core, against the limit of 100 us and against numpy in the same round, and how far the two answers are apart.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import daqp
import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.braking import braking_speed
from simloop.models.clearance import Clearance
from simloop.models.limits import JointLimits
from simloop.models.pose import ToolPose
from simloop.models.redundancy import DAMPING, NEARLY_SINGULAR, REGULARISATION, ByInertia, Resolution, Spacing
from simloop.models.robot import Ball, Box, scene_mjcf
from simloop.models.robots.mobile import ROBOT
from simloop.studio.scenarios._teleop import ACCELERATION
from simloop.studio.scenarios.mobile_teleop import LEAD

ROUNDS, H, LIMIT = 5, 1 / 200, 100.0
EVERY = 5  # of the motion's steps, this one is made again
OBSTACLES = (
    Box("shelf", centre=(1.0, 0.0, 0.2), half_size=(0.3, 0.5, 0.03)),
    Ball("ball", centre=(0.95, 0.25, 0.55), radius=0.1),
)
LEAST, INFLUENCE, RATE = 0.02, 0.1, 5.0


@dataclass(frozen=True)
class Step:
    """What the resolution is asked, and whether it takes the programme to answer."""

    q: Vector
    v: Vector
    twist: Vector
    limited: bool
    near: int


class Setup:
    """An arm among the obstacles with its resolution."""

    def __init__(self) -> None:
        self.arm = Arm(scene_mjcf(ROBOT, OBSTACLES))
        self.tool, self.clearance = ToolPose(self.arm, ROBOT.tools[0]), Clearance(self.arm)
        low, high = self.arm.model.jnt_range.T
        self.limits = JointLimits(low, high, np.array(ROBOT.max_speed), np.full(self.arm.n, ACCELERATION))
        self.spacing = Spacing(self.clearance, LEAST, INFLUENCE, RATE)
        self.resolution = Resolution(self.arm, self.tool, self.limits, weight=ByInertia(), spacing=self.spacing)


class WithNumpy:
    """The same step, written down with numpy and a loop over joints and over pairs."""

    def __init__(self, setup: Setup) -> None:
        self._s = setup

    def velocity(self, q: Vector, v: Vector, twist: Vector, h: float) -> Vector:
        s = self._s
        s.arm.kinematics(q)
        J, W = s.tool.jacobian(), s.arm.inertia()
        wanted = self._formula(J, W, twist)
        least, most = self._bounds(q, v, h)
        pairs, distances = s.clearance.near(q, INFLUENCE)
        rows, rates = self._rows(pairs.tolist()), RATE * (LEAST - distances)
        if np.all(wanted >= least) and np.all(wanted <= most) and np.all(rows @ wanted >= rates):
            return wanted
        R = W * (REGULARISATION * len(W) / np.trace(W))
        upper, lower = np.concatenate([most, np.full(len(rates), 1e30)]), np.concatenate([least, rates])
        sense = np.array([0] * len(most) + [8] * len(rates), dtype=np.int32)
        limited, _, _, _ = daqp.solve(J.T @ J + R, -J.T @ twist, rows, upper, lower, sense, primal_tol=1e-9)
        return np.clip(limited, least, most)

    def _formula(self, J: Vector, W: Vector, twist: Vector) -> Vector:
        mobility = J @ np.linalg.solve(W, J.T)
        least = np.linalg.svd(J, compute_uv=False)[-1]
        if least < NEARLY_SINGULAR:
            mobility += DAMPING * (1 - (least / NEARLY_SINGULAR) ** 2) ** 2 * np.trace(mobility) / 6 * np.eye(6)
        return np.asarray(np.linalg.solve(W, J.T) @ np.linalg.pinv(mobility) @ twist)

    def _bounds(self, q: Vector, v: Vector, h: float) -> tuple[Vector, Vector]:
        limits, bounds = self._s.limits, []
        for i, a in enumerate(limits.acceleration):
            down, up = max(q[i] - limits.low[i], 0.0), max(limits.high[i] - q[i], 0.0)
            least = max(-limits.speed[i], -braking_speed(down, a, h), v[i] - a * h)
            most = min(limits.speed[i], braking_speed(up, a, h), v[i] + a * h)
            if least > most:
                least = most = v[i] - a * h if v[i] > 0.0 else v[i] + a * h
            bounds.append((least, most))
        return np.array(bounds)[:, 0], np.array(bounds)[:, 1]

    def _rows(self, pairs: list[int]) -> Vector:
        clearance: Any = self._s.clearance
        rows = [
            self._s.arm.parting(a, point_a, b, point_b, normal)
            for (a, b), (point_a, point_b, normal) in (
                (clearance._pair_bodies[pair], clearance._scene.witnesses[pair]) for pair in pairs
            )
        ]
        return np.array(rows).reshape(-1, self._s.arm.n)


def record(setup: Setup) -> list[Step]:
    """The motion, until the hand lets go."""
    resolution: Any = setup.resolution
    limited = resolution._limited
    asked: list[bool] = []

    def noticed(*arguments: Any) -> Vector:
        asked.append(True)
        return np.asarray(limited(*arguments))

    resolution._limited = noticed
    q, v, steps = np.array(ROBOT.home), np.zeros(setup.arm.n), []
    for k in range(int(LEAD.lets_go / H)):
        asked.clear()
        twist = LEAD.wanted(k * H)
        new = resolution.velocity(q, v, twist, H)
        steps.append(Step(q, v, twist, bool(asked), resolution._allowed.count))
        q, v = q + H * new, new
    resolution._limited = limited
    return steps[::EVERY]


def clocked(resolution: Any, spent: dict[str, float]) -> Callable[[Step], None]:
    """A step with a clock around its parts, which leaves their seconds in `spent`."""

    def watch(owner: Any, method: str, part: str) -> None:
        work = getattr(owner, method)

        def timed(*arguments: Any, **settings: Any) -> Any:
            begin = time.perf_counter()
            answer = work(*arguments, **settings)
            spent[part] = spent.get(part, 0.0) + time.perf_counter() - begin
            return answer

        setattr(owner, method, timed)

    clearance = resolution._spacing.clearance
    watch(resolution._arm, "kinematics", "kinematics, Jacobian, inertia")
    watch(resolution._tasks[0], "jacobian", "kinematics, Jacobian, inertia")
    watch(resolution._weight, "matrix", "kinematics, Jacobian, inertia")
    watch(clearance, "near_here", "clearance: GJK")
    watch(clearance, "rows", "clearance: gradient rows")
    watch(resolution._allowed, "bound", "joint bounds")
    watch(resolution._stack, "velocity", "formula")
    watch(resolution._allowed, "holds", "whether it is allowed")
    watch(resolution, "_limited", "quadratic programme")

    def make(step: Step) -> None:
        spent.clear()
        resolution.velocity(step.q, step.v, step.twist, H)

    return make


def once(work: Callable[..., Any], *arguments: Any) -> float:
    begin = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begin


def measure(
    steps: list[Step], setup: Setup, numpy_step: WithNumpy
) -> list[tuple[bool, float, float, dict[str, float]]]:
    """For each step, whether the programme acts, and the seconds of the whole, of numpy and of the parts."""
    spent: dict[str, float] = {}
    parts = clocked(Setup().resolution, spent)
    measured = []
    for _ in range(ROUNDS):
        own = [once(setup.resolution.velocity, step.q, step.v, step.twist, H) for step in steps]
        peer = [once(numpy_step.velocity, step.q, step.v, step.twist, H) for step in steps]
        for step, whole, other in zip(steps, own, peer, strict=True):
            parts(step)
            measured.append((step.limited, whole, other, dict(spent)))
    return measured


def median(values: list[float]) -> float:
    return 1e6 * float(np.median(values))


def main() -> None:
    setup = Setup()
    numpy_step = WithNumpy(Setup())
    steps = record(setup)
    apart = max(
        float(np.abs(setup.resolution.velocity(s.q, s.v, s.twist, H) - numpy_step.velocity(s.q, s.v, s.twist, H)).max())
        for s in steps
    )
    limited, near = np.mean([s.limited for s in steps]), [s.near for s in steps]
    print(f"{ROBOT.name}: {setup.arm.n} degrees, {len(setup.clearance.names)} pairs of bodies, {len(steps)} steps")
    print(f"  within influence: {min(near)} to {max(near)} pairs, median {np.median(near):.0f}; ", end="")
    print(f"the programme acts in {100 * limited:.0f} % of the steps")
    print(f"  answers of numpy differ by at most {apart:.1e} rad/s or m/s")
    measured = measure(steps, setup, numpy_step)
    for words, chosen in (
        ("whole step", measured),
        ("  programme idle", [m for m in measured if not m[0]]),
        ("  programme active", [m for m in measured if m[0]]),
    ):
        whole, other = median([m[1] for m in chosen]), median([m[2] for m in chosen])
        print(
            f"  {words:<32} {whole:7.1f} us   {whole / LIMIT:5.2f} of {LIMIT:.0f} us   numpy {other:7.1f} us, ", end=""
        )
        print(f"ratio {whole / other:5.2f}")
    print("  of which")
    for part in max((m[3] for m in measured), key=len):
        values = [m[3][part] for m in measured if part in m[3]]
        note = "   where it acts" if len(values) < len(measured) else ""
        print(f"    {part:<30} {median(values):7.1f} us{note}")


if __name__ == "__main__":
    main()
