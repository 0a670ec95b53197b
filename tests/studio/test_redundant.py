"""What reports of arms with joints to spare show, against the robots' own figures."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from simloop.master import Result, TimedWrite
from simloop.models.arm import Arm
from simloop.models.robot import Ball, Box, Obstacle, Polyhedron
from simloop.models.robots import iiwa, mobile
from simloop.studio import redundant, scenarios
from simloop.studio.graphs import draw, joints_of
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory
from simloop.studio.scenario import Outcome, Panels, Path, Plot
from simloop.studio.scenarios._iiwa import PRISM
from simloop.studio.space import mesh_of


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """From S5's posture A to posture B, straight in joint space, in 11 rows."""
    way = np.linspace(iiwa.POSTURE_A, iiwa.POSTURE_B, 11)
    columns = {"time": np.linspace(0.0, 1.0, 11), "collision.distance": np.zeros(11)}
    columns |= {f"plant.q_true[{i + 1}]": way[:, i] for i in range(7)}
    columns |= {f"control.tau[{i + 1}]": np.zeros(11) for i in range(7)}
    columns |= {f"plant.v[{i + 1}]": np.full(11, way[-1, i] - way[0, i]) for i in range(7)}
    return Outcome(Result(columns, complete=True), {}, 0.1, 1.0)


def test_the_tool_is_where_s5_recomputed_has_it(outcome: Outcome) -> None:
    trace = redundant.trace_tool(iiwa.ROBOT, outcome.result)
    np.testing.assert_allclose(trace.positions[0], (0.5841, -0.4857, -0.2321), atol=1e-4)
    np.testing.assert_allclose(trace.positions[-1], (0.5502, 0.3774, -0.2222), atol=1e-4)


def test_det_is_the_product_of_the_squared_singular_values(outcome: Outcome) -> None:
    """By differences of the pose, which know nothing of J."""
    from simloop.models.pose import ToolPose, rotation_between

    arm = Arm(iiwa.ROBOT.mjcf)
    tool, q = ToolPose(arm, "tool"), outcome.result.vector("plant.q_true")[4]
    J = np.zeros((6, 7))
    for i in range(7):
        poses = []
        for sign in (-1, 1):
            moved = q.copy()
            moved[i] += sign * 1e-6
            arm.kinematics(moved)
            poses.append((tool.position().copy(), tool.quaternion().copy()))
        (p, a), (r, b) = poses
        J[:, i] = np.concatenate([r - p, rotation_between(a, b)]) / 2e-6
    expected = np.prod(np.linalg.svd(J, compute_uv=False)) ** 2
    assert redundant.trace_tool(iiwa.ROBOT, outcome.result).det[4] == pytest.approx(expected, rel=1e-6)


def test_the_tool_is_traced_once_for_a_run(outcome: Outcome) -> None:
    assert redundant.trace_tool(iiwa.ROBOT, outcome.result) is redundant.trace_tool(iiwa.ROBOT, outcome.result)


def test_joints_and_speeds_are_drawn_with_the_limits_that_kuka_and_s5_print(outcome: Outcome) -> None:
    positions = redundant.joint_positions(iiwa.ROBOT, outcome.result)
    assert [panel.limits[1] for panel in positions.panels] == pytest.approx([170, 120, 170, 120, 170, 120, 175])
    assert positions.panels[0].values[0] == pytest.approx(-109.19)
    speeds = redundant.joint_speeds(iiwa.ROBOT, outcome)
    assert [panel.limits[1] for panel in speeds.panels] == pytest.approx([98, 98, 100, 130, 140, 180, 180])
    slower = replace(outcome, parameters={"planner.max_joint_speed[2]": np.radians(50.0)})
    assert redundant.joint_speeds(iiwa.ROBOT, slower).panels[1].limits == pytest.approx((-50.0, 50.0))


def test_the_figures_and_the_path_are_in_the_report(outcome: Outcome) -> None:
    obstacle = Polyhedron("prism", PRISM)
    kinds = [type(plot) for plot in redundant.plots(iiwa.ROBOT, (obstacle,))(outcome)]
    assert kinds == [Path, Panels, Panels, Panels, Plot, Plot, Plot]
    scenario = replace(
        scenarios.load("mobile-reach"), robot=iiwa.ROBOT, graphs=(), plots=redundant.plots(iiwa.ROBOT, (obstacle,))
    )
    drawn = [json.loads(text) for text in draw(scenario, outcome, joints_of(scenario), ())]
    path, joints, forces = drawn[0], drawn[1], drawn[3]
    assert {trace["name"]: trace["type"] for trace in path["data"]}["prism"] == "mesh3d"
    assert {"start", "end", "tool"} <= {trace["name"] for trace in path["data"]}
    assert len([trace for trace in joints["data"] if trace["type"] == "scatter"]) == 7
    assert len(joints["layout"]["shapes"]) == 14, "two limits a joint"
    assert {shape["y0"] for shape in forces["layout"]["shapes"]} == {-320, -176, -110, -40, 40, 110, 176, 320}, "N·m"


@pytest.mark.parametrize("seed", range(3))
def test_a_hand_that_changes_its_mind_at_once_asks_no_motor_for_more_than_it_has(seed: int) -> None:
    """Five times a second, any way; a robot that is 10 % heavier than its model follows to less than a millimetre."""
    rng, h = np.random.default_rng(seed), Fraction(1, 200)
    writes = []
    for k in range(20, 800, 40):
        twist = rng.uniform(-1.0, 1.0, 6) * (3 * [0.25] + 3 * [0.8])
        writes += [TimedWrite(k * h, f"planner.twist[{i + 1}]", float(value)) for i, value in enumerate(twist)]
        writes.append(TimedWrite(k * h, "planner.enable", int(rng.random() < 0.7)))
    steered = scenarios.load("mobile-teleop").steered
    assert steered is not None
    result = run_in_memory(Request(steered(), duration="4", replayed=writes)).outcome.result
    force = np.abs(result.vector("control.tau")).max(axis=0)
    assert (force < Arm(mobile.ROBOT.mjcf).torque_limits).all()
    assert force[0] > 100.0, "the platform is driven hard"
    assert np.abs(result.vector("plant.q") - result.vector("planner.q_d")).max() < 1e-3


@pytest.mark.parametrize(
    ("obstacle", "volume"),
    [
        (Box("box", (1.0, 2.0, 3.0), (0.1, 0.2, 0.3)), 8 * 0.006),
        (Polyhedron("prism", PRISM), 0.5 * 0.1 * 0.2 * 0.9),
        (Ball("ball", (0.0, 1.0, 0.0), 0.5), 4 / 3 * np.pi * 0.125),
    ],
)
def test_an_obstacle_is_drawn_as_a_closed_body_of_its_volume(obstacle: Obstacle, volume: float) -> None:
    """Gauss: the outward faces of a closed body enclose its volume; a ball's corners lie on it, so it is a bit less."""
    corners, faces = mesh_of(obstacle)
    a, b, c = corners[faces].transpose(1, 0, 2)
    enclosed = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6
    assert enclosed == pytest.approx(volume, rel=0.05 if isinstance(obstacle, Ball) else 1e-9)
    assert enclosed <= volume * (1 + 1e-9)


def test_mobile_reach_arrives_from_rest_and_keeps_within_its_limits() -> None:
    finished = run_in_memory(Request(scenarios.load("mobile-reach")))
    assert all(figure.ok is not False for figure in finished.figures.values())
    result = finished.outcome.result
    plan = result.vector("planner.q_d")
    assert np.abs(np.diff(plan[:10], axis=0)).max() < 1e-3 / 200, "it begins at rest"
    assert np.abs(result.vector("plant.q_true") - plan).max() < 1e-4, "the motors can follow"
    assert np.all(np.abs(result.vector("plant.v")) <= np.array(mobile.ROBOT.max_speed))
