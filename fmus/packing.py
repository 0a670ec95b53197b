"""How a unit's code travels: not at all, for a machine where simloop is installed; or inside the unit."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

from simloop.fmus.resources import BUNDLE, VERSION, this_version


@dataclass(frozen=True)
class Packing:
    """Files for the resources folder, by their path in it, and what the other machine's pip must install."""

    files: dict[str, bytes]
    requirements: tuple[str, ...]


# From the modules that a unit is run by to its packing.
Pack = Callable[[Iterable[str]], Packing]


def installed(modules: Iterable[str]) -> Packing:
    """Nothing travels: the other machine needs this version of simloop."""
    return Packing({}, (f"simloop=={this_version()}",))


def bundled(modules: Iterable[str]) -> Packing:
    """Every file of simloop that the modules need travels; the other machine needs only packages of others."""
    sources, packages = _needed(modules)
    files = {f"{BUNDLE}/simloop/__init__.py": b"", f"{BUNDLE}/simloop/fmus/{VERSION}": this_version().encode()}
    files |= {f"{BUNDLE}/{path}": source.read_bytes() for path, source in sources.items()}
    known = {_name(text): text.split(";")[0].strip() for text in importlib.metadata.requires("simloop") or ()}
    return Packing(dict(sorted(files.items())), tuple(known[package] for package in sorted(packages)))


def _needed(modules: Iterable[str]) -> tuple[dict[str, Path], set[str]]:
    """The files of simloop that modules import, at any depth, by their path in a bundle; and the packages of others."""
    sources: dict[str, Path] = {}
    packages: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        top = name.split(".")[0]
        if top != "simloop":
            packages |= {top} - set(sys.stdlib_module_names)
            continue
        spec = _find(name)
        if spec is None or spec.origin is None:
            continue
        source = Path(spec.origin)
        folder = name if spec.submodule_search_locations else name.rpartition(".")[0]
        path = f"{folder.replace('.', '/')}/{source.name}"
        if path in sources:
            continue
        sources[path] = source
        waiting.append(name.rpartition(".")[0])
        # A compiled module is cffi's, which it asks for when it is loaded.
        waiting += _imports(source) if source.suffix == ".py" else ["cffi"]
    return sources, packages


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        # A name taken from a module, not a module itself.
        return None


def _imports(source: Path) -> list[str]:
    """Every module that a file names in an import, and every name it takes from one, which may be a module too."""
    found = []
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
            if node.module.startswith("simloop."):
                found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0]
