"""The ABB YuMi (IRB 14000): two arms of seven joints on one body, 38 kg; sources of the figures stand in the MJCF.

Joints run along each arm, so in ABB's numbers 1, 2, 7, 3, 4, 5, 6; the left arm first.
"""

import math

from simloop.models.robot import Robot, read_mjcf

# Hands in front of the body, elbows out, fingers down, rad. The right arm mirrors the left.
_LEFT = (-1.13, -1.07, 1.11, 0.82, 1.99, 1.36, -0.73)
_MIRROR = (-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0)

ROBOT = Robot(
    name="yumi",
    mjcf=read_mjcf(__name__),
    tools=("left", "right"),
    home=_LEFT + tuple(sign * q for sign, q in zip(_MIRROR, _LEFT, strict=True)),
    max_speed=tuple(math.radians(speed) for speed in (180, 180, 180, 180, 400, 400, 400)) * 2,
)
