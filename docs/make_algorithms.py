"""Measure the tables of docs/algorithms.md and write them into it: python -m docs.make_algorithms, from the top."""

from __future__ import annotations

import math
import re
from pathlib import Path

from simloop.master import HOLD, LINEAR, Adaptive, Extrapolation, Result, Tolerance, jacobi, run

from tests.master.oscillators import ORDERS, error, local_errors, oscillators

PAGE = Path(__file__).with_name("algorithms.md")
STEPS = (20, 40, 80)  # a second
DAMPING, SECONDS = 0.5, 40  # N·s/m, s


def orders() -> list[str]:
    lines = ["| algorithm | " + " | ".join(f"h = 1/{n} s" for n in STEPS) + " | order | in theory |"]
    lines.append("| --- |" + " ---: |" * (len(STEPS) + 2))
    for name, make, derivatives, order in ORDERS:
        errors = [error(make, n, derivatives) for n in STEPS]
        measured = math.log2(errors[-2] / errors[-1])
        lines.append(f"| {name} | " + " | ".join(f"{e:.1e}" for e in errors) + f" | {measured:.2f} | {order} |")
    return lines


def fixed(extrapolation: Extrapolation, steps: int) -> Result:
    system = oscillators(damping=DAMPING)
    return run(system, jacobi(system, extrapolation), step=f"1/{steps}", duration=SECONDS)


def best_fixed(extrapolation: Extrapolation, tolerance: float) -> int:
    """The fewest steps a second that keep the tolerance in each step."""
    below, enough = 1, 2
    while max(local_errors(fixed(extrapolation, enough), DAMPING)) > tolerance:
        below, enough = enough, 2 * enough
    while enough - below > 1:
        middle = (below + enough) // 2
        if max(local_errors(fixed(extrapolation, middle), DAMPING)) > tolerance:
            below = middle
        else:
            enough = middle
    return enough


def steps_needed() -> list[str]:
    lines = ["| inputs | tolerance of a step | adaptive: largest error | unit steps | best fixed step | unit steps |"]
    lines.append("| --- |" + " ---: |" * 5)
    for name, extrapolation, order in (("held", HOLD, 1), ("linear", LINEAR, 2)):
        for tolerance in (1e-2, 1e-3, 1e-4):
            system = oscillators(damping=DAMPING)
            algorithm = Adaptive(jacobi(system, extrapolation), Tolerance(tolerance), order=order)
            result = run(system, algorithm, step=SECONDS, duration=SECONDS)
            worst = max(local_errors(result, DAMPING))
            steps, best = result.account.components["a"].steps, best_fixed(extrapolation, tolerance)
            cells = (name, f"{tolerance:g} m, m/s", f"{worst:.2g}", str(steps), f"1/{best} s", str(best * SECONDS))
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in (("orders", orders()), ("steps", steps_needed())):
        table = "\n".join(lines)
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", page, flags=re.DOTALL
        )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
