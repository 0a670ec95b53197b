"""How long a collision query takes, ours against coal, MuJoCo and python-fcl: `make bench-gjk`.

Makes bodies and poses, compiles bench.cpp with cffi_build/gjk.c and lets it time the three C and C++ libraries, times
python-fcl on the same pairs from here, and writes docs/collision-speed.md and docs/collision-speed.png.
"""

from __future__ import annotations

import csv
import os
import platform
import statistics
import struct
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import fcl
import matplotlib.pyplot as plt
import mujoco
import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from simloop.models import gjk

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
DOCS = ROOT / "docs"
Array = npt.NDArray[np.float64]

SEED = 3
SIZES = (8, 20, 50, 200, 1000)
BODIES = 24  # a case asks about each and its successor
SAMPLES = 1200
FCL_SAMPLES = 120
ROUNDS = 21
FCL_ROUNDS = 15
SEMI_AXES = (0.05, 0.15)  # m
SEPARATION = (0.03, 0.50)  # m
NEAR = 1e-4  # m
SHALLOW = -1e-3  # m
DEEP = 0.02  # m, largest distance of the centres
STEP, SPEED, TURN = 1e-3, 1.0, 1.0  # s, m/s, rad/s
# A flight that comes nearer than this is drawn again: the coherent family is about distances.
CLEARANCE = 1e-3  # m

# What is aimed at: our time over coal's distance(), our own distance and MuJoCo's.
SEPARATED_TARGETS = dict(zip(SIZES, (0.22, 0.17, 0.15, 0.22, 0.27), strict=True))
COHERENT_TARGET = 0.20
BOOLEAN_TARGET = 0.5
DEPTH_TARGET = 1.0
# Ten times the tolerance that coal and MuJoCo come with.
WRONG = 1e-5  # m

LIBRARIES = {
    "ours": "ours",
    "coal": "coal",
    "coal tuned": "coal tuned",
    "mujoco": "MuJoCo",
    "mujoco raised": "MuJoCo, 400 it.",
    "fcl": "python-fcl, from Python",
}
# Okabe and Ito's colours, and a marker each.
LOOKS: dict[str, dict[str, Any]] = {
    "ours": {"color": "#0072B2", "marker": "o", "lw": 2.6, "zorder": 3},
    "coal": {"color": "#D55E00", "marker": "s"},
    "coal tuned": {"color": "#E69F00", "marker": "D", "ls": "--"},
    "mujoco": {"color": "#009E73", "marker": "^"},
    "mujoco raised": {"color": "#000000", "marker": "v", "ls": "--"},
    "fcl": {"color": "#CC79A7", "marker": "x", "ls": ":"},
}

TITLES = {
    "separated": "Separated by 3 to 50 cm, cold",
    "near": "Near: 0.1 mm apart, cold",
    "shallow": "Shallow overlap of 1 mm, cold",
    "deep": "Deep overlap, centres within 2 cm, cold",
    "coherent": "Coherent motion, steps of 1 ms at 1 m/s and 1 rad/s, warm",
    "boolean": "Yes or no, separated by 3 to 50 cm, cold",
}


@dataclass
class Case:
    """Sample i poses pair i % len(pairs)."""

    family: str
    size: int
    bodies: list[gjk.Hull]
    poses: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(pairwise([*range(len(self.bodies)), 0]))

    def bodies_of(self, sample: int) -> tuple[gjk.Hull, gjk.Hull]:
        a, b = self.pairs[sample % len(self.pairs)]
        return self.bodies[a], self.bodies[b]


def make_bodies(rng: np.random.Generator, size: int) -> list[gjk.Hull]:
    bodies = []
    for _ in range(BODIES):
        points = unit_vectors(rng, size) * rng.uniform(*SEMI_AXES, 3)
        body = gjk.Hull(points)
        assert len(body.corners) == size, "a point on an ellipsoid must be a corner of the hull"
        bodies.append(body)
    return bodies


def unit_vectors(rng: np.random.Generator, count: int) -> Array:
    vectors = rng.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def random_query(rng: np.random.Generator, a: gjk.Hull, b: gjk.Hull, offset: Array) -> gjk.PairQuery:
    query = gjk.PairQuery(a, b)
    query.rotation_a[:], query.rotation_b[:] = Rotation.random(2, rng).as_matrix()
    query.translation_a[:] = rng.uniform(-1.0, 1.0, 3)
    query.translation_b[:] = query.translation_a + offset
    return query


def query_at(rng: np.random.Generator, a: gjk.Hull, b: gjk.Hull, distance: float) -> gjk.PairQuery:
    """Poses at this signed distance, or overlapping by at most as much."""
    query = random_query(rng, a, b, unit_vectors(rng, 1)[0])
    query.update()
    query.translation_b += (distance - query.distance) * query.normal
    return query


def poses_of(query: gjk.PairQuery) -> tuple[Array, Array, Array, Array]:
    arrays = (query.rotation_a, query.translation_a, query.rotation_b, query.translation_b)
    return tuple(array.copy() for array in arrays)  # type: ignore[return-value]


def single_query(rng: np.random.Generator, family: str, a: gjk.Hull, b: gjk.Hull) -> gjk.PairQuery:
    if family == "separated":
        return query_at(rng, a, b, rng.uniform(*SEPARATION))
    if family == "near":
        return query_at(rng, a, b, NEAR)
    if family == "shallow":
        return query_at(rng, a, b, SHALLOW)
    return random_query(rng, a, b, DEEP * rng.random() ** (1 / 3) * unit_vectors(rng, 1)[0])


def flight(rng: np.random.Generator, a: gjk.Hull, b: gjk.Hull, steps: int) -> list[tuple[Array, Array, Array, Array]]:
    """Poses of b passing a in a straight line, turning about a fixed axis."""
    query = query_at(rng, a, b, rng.uniform(*SEPARATION))
    direction, axis = unit_vectors(rng, 2)
    turn = Rotation.from_rotvec(TURN * STEP * axis)
    poses = []
    for _ in range(steps):
        if query.update() < CLEARANCE:
            return flight(rng, a, b, steps)
        poses.append(poses_of(query))
        query.translation_b += SPEED * STEP * direction
        query.rotation_b[:] = (turn * Rotation.from_matrix(query.rotation_b)).as_matrix()
    return poses


def make_cases(rng: np.random.Generator, size: int) -> Iterator[Case]:
    bodies = make_bodies(rng, size)
    for family in ("separated", "near", "shallow", "deep"):
        case = Case(family, size, bodies)
        for i in range(SAMPLES):
            case.poses.append(poses_of(single_query(rng, family, *case.bodies_of(i))))
        yield case
        if family == "separated":
            yield Case("boolean", size, bodies, case.poses)
    coherent = Case("coherent", size, bodies)
    flights = [flight(rng, *coherent.bodies_of(i), SAMPLES // BODIES) for i in range(BODIES)]
    coherent.poses = [poses for moment in zip(*flights, strict=True) for poses in moment]
    yield coherent


def triangles_of(body: gjk.Hull) -> npt.NDArray[np.int32]:
    """Triangles of the hull, counter-clockwise seen from outside."""
    hull = ConvexHull(body.vertices, qhull_options="Qt")
    a, b, c = (body.vertices[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles = hull.simplices.astype(np.int32)
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    return triangles


def write_cases(path: Path, cases: list[Case]) -> None:
    """As cases.h reads them."""
    with path.open("wb") as file:
        file.write(struct.pack("<ii", gjk.CLIMB_FROM, len(cases)))
        for case in cases:
            name = case.family.encode()
            file.write(struct.pack("<i", len(name)) + name + struct.pack("<ii", case.size, len(case.bodies)))
            for body in case.bodies:
                triangles = triangles_of(body)
                file.write(struct.pack("<i", len(body.vertices)) + body.vertices.tobytes())
                file.write(struct.pack("<i", len(triangles)) + triangles.tobytes())
            file.write(struct.pack("<i", len(case.pairs)) + np.array(case.pairs, dtype=np.int32).tobytes())
            file.write(struct.pack("<i", len(case.poses)))
            for poses in case.poses:
                file.write(np.concatenate([part.ravel() for part in poses]).tobytes())


def build(folder: Path) -> Path:
    """Compiles the harness: -O3 and no -march, as our wheel is."""
    prefix = Path(sysconfig.get_path("platlib")) / "cmeel.prefix"
    package = Path(mujoco.__file__).parent
    library = next(package.glob("libmujoco.so*"))
    ours, harness = folder / "gjk.o", folder / "bench"
    cc, cxx = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
    core = ROOT / "cffi_build"
    subprocess.run([cc, "-std=c11", "-O3", "-c", core / "gjk.c", "-o", ours], check=True)
    foreign = [prefix / "include", prefix / "include" / "eigen3", package / "include"]
    includes = [f"-I{core}", *(f"-isystem{path}" for path in foreign)]
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


@dataclass(frozen=True)
class Target:
    """A limit on our time over `against`'s time in the family `of`."""

    against: str
    of: str
    limit: float

    def ratio(self, table: Table, family: str, size: int) -> float:
        return table[family, size, "ours"].nanoseconds / table[self.of, size, self.against].nanoseconds


def target_of(family: str, size: int) -> Target | None:
    """Which measure has which target, if any."""
    if family == "separated":
        return Target("coal", family, SEPARATED_TARGETS[size])
    if family == "coherent":
        return Target("coal", family, COHERENT_TARGET)
    if family == "boolean":
        return Target("ours", "separated", BOOLEAN_TARGET)
    if family in ("shallow", "deep"):
        return Target("mujoco", family, DEPTH_TARGET)
    return None


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def libraries_in(table: Table, family: str) -> list[str]:
    return [library for library in LIBRARIES if (family, SIZES[0], library) in table]


def times_of(table: Table, family: str) -> str:
    libraries = libraries_in(table, family)
    others = [library for library in libraries if library not in ("ours", "fcl")]
    head = ["vertices", *(f"{LIBRARIES[library]}, ns" for library in libraries)]
    head += [*(f"ours / {LIBRARIES[library]}" for library in others), "target"]
    rows = []
    for size in SIZES:
        times = {library: table[family, size, library].nanoseconds for library in libraries}
        row = [str(size), *(f"{times[library]:.0f}" for library in libraries)]
        row += [f"{times['ours'] / times[library]:.2f}" for library in others]
        rows.append([*row, verdict_on(table, family, size)])
    return markdown_table(head, rows)


def verdict_on(table: Table, family: str, size: int) -> str:
    target = target_of(family, size)
    if target is None:
        return "none"
    against = "our distance" if target.against == "ours" else LIBRARIES[target.against]
    ratio = target.ratio(table, family, size)
    verdict = "met" if ratio <= target.limit else "**missed**"
    return f"ours / {against} ≤ {target.limit:.2f}: {ratio:.3f}, {verdict}"


def agreement(table: Table) -> str:
    """Largest difference from our cold distance, in metres; for yes or no, whether any answer differs."""
    head, rows = ["family", "vertices", *LIBRARIES.values()], []
    for family in TITLES:
        for size in SIZES:
            cells = [table.get((family, size, library)) for library in LIBRARIES]
            rows.append([family, str(size), *(off_text(family, cell) for cell in cells)])
    return markdown_table(head, rows)


def off_text(family: str, row: Row | None) -> str:
    if row is None:
        return ""
    if row.failed:
        return f"**{row.failed} failed**"
    if family == "boolean":
        return "**differs**" if row.off else "same"
    return f"**{row.off:.1e}**" if row.off > WRONG else f"{row.off:.1e}"


def machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor()


def compiler() -> str:
    command = [os.environ.get("CXX", "c++"), "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def met_and_all(table: Table) -> tuple[int, int]:
    verdicts = []
    for family in TITLES:
        for size in SIZES:
            target = target_of(family, size)
            if target is not None:
                verdicts.append(target.ratio(table, family, size) <= target.limit)
    return sum(verdicts), len(verdicts)


PAGE = """# How fast a collision query is

Written by `make bench-gjk`; do not edit. {met} of {count} targets are met in this run.

![Time of a query by family, size and library](collision-speed.png)

Machine: {machine}. Compiler: {compiler}. coal {coal}, MuJoCo {mujoco}, python-fcl {fcl}.

## What is measured

Bodies are the hulls of 8 to 1000 random points on ellipsoids with semi-axes of 5 to 15 cm, {bodies} of each size. A
family asks {samples} questions about pairs of them, the same of every library. A number is the mean processor time of a
question, as the median over {rounds} rounds; a round goes through all families and sizes, and in each the libraries
take turns. A turn is all questions once to fill the processor's caches, then all of them again for the clock. Bodies,
poses, requests and results are prepared before; the harness allocates and converts nothing while the clock runs.

- **ours**: `cffi_build/gjk.c` compiled by `cc -std=c11 -O3` for baseline x86-64, as the wheel is; the library looks for
  AVX2 itself. `gjk_distance` without a cache, with one in coherent motion, and `gjk_intersects`. Tolerance 1e-12.
- **coal**: the functions `coal::distance` and, for yes or no, `coal::collide` without contacts, with the settings they
  come with. The targets are against this; in coherent motion too it is cold.
- **coal tuned**: `coal::ComputeDistance` and `coal::ComputeCollision`, one kept for each pair, with the fastest of
  its settings that still give distance and points: the first guess from the boxes; Nesterov's acceleration from 50
  vertices on; from 200 on 256 EPA iterations, as the usual 64 are too few for the depth; for yes or no an upper bound
  of 0, so that it stops at the first proof. In coherent motion it is warm: the cached guess of the pair's last query,
  all else as it comes. Tolerance 1e-6, coal's own.
- **MuJoCo**: `mj_geomDistance` on mesh geoms with the options they come with, 1e-6 and 35 iterations; for yes or no
  `distmax` is 0. It keeps vertices in single precision, which is worth 1e-8 m here, and has no warm start.
- **MuJoCo, 400 it.**: the same with `ccd_iterations` 400, which makes the depth of large bodies right.
- **python-fcl**: called from Python, whose own cost is in the number; nearest points, and signed where bodies overlap.
  In rounds of its own, over the first {fcl_samples} questions.

coal and MuJoCo are the compiled libraries of their wheels; the harness is compiled by `c++ -std=c++17 -O3`. A cold
query remembers nothing of the one before. In coherent motion {bodies} pairs move in turn, {steps} steps each, never
nearer than 1 mm; what is remembered is cleared before each turn, so the first step of each pair is cold.

{families}## Do they agree?

Largest difference from our distance without a cache, in metres; bold above {wrong:.0e} m. A time beside a bold number
is the time of a wrong answer.

{agreement}
"""


def write_page(table: Table) -> None:
    families = ""
    for family, title in TITLES.items():
        families += f"## {title}\n\n{times_of(table, family)}\n\n"
    met, count = met_and_all(table)
    page = PAGE.format(
        met=met,
        count=count,
        machine=machine(),
        compiler=compiler(),
        coal=version("coal"),
        mujoco=version("mujoco"),
        fcl=version("python-fcl"),
        bodies=BODIES,
        samples=SAMPLES,
        steps=SAMPLES // BODIES,
        rounds=ROUNDS,
        fcl_samples=FCL_SAMPLES,
        families=families,
        wrong=WRONG,
        agreement=agreement(table),
    )
    (DOCS / "collision-speed.md").write_text(page)


def draw(table: Table) -> None:
    plt.switch_backend("Agg")
    figure, grid = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained")
    for axes, (family, title) in zip(grid.flat, TITLES.items(), strict=True):
        for library in libraries_in(table, family):
            microseconds = [table[family, size, library].nanoseconds / 1e3 for size in SIZES]
            axes.loglog(SIZES, microseconds, label=LIBRARIES[library], **LOOKS[library])
        axes.set_title(title.replace(", steps of", ",\nsteps of").replace(", separated", ",\nseparated"), fontsize=11)
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
    for axes in grid[:, 0]:
        axes.set_ylabel("time of a query / µs")
    for axes in grid[1]:
        axes.set_xlabel("vertices of each body")
    # The panel of deep overlap has every library.
    handles, labels = grid.flat[list(TITLES).index("deep")].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(DOCS / "collision-speed.png", dpi=110)


def main() -> None:
    begin = time.perf_counter()
    rng = np.random.default_rng(SEED)
    cases = [case for size in SIZES for case in make_cases(rng, size)]
    table = run_harness(cases) | time_fcl(cases)
    write_page(table)
    draw(table)
    met, count = met_and_all(table)
    print(f"{met} of {count} targets met; {time.perf_counter() - begin:.0f} s; {DOCS / 'collision-speed.md'}")


if __name__ == "__main__":
    main()
