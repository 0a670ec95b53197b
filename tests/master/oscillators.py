"""Two masses on springs, one unit each, coupled by a spring that both know: the system to measure orders on.

Each unit integrates itself exactly for inputs that are constant or, where it takes derivatives, polynomials over the
step. So what is wrong with a result is the coupling's, and the exact solution is a matrix exponential.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from simloop.master import FunctionComponent, System

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


def exact(time: float, damping: float = 0.0) -> tuple[float, float]:
    """Where both masses are."""
    k = WALL + COUPLING
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-k, COUPLING, -damping, 0], [COUPLING, -k, 0, -damping]], dtype=float)
    a, b = (scipy.linalg.expm(A * time) @ [START["a"], START["b"], 0.0, 0.0])[:2]
    return float(a), float(b)
