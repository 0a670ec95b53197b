"""A ball in two units: one flies, one is the ground and says with what speed the ball leaves it."""

from __future__ import annotations

from itertools import accumulate

from simloop.master import Claimed, Event, FmuComponent, FunctionComponent, System, Values

from tests.units.build import NativeUnits

G, HEIGHT, RESTITUTION = 9.81, 1.0, 0.95  # m/s², m


def _fly(values: dict[str, float], time: float, h: float) -> None:
    if values["bounces"] != values["seen"]:
        values["v"], values["seen"] = values["v_after"], values["bounces"]
    values["z"] += values["v"] * h - 0.5 * G * h * h
    values["v"] -= G * h


def _touch(values: dict[str, float]) -> None:
    values["gap"], values["v_after"] = values["z"], -RESTITUTION * values["v"]


def ball_of_files(native: NativeUnits) -> System:
    """The same in two FMU files, in C."""
    return _joined(System([FmuComponent(name, native[name], trust=Claimed()) for name in ("flight", "ground")]))


def bouncing_ball() -> System:
    flight = FunctionComponent(
        "flight",
        _fly,
        inputs={"v_after": 0.0, "bounces": 0},
        outputs={"z": HEIGHT, "v": 0.0},
        states={"seen": 0.0},
        types={"bounces": "Integer"},
    )
    ground = FunctionComponent(
        "ground",
        inputs={"z": 0.0, "v": 0.0},
        outputs={"gap": 0.0, "v_after": 0.0},
        update=_touch,
        dependencies={"gap": ["z"], "v_after": ["v"]},
    )
    return _joined(System([flight, ground]))


def _joined(system: System) -> System:
    for wire in ("flight.z ground.z", "flight.v ground.v", "ground.v_after flight.v_after"):
        system.connect(*wire.split())
    system.set("flight.bounces", 0)
    return system


def count_up(values: Values) -> None:
    values["flight.bounces"] = int(values["flight.bounces"]) + 1


def bounce(tolerance: float = 1e-12) -> Event:
    return Event("the bounce", ("ground.gap",), lambda gap: gap, count_up, tolerance)


def bounce_times(count: int) -> list[float]:
    """In closed form: a fall, then flights of 2 v / g, each shorter by the restitution, s."""
    fall: float = (2.0 * HEIGHT / G) ** 0.5
    return list(accumulate((2.0 * fall * RESTITUTION**k for k in range(1, count)), initial=fall))


def rest_time() -> float:
    """When infinitely many bounces are over, s."""
    fall: float = (2.0 * HEIGHT / G) ** 0.5
    return fall * (1.0 + 2.0 * RESTITUTION / (1.0 - RESTITUTION))
