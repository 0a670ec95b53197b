"""The KUKA LBR iiwa 14, seven joints, on a wall and with the kinematics of S5; its MJCF says what is published.

`tool` is the last frame of the Denavit-Hartenberg table, position and orientation.
"""

from math import radians

from simloop.models.robot import Robot, read_mjcf


def _radians(*degrees: float) -> tuple[float, ...]:
    return tuple(radians(angle) for angle in degrees)


# From where to where the arm goes in S5, q_a and q_b, rad.
POSTURE_A = _radians(-109.19, 80.81, 64.66, 70.93, 0.25, -88.23, 63.10)
POSTURE_B = _radians(-53.41, 112.63, -13.84, 92.16, -41.09, -97.44, -23.31)

ROBOT = Robot(
    name="iiwa",
    mjcf=read_mjcf(__name__),
    tools=("tool",),
    home=POSTURE_A,
    max_speed=_radians(98, 98, 100, 130, 140, 180, 180),
)
