"""The robots, one module each: `models/robots/<name>.py` with a `ROBOT` and its MJCF beside it."""

import importlib
import pkgutil

from simloop.models.robot import Robot


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Robot:
    if name not in names():
        raise ValueError(f"there is no robot {name!r}; there are {', '.join(names())}")
    robot: Robot = importlib.import_module(f"{__name__}.{name}").ROBOT
    return robot
