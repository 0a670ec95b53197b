"""The command gate of the lab arm, as S3 defines it: end positions, floor and socket, gripper against both segments.

S3 counts its angles from 0 and its motors from 1: α_1, α_2, α_3 are motors 2, 3, 4. They are all against the vertical,
so that moving motor 2 alone leaves segment 2 and the gripper as they are; the joints of the MJCF are each against the
link before. Lengths are mm, as printed. Where S3 had to be read and not only copied:

- Table 1 prints radians rounded below its degrees (2.094395 for 120°). The degrees hold.
- The distance to segment 1 is printed through the line's axis intercepts, which do not exist where the segment is
  upright or level: at motor 2 = 0° and 90°, where its own test sequence goes. The distance to the same line by its
  unit normal is used, which is the same number elsewhere.
- The enclosed angle is printed for |α_2 − α_3| ≤ 2π, but motors 3 and 4 may be 540° apart. The angle that is really
  enclosed is used, which is the same number up to 2π.
- "Near segment 1" has no room where the segment is level (y_0 = y_1), as printed: there nothing is near it.
"""

from __future__ import annotations

import math

import numpy as np
from simloop.models.arm import Vector
from simloop.models.gate import ALLOWED, Motors, Verdict

Point = tuple[float, float]

# S3, table 2, mm.
L = (340.0, 220.0, 220.0, 150.0, 145.0, 60.0, 22.5, 82.0)
# S3, table 1, degrees; motor 6 in mm.
INTERVALS = ((-150, 150), (-21, 120), (-180, 180), (-360, 360), (-180, 180), (0, 50))
SOCKET_RADIUS, SOCKET_HEIGHT = 110.0, 360.0  # mm
ENCLOSED_ANGLE = 1.1694  # rad, the least between segment 2 and the gripper
D_1 = 35.0  # mm, the least from segment 1's axis

# From S3's units to rad and m.
UNITS = np.array([math.radians(1)] * 5 + [1e-3])

_JOINTS_PER_MOTOR = np.eye(6)
_JOINTS_PER_MOTOR[2, 1] = _JOINTS_PER_MOTOR[3, 2] = -1.0

MOTORS = Motors(
    _JOINTS_PER_MOTOR,
    low=np.array([low for low, _ in INTERVALS]) * UNITS,
    high=np.array([high for _, high in INTERVALS]) * UNITS,
    slides=(False,) * 5 + (True,),
)


def points(a_1: float, a_2: float, a_3: float) -> list[Point]:
    """P_0 to P_10 in the plane of the arm, mm, for angles against the vertical, rad."""

    def shift(point: Point, length: float, direction: Point) -> Point:
        return point[0] + length * direction[0], point[1] + length * direction[1]

    along = math.sin(a_3), math.cos(a_3)
    across = math.cos(a_3), -math.sin(a_3)
    P_0 = 0.0, L[0]
    P_1 = shift(P_0, L[1], (math.sin(a_1), math.cos(a_1)))
    P_2 = shift(P_1, L[2], (math.sin(a_2), math.cos(a_2)))
    P_3 = shift(P_2, L[3], along)
    P_4 = shift(P_2, -L[4], along)
    P_5, P_6 = shift(P_3, L[5], across), shift(P_3, -L[5], across)
    P_7, P_8 = shift(P_4, L[6], across), shift(P_4, -L[6], across)
    P_9, P_10 = shift(P_5, -L[7], along), shift(P_6, -L[7], along)
    return [P_0, P_1, P_2, P_3, P_4, P_5, P_6, P_7, P_8, P_9, P_10]


def enclosed_angle(a_2: float, a_3: float) -> float:
    """Between segment 2, from P_2 back to P_1, and the gripper, from P_4 to P_3; rad, 0 to π."""
    return abs(math.remainder(math.pi - (a_2 - a_3), 2 * math.pi))


class LabGate:
    motors = MOTORS

    def check(self, q: Vector) -> Verdict:
        return self.check_motors(MOTORS.positions(q) / UNITS)

    def check_motors(self, m: Vector) -> Verdict:
        """The same for motor positions in S3's units, degrees and mm."""
        static = MOTORS.check(m * UNITS)
        if not static.allowed:
            return static
        a_1, a_2, a_3 = (math.radians(angle) for angle in m[1:4])
        P = points(a_1, a_2, a_3)
        for verdict in (_surface(P), _segment_2(a_2, a_3), _segment_1(P, a_1)):
            if not verdict.allowed:
                return verdict
        return ALLOWED


def _surface(P: list[Point]) -> Verdict:
    for i, (x, y) in enumerate(P):
        over_socket = abs(x) <= SOCKET_RADIUS
        height = SOCKET_HEIGHT if over_socket else 0.0
        if i >= 1 and not height < y:
            what = "socket" if over_socket else "floor"
            return Verdict(what, f"P{i} is {height - y:.3g} mm below the top of the {what}")
    return ALLOWED


def _segment_2(a_2: float, a_3: float) -> Verdict:
    angle = enclosed_angle(a_2, a_3)
    if angle >= ENCLOSED_ANGLE:
        return ALLOWED
    least = math.degrees(ENCLOSED_ANGLE)
    return Verdict("segment 2", f"gripper and segment 2 enclose {math.degrees(angle):.3f}°, less than {least:.3f}°")


def _segment_1(P: list[Point], a_1: float) -> Verdict:
    (x_0, y_0), (x_1, y_1) = P[:2]
    sin, cos = math.sin(a_1), math.cos(a_1)
    for i in range(2, 11):
        x, y = P[i]
        near_x = x_0 - D_1 < x < x_1 + D_1 or x_1 - D_1 < x < x_0 + D_1
        near_y = y_0 < y < y_1 or y_1 < y < y_0
        d = cos * (x - x_0) - sin * (y - y_0)
        if near_x and near_y and not abs(d) >= D_1:
            return Verdict("segment 1", f"P{i} is {abs(d):.3g} mm from the axis of segment 1, less than {D_1:g} mm")
    return ALLOWED


GATE = LabGate()
