"""Coming to a stop in whole steps."""

from __future__ import annotations

import math


def braking_speed(distance: float, acceleration: float, h: float) -> float:
    """The greatest speed, m/s, for the next step of h s after which a stop at `distance` m is still possible.

    In units of a h for speed and a h² for distance, a stop from u with n = ⌊u⌋ further steps covers
    u + (u − 1) + … + (u − n) = (n + 1) u − n (n + 1) / 2. Set equal to the distance x, this has one solution for u;
    one step later it gives u − 1, and at n = 0 the step lands on the goal.
    """
    x = distance / (acceleration * h * h)
    n = math.floor((math.sqrt(1.0 + 8.0 * x) - 1.0) / 2.0)
    return (x / (n + 1) + 0.5 * n) * acceleration * h
