"""How long the libraries take: three in bench.cpp, python-fcl from here."""

from __future__ import annotations

import csv
import os
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fcl
import mujoco
import numpy as np
from cases import Case, triangles_of, write_cases
from simloop.models import gjk

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "cffi_build"

ROUNDS = 21
FCL_SAMPLES = 120
FCL_ROUNDS = 15


def build(folder: Path) -> Path:
    """Compiles the harness: -O3 and no -march, as our wheel is."""
    prefix = Path(sysconfig.get_path("platlib")) / "cmeel.prefix"
    package = Path(mujoco.__file__).parent
    library = next(package.glob("libmujoco.so*"))
    ours, harness = folder / "gjk.o", folder / "bench"
    cc, cxx = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
    subprocess.run([cc, "-std=c11", "-O3", "-c", CORE / "gjk.c", "-o", ours], check=True)
    foreign = [prefix / "include", prefix / "include" / "eigen3", package / "include"]
    includes = [f"-I{CORE}", *(f"-isystem{path}" for path in foreign)]
    links = [f"-L{prefix / 'lib'}", "-lcoal", library, *(f"-Wl,-rpath,{path}" for path in (prefix / "lib", package))]
    # coal's qhull and boost are found when it runs; the linker need not.
    lenient = "-Wl,--allow-shlib-undefined"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    command = [cxx, "-std=c++17", "-O3", *warnings, *includes, HERE / "bench.cpp", ours, *links, lenient]
    subprocess.run([*command, "-o", harness], check=True)
    return harness


@dataclass(frozen=True)
class Row:
    """Median time of a query; the largest |distance - ours| in metres, or wrong answers; failed queries."""

    nanoseconds: float
    off: float
    failed: int


Table = dict[tuple[str, int, str], Row]


def run_harness(cases: list[Case]) -> Table:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cases(folder / "cases.bin", cases)
        command = [build(folder), folder / "cases.bin", str(ROUNDS)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {
        (line["family"], int(line["vertices"]), line["library"]): Row(
            float(line["nanoseconds"]), float(line["off"]), int(line["failed"])
        )
        for line in csv.DictReader(output.splitlines())
    }


def fcl_shape(body: gjk.Hull) -> fcl.Convex:
    triangles = triangles_of(body)
    counted = np.insert(triangles, 0, 3, axis=1)
    return fcl.Convex(body.vertices, len(triangles), counted.ravel())


def fcl_objects(case: Case) -> list[tuple[fcl.CollisionObject, fcl.CollisionObject]]:
    shapes = [fcl_shape(body) for body in case.bodies]
    objects = []
    for i, (rotation_a, translation_a, rotation_b, translation_b) in enumerate(case.poses[:FCL_SAMPLES]):
        a, b = case.pairs[i % len(case.pairs)]
        object_a = fcl.CollisionObject(shapes[a], fcl.Transform(rotation_a, translation_a))
        object_b = fcl.CollisionObject(shapes[b], fcl.Transform(rotation_b, translation_b))
        objects.append((object_a, object_b))
    return objects


def fcl_question(family: str) -> Callable[[fcl.CollisionObject, fcl.CollisionObject], float]:
    if family == "boolean":
        request = fcl.CollisionRequest(enable_contact=False)
        return lambda a, b: fcl.collide(a, b, request, fcl.CollisionResult()) > 0
    signed = family in ("shallow", "deep")
    request = fcl.DistanceRequest(enable_nearest_points=True, enable_signed_distance=signed)
    return lambda a, b: fcl.distance(a, b, request, fcl.DistanceResult())


def our_answer(case: Case, sample: int) -> float:
    query = gjk.PairQuery(*case.bodies_of(sample))
    query.rotation_a[:], query.translation_a[:], query.rotation_b[:], query.translation_b[:] = case.poses[sample]
    return float(query.intersects()) if case.family == "boolean" else query.update()


def time_fcl(cases: list[Case]) -> Table:
    prepared = [(fcl_question(case.family), fcl_objects(case)) for case in cases]
    seconds: list[list[float]] = [[] for _ in cases]
    answers: list[list[float]] = [[] for _ in cases]
    for _ in range(FCL_ROUNDS):
        for k, (ask, objects) in enumerate(prepared):
            begin = time.thread_time()
            answers[k] = [ask(a, b) for a, b in objects]
            seconds[k].append(time.thread_time() - begin)
    table = {}
    for k, case in enumerate(cases):
        off = max(abs(answer - our_answer(case, i)) for i, answer in enumerate(answers[k]))
        nanoseconds = 1e9 * statistics.median(seconds[k]) / len(answers[k])
        table[case.family, case.size, "fcl"] = Row(nanoseconds, off, failed=0)
    return table
