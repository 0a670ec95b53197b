"""How long the planner's motion takes (S1, algorithm 1)."""

import math


def travel_time(distance: float, acceleration: float, cap: float) -> float:
    """Time, s, for `distance` m with constant acceleration, speed cap and constant deceleration (m/s², m/s)."""
    if cap <= 0.0:
        return math.inf
    if cap * cap >= acceleration * distance:
        return 2 * math.sqrt(distance / acceleration)
    return distance / cap + cap / acceleration
