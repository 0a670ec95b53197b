"""A sphere on a vertical slide: 1 kg, radius 0.1 m, g = 9.82 m/s² (S1, 5.4 and 5.4.1)."""

from simloop.models.robot import Robot, read_mjcf

ROBOT = Robot(name="sphere", mjcf=read_mjcf(__name__), tools=("tool",), home=(0.0,))
