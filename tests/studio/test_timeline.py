"""The timeline of a run: each fault, write and contact with its instant, and whose it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from simloop.master import Account, Result
from simloop.master.account import Incident
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance
from simloop.models.robot import scene_mjcf
from simloop.models.robots import packbot, sphere
from simloop.studio import scenarios
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory
from simloop.studio.scenarios._sphere import FLOOR
from simloop.studio.timeline import MOST_OF_A_KIND, PART, TOUCH, Event, events_of

SPHERE = Arm(scene_mjcf(sphere.ROBOT, (FLOOR,)))
CLEAR = 0.1  # m, between floor and sphere at 0


def test_faults_are_told_by_joint_and_in_words() -> None:
    columns = {"time": np.arange(5) / 10, "plant.fault[4]": np.array([0, 0, 2, 2, 0])}
    writes = [
        {"time": 0.1, "name": "plant.f_ext[1]", "value": 20.0},
        {"time": 0.2, "name": "planner.fault[4]", "value": 2},
    ]
    events = events_of(Result(columns, complete=True), writes, (), Arm(packbot.ROBOT.mjcf))
    assert [(event.time, event.kind, event.text) for event in events] == [
        (0.1, "write", "plant.f_ext[1] set to 20.0"),
        (0.1, "fault", "elbow2 is frozen"),
        (0.2, "write", "planner.fault[4] set to 2: elbow2 is frozen"),
        (pytest.approx(0.3), "fault", "elbow2 is well again"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("control.fault[2]", 1, ": shoulder is loose"),
        ("control.fault", 0.0, ": every joint is well again"),
        ("planner.fault[4]", 9, ""),
    ],
)
def test_a_fault_that_is_none_is_told_as_the_number_that_was_written(name: str, value: float, told: str) -> None:
    write = {"time": 0.1, "name": name, "value": value}
    (event,) = events_of(Result({"time": np.arange(2.0)}, complete=False), [write], (), Arm(packbot.ROBOT.mjcf))
    assert event.text == f"{name} set to {value}{told}"


def contacts(distances: Sequence[float]) -> list[tuple[float, str]]:
    """Of a sphere this far from the floor, a row each 0.1 s."""
    gaps = np.array(distances)
    columns = {"time": np.arange(len(gaps)) / 10, "plant.q_true[1]": gaps - CLEAR, "collision.distance": gaps}
    return [(event.time, event.text) for event in events_of(Result(columns, complete=True), [], (), SPHERE)]


def test_bodies_that_rest_on_each_other_touch_once() -> None:
    resting = [1e-9, -1e-9, 0.5 * PART, -1e-6, 0.9 * PART]
    assert contacts([CLEAR, 2 * TOUCH, *resting, 2 * PART, CLEAR]) == [
        (0.2, "sphere and floor touch"),
        (pytest.approx(0.7), "sphere and floor part"),
    ]
    assert contacts([0.0, CLEAR]) == [(0.0, "sphere and floor touch from the start"), (0.1, "sphere and floor part")]


def test_a_collapse_tells_of_each_pair_just_what_it_did() -> None:
    """A pair touches and parts by turns, and those that have not parted are those that touch in the end."""
    result = run_in_memory(Request(scenarios.load("packbot-collapse"), duration="2")).outcome.result
    arm = Arm(packbot.ROBOT.mjcf)
    told: dict[str, list[Event]] = {}
    for event in events_of(result, [], (), arm):
        if not event.text.startswith("impact"):
            told.setdefault(event.text.rpartition(" ")[0], []).append(event)
    clearance = Clearance(arm)
    pairs, _ = clearance.near(result.vector("plant.q_true")[-1], TOUCH)
    for pair, events in told.items():
        assert [event.text.rpartition(" ")[2] for event in events] == (["touch", "part"] * len(events))[: len(events)]
        assert len({event.time for event in events}) == len(events), pair
    assert {pair for pair, events in told.items() if len(events) % 2} == {
        " and ".join(clearance.names[pair]) for pair in pairs
    }
    assert "link1_elbow and plate" in told


def test_the_timeline_has_the_masters_events_and_rejected_steps_with_their_causes() -> None:
    account = Account()
    account.events.append(Incident(0.2, 0.0, "the bounce"))
    account.events.append(Incident(0.25, 0.0, "plant.gap fell below zero"))
    account.rejected.append(Incident(0.1, 0.05, "the error is too large"))
    events = events_of(Result({"time": np.array([0.0, 1.0])}, complete=True, account=account), [], [], SPHERE)
    assert [(event.time, event.kind) for event in events] == [(0.1, "rejected"), (0.2, "event")]
    assert events[0].text == "a step of 0.05 s was rejected: the error is too large"


def test_a_rattle_does_not_flood_the_timeline() -> None:
    events = contacts([0.01, 0.0] * 500 + [0.01])
    assert len(events) == MOST_OF_A_KIND
    assert events[-1][1] == f"sphere and floor part, and {1000 - MOST_OF_A_KIND} more of this kind until the end"
