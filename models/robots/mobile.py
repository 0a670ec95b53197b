"""A mobile manipulator after UTAR (S4): platform x, y (m) and heading (rad), then an arm of six joints, nine in all.

x and y are the platform's place in the world, whatever its heading. S4 prints no dimensions: the MJCF says what is
chosen.
"""

from math import radians

from simloop.models.robot import Robot, read_mjcf

PLATFORM = ("x", "y", "heading")

# The gripper before the platform, fingers down, elbow and wrist bent.
_ARM = tuple(radians(angle) for angle in (0.0, 30.0, 80.0, 0.0, 70.0, 0.0))

ROBOT = Robot(
    name="mobile",
    mjcf=read_mjcf(__name__),
    tools=("tool",),
    home=(0.0, 0.0, 0.0, *_ARM),
    max_speed=(1.0, 1.0, radians(90.0), *(radians(speed) for speed in (90, 90, 120, 150, 150, 180))),
    camera="camera",
)
