"""How long a collision query takes, ours against coal, MuJoCo and python-fcl: `make bench-gjk`.

Makes bodies and poses, compiles bench.cpp with cffi_build/gjk.c and lets it time the three C and C++ libraries, times
python-fcl on the same pairs from here, and writes docs/collision-speed.md and docs/collision-speed.png.
"""

from __future__ import annotations

import time

import numpy as np
from cases import SEED, SIZES, make_cases
from page import DOCS, draw, met_and_all, write_page
from timing import run_harness, time_fcl


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
