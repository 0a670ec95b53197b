"""What tests share: the sphere's units as files, and the loop wired from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from simloop.fmus.export import build_all
from simloop.models.robot import Box
from simloop.models.robots.sphere import ROBOT

from tests.units.build import NativeUnits

OBSTACLES = (
    Box("floor", centre=(0.0, 0.0, -0.25), half_size=(0.5, 0.5, 0.05)),
    Box("plane", centre=(0.0, 0.0, 0.65), half_size=(0.5, 0.5, 0.05)),
)


@pytest.fixture(scope="session")
def units(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every unit of the sphere as an FMU file, by kind."""
    return build_all(ROBOT, tmp_path_factory.mktemp("units"), OBSTACLES)


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> NativeUnits:
    """The native units of tests/units, by name."""
    return NativeUnits(tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Verdicts on units are kept for this run of the tests only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
