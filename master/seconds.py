"""Times as exact fractions of a second."""

from __future__ import annotations

from fractions import Fraction

from simloop.master.errors import SimloopError

# What a step or a duration can be, s; the error below says it in words.
SHORTEST, LONGEST = Fraction(1, 10**9), Fraction(10**9)


def exact_seconds(name: str, value: Fraction | str | float) -> Fraction:
    """A positive time as an exact fraction: "1/2000", "0.005", 7 or 2.5; a float is taken as it is printed."""
    try:
        seconds = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise SimloopError(f"the {name} is {value!r}; it must be a time in s such as 1/2000 or 0.005") from None
    if not SHORTEST <= seconds <= LONGEST:
        raise SimloopError(f"the {name} is {value}; it must be from 1e-9 to 1e9 s")
    return seconds
