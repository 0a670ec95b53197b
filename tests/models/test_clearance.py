"""The nearest pair of a scene."""

from __future__ import annotations

import numpy as np
import pytest
from simloop.models.arm import Arm
from simloop.models.clearance import NEVER, NOTHING_NEAR, Clearance
from simloop.models.robot import Box, scene_mjcf
from simloop.models.robots.sphere import ROBOT

from tests.models.test_arm import THREE_LINKS

BOXES = (Box("floor", (0.0, 0.0, -0.25), (0.5, 0.5, 0.05)), Box("plane", (0.0, 0.0, 0.65), (0.5, 0.5, 0.05)))


@pytest.mark.parametrize("z", [-0.15, -0.05, 0.0, 0.25, 0.45, 0.5, 0.55])
def test_the_sphere_is_its_height_less_its_radius_from_the_nearer_box(z: float) -> None:
    clearance = Clearance(Arm(scene_mjcf(ROBOT, BOXES)))
    clearance.update(np.array([z]))
    below, above = z - 0.1 + 0.2, 0.6 - z - 0.1
    assert clearance.distance == pytest.approx(min(below, above), abs=1e-12)
    other = "floor" if below < above else "plane"
    assert clearance.names[clearance.nearest] == ("sphere", other)
    np.testing.assert_allclose(clearance.normal, [0, 0, -1 if other == "floor" else 1], atol=1e-12)
    np.testing.assert_allclose(clearance.point_b - clearance.point_a, clearance.distance * clearance.normal, atol=1e-12)


def test_nothing_around_is_far_away() -> None:
    clearance = Clearance(Arm(ROBOT.mjcf))
    clearance.update(np.zeros(1))
    assert clearance.names == []
    assert clearance.distance == NOTHING_NEAR


def test_links_that_share_a_joint_are_not_a_pair() -> None:
    named = THREE_LINKS.replace("<geom", "<geom name='{}'").format("one", "two", "three")
    assert Clearance(Arm(named)).names == [("one", "three")]


SLIDE = """<mujoco><worldbody><geom name="other" {fixed}/><body pos="0 0 1"><joint type="slide" axis="0 0 1"/>
<geom name="ball" size="0.1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("fixed", "distance", "excess"),
    [
        ('type="plane" size="1 1 1"', 0.9, 0.0),
        ('type="plane" size="0 0 1" pos="50 0 0.2" quat="1 0 0.1 0"', None, 0.0),
        ('type="cylinder" size="0.2 0.3"', 0.6, 0.0),
        ('type="cylinder" size="0.2 0.3" quat="1 1 0 0"', 0.7, 0.005 * 0.2),
        ('type="cylinder" size="0.2 0.3" quat="1 0.3 0.7 0.1"', None, 0.005 * 0.2),
        ('type="ellipsoid" size="0.3 0.2 0.1"', 0.8, 0.062 * 0.1),
        ('type="ellipsoid" size="0.3 0.2 0.1" quat="1 0.3 0.7 0.1"', None, 0.062 * 0.3),
    ],
)
def test_a_body_around_a_round_one_is_nearer_by_no_more_than_is_said(
    fixed: str, distance: float | None, excess: float
) -> None:
    """Against the closed form where there is one, else against MuJoCo's own distance."""
    import mujoco

    arm = Arm(SLIDE.format(fixed=fixed))
    clearance = Clearance(arm)
    clearance.update(np.zeros(1))
    if distance is None:
        distance = mujoco.mj_geomDistance(arm.model, arm.data, 0, 1, 10.0, None)
    assert distance - excess - 1e-6 <= clearance.distance <= distance + 1e-6


def test_a_shape_it_does_not_know_is_refused_by_name() -> None:
    field = '<asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody>'
    odd = THREE_LINKS.replace("<worldbody>", field + '<geom name="odd" type="hfield" hfield="hills"/>')
    with pytest.raises(ValueError, match="'odd' is a hfield"):
        Clearance(Arm(odd))


@pytest.mark.parametrize(
    ("z", "v", "expected"),
    [(0.3, 0.2, 1.0), (-0.05, -0.1, 0.5), (0.3, 0.0, NEVER), (0.4, -0.1, NEVER), (0.55, 0.1, 0.0)],
    ids=["up to the plane", "down to the floor", "at rest", "away", "touching"],
)
def test_time_to_contact_is_distance_over_closing_speed(z: float, v: float, expected: float) -> None:
    clearance = Clearance(Arm(scene_mjcf(ROBOT, BOXES)))
    clearance.update(np.array([z]))
    assert clearance.time_to_contact(np.array([v])) == pytest.approx(expected, rel=1e-9)


def test_closing_speed_is_the_rate_of_the_distance() -> None:
    """A turning arm: distance over time to contact against the finite difference of the distance."""
    table = '<worldbody><geom type="box" size="1 1 0.1" pos="0 0 -0.6"/>'
    clearance = Clearance(Arm(THREE_LINKS.replace("<worldbody>", table)))
    q, v, step = np.array([0.3, 0.9, 0.05]), np.array([0.5, 0.7, 0.1]), 1e-6
    distances = []
    for sign in (1.0, -1.0):
        clearance.update(q + sign * step * v)
        distances.append(clearance.distance)
    rate = (distances[0] - distances[1]) / (2 * step)
    clearance.update(q)
    assert rate < 0.0
    assert clearance.distance / clearance.time_to_contact(v) == pytest.approx(-rate, rel=1e-6)


def test_bodies_that_the_model_excludes_are_not_a_pair() -> None:
    named = THREE_LINKS.replace("<geom", "<geom name='{}'").format("one", "two", "three")
    floor = '<worldbody><geom name="floor" type="box" size="1 1 0.1" pos="0 0 -0.6"/>'
    excluded = '</worldbody><contact><exclude body1="c" body2="a"/><exclude body1="world" body2="b"/></contact>'
    scene = named.replace("<worldbody>", floor).replace("</worldbody>", excluded)
    assert sorted(Clearance(Arm(scene)).names) == [("one", "floor"), ("three", "floor")]


def test_the_gradient_is_the_finite_difference_of_the_distance() -> None:
    """On THREE_LINKS over a table, outside and inside it, and on the folded arm against itself."""
    table = '<worldbody><geom type="box" size="1 1 0.1" pos="0 0 {z}"/>'
    step = 1e-6
    for z in (-0.6, -0.3, 5.0):
        clearance = Clearance(Arm(THREE_LINKS.replace("<worldbody>", table.format(z=z))))
        q = np.array([0.3, 1.1, 0.05])
        expected = np.zeros(3)
        for i, unit in enumerate(np.eye(3)):
            for sign in (1.0, -1.0):
                clearance.update(q + sign * step * unit)
                expected[i] += sign * clearance.distance / (2 * step)
        clearance.update(q)
        assert np.abs(expected).max() > 0.05
        np.testing.assert_allclose(clearance.gradient(), expected, atol=1e-6)


def test_the_gradient_is_nothing_where_nothing_is_near() -> None:
    clearance = Clearance(Arm(ROBOT.mjcf))
    clearance.update(np.zeros(1))
    np.testing.assert_array_equal(clearance.gradient(), [0.0])
