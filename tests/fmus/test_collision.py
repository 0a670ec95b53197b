"""The collision detector as a unit."""

from __future__ import annotations

from pathlib import Path

from tests.fmus.every_unit import H, open_unit


def test_the_nearest_pair_is_named_arm_first(units: dict[str, Path]) -> None:
    component = open_unit("collision", units["collision"])
    for z, other in ((0.0, "floor"), (0.4, "plane")):
        component.set("q[1]", z)
        component.step(0.0, H)
        assert (component.get("body_a"), component.get("body_b")) == ("sphere", other)
    component.close()
