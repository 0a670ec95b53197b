"""How a command speaks with the terminal: errors, exit codes, progress, the browser."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simloop.studio.runner import Progress
    from simloop.studio.view.viewer import Address

BAD_INPUT, FAILED, SIGNALLED = 2, 1, 128


@contextmanager
def clear_errors(*others: type[Exception]) -> Iterator[None]:
    """Bad input, an error of simloop, of the system or of `others`, is one sentence and exit code 2."""
    from simloop.master import SimloopError

    bad_input: tuple[type[Exception], ...] = (SimloopError, OSError, *others)
    try:
        yield
    except BrokenPipeError:
        raise
    except bad_input as error:
        click.echo(f"simloop: {_in_words(error)}", err=True)
        sys.exit(BAD_INPUT)


def _in_words(error: Exception) -> str:
    """An error of the system without its number."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    reason = error.strerror[0].lower() + error.strerror[1:]
    return reason if error.filename is None else f"{str(error.filename)!r} cannot be read or written: {reason}"


def command_line() -> str:
    """What was typed, for the record of a run; a file's name need not be text."""
    typed = shlex.join(["simloop", *sys.argv[1:]])
    return typed.encode("utf-8", "backslashreplace").decode("utf-8")


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def tell_address(address: Address) -> None:
    """Where a page is, and what to know when more than this machine can open it."""
    click.echo(f"view: {address.url}")
    if address.warning:
        click.echo(f"warning: {address.warning}", err=True)


def open_on_desktop(url: str) -> None:
    """In the user's browser, where there is a screen to show it on."""
    import os
    import webbrowser

    if sys.platform in ("darwin", "win32") or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY")):
        webbrowser.open(url)
