"""What came of it: docs/collision-speed.md and its picture."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from cases import BODIES, SAMPLES, SIZES
from timing import FCL_SAMPLES, ROUNDS, Row, Table

DOCS = Path(__file__).parents[2] / "docs"

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
