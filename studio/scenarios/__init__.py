"""The scenarios, one module each: `studio/scenarios/<name>.py` with a `SCENARIO`."""

import importlib
import pkgutil

from simloop.master import NameNotFoundError
from simloop.studio.scenario import Scenario


def names() -> list[str]:
    """Names as they are typed: with hyphens. A module whose name begins with _ is shared, not a scenario."""
    found = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name.replace("_", "-") for name in found if not name.startswith("_"))


def load(name: str) -> Scenario:
    if name not in names():
        raise NameNotFoundError("scenario", name, names())
    scenario: Scenario = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").SCENARIO
    return scenario
