"""The lab arm of S3: five turning motors and a gripper, 340 mm of socket and two segments of 220 mm.

Lengths are S3's, table 2. It prints no masses, no depths and no thickness of segment 2: those in the MJCF are chosen.
The document's angles are all against the vertical, the joints of the MJCF each against the link before; `lab_gate`
has both, and which positions may be commanded.
"""

from simloop.models.robot import Robot, read_mjcf

# rad/s, m/s; chosen.
_SPEED = (1.5, 1.5, 1.5, 1.5, 1.5, 0.05)

ROBOT = Robot(name="lab", mjcf=read_mjcf(__name__), tools=("tool",), home=(0.0,) * 6, max_speed=_SPEED, gate="lab_gate")
