"""What tests share: the sphere's units as files, and the loop wired from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from simloop.fmus.export import build_all
from simloop.models.robot import Box
from simloop.models.robots.sphere import ROBOT

OBSTACLES = (
    Box("floor", centre=(0.0, 0.0, -0.25), half_size=(0.5, 0.5, 0.05)),
    Box("plane", centre=(0.0, 0.0, 0.65), half_size=(0.5, 0.5, 0.05)),
)


@pytest.fixture(scope="session")
def units(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every unit of the sphere as an FMU file, by kind."""
    return build_all(ROBOT, tmp_path_factory.mktemp("units"), OBSTACLES)
