"""The state check: what a unit says of its state is believed only after a child process has seen it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from simloop.master import (
    CannotRollBackError,
    Claimed,
    FmuComponent,
    Restore,
    Save,
    Step,
    System,
    UnitError,
    Verified,
    run,
    trust,
)
from simloop.master.describe import describe_unit, problems_of
from simloop.master.trust import Judgement, Verdict, run_check

from tests.units.build import NativeUnits

EXACT, NEAR, LIES, CRASHED = Judgement.EXACT, Judgement.WITHIN_TOLERANCE, Judgement.DISHONEST, Judgement.CRASHED
# Time for Python to start on a busy machine, and for a check of the smallest unit, s.
PLENTY = 60.0


@pytest.mark.parametrize(
    ("name", "state", "written", "said"),
    [
        ("spring", EXACT, EXACT, ""),
        ("springs", EXACT, EXACT, ""),
        ("events", EXACT, Judgement.NOT_OFFERED, ""),
        ("no_state", Judgement.NOT_OFFERED, Judgement.NOT_OFFERED, ""),
        ("drifts", NEAR, NEAR, "output x differs by"),
        ("forgets", LIES, LIES, "output v differs by"),
        ("forgets_written", EXACT, LIES, "output x differs by"),
        ("crashes_saving", CRASHED, CRASHED, "in saving its state it ended with SIGSEGV"),
        ("crashes_writing", EXACT, CRASHED, "in writing its state down it ended with SIGSEGV"),
        ("fails", Judgement.NOT_CHECKED, Judgement.NOT_CHECKED, "the spring broke"),
    ],
)
def test_the_check_finds_what_is_true(
    name: str, state: Judgement, written: Judgement, said: str, native: NativeUnits
) -> None:
    verdict = run_check(native[name], PLENTY)
    assert (verdict.state.judgement, verdict.written.judgement) == (state, written)
    assert said in verdict.state.reason + verdict.written.reason
    assert Verdict.from_json(verdict.to_json()) == verdict


@pytest.mark.parametrize("kind", ["plant", "control", "collision"])
def test_units_of_our_own_pass(kind: str, units: dict[str, Path]) -> None:
    verdict = run_check(units[kind], PLENTY)
    assert (verdict.state.judgement, verdict.written.judgement) == (EXACT, EXACT), verdict


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("forgets", "its state check says dishonest: output v differs by .* after restore"),
        ("crashes_saving", "its state check says crashed: in saving its state"),
        ("no_state", "does not offer to save and restore its state"),
    ],
)
def test_a_unit_that_is_not_believed_cannot_be_rolled_back_and_the_error_says_why(
    name: str, said: str, native: NativeUnits
) -> None:
    system = System([FmuComponent("a", native[name], trust=Verified(PLENTY))])
    system.set("a.F", 0.0)
    with pytest.raises(CannotRollBackError, match=rf"'a', which cannot be rolled back: .*{said}"):
        run(system, (Save("a"), Step("a"), Restore("a")), step=1, duration=1)
    # It can still be stepped, and never undone.
    assert len(run(system, (Step("a"),), step="1/100", duration="1/10")) == 11
    system.close()


@pytest.mark.parametrize(("name", "stage"), [("crashes_loading", "loading"), ("crashes_ending", "its end")])
def test_a_unit_that_would_crash_its_host_is_not_loaded(name: str, stage: str, native: NativeUnits) -> None:
    with pytest.raises(UnitError, match=rf"{name}\.fmu': its state check says crashed: in {stage} .*SIGSEGV"):
        FmuComponent("a", native[name], trust=Verified(PLENTY))


def test_a_unit_that_hangs_is_given_up(native: NativeUnits) -> None:
    verdict = run_check(native["hangs"], 15.0)
    assert verdict.state.judgement is CRASHED
    assert verdict.state.reason == "in a step it was not done after 15 s"
    assert verdict.fails_without_state


def test_where_no_child_can_be_started_nothing_is_believed(
    native: NativeUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust.sys, "executable", str(tmp_path / "no_python"))
    component = FmuComponent("a", native["spring"], trust=Verified(cache=tmp_path / "cache"))
    assert not component.can_rollback
    assert "not checked: no Python could be started" in component.cannot_because
    # Another day it may: this is no verdict to keep.
    assert not (tmp_path / "cache").exists()
    component.close()


def test_a_report_that_a_crash_cut_off_tells_the_last_stage(tmp_path: Path) -> None:
    report = tmp_path / "report"
    for text, stage in (
        ('{"stage": "loading"}\n{"stage": "a st', "loading"),
        ('{"stage": "a step"}\n[1]\n', "a step"),
        ('{"stage": "loading"}\n{"stage": "saving its state"}\n{"state": 1}\n', "saving its state"),
    ):
        report.write_text(text)
        verdict = trust._read_report(report, "it ended with SIGSEGV")
        assert verdict.state == trust.Finding(CRASHED, f"in {stage} it ended with SIGSEGV")
        assert verdict.fails_without_state is (stage != "saving its state")


def test_claimed_believes_the_unit_and_starts_no_process(native: NativeUnits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "run_check", None)
    for name, can in (("forgets", True), ("no_state", False)):
        component = FmuComponent("a", native[name], trust=Claimed())
        assert component.can_rollback is can
        component.close()


class Counted:
    """Stands in for the check itself and counts."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, path: Path, timeout: float) -> Verdict:
        self.made += 1
        finding = trust.Finding(LIES, "for this test")
        return Verdict(finding, finding)


def test_a_verdict_is_kept_by_the_files_hash_and_what_cannot_be_read_is_checked_again(
    native: NativeUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Counted()
    monkeypatch.setattr(trust, "run_check", check)
    policy = Verified(cache=tmp_path / "cache")

    def reason(path: Path) -> str:
        component = FmuComponent("a", path, trust=policy)
        component.close()
        return component.cannot_because

    copy = tmp_path / "another_name.fmu"
    shutil.copy(native["spring"], copy)
    told = "its state check says dishonest: for this test"
    assert [reason(native["spring"]), reason(copy), reason(native["spring"])] == [told] * 3
    assert check.made == 1
    assert reason(native["drifts"]) == told
    assert check.made == 2
    kept = sorted((tmp_path / "cache").iterdir())
    assert len(kept) == 2
    for broken in (b"", b"{", b"\xff\xfe", b"[]", b'{"state": 1}', b'{"state": {"judgement": "fine", "reason": ""}}'):
        before = check.made
        for file in kept:
            file.write_bytes(broken)
        assert reason(native["spring"]) == told
        assert reason(native["spring"]) == told
        assert check.made == before + 1
    policy.check(native["spring"])
    assert check.made == before + 2


def test_a_cache_that_cannot_be_written_costs_a_check_and_no_more(
    native: NativeUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Counted()
    monkeypatch.setattr(trust, "run_check", check)
    (tmp_path / "cache").write_text("a file where a folder should be")
    for _ in range(2):
        FmuComponent("a", native["spring"], trust=Verified(cache=tmp_path / "cache")).close()
    assert check.made == 2


def test_a_unit_in_words_tells_its_verdict(native: NativeUnits) -> None:
    told = describe_unit(native["forgets"]).splitlines()
    assert told[1] == "FMI 2.0 co-simulation, GUID spring"
    assert told[3].startswith("state check: dishonest (output v differs by")
    told = describe_unit(native["springs"]).splitlines()
    assert told[1] == "FMI 3.0 co-simulation, GUID springs"
    assert told[3] == "state check: exact, written state: exact"
    assert "  turn[5]    Float64 = 1.0, tunable" in told


def test_what_is_wrong_with_a_unit_is_listed(native: NativeUnits) -> None:
    assert problems_of(native["spring"])[0] == []
    assert problems_of(native["no_state"])[0] == []
    problems, _ = problems_of(native["forgets"])
    assert [problem.partition(" by ")[0] for problem in problems] == [
        "state: dishonest: output v differs",
        "written state: dishonest: output x differs",
    ]
