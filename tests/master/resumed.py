"""Runs that can be checkpointed, one of each algorithm; as a script, it resumes those of a folder in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from simloop.master import (
    LINEAR,
    QUADRATIC,
    Adaptive,
    Checkpoint,
    Event,
    FixedPoint,
    FmuComponent,
    Located,
    Newton,
    Result,
    Retry,
    Schedule,
    System,
    Tolerance,
    gauss_seidel,
    iterative,
    jacobi,
    multi_rate,
    run,
    simulation_in_the_loop,
)
from simloop.master.binding import Algorithm

from tests.master.ball import bounce, bouncing_ball
from tests.master.oscillators import oscillators

STEPS = 40
Case = tuple[Callable[[Path], System], Callable[[System], Algorithm | Schedule]]


def sphere(folder: Path) -> System:
    """The loop of S1 on FMU files, with noise: the random generator is part of the state."""
    system = System(FmuComponent(name, folder / f"{name}.fmu") for name in ("planner", "control", "plant"))
    for wire in ("planner.q_d control.q_d", "control.tau plant.tau", "plant.q control.q_measured"):
        system.connect(*wire.split())
    system.connect("control.q", "planner.q")
    system.connect("control.v", "planner.v")
    for name, value in {"planner.goal[3]": 1.0, "plant.noise": 1e-6, "plant.f_ext": 0.0}.items():
        system.set(name, value)
    return system


def masses(folder: Path) -> System:
    return oscillators(damping=0.2, input_derivatives=1)


SOLVER = FixedPoint(1e-9)
ZERO = Event("zero", ("a.x",), lambda x: x, tolerance=1e-6)
CASES: dict[str, Case] = {
    "jacobi": (masses, jacobi),
    "jacobi linear": (masses, lambda s: jacobi(s, LINEAR)),
    "jacobi quadratic": (masses, lambda s: jacobi(s, QUADRATIC)),
    "gauss-seidel": (masses, lambda s: gauss_seidel(s, LINEAR)),
    "iterative": (masses, lambda s: iterative(s, SOLVER, QUADRATIC)),
    "newton": (masses, lambda s: iterative(s, Newton(1e-9), LINEAR)),
    "multi-rate": (masses, lambda s: multi_rate(s, {"b": 3})),
    "retry": (masses, lambda s: Retry(jacobi(s, LINEAR))),
    "adaptive": (masses, lambda s: Adaptive(jacobi(s, QUADRATIC), Tolerance(1e-4), order=2)),
    "events": (lambda folder: bouncing_ball(), lambda s: Located(gauss_seidel(s), [bounce()])),
    "adaptive over iterative with events": (
        masses,
        lambda s: Located(Adaptive(iterative(s, SOLVER, LINEAR), Tolerance(1e-3), order=2), [ZERO]),
    ),
    "simulation in the loop": (sphere, simulation_in_the_loop),
}


def run_case(name: str, folder: Path, *, checkpoint: Checkpoint | None = None, resume: Path | None = None) -> Result:
    make_system, make_algorithm = CASES[name]
    system = make_system(folder)
    try:
        algorithm = make_algorithm(system)
        return run(system, algorithm, step="1/10", duration=STEPS / 10, checkpoint=checkpoint, resume=resume)
    finally:
        system.close()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name in CASES:
        result = run_case(name, folder, resume=folder / f"{name}.checkpoint")
        np.savez(folder / f"{name}.resumed.npz", **result.columns)  # type: ignore[arg-type]
        (folder / f"{name}.account").write_text(repr(result.account.describe()), encoding="utf-8")
