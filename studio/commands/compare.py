"""Controllers against each other: `simloop compare-controllers`."""

from __future__ import annotations

import math
from pathlib import Path

import click
from simloop.studio.commands.terminal import clear_errors, command_line


@click.command("compare-controllers")
@click.option("--robot", "robots", multiple=True, metavar="NAME", help="sphere or yumi; both unless given; repeatable.")
@click.option("--step", "steps", multiple=True, metavar="STEP", help="In s; 1/200 and 1/2000 unless given; repeatable.")
@click.option("--mass-error", "mass_errors", type=float, multiple=True, help="0 and 0.1 unless given; repeatable.")
@click.option("--noise", "noises", type=float, multiple=True, help="m or rad; 0 and 1e-5 unless given; repeatable.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/compare"), show_default=True)
def compare_command(
    robots: tuple[str, ...],
    steps: tuple[str, ...],
    mass_errors: tuple[float, ...],
    noises: tuple[float, ...],
    out: Path,
) -> None:
    """Compare simulation in the loop, computed torque and joint PID; write compare.csv, compare.json, compare.md."""
    with clear_errors():
        from simloop.master import SimloopError
        from simloop.master.seconds import exact_seconds
        from simloop.studio import compare

        # A bad value would else be met only after the rows before it, which it would take with it.
        for step in steps:
            exact_seconds("step", step)
        for mass_error in mass_errors:
            if not -1.0 < mass_error < math.inf:
                raise SimloopError(f"--mass-error is {mass_error:g}; it must be greater than -1, such as 0.1")
        for noise in noises:
            if not 0.0 <= noise < math.inf:
                raise SimloopError(f"--noise is {noise:g}; it must be 0 or more, such as 1e-5")
        benches = [compare.bench_of(robot) for robot in dict.fromkeys(robots or compare.bench_names())]
        compare.check_results_folder(out)
        axes = (steps or compare.STEPS, mass_errors or compare.MASS_ERRORS, noises or compare.NOISES)
        tables = []
        for bench in benches:
            rows: list[compare.Row] = []
            for row in compare.compare(bench, *axes):
                click.echo(compare.line(row) if rows else compare.head(bench) + compare.line(row))
                rows.append(row)
            click.echo()
            tables.append((bench, rows))
        compare.write_comparison(out, tables, command_line())
        click.echo(f"table: {out / 'compare.md'}")
