"""The PackBot EOD arm on its chassis with flippers, on the ground (S2, 3.1).

Seven joints: turret, shoulder, two elbows, gripper roll, camera pan, camera tilt. The model file says which of its
figures are published and which are chosen.
"""

from dataclasses import dataclass
from math import radians

from simloop.models.robot import Robot, read_mjcf


@dataclass(frozen=True)
class Drive:
    """A motor behind a gear: turns of the motor a turn of the joint, and the inertia of the rotor, kg·m²."""

    ratio: float
    rotor_inertia: float

    @property
    def armature(self) -> float:
        """The rotor's inertia as the joint feels it, kg·m²."""
        return self.ratio**2 * self.rotor_inertia


# In joint order. The report had the ratios from iRobot and does not print them: these are chosen, with the rotors of
# DC motors of about 30 mm (arm), 20 mm (gripper) and 16 mm (camera).
DRIVES = {
    "turret": Drive(180.0, 3.5e-6),
    "shoulder": Drive(300.0, 3.5e-6),
    "elbow1": Drive(240.0, 3.5e-6),
    "elbow2": Drive(180.0, 3.5e-6),
    "gripper_roll": Drive(120.0, 1.0e-6),
    "camera_pan": Drive(120.0, 0.5e-6),
    "camera_tilt": Drive(120.0, 0.5e-6),
}

# The drive position (S2, figure 6): the first link laid back over the chassis, the second folded forward over it, the
# third upright with the camera near its top, looking forward.
DRIVE_POSITION = (0.0, radians(-85.0), radians(160.0), radians(-63.0), 0.0, 0.0, radians(78.0))

ROBOT = Robot(
    name="packbot",
    mjcf=read_mjcf(__name__),
    tools=("gripper",),
    home=DRIVE_POSITION,
    camera="camera",
)
