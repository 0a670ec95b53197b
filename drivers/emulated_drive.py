"""One CiA 402 drive, emulated: what it says to each frame. It keeps to the standard, and refuses what does not."""

from __future__ import annotations

from simloop.drivers import canopen_frames as frames
from simloop.drivers.axes import Axis
from simloop.drivers.cia402 import STAYS, TRANSITIONS, Order, State, order_of

# SDO abort codes (CiA 301).
UNKNOWN_COMMAND, NO_OBJECT, NO_SUB, READ_ONLY = 0x05040001, 0x06020000, 0x06090011, 0x06010002
NOT_MAPPABLE, WRONG_LENGTH, WRONG_VALUE, WRONG_STATE = 0x06040041, 0x06070010, 0x06090030, 0x08000022

OVER_CURRENT, COMMAND_TIMEOUT = 0x2310, 0x8250
_READ_ONLY = {frames.DEVICE_TYPE, frames.MODE_SHOWN, frames.SUPPORTED_MODES, frames.RATED_TORQUE, frames.ERROR_CODE}
_MAPS = {frames.RPDO1_MAP: frames.COMMAND_MAP, frames.TPDO1_MAP: frames.ANSWER_MAP}
_SETTINGS = {frames.RPDO1_MAP: frames.RPDO1_SETTING, frames.TPDO1_MAP: frames.TPDO1_SETTING}
_ALLOWED = {
    frames.MODE: (0, frames.CYCLIC_SYNCHRONOUS_TORQUE),
    frames.ABORT_CONNECTION: (frames.FAULT_WHEN_CUT_OFF,),
    frames.QUICK_STOP_OPTION: (frames.RAMP_THEN_DISABLED,),
}


class EmulatedDrive:
    """Switched on to Switch on disabled, its brake on. Its brake opens with Operation enabled and closes with any other
    state. `refused` counts the orders that its state did not allow."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        self.state = State.SWITCH_ON_DISABLED
        self.operational = False
        self.refused = 0
        self.emergencies: list[bytes] = []
        """Emergency messages to be sent."""
        self._controlword = 0
        self._target = 0
        self._heard: float | None = None
        self._objects = dict.fromkeys(frames.OBJECT_BYTES, 0)
        self._objects |= {
            (frames.DEVICE_TYPE, 0): frames.PROFILE_402,
            (frames.SUPPORTED_MODES, 0): frames.CYCLIC_SYNCHRONOUS_TORQUE_BIT,
            (frames.RATED_TORQUE, 0): round(1e3 * axis.rated_torque),
            (frames.RPDO1_SETTING, 1): (frames.RPDO1 + axis.node) | frames.PDO_OFF,
            (frames.TPDO1_SETTING, 1): (frames.TPDO1 + axis.node) | frames.PDO_OFF,
        }

    @property
    def braked(self) -> bool:
        return self.state is not State.OPERATION_ENABLED

    @property
    def torque(self) -> int:
        """Per mille of rated."""
        in_mode = self._objects[frames.MODE_SHOWN, 0] == frames.CYCLIC_SYNCHRONOUS_TORQUE
        return self._target if in_mode and not self.braked else 0

    @property
    def period(self) -> float:
        """The cycle that was agreed on, s; 0 before."""
        return 1e-6 * self._objects[frames.CYCLE_PERIOD, 0]

    @property
    def answers(self) -> bool:
        """Whether a SYNC gets an answer."""
        return self._active(frames.TPDO1_MAP)

    def manage(self, command: int) -> None:
        """An NMT command."""
        if command == frames.START:
            self.operational = True
        elif command == frames.PRE_OPERATIONAL:
            self.operational = False
            self._heard = None

    def take(self, data: bytes, now: float) -> None:
        """A command, at wall time `now`, s."""
        if not self._active(frames.RPDO1_MAP) or len(data) != 4:
            return
        self._heard = now
        word, self._target = frames.unpack_command(data)
        order = order_of(word, self._controlword)
        self._controlword = word
        after = TRANSITIONS.get((self.state, order))
        if after is not None:
            if order is Order.FAULT_RESET:
                self._objects[frames.ERROR_CODE, 0] = 0
                self.emergencies.append(frames.pack_emergency(0, 0))
            self.state = after
        elif (self.state, order) not in STAYS:
            self.refused += 1

    def sync(self) -> None:
        """What ends with the cycle: the quick stop's ramp, the reaction to a fault."""
        if self.state is State.QUICK_STOP_ACTIVE:
            self.state = State.SWITCH_ON_DISABLED
        elif self.state is State.FAULT_REACTION_ACTIVE:
            self.state = State.FAULT

    def answer(self, position: int) -> bytes:
        return frames.pack_answer(frames.Answer(self.state.statusword, position, self.torque))

    def fail(self, code: int) -> None:
        """A fault of its own (transition 13)."""
        if self.state not in (State.FAULT, State.FAULT_REACTION_ACTIVE):
            self.state = State.FAULT_REACTION_ACTIVE
            self._objects[frames.ERROR_CODE, 0] = code
            self.emergencies.append(frames.pack_emergency(code, 1))

    def watch(self, now: float) -> None:
        """No command for longer than was agreed on is a fault, and with nobody there its reaction ends at once."""
        timer = 1e-3 * self._objects[frames.RPDO1_SETTING, frames.EVENT_TIMER]
        if self.operational and self._heard is not None and timer and now - self._heard > timer:
            self.fail(COMMAND_TIMEOUT)
            self.sync()
            self._heard = None

    def serve(self, request: bytes) -> bytes:
        """The answer to an SDO request, expedited transfers only."""
        if len(request) != 8:
            return self._abort(bytes(3), UNKNOWN_COMMAND)
        where = request[1:4]
        key = int.from_bytes(where[:2], "little"), where[2]
        if key not in self._objects:
            known = any(index == key[0] for index, _ in self._objects)
            return self._abort(where, NO_SUB if known else NO_OBJECT)
        size = frames.OBJECT_BYTES[key]
        # Expedited and with its size told: 0x43 or 0x23, and two bits for the bytes not used.
        if request[0] == 0x40:
            value = self._objects[key].to_bytes(size, "little").ljust(4, b"\0")
            return bytes((0x43 | (4 - size) << 2,)) + where + value
        if request[0] & 0xE3 != 0x23:
            return self._abort(where, UNKNOWN_COMMAND)
        if 4 - (request[0] >> 2 & 3) != size:
            return self._abort(where, WRONG_LENGTH)
        problem = self._write(key, int.from_bytes(request[4 : 4 + size], "little"))
        return self._abort(where, problem) if problem else b"\x60" + where + bytes(4)

    def _write(self, key: tuple[int, int], value: int) -> int:
        index, sub = key
        if index in _READ_ONLY:
            return READ_ONLY
        if index in _ALLOWED and value not in _ALLOWED[index]:
            return WRONG_VALUE
        if index in _MAPS:
            if not self._objects[_SETTINGS[index], frames.COB_ID] & frames.PDO_OFF or self.operational:
                return WRONG_STATE
            wanted = _MAPS[index]
            if (sub and (sub > len(wanted) or value != wanted[sub - 1])) or (not sub and value not in (0, len(wanted))):
                return NOT_MAPPABLE
        self._objects[key] = value
        if index == frames.MODE:
            self._objects[frames.MODE_SHOWN, 0] = value
        return 0

    def _active(self, table: int) -> bool:
        on = not self._objects[_SETTINGS[table], frames.COB_ID] & frames.PDO_OFF
        return self.operational and on and self._objects[table, 0] == len(_MAPS[table])

    def _abort(self, where: bytes, code: int) -> bytes:
        return b"\x80" + where + code.to_bytes(4, "little")
