"""iiwa-goal keeps what it promises at both step sizes, with a plant that is heavier than its model."""

from __future__ import annotations

import pytest
from simloop.studio import scenarios
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory


@pytest.mark.parametrize("step", ["1/200", "1/2000"])
def test_the_goal_is_reached_within_every_limit(step: str) -> None:
    finished = run_in_memory(Request(scenarios.load("iiwa-goal"), step=step, duration="4"))
    assert finished.outcome.parameters["plant.mass_error"] == 0.1
    judged = {name: figure for name, figure in finished.figures.items() if figure.ok is not None}
    assert {"posture", "position", "end_turned", "min_distance", "speed", "acceleration"} <= set(judged)
    assert [name for name, figure in judged.items() if not figure.ok] == []
