"""Events across units: found to their tolerance, acted upon, gone on from; and told when they pile up."""

from __future__ import annotations

import math

import pytest
from simloop.master import (
    LINEAR,
    Adaptive,
    CannotRollBackError,
    Event,
    FixedPoint,
    FmuComponent,
    FunctionComponent,
    Located,
    Retry,
    System,
    Tolerance,
    Values,
    WiringError,
    ZenoError,
    gauss_seidel,
    iterative,
    jacobi,
    run,
)

from tests.master.ball import ball_of_files, bounce, bounce_times, bouncing_ball, rest_time
from tests.master.oscillators import exact, oscillators
from tests.units.build import NativeUnits


@pytest.mark.parametrize("files", [True, False])
def test_the_first_hundred_bounces_are_where_the_closed_form_has_them(files: bool, native: NativeUnits) -> None:
    system = ball_of_files(native) if files else bouncing_ball()
    result = run(system, Located(gauss_seidel(system), [bounce()]), step="1/20", duration=18, keep_going=_first(18))
    found = [event.time for event in result.account.events]
    expected = bounce_times(100)
    assert len(found) >= 100
    assert max(abs(a - b) for a, b in zip(found, expected, strict=False)) < 1e-9


def _first(seconds: float) -> object:
    return lambda done: done / 20 < min(seconds, bounce_times(101)[-1])


def test_events_that_pile_up_are_stopped_with_a_message_at_their_end() -> None:
    system = bouncing_ball()
    with pytest.raises(ZenoError, match=r"the bounce happened .* times .* pile up") as caught:
        run(system, Located(gauss_seidel(system), [bounce(1e-9)]), step="1/4", duration=30)
    assert caught.value.time == pytest.approx(rest_time(), abs=1e-4)
    assert caught.value.event == "the bounce"
    assert caught.value.result is not None
    assert not caught.value.result.complete


def ramp(rate: float = 1.0, *, can_rollback: bool = True, name: str = "ramp") -> FunctionComponent:
    def step(values: dict[str, float], time: float, h: float) -> None:
        values["y"] += values["rate"] * h

    return FunctionComponent(name, step, inputs={"rate": rate}, outputs={"y": 0.0}, can_rollback=can_rollback)


def one_ramp() -> System:
    system = System([ramp()])
    system.set("ramp.rate", 1.0)
    return system


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_a_boolean_and_a_sign_find_the_same_instant_within_the_tolerance(tolerance: float) -> None:
    conditions = [lambda y: 1 / math.pi - y, lambda y: bool(y > 1 / math.pi)]
    for condition in conditions:
        system = one_ramp()
        event = Event("third", ("ramp.y",), condition, tolerance=tolerance)  # type: ignore[arg-type]
        result = run(system, Located(jacobi(system), [event]), step=1, duration=2)
        (found,) = result.account.events
        assert 0.0 < found.time - 1 / math.pi <= tolerance
        assert result["time"].tolist() == [0.0, found.time, 1.0, 2.0], "the event is on the record, and the grid is met"
        assert result["ramp.y"].tolist() == pytest.approx([0.0, found.time, 1.0, 2.0], abs=1e-14)


def test_what_an_action_writes_holds_from_the_instant_on() -> None:
    system = one_ramp()

    def turn(values: Values) -> None:
        values["ramp.rate"] = -1.0

    event = Event("top", ("ramp.y",), lambda y: 0.3 - y, turn, 1e-12)
    result = run(system, Located(jacobi(system), [event]), step="1/2", duration=1)
    assert result["ramp.y"][-1] == pytest.approx(0.6 - 1.0, abs=1e-11)


def test_the_first_of_several_events_in_one_step_comes_first_and_all_come() -> None:
    system = one_ramp()
    names: list[str] = []
    events = [
        Event(name, ("ramp.y",), lambda y, at=at: at - y, lambda values, name=name: names.append(name), 1e-9)
        for name, at in (("late", 0.8), ("early", 0.2), ("middle", 0.5))
    ]
    result = run(system, Located(jacobi(system), events), step=1, duration=1)
    assert names == ["early", "middle", "late"]
    assert [event.time for event in result.account.events] == pytest.approx([0.2, 0.5, 0.8], abs=1e-8)


def test_what_an_action_may_not_touch_is_told(native: NativeUnits) -> None:
    for name, said in (("ramp.y", "output"), ("flight.v_after", "driven"), ("springs.k", "fixed at the start")):
        system = bouncing_ball()
        system.add(ramp())
        system.add(FmuComponent("springs", native["springs"]))
        system.set("ramp.rate", 1.0)
        system.set("springs.F", 0.0)

        def act(values: Values, name: str = name) -> None:
            values[name] = 1.0

        algorithm = Located(gauss_seidel(system), [Event("e", ("ramp.y",), lambda y: 0.1 - y, act)])
        with pytest.raises(WiringError, match=said):
            run(system, algorithm, step=1, duration=1)


def test_an_adaptive_step_over_an_iterative_loop_with_an_event_inside() -> None:
    """The instant at which the first mass passes zero, against the exact motion."""
    system = oscillators()
    inner = Adaptive(iterative(system, FixedPoint(1e-11), LINEAR), Tolerance(1e-6), order=2)
    algorithm = Located(inner, [Event("zero", ("a.x",), lambda x: x, tolerance=1e-9)])
    result = run(system, algorithm, step=1, duration=1)
    (found,) = result.account.events
    assert exact(found.time)[0] == pytest.approx(0.0, abs=1e-4)
    assert result["time"][-1] == 1.0


def test_an_event_on_what_cannot_be_rolled_back_or_inside_what_may_be_is_refused() -> None:
    system = System([ramp(can_rollback=False)])
    system.set("ramp.rate", 1.0)
    with pytest.raises(CannotRollBackError, match="'ramp'"):
        run(system, Located(jacobi(system), [Event("e", ("ramp.y",), lambda y: y)]), step=1, duration=1)
    located = Located(jacobi(one_ramp()), [])
    for wrong in (lambda: Retry(located), lambda: Adaptive(located, Tolerance(1.0))):
        with pytest.raises(ValueError, match="events go around"):
            wrong()
    with pytest.raises(ValueError, match="greater than 0"):
        Event("e", ("ramp.y",), lambda y: y, tolerance=0.0)
