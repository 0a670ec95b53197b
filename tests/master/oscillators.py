"""Two masses on springs, one unit each, coupled by a spring that both know: the system to measure orders on.

Each unit integrates itself exactly for inputs that are constant or, where it takes derivatives, polynomials over the
step. So what is wrong with a result is the coupling's, and the exact solution is a matrix exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from simloop.master import (
    LINEAR,
    QUADRATIC,
    FixedPoint,
    FunctionComponent,
    Result,
    Schedule,
    System,
    gauss_seidel,
    iterative,
    jacobi,
    multi_rate,
    run,
)

# Mass 1 kg each. Spring to the wall and damper of each, and the spring between them: N/m, N·s/m, N/m.
WALL, COUPLING = 1.0, 2.0
START = {"a": 1.0, "b": 0.0}  # m, from rest


@cache
def _motion(h: float, damping: float) -> NDArray[np.float64]:
    """Of (x, v, u, u', u'') over h s, where u drives x by the coupling spring."""
    A = np.zeros((5, 5))
    A[0, 1] = 1.0
    A[1, :3] = -WALL - COUPLING, -damping, COUPLING
    A[2, 3] = A[3, 4] = 1.0
    moved: NDArray[np.float64] = scipy.linalg.expm(A * h)
    return moved


def mass(
    name: str, *, damping: float = 0.0, input_derivatives: int = 0, can_rollback: bool = True
) -> FunctionComponent:
    def step(values: dict[str, float], time: float, h: float) -> None:
        known = [values["x"], values["v"], values["u"], values.get("u'", 0.0), values.get("u''", 0.0)]
        values["x"], values["v"] = (_motion(h, damping)[:2] @ known).tolist()

    return FunctionComponent(
        name,
        step,
        inputs={"u": 0.0},
        outputs={"x": START[name], "v": 0.0},
        input_derivatives=input_derivatives,
        can_rollback=can_rollback,
    )


def oscillators(*, damping: float = 0.0, input_derivatives: int = 0, rollback: str = "ab") -> System:
    options = {"damping": damping, "input_derivatives": input_derivatives}
    system = System(mass(name, **options, can_rollback=name in rollback) for name in ("a", "b"))  # type: ignore[arg-type]
    system.connect("a.x", "b.u")
    system.connect("b.x", "a.u")
    return system


def _both(damping: float) -> NDArray[np.float64]:
    """The matrix of the motion of (x a, x b, v a, v b)."""
    k = WALL + COUPLING
    return np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-k, COUPLING, -damping, 0], [COUPLING, -k, 0, -damping]], dtype=float)


def exact(time: float, damping: float = 0.0) -> tuple[float, float]:
    """Where both masses are."""
    a, b = (scipy.linalg.expm(_both(damping) * time) @ [START["a"], START["b"], 0.0, 0.0])[:2]
    return float(a), float(b)


SECONDS = 2
SOLVER = FixedPoint(1e-12)
Make = Callable[[System], Schedule]

# What theory says: a held input is first order. A straight line through the outputs is second order, also as its mean
# over the step. A parabola is third order, if the unit takes it as it is; as a mean it stays second order, for what the
# input does within the step is lost.
ORDERS: list[tuple[str, Make, int, int]] = [
    ("jacobi", jacobi, 0, 1),
    ("jacobi, linear", lambda s: jacobi(s, LINEAR), 0, 2),
    ("jacobi, quadratic", lambda s: jacobi(s, QUADRATIC), 0, 2),
    ("jacobi, quadratic, derivatives", lambda s: jacobi(s, QUADRATIC), 2, 3),
    ("gauss-seidel", gauss_seidel, 0, 1),
    ("gauss-seidel, linear", lambda s: gauss_seidel(s, LINEAR), 0, 2),
    ("gauss-seidel, quadratic, derivatives", lambda s: gauss_seidel(s, QUADRATIC), 2, 3),
    ("iterative", lambda s: iterative(s, SOLVER), 0, 1),
    ("iterative, linear", lambda s: iterative(s, SOLVER, LINEAR), 0, 2),
    ("iterative, quadratic, derivatives", lambda s: iterative(s, SOLVER, QUADRATIC), 2, 3),
    ("multi-rate", lambda s: multi_rate(s, {"a": 3}), 0, 1),
]


def error(make: Make, steps: int, input_derivatives: int) -> float:
    """At the end, m."""
    system = oscillators(input_derivatives=input_derivatives)
    result = run(system, make(system), step=f"1/{steps}", duration=SECONDS)
    a, b = exact(SECONDS)
    return max(abs(result["a.x"][-1] - a), abs(result["b.x"][-1] - b))


def local_errors(result: Result, damping: float) -> list[float]:
    """Of each step, against the exact motion from where it began."""
    states = np.column_stack([result[name] for name in ("a.x", "b.x", "a.v", "b.v")])
    steps = np.diff(result["time"])
    moved = {h: scipy.linalg.expm(_both(damping) * h) for h in set(steps.tolist())}
    pairs = zip(steps.tolist(), states[:-1], states[1:], strict=True)
    return [float(np.max(np.abs(moved[h] @ begin - end))) for h, begin, end in pairs]
