"""The clock counts, the recorder hears only of committed steps, the nine steps come in their order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from simloop.master import (
    CannotRollBackError,
    FmuComponent,
    FunctionComponent,
    NameNotFoundError,
    ObjectComponent,
    Restore,
    Save,
    SimloopError,
    Step,
    System,
    TimedWrite,
    UnitError,
    WiringError,
    run,
    simulation_in_the_loop,
)

from tests.master.function_unit import FunctionUnit
from tests.units.build import NativeUnits


def counting() -> FunctionUnit:
    """y counts steps, t is the time the unit thinks it is."""

    def step(values: dict[str, float], time: float, h: float) -> None:
        values["y"] += 1.0
        values["t"] = time + h

    return FunctionUnit(step, outputs=["y", "t"])


def test_time_is_counted_not_summed() -> None:
    """Summing 1/3 s 1200 times misses 400 s; k / 3 does not, and the unit is told the same times."""
    system = System([ObjectComponent("a", counting())])
    result = run(system, (Step("a"),), step="1/3", duration=400)
    assert result["time"].tolist() == [k / 3 for k in range(1201)]
    assert result["a.y"][-1] == 1200
    assert result["a.t"][-1] == pytest.approx(400.0, abs=1e-13)


def test_a_tentative_step_is_never_recorded() -> None:
    unit = counting()
    system = System([ObjectComponent("a", unit)])
    schedule = (Save("a"), Step("a"), Step("a"), Restore("a"), Step("a"))
    result = run(system, schedule, step="1/10", duration=1)
    assert result["a.y"].tolist() == list(range(11))
    assert unit.calls[:6] == ["start", "save", "step", "step", "restore", "step"]


def test_a_component_that_cannot_be_restored_is_refused_before_anything_moves() -> None:
    unit = counting()
    system = System([ObjectComponent("robot", unit, can_rollback=False)])
    with pytest.raises(CannotRollBackError, match="'robot'"):
        run(system, (Save("robot"), Step("robot"), Restore("robot")), step=1, duration=1)
    with pytest.raises(CannotRollBackError, match="not saved"):
        run(System([ObjectComponent("a", unit)]), (Step("a"), Restore("a")), step=1, duration=1)
    assert unit.calls == []


def loop_of_functions(
    *,
    rollback: tuple[str, ...] = ("planner", "control", "plant"),
    seeded_by: str = "control.q",
    commanded: bool = True,
) -> tuple[System, list[str]]:
    """Planner: q + 1. Control: moves where it is told, force = how far. Plant: moves half the force."""
    log: list[str] = []

    def planner(values: dict[str, float], time: float, h: float) -> None:
        log.append("planner")
        values["q_d"] = values["q"] + 1.0

    def control(values: dict[str, float], time: float, h: float) -> None:
        log.append("replay" if values["replay"] else "control")
        target = values["q_measured"] if values["replay"] else values["q_d"]
        values["tau"] = target - values["q"]
        values["q"] = target

    def plant(values: dict[str, float], time: float, h: float) -> None:
        log.append("plant")
        values["q"] += values["tau"] / 2

    units = {
        "planner": FunctionUnit(planner, inputs=["q"], outputs=["q_d"]),
        "control": FunctionUnit(
            control, inputs=["q_d", "q_measured", "replay"], outputs=["tau", "q"], types={"replay": "Boolean"}
        ),
        "plant": FunctionUnit(plant, inputs=["tau"], outputs=["q"]),
    }
    system = System(ObjectComponent(name, unit, can_rollback=name in rollback) for name, unit in units.items())
    if commanded:
        system.connect("planner.q_d", "control.q_d")
    system.connect("control.tau", "plant.tau")
    system.connect("plant.q", "control.q_measured")
    system.connect(seeded_by, "planner.q")
    return system, log


def test_the_nine_steps_replay_the_control_simulation_to_where_the_plant_went() -> None:
    system, log = loop_of_functions()
    result = run(system, simulation_in_the_loop(system), step=1, duration=3)
    assert log[:4] == ["planner", "control", "plant", "replay"]
    assert result["plant.q"].tolist() == [0.0, 0.5, 1.0, 1.5]
    assert result["control.q"].tolist() == [0.0, 0.5, 1.0, 1.5]
    assert result["planner.q_d"].tolist() == [0.0, 1.0, 1.5, 2.0]


def test_a_plant_that_cannot_be_rolled_back_fits_the_loop_and_such_a_control_does_not() -> None:
    system, _ = loop_of_functions(rollback=("control",))
    assert run(system, simulation_in_the_loop(system), step=1, duration=3)["plant.q"][-1] == 1.5
    system, log = loop_of_functions(rollback=("planner", "plant"))
    with pytest.raises(CannotRollBackError, match="'control'"):
        simulation_in_the_loop(system)
    assert log == []


def test_observers_are_stepped_last_in_the_order_they_feed_each_other() -> None:
    system, log = loop_of_functions()
    for name, feeds in (("z", "plant.q"), ("b", "z.y")):

        def copy(values: dict[str, float], time: float, h: float, name: str = name) -> None:
            log.append(name)
            values["y"] = values["u"]

        system.add(ObjectComponent(name, FunctionUnit(copy, inputs=["u"], outputs=["y"])))
        system.connect(feeds, f"{name}.u")
    result = run(system, simulation_in_the_loop(system), step=1, duration=2)
    assert log[:6] == ["planner", "control", "plant", "replay", "z", "b"]
    assert result["b.y"].tolist()[1:] == result["plant.q"].tolist()[1:]


def add_chain(system: System, log: list[str], **feeds: tuple[str, ...]) -> None:
    """Components that add their inputs u0, u1, … to y and 1/8 to that."""
    for name, sources in feeds.items():
        inputs = [f"u{k}" for k in range(len(sources))]

        def add(values: dict[str, float], time: float, h: float, name: str = name, inputs: list[str] = inputs) -> None:
            log.append(name)
            values["y"] = sum(values[u] for u in inputs) + 0.125

        system.add(ObjectComponent(name, FunctionUnit(add, inputs=inputs, outputs=["y"])))
    for name, sources in feeds.items():
        for k, source in enumerate(sources):
            system.connect(source, f"{name}.u{k}")


def test_what_stands_between_planner_and_control_is_stepped_between_them_in_order() -> None:
    """The command passes filter and gate in the same macro step; what the plant feeds to the gate comes from the last
    one; what only looks at the gate is stepped last."""
    system, log = loop_of_functions(commanded=False)
    add_chain(system, log, watch=("gate.y",), gate=("smooth.y", "plant.q"), smooth=("planner.q_d",))
    system.connect("gate.y", "control.q_d")
    result = run(system, simulation_in_the_loop(system), step=1, duration=2)
    assert log[:7] == ["planner", "smooth", "gate", "control", "plant", "replay", "watch"]
    assert result["smooth.y"].tolist() == [0.0, 1.125, 1.75]
    # 1.125 + 0 + 0.125; the plant goes half of it, 0.625; then 1.75 + 0.625 + 0.125.
    assert result["gate.y"].tolist() == [0.0, 1.25, 2.5]
    assert result["plant.q"].tolist() == [0.0, 0.625, 1.5625]
    assert result["watch.y"].tolist() == [0.0, 1.375, 2.625]


def test_what_the_plant_alone_feeds_is_an_observer_even_where_control_listens_to_it() -> None:
    """Fed by the planner it is stepped before control; fed by the plant it is stepped last, and heard a step later."""
    for source, place in (("planner.q_d", 1), ("plant.q", 4)):
        system, log = loop_of_functions(commanded=False)
        add_chain(system, log, x=(source,))
        system.connect("x.y", "control.q_d")
        run(system, simulation_in_the_loop(system), step=1, duration=1)
        assert log.index("x") == place


def test_commands_that_go_round_in_a_ring_are_refused() -> None:
    system, log = loop_of_functions(commanded=False)
    add_chain(system, log, a=("planner.q_d", "b.y"), b=("a.y",))
    system.connect("b.y", "control.q_d")
    with pytest.raises(WiringError, match="ring"):
        simulation_in_the_loop(system)


def test_a_connection_that_the_schedule_does_not_carry_is_named() -> None:
    system, _ = loop_of_functions()
    with pytest.raises(WiringError, match=r"planner\.q_d to control\.q_d"):
        run(system, (Step("planner"), Step("control"), Step("plant")), step=1, duration=1)


def test_a_planner_seeded_by_the_plant_hears_of_every_step() -> None:
    system, _ = loop_of_functions(seeded_by="plant.q")
    result = run(system, simulation_in_the_loop(system), step=1, duration=3)
    assert result["planner.q_d"].tolist() == [0.0, 1.0, 1.5, 2.0]


def test_what_is_not_there_or_goes_round_in_a_ring_is_told() -> None:
    system, _ = loop_of_functions()
    with pytest.raises(NameNotFoundError, match="'mover'"):
        simulation_in_the_loop(system, planner="mover")
    with pytest.raises(NameNotFoundError, match="'nobody'"):
        run(System([ObjectComponent("a", counting())]), (Step("nobody"),), step=1, duration=1)
    for name in ("x", "z"):
        system.add(ObjectComponent(name, FunctionUnit(inputs=["u"], outputs=["y"])))
    system.connect("x.y", "z.u")
    system.connect("z.y", "x.u")
    with pytest.raises(WiringError, match="ring"):
        simulation_in_the_loop(system)


def test_a_system_runs_once() -> None:
    system = System([ObjectComponent("a", counting())])
    run(system, (Step("a"),), step=1, duration=1)
    with pytest.raises(SimloopError, match="has run already"):
        run(system, (Step("a"),), step=1, duration=1)


def test_of_two_writes_at_one_time_the_later_wins() -> None:
    system = System([ObjectComponent("a", FunctionUnit(inputs=["u"]))])
    system.set("a.u", 0.0)
    writes = [TimedWrite(Fraction(1), "a.u", 5.0), TimedWrite(Fraction(1), "a.u", 7.0)]
    assert run(system, (Step("a"),), step=1, duration=3, writes=writes)["a.u"].tolist() == [0.0, 0.0, 7.0, 7.0]


def test_a_write_happens_in_the_first_step_at_or_after_its_time() -> None:
    def step(values: dict[str, float], time: float, h: float) -> None:
        values["y"] = values["u"]

    system = System([ObjectComponent("a", FunctionUnit(step, inputs=["u"], outputs=["y"]))])
    system.set("a.u", 0.0)
    writes = [TimedWrite(Fraction(3, 10), "a.u", 7.0), TimedWrite(Fraction(1, 4), "a.u", 5.0)]
    result = run(system, (Step("a"),), step="1/10", duration="1/2", writes=writes)
    assert result["a.y"].tolist() == [0, 0, 0, 0, 7.0, 7.0]


def test_a_write_to_what_is_not_a_free_input_or_outside_the_run_is_refused_before_it() -> None:
    unit = FunctionUnit(inputs=["u"], outputs=["y"])
    system = System([ObjectComponent("a", unit)])
    system.set("a.u", 0.0)
    wrong = [("a.y", 0, 1.0, "free input"), ("a.u", 1, 1.0, "from 0 to 1 s"), ("a.u", 0, "x", "a finite number")]
    for name, time, value, said in wrong:
        with pytest.raises(SimloopError, match=said):
            run(system, (Step("a"),), step=1, duration=1, writes=[TimedWrite(Fraction(time), name, value)])
    assert unit.calls == []


def test_tunable_parameters_of_a_foreign_unit_are_written_and_fixed_ones_refused(native: NativeUnits) -> None:
    """FMI 3.0, `turned` is `turn` times (x[1], x[2], 1): twice the first, and 7 more, from 0.5 s on."""

    def springs() -> System:
        system = System([FmuComponent("springs", native["springs"])])
        system.set("springs.F", 0.0)
        return system

    writes = [TimedWrite(Fraction(1, 2), f"springs.turn[{i}]", value) for i, value in ((1, 2.0), (6, 7.0))]
    result = run(springs(), (Step("springs"),), step="1/10", duration=1, writes=writes)
    x, turned, later = result.vector("springs.x"), result.vector("springs.turned"), result["time"] > 0.55
    np.testing.assert_array_equal(turned, np.where(later[:, None], x * (2.0, 1.0) + (0.0, 7.0), x))
    fixed = TimedWrite(Fraction(1, 2), "springs.k", 1.0)
    with pytest.raises(WiringError, match=r"springs.k cannot be written while a run goes on: .* fixed at the start"):
        run(springs(), (Step("springs"),), step="1/10", duration=1, writes=[fixed])


def test_a_step_of_a_function_finds_the_parameter_that_was_written_last() -> None:
    def step(values: dict[str, float], time: float, h: float) -> None:
        values["y"] += h * values["rate"]

    system = System([FunctionComponent("ramp", step, outputs={"y": 0.0}, parameters={"rate": 1.0})])
    writes = [TimedWrite(Fraction(2), "ramp.rate", -3.0)]
    assert run(system, (Step("ramp"),), step=1, duration=4, writes=writes)["ramp.y"].tolist() == [0, 1, 2, -1, -4]


def test_a_run_that_is_stopped_keeps_what_was_committed_and_says_so() -> None:
    system = System([ObjectComponent("a", counting())])
    result = run(system, (Step("a"),), step=1, duration=10, keep_going=lambda done: done < 4)
    assert not result.complete
    assert result["a.y"].tolist() == [0, 1, 2, 3, 4]


def test_a_unit_that_fails_tells_component_and_time_and_leaves_the_record() -> None:
    def step(values: dict[str, float], time: float, h: float) -> None:
        if time >= 2.0:
            raise ValueError("the gear broke")
        values["y"] += 1.0

    system = System([ObjectComponent("a", FunctionUnit(step, outputs=["y"]))])
    with pytest.raises(UnitError, match=r"a failed in a step at 2 s: the gear broke") as caught:
        run(system, (Step("a"),), step="1/2", duration=5)
    assert caught.value.result is not None
    assert caught.value.result["time"].tolist() == [0, 0.5, 1, 1.5, 2.0]


@pytest.mark.parametrize(
    ("step", "duration"), [("0", 1), ("-1/2", 1), ("x", 1), ("1/0", 1), (1, 0), ("nan", 1), ("1/3", 1.1)]
)
def test_a_time_that_cannot_be_is_refused(step: str, duration: float) -> None:
    with pytest.raises(SimloopError, match=r"step|duration"):
        run(System([ObjectComponent("a", counting())]), (Step("a"),), step=step, duration=duration)
