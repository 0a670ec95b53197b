"""The state machine of CiA 402 drives (IEC 61800-7-201): statusword, controlword, transitions."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """A drive's state; the value is the statusword's bits that tell it, and the mask of the bits that count."""

    NOT_READY_TO_SWITCH_ON = (0x00, 0x4F)
    SWITCH_ON_DISABLED = (0x40, 0x4F)
    READY_TO_SWITCH_ON = (0x21, 0x6F)
    SWITCHED_ON = (0x23, 0x6F)
    OPERATION_ENABLED = (0x27, 0x6F)
    QUICK_STOP_ACTIVE = (0x07, 0x6F)
    FAULT_REACTION_ACTIVE = (0x0F, 0x4F)
    FAULT = (0x08, 0x4F)

    @property
    def statusword(self) -> int:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.name.lower().replace("_", " ")


class Order(Enum):
    """What a controlword asks for; the value is the word to send."""

    DISABLE_VOLTAGE = 0x00
    QUICK_STOP = 0x02
    SHUTDOWN = 0x06
    SWITCH_ON = 0x07  # the same word is "disable operation" to a drive whose operation is enabled
    ENABLE_OPERATION = 0x0F
    FAULT_RESET = 0x80


FAULT_RESET_BIT = 0x80

# The transitions that a controlword makes, by the standard's numbers. 0, 1, 13 and 14 the drive makes by itself. The
# optional 16, from quick stop back to operation, is left out: what was stopped goes on by the whole way only.
TRANSITIONS: dict[tuple[State, Order], State] = {
    (State.SWITCH_ON_DISABLED, Order.SHUTDOWN): State.READY_TO_SWITCH_ON,  # 2
    (State.READY_TO_SWITCH_ON, Order.SWITCH_ON): State.SWITCHED_ON,  # 3
    (State.SWITCHED_ON, Order.ENABLE_OPERATION): State.OPERATION_ENABLED,  # 4
    (State.OPERATION_ENABLED, Order.SWITCH_ON): State.SWITCHED_ON,  # 5
    (State.SWITCHED_ON, Order.SHUTDOWN): State.READY_TO_SWITCH_ON,  # 6
    (State.READY_TO_SWITCH_ON, Order.DISABLE_VOLTAGE): State.SWITCH_ON_DISABLED,  # 7
    (State.READY_TO_SWITCH_ON, Order.QUICK_STOP): State.SWITCH_ON_DISABLED,  # 7
    (State.OPERATION_ENABLED, Order.SHUTDOWN): State.READY_TO_SWITCH_ON,  # 8
    (State.OPERATION_ENABLED, Order.DISABLE_VOLTAGE): State.SWITCH_ON_DISABLED,  # 9
    (State.SWITCHED_ON, Order.DISABLE_VOLTAGE): State.SWITCH_ON_DISABLED,  # 10
    (State.SWITCHED_ON, Order.QUICK_STOP): State.SWITCH_ON_DISABLED,  # 10
    (State.OPERATION_ENABLED, Order.QUICK_STOP): State.QUICK_STOP_ACTIVE,  # 11
    (State.QUICK_STOP_ACTIVE, Order.DISABLE_VOLTAGE): State.SWITCH_ON_DISABLED,  # 12
    (State.FAULT, Order.FAULT_RESET): State.SWITCH_ON_DISABLED,  # 15
}

# What asks a drive to stay where it is.
STAYS: frozenset[tuple[State, Order]] = frozenset(
    {
        (State.SWITCH_ON_DISABLED, Order.DISABLE_VOLTAGE),
        (State.SWITCH_ON_DISABLED, Order.QUICK_STOP),
        (State.READY_TO_SWITCH_ON, Order.SHUTDOWN),
        (State.SWITCHED_ON, Order.SWITCH_ON),
        (State.OPERATION_ENABLED, Order.ENABLE_OPERATION),
        (State.QUICK_STOP_ACTIVE, Order.QUICK_STOP),
    }
)

# The next controlword on the way to Switched on.
UPWARDS: dict[State, Order] = {
    State.SWITCH_ON_DISABLED: Order.SHUTDOWN,
    State.READY_TO_SWITCH_ON: Order.SWITCH_ON,
    State.SWITCHED_ON: Order.SWITCH_ON,
}


def state_of(statusword: int) -> State:
    """The state that a statusword tells; ValueError when it tells none."""
    for state in State:
        pattern, mask = state.value
        if statusword & mask == pattern:
            return state
    raise ValueError(f"statusword {statusword:#06x} tells no state of CiA 402")


def order_of(controlword: int, before: int) -> Order:
    """What a controlword orders after the word `before`: a fault reset is the rise of its bit."""
    if controlword & FAULT_RESET_BIT and not before & FAULT_RESET_BIT:
        return Order.FAULT_RESET
    if not controlword & 0x02:
        return Order.DISABLE_VOLTAGE
    if not controlword & 0x04:
        return Order.QUICK_STOP
    if not controlword & 0x01:
        return Order.SHUTDOWN
    return Order.ENABLE_OPERATION if controlword & 0x08 else Order.SWITCH_ON
