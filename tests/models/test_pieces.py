"""The pieces that are drawn: as large as the collision library's, closed, and where MuJoCo puts the bodies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from simloop.models import robots
from simloop.models.arm import Arm
from simloop.models.pieces import body_poses, pieces_of


@pytest.mark.parametrize("name", robots.names())
def test_every_piece_is_closed_and_faces_outwards(name: str) -> None:
    """Every edge is walked once each way, and the volume by Gauss's law is positive."""
    for piece in pieces_of(Arm(robots.load(name).mjcf)):
        edges = {(int(a), int(b)) for face in piece.faces for a, b in zip(face, np.roll(face, -1), strict=True)}
        assert {(b, a) for a, b in edges} == edges
        a, b, c = piece.corners[piece.faces].transpose(1, 0, 2)
        assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0.0


def test_round_things_have_their_volume_and_boxes_their_size() -> None:
    shapes = {"sphere": "0.1", "capsule": "0.1 0.2", "cylinder": "0.1 0.2", "ellipsoid": "0.1 0.2 0.3", "box": "1 2 3"}
    volumes = [4e-3 / 3, 4e-3 / 3 + 4e-3, 4e-3, 8e-3, 48 / np.pi]
    geoms = "".join(f'<geom type="{kind}" size="{size}" pos="1 2 3"/>' for kind, size in shapes.items())
    mjcf = f"<mujoco><worldbody><body><joint/>{geoms}</body></worldbody></mujoco>"
    for piece, volume in zip(pieces_of(Arm(mjcf)), volumes, strict=True):
        a, b, c = piece.corners[piece.faces].transpose(1, 0, 2)
        np.testing.assert_allclose(np.einsum("ij,ij->", a, np.cross(b, c)) / 6, np.pi * volume, rtol=0.05)
        np.testing.assert_allclose((piece.corners.min(axis=0) + piece.corners.max(axis=0)) / 2, (1, 2, 3), atol=1e-9)


def test_a_piece_stands_where_its_geom_does() -> None:
    """The corners of every mesh of YuMi, placed by its body's pose, lie as MuJoCo's geom frame says."""
    robot = robots.load("yumi")
    arm = Arm(robot.mjcf)
    poses = np.empty((arm.model.nbody, 7))
    body_poses(arm, np.array(robot.home) + 0.1, poses)
    for i, piece in enumerate(pieces_of(arm)):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, poses[piece.body, 3:])
        world = piece.corners @ turn.reshape(3, 3).T + poses[piece.body, :3]
        local = (world - arm.data.geom_xpos[i]) @ arm.data.geom_xmat[i].reshape(3, 3)
        mesh = int(arm.model.geom_dataid[i])
        first = arm.model.mesh_vertadr[mesh]
        vertices = arm.model.mesh_vert[first : first + arm.model.mesh_vertnum[mesh]]
        np.testing.assert_allclose(local.min(axis=0), vertices.min(axis=0), atol=1e-6)
        np.testing.assert_allclose(local.max(axis=0), vertices.max(axis=0), atol=1e-6)
