"""What can go wrong with a joint, as numbers that travel through a unit's input `fault`."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Fault(IntEnum):
    NONE = 0
    LOOSE = 1  # the motor gives no force
    FROZEN = 2  # the joint is stuck: its two links are one
    WEAK = 3  # the motor gives no more than `fault_size`, N or N·m
    STUCK = 4  # the sensor keeps telling where the joint was
    NOISY = 5  # the sensor's noise has a standard deviation of `fault_size`, m or rad
    LOST = 6  # one measurement is missing: the last one is told once more


WORDS = ", ".join(f"{fault.value} {fault.name.lower()}" for fault in Fault)


def check_fault(value: float) -> Fault:
    try:
        return Fault(int(value))
    except ValueError:
        raise ValueError(f"fault is {value:g}; it can be {WORDS}") from None


def check_faults(fault: NDArray[np.float64]) -> None:
    """Refuse a vector of faults with a number in it that means none."""
    for value in fault:
        check_fault(value)


def cannot_drive(fault: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which joints have no motor that moves them."""
    return np.isin(fault, (Fault.LOOSE, Fault.FROZEN))
