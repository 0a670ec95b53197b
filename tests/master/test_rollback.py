"""Steps that are refused and tried again, components that cannot be undone, and what it all costs."""

from __future__ import annotations

from itertools import accumulate

import pytest
from simloop.master import (
    Account,
    Adaptive,
    CannotRollBackError,
    FunctionComponent,
    Retry,
    Save,
    Step,
    StepDiscardedError,
    StepTooSmallError,
    System,
    Tolerance,
    gauss_seidel,
    jacobi,
    run,
)

from tests.master.oscillators import oscillators


def clock(
    log: list[tuple[float, float]], *, longest: float = 1.0, wall: float = 9.0, name: str = "c"
) -> FunctionComponent:
    """Counts the time it has lived. Refuses steps longer than `longest` s, and comes no farther than `wall` s."""

    def step(values: dict[str, float], time: float, h: float) -> float | None:
        log.append((time, h))
        if h > longest:
            return 0.0
        done = min(h, wall - time) if time < wall < time + h else h
        values["y"] += done
        return done

    return FunctionComponent(name, step, outputs={"y": 0.0})


def test_a_refused_step_is_an_error_that_says_where_and_leaves_the_record() -> None:
    system = System([clock([], wall=1.25)])
    with pytest.raises(StepDiscardedError, match=r"c failed in a step at 1 s: it came 0\.25 s far of 0\.5 s") as caught:
        run(system, jacobi(system), step="1/2", duration=2)
    assert (caught.value.component, caught.value.time, caught.value.done) == ("c", 1.0, 0.25)
    assert caught.value.result is not None
    assert caught.value.result["time"].tolist() == [0.0, 0.5, 1.0]


def test_a_refused_step_is_tried_again_shorter_and_no_time_is_lost() -> None:
    system = System([clock([], longest=0.3), clock([], name="d")])
    result = run(system, Retry(jacobi(system)), step=1, duration=2)
    # Halves of what is left, until one is no longer than 0.3 s.
    parts = [0.25, 0.1875, 0.28125, 0.28125]
    expected = [0.0, *accumulate(parts * 2)]
    assert result["time"].tolist() == expected
    for name in ("c", "d"):
        assert result[f"{name}.y"].tolist() == expected
    assert [incident.h for incident in result.account.rejected] == [1.0, 0.5, 0.75, 0.375, 0.5625] * 2


def test_an_early_return_is_gone_on_from_where_it_came() -> None:
    system = System([clock([], wall=0.625), clock([], name="d")])
    result = run(system, Retry(jacobi(system)), step=1, duration=2)
    assert result["time"].tolist() == [0.0, 0.625, 1.0, 2.0]
    assert result["d.y"].tolist() == [0.0, 0.625, 1.0, 2.0]
    assert "c failed in a step at 0 s" in result.account.rejected[0].cause


def test_a_step_that_is_refused_at_any_length_ends_in_an_error() -> None:
    for wrap in (lambda inner: Retry(inner, 1e-3), lambda inner: Adaptive(inner, Tolerance(1.0), smallest=1e-3)):
        system = System([clock([], longest=0.0)])
        with pytest.raises(StepTooSmallError, match="no step from 0 s is good") as caught:
            run(system, wrap(jacobi(system)), step=1, duration=1)
        assert caught.value.result is not None


def test_what_cannot_be_undone_is_stepped_once_and_last() -> None:
    """However often the others are rolled back: each of its steps begins where the one before ended."""
    seen: list[tuple[float, float]] = []

    def robot(values: dict[str, float], time: float, h: float) -> None:
        seen.append((time, h))
        values["y"] = values["u"]

    system = oscillators()
    system.add(FunctionComponent("robot", robot, inputs={"u": 0.0}, outputs={"y": 0.0}, can_rollback=False))
    system.connect("a.x", "robot.u")
    result = run(system, Adaptive(jacobi(system), Tolerance(1e-3)), step=1, duration=2)
    assert result.account.components["a"].undone > 0
    counts = result.account.components["robot"]
    assert (counts.undone, counts.rollbacks, counts.saves) == (0, 0, 0)
    assert [time for time, _ in seen] == pytest.approx(result["time"][:-1], abs=1e-12)
    assert sum(h for _, h in seen) == pytest.approx(2.0, abs=1e-12)
    assert result["robot.y"][1:].tolist() == result["a.x"][1:].tolist()


def test_a_schedule_that_would_undo_such_a_component_is_refused_by_name() -> None:
    system = oscillators(rollback="b")
    order = gauss_seidel(system, order=["a", "b"])
    with pytest.raises(CannotRollBackError, match=r"'a'.*does not offer.*last"):
        run(system, Adaptive(order, Tolerance(1.0)), step=1, duration=1)
    system = oscillators(rollback="b")
    assert run(system, Adaptive(gauss_seidel(system), Tolerance(1.0)), step=1, duration=1).complete


def test_the_account_counts_what_was_done() -> None:
    """Of a rejected try from t, the steps that were made count as rejected; and times add up."""
    system = System([clock([], name="a"), clock([], longest=0.5, name="b")])
    account = Account(timed=True)
    result = run(system, Retry(jacobi(system)), step=1, duration=4, account=account)
    assert result.account is account
    a, b = account.components["a"], account.components["b"]
    assert (a.steps, a.standing, a.undone, a.saves, a.rollbacks) == (12, 8, 4, 8, 4)
    assert (b.steps, b.standing, b.undone) == (12, 8, 4)
    assert account.commits == 8
    assert 0.0 < a.seconds + b.seconds < account.seconds
    about = account.describe()
    assert [incident["time"] for incident in about["timeline"]] == [0.0, 1.0, 2.0, 3.0]
    assert about["components"]["a"]["seconds_waiting"] == pytest.approx(account.seconds - a.seconds)
    assert account.lines()[0] == "8 steps committed, 4 rejected, 0 events"


def test_a_schedule_of_its_own_is_counted_like_any_other() -> None:
    from simloop.master import Restore

    system = System([clock([])])
    result = run(system, (Save("c"), Step("c"), Restore("c"), Step("c")), step=1, duration=3)
    counts = result.account.components["c"]
    assert (counts.steps, counts.undone, counts.saves, counts.rollbacks) == (6, 3, 3, 3)
