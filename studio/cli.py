"""The command `simloop`: its commands stand in simloop.studio.commands. --help must answer at once."""

from __future__ import annotations

import click
from simloop.studio.commands import compare, emulate, results, run, systems, units


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="simloop")
def main() -> None:
    """Co-simulation on FMI for robot arms: the controller is a simulation, rolled back every step."""


for command in (
    run.run_command,
    compare.compare_command,
    systems.list_command,
    systems.graph_command,
    systems.export_ssp_command,
    results.view_command,
    results.report_command,
    results.plot_command,
    results.export_gltf_command,
    units.export_command,
    units.info_command,
    units.validate_command,
    emulate.emulate_command,
):
    main.add_command(command)
