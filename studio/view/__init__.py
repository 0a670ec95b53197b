"""What a person sees of a scene in space: in a report, and live in a browser."""

import importlib.util

from simloop.master import SimloopError


def need_view() -> None:
    """Refuse, with what would help, when the extra `view` is not installed."""
    if importlib.util.find_spec("websockets") is None:
        raise SimloopError("a view in the browser needs more packages: pip install 'simloop[view]'")
