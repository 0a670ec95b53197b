"""Controllers against each other: `simloop compare-controllers`."""

from __future__ import annotations

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
        from simloop.studio import compare

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
