"""What is done with the folder of a run: `simloop view`, `report`, `plot` and `export-gltf`."""

from __future__ import annotations

from pathlib import Path

import click
from simloop.studio.commands.options import check_output, check_suffix, host_option, port_option
from simloop.studio.commands.terminal import clear_errors, tell_address


@click.command("view")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@host_option
@port_option
def view_command(folder: Path, host: str, port: int) -> None:
    """Play a recorded run, the results in FOLDER, in a browser."""
    with clear_errors():
        from simloop.studio.view import need_view

        need_view()
        from simloop.studio.view.recorded import serve_recorded
        from simloop.studio.view.viewer import Address

        with Address(host, port) as address:
            serve_recorded(folder, address, tell_address)


@click.command("report")
@click.argument("first", type=click.Path(path_type=Path, file_okay=False))
@click.argument("second", type=click.Path(path_type=Path, file_okay=False))
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), default=Path("compare.html"))
def report_command(first: Path, second: Path, out: Path) -> None:
    """Compare the runs in two folders in one page, and say where they part first."""
    with clear_errors():
        from simloop.studio.archive import read_archive
        from simloop.studio.side_by_side import write_side_by_side

        check_suffix(out, ".html", ".htm")
        check_output(out)
        click.echo(write_side_by_side(out, read_archive(first), read_archive(second)))
        click.echo(f"report: {out}")


@click.command("plot")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--figure", "name", metavar="NAME", help="One graph of S1's table 2, such as force-comparison.")
@click.option("--matrix", is_flag=True, help="All six of them.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help=".pdf, .svg or .png")
def plot_command(folder: Path, name: str | None, matrix: bool, out: Path) -> None:
    """Draw a figure for a paper from the run in FOLDER."""
    with clear_errors():
        from simloop.master import SimloopError
        from simloop.studio import figures
        from simloop.studio.archive import read_archive

        if matrix == (name is not None):
            raise SimloopError("name either one --figure, such as force-comparison, or --matrix")
        check_output(out)
        if name is not None:
            figures.write_figure(out, read_archive(folder), figures.graph_of(name))
        else:
            figures.write_matrix(out, read_archive(folder))
        click.echo(f"figure: {out}")


@click.command("export-gltf")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="A .glb file.")
def export_gltf_command(folder: Path, out: Path) -> None:
    """Write the motion of the run in FOLDER as glTF, for Blender and slides."""
    with clear_errors():
        from simloop.studio.archive import read_archive
        from simloop.studio.gltf import write_gltf

        check_suffix(out, ".glb")
        check_output(out)
        write_gltf(out, read_archive(folder))
        click.echo(f"motion: {out}")
