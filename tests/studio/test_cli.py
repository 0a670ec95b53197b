"""The command: what it writes, what it says, how it fails."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result
from simloop.studio import runner
from simloop.studio.cli import main

from tests.units.build import NativeUnits


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    answer = call("run", "sphere-step", "--set", "plant.mass_error=0.1", "--out", out, "--csv")
    assert answer.exit_code == 0, answer.output
    return out


def test_a_run_leaves_its_record(finished_run: Path) -> None:
    record = json.loads((finished_run / "run.json").read_text(encoding="utf-8"))
    assert record["scenario"] == "sphere-step"
    assert record["status"] == "complete"
    assert record["parameters"]["plant.mass_error"] == 0.1
    assert record["seed"] == 0
    assert set(record["units"]) == {"planner.fmu", "control.fmu", "plant.fmu", "collision.fmu"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in record["units"].values())
    assert {"simloop", "mujoco", "fmpy", "python"} <= set(record["versions"])
    assert record["summary"]["steady_force_difference"]["value"] == pytest.approx(0.982, rel=0.01)
    assert (finished_run / "units/plant.fmu").exists()


def test_the_account_is_on_record_and_on_the_terminal_when_asked_for(finished_run: Path, tmp_path: Path) -> None:
    """In the loop of S1 the control simulation alone steps twice, and takes the first back."""
    record = json.loads((finished_run / "run.json").read_text(encoding="utf-8"))
    steps = record["rows"] - 1
    once = {"steps": steps, "undone": 0, "saves": 0, "rollbacks": 0}
    assert record["account"]["commits"] == steps
    assert record["account"]["components"]["plant"] == once
    twice = {"steps": 2 * steps, "undone": steps, "saves": steps, "rollbacks": steps}
    assert record["account"]["components"]["control"] == twice
    said = call("run", "sphere-step", "--duration", "1/10", "-v", "--out", tmp_path / "out").output
    assert "20 steps committed, 0 rejected" in said
    assert re.search(r"control +steps 40, undone 20, saves 20, rollbacks 20, seconds inside", said)


def test_the_columns_have_the_names_that_are_promised(finished_run: Path) -> None:
    names = pyarrow.parquet.read_schema(finished_run / "signals.parquet").names
    promised = "planner.q_d[1] control.tau[1] control.tau_replay[1] control.v_d[1] plant.q[1] plant.v[1]"
    assert names[0] == "time"
    assert {*promised.split(), "collision.distance"} <= set(names)


def test_csv_and_parquet_hold_the_same_bits(finished_run: Path) -> None:
    table = pyarrow.parquet.read_table(finished_run / "signals.parquet")
    with open(finished_run / "signals.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == table.column_names
    numbers = [name for name in table.column_names if table[name].type == "double"]
    for name in numbers:
        column = np.array([float(row[rows[0].index(name)]) for row in rows[1:]])
        assert column.tobytes() == table[name].to_numpy().tobytes()


def test_parquet_carries_seed_versions_and_hashes(finished_run: Path) -> None:
    metadata = pyarrow.parquet.read_schema(finished_run / "signals.parquet").metadata
    about = json.loads(metadata[b"simloop"])
    assert about["seed"] == 0
    assert about["status"] == "complete"
    assert set(about["units"]) == {"planner.fmu", "control.fmu", "plant.fmu", "collision.fmu"}


def test_the_report_asks_for_nothing_from_the_network(finished_run: Path) -> None:
    report = (finished_run / "report.html").read_text(encoding="utf-8").replace(r"\u002f", "/")
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", report)
    for title in ("Force comparison", "Force difference", "Path", "Velocity comparison", "Velocity difference"):
        assert title in report
    assert "time / s" in report
    assert "force / N" in report


def test_list_names_every_scenario_and_robot() -> None:
    output = call("list").output
    for name in ("sphere-step", "sphere-offline", "sphere-collision", "sphere-guiding", "lab-gate"):
        assert re.search(rf"^  {name} ", output, re.MULTILINE)
    listed = output[output.index("Robots") :].split()
    assert {"lab", "sphere"} <= set(listed)


def test_export_and_info(tmp_path: Path) -> None:
    answer = call("export", "--all", "--scenario", "sphere-collision", "--out", tmp_path)
    assert answer.exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(Path(p).name for p in answer.output.split())
    info = call("info", tmp_path / "plant.fmu").output
    for words in ("tau[1]", "mass_error", "N", "saved and restored: yes", "Measured joint position"):
        assert words in info


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sphere-stp"], "did you mean sphere-step"),
        (["zzz"], "there are iiwa-avoid, iiwa-goal, iiwa-posture, lab-gate, "),
        (["sphere-step", "--set", "plant.mass_eror=0.1"], "plant.mass_error"),
        (["sphere-step", "--set", "plnt.mass_error=0.1"], "plant.mass_error"),
        (["sphere-step", "--set", "plant.mass_error=heavy"], "takes a finite number"),
        (["sphere-step", "--set", "plant.mass_error=nan"], "takes a finite number"),
        (["sphere-step", "--set", "plant.mass_error"], "NAME=VALUE"),
        (["sphere-step", "--set", "plant.mass_error=-3"], "greater than -1"),
        (["sphere-step", "--set", "plant.contact=sticky"], "none or compliant"),
        (["sphere-step", "--set", "plant.seed=1.5"], "a whole number"),
        (["sphere-step", "--set", "plant.tau=1"], "driven by control.tau"),
        (["sphere-guiding", "--set", "planner.band=wide"], "planner.band cannot be 'wide'"),
        (["sphere-step", "--step", "0"], "the step is 0; it must be from 1e-9 to 1e9 s"),
        (["sphere-step", "--duration", "1e400"], "it must be from 1e-9 to 1e9 s"),
        (["sphere-step", "--step", "soon"], "1/2000"),
        (["sphere-step", "--step", "1/7", "--duration", "1.1"], "whole number of steps"),
        (["sphere-step", "--at", "1.0"], "TIME:NAME=VALUE"),
        (["sphere-step", "--at", "1.0:plant.q=1"], "plant.q[1] cannot be written while a run goes on: its causality"),
        (
            ["sphere-step", "--at", "1:plant.seed=3"],
            "plant.seed cannot be written while a run goes on: it is a parameter",
        ),
        (
            ["sphere-step", "--at", "1:plant.contact=events"],
            "fixed at the start; set it before that (System.set, or --set",
        ),
        (
            ["sphere-step", "--at", "1:plant.tau=1"],
            "plant.tau[1] cannot be written while a run goes on: it is driven by",
        ),
        (["sphere-step", "--at", "1:control.replay=1"], "control.replay is written by the schedule"),
        (["sphere-step", "--at", "1:plant.mass_error=heavy"], "plant.mass_error cannot be 'heavy'"),
        (["sphere-step", "--at", "1.0:plant.f_ext=heavy"], "takes a finite number"),
        (["sphere-step", "--at", "9:plant.f_ext=1"], "from 0 to 8 s"),
        (["sphere-step", "--at", "soon:plant.f_ext=1"], "a time in s"),
        (["sphere-step", "--set", "control.replay=true"], "written by the schedule"),
        (["sphere-step", "--set", "planner.goal=0,1"], "3 elements, but 2 values"),
        (["sphere-step", "--set", "planner.goal=1e200"], "within 1e+06 m"),
        (["sphere-step", "--set", "plant.seed=3000000000"], "to 2147483647"),
        (["sphere-step", "--set", "mass_error=0.1"], "plant.mass_error"),
        (["sphere-offline", "--set", "planner.table=missing.csv"], "missing.csv"),
        (["sphere-step", "--pace", "0"], "the pace is 0; it must be between"),
        (["sphere-step", "--set", "planner.goal=0.3,0,0.5"], "the nearest feasible is (0, 0, 0.5) m, 0.3 m off"),
        (["sphere-step", "--strict"], "--strict goes with a --pace"),
    ],
)
def test_bad_input_is_one_clear_sentence_exit_code_2_and_no_trace(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    answer = call("run", *arguments, "--out", out)
    assert answer.exit_code == 2
    assert said in answer.output
    assert len(answer.output.strip().splitlines()) == 1
    assert not out.exists()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.tex"
    precious.write_text("ten years")
    answer = call("run", "sphere-step", "--out", tmp_path)
    assert answer.exit_code == 2
    assert "not results of a run" in answer.output
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_only_what_an_earlier_run_wrote_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call("run", "sphere-offline", "--duration", "0.1", "--out", out, "--csv").exit_code == 0
    (out / "notes.txt").write_text("mine")
    (out / "units" / "mine.c").write_text("mine")
    assert call("run", "sphere-step", "--duration", "0.1", "--out", out).exit_code == 0
    assert (out / "notes.txt").exists()
    assert sorted(path.name for path in (out / "units").iterdir()) == [
        "collision.fmu",
        "control.fmu",
        "mine.c",
        "planner.fmu",
        "plant.fmu",
    ]
    assert not (out / "signals.csv").exists()
    assert not (out / "table.csv").exists()


def test_a_foreign_run_json_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"unrelated": 1}')
    answer = call("run", "sphere-step", "--duration", "0.1", "--out", tmp_path)
    assert answer.exit_code == 2
    assert (tmp_path / "run.json").read_text() == '{"unrelated": 1}'


def test_a_folder_below_a_file_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = call("run", "sphere-step", "--duration", "1e9", "--step", "1/1000000", "--out", tmp_path / "file" / "sub")
    assert answer.exit_code == 2
    assert "is a file" in answer.output


def test_a_users_table_is_played_and_kept_with_its_hash(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_bytes("\ufefftime,q[1]\r\n0,0\r\n0.5,0.01\r\n".encode())
    answer = call(
        "run", "sphere-offline", "--set", f"planner.table={table}", "--duration", "1", "--out", tmp_path / "out"
    )
    assert answer.exit_code == 0, answer.output
    record = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))
    assert record["inputs"] == {"table.csv": hashlib.sha256(table.read_bytes()).hexdigest()}
    signals = pyarrow.parquet.read_table(tmp_path / "out/signals.parquet")
    assert signals["planner.q_d[1]"].to_numpy()[-1] == 0.01


def test_a_seed_is_recorded_whichever_way_it_was_given(tmp_path: Path) -> None:
    for arguments in (["--seed", "7"], ["--set", "plant.seed=7"]):
        assert call("run", "sphere-step", "--duration", "0.1", *arguments, "--out", tmp_path / "out").exit_code == 0
        assert json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))["seed"] == 7


@pytest.mark.parametrize(
    "settings",
    [
        ["planner.goal[3]=0.5"],
        ["planner.goal=0,0,-0.05"],
        ["plant.mass_error=0.1", "planner.acceleration=5"],
        ["plant.mass_error=-0.1"],
        ["plant.mass_error=0.5"],
        ["control.sigma=0.1"],
        ["planner.max_speed=0.2"],
        ["planner.trim=0"],
    ],
)
def test_no_lawful_run_is_said_to_fail(settings: list[str], tmp_path: Path) -> None:
    """The figures' laws follow the parameters: goal, acceleration, speed cap, sign and size of the mass error."""
    arguments = [part for setting in settings for part in ("--set", setting)]
    answer = call("run", "sphere-step", *arguments, "--out", tmp_path / "out")
    assert answer.exit_code == 0
    assert "FAIL" not in answer.output


def test_bad_input_leaves_earlier_results_as_they_were(finished_run: Path) -> None:
    before = {path: path.read_bytes() for path in finished_run.rglob("*") if path.is_file()}
    assert call("run", "sphere-step", "--set", "plant.noise=-1", "--out", finished_run).exit_code == 2
    assert {path: path.read_bytes() for path in finished_run.rglob("*") if path.is_file()} == before


def test_validate_and_info_tell_what_a_unit_is_worth(native: NativeUnits) -> None:
    good = call("validate", native["spring"])
    assert (good.exit_code, good.output) == (0, f"{native['spring']}: valid; state: exact; written: exact\n")
    assert "state check: exact, written state: exact" in call("info", native["spring"]).output
    for name, said in (("forgets", "state: dishonest: output v differs by"), ("wrong_guid", "not spring")):
        bad = call("validate", native[name])
        assert bad.exit_code == 2
        assert said in bad.output
        assert f"{name}.fmu" in bad.output


@pytest.mark.parametrize(
    "arguments",
    [["validate", "missing.fmu"], ["info", "missing.fmu"], ["export"], ["export", "--all", "--robot", "spher"]],
)
def test_other_commands_fail_as_clearly(arguments: list[str]) -> None:
    answer = call(*arguments)
    assert answer.exit_code == 2
    assert len(answer.output.strip().splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_readable_result_marked_partial(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from simloop.studio.cli import main; main()"]
    command += ["run", "sphere-step", "--step", "1/2000", "--duration", "600", "--out", str(out)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    deadline = time.monotonic() + 60.0
    while not list(scratch.glob("*/units/collision.fmu")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.5)
    for _ in range(3):
        child.send_signal(number)
        time.sleep(0.1)
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 128 + number, errors
    assert errors == "simloop: stopping; what was run so far is kept\n"
    assert "partial, interrupted after" in output
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    table = pyarrow.parquet.read_table(out / "signals.parquet")
    assert record["status"] == "partial"
    assert 1 < table.num_rows == record["rows"] < 600 * 2000
    assert json.loads(table.schema.metadata[b"simloop"])["status"] == "partial"
    assert "This run is partial" in (out / "report.html").read_text(encoding="utf-8")


def signal_in_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while nothing has moved yet."""

    def keep_going(watch: runner.Watch, done: int) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return looked(watch, done)

    looked = runner.Watch.keep_going
    monkeypatch.setattr(runner.Watch, "keep_going", keep_going)


def test_a_run_interrupted_before_its_first_step_leaves_earlier_results_as_they_were(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in finished_run.rglob("*") if path.is_file()}
    package = tmp_path / "sphere.ssp"
    assert call("export-ssp", "sphere-step", "-o", package).exit_code == 0
    signal_in_the_first_look(monkeypatch)
    answer = call("run", "sphere-step", "--out", finished_run)
    assert answer.exit_code == 128 + signal.SIGINT
    assert answer.stdout == f"sphere-step: nothing was run; {finished_run} is as it was\n"
    assert {path: path.read_bytes() for path in finished_run.rglob("*") if path.is_file()} == before
    answer = call("run", package, "--out", tmp_path / "new")
    assert answer.exit_code == 128 + signal.SIGINT
    assert f"nothing was run; {tmp_path / 'new'} is as it was" in answer.stdout
    assert not (tmp_path / "new").exists()


def test_a_pipe_gets_no_progress_bar_and_no_escape_codes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from simloop.studio.cli import main; main()"]
    command += ["run", "sphere-step", "--duration", "0.5", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "FORCE_COLOR": "1"})
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout


def test_help_loads_nothing_heavy() -> None:
    """--help must answer at once: numpy, mujoco, fmpy and rich stay out."""
    code = "import sys; sys.argv = ['simloop', '--help']\n"
    code += "from simloop.studio.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'numpy', 'mujoco', 'fmpy', 'rich', 'plotly', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_readme_shows_the_example_and_it_runs(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    example = (root / "examples/sphere_loop.py").read_text(encoding="utf-8")
    assert example in (root / "README.md").read_text(encoding="utf-8")
    assert len(example.splitlines()) <= 15
    done = subprocess.run(
        [sys.executable, root / "examples/sphere_loop.py"], cwd=tmp_path, capture_output=True, text=True
    )
    value = re.fullmatch(r"largest tracking error: (\S+) m\n", done.stdout)
    assert value is not None, done.stderr
    assert float(value.group(1)) == pytest.approx(2.5e-7, rel=0.1)


def test_a_paced_run_writes_the_same_signals_and_tells_how_late_it_was(tmp_path: Path) -> None:
    for folder, arguments in (("paced", ["--pace", "100"]), ("plain", [])):
        answer = call("run", "sphere-step", "--duration", "0.5", *arguments, "--out", tmp_path / folder)
        assert answer.exit_code == 0, answer.output
        assert ("deadlines missed" in answer.output) == bool(arguments)
    signals = [(tmp_path / folder / "signals.parquet").read_bytes() for folder in ("paced", "plain")]
    assert signals[0] == signals[1]
    records = [json.loads((tmp_path / folder / "run.json").read_text("utf-8")) for folder in ("paced", "plain")]
    pace = records[0]["pace"]
    assert (pace["rate"], pace["strict"], pace["deadlines"]) == (100.0, False, 100)
    assert sum(pace["histogram"]["deadlines"]) == 100
    assert 0.0 <= pace["median_late"] <= pace["worst_late"]
    assert records[1]["pace"] is None
    assert "deadlines missed" in (tmp_path / "paced/report.html").read_text(encoding="utf-8")


def test_a_strict_run_that_is_late_is_partial_and_says_why(tmp_path: Path) -> None:
    """Nothing makes a macro step in 10 ns of wall time."""
    arguments = ["--step", "1/1000000", "--duration", "1/1000", "--pace", "100", "--strict"]
    answer = call("run", "sphere-step", *arguments, "--out", tmp_path / "out")
    assert answer.exit_code == 1
    assert "the step to 1e-06 s was done" in answer.output
    record = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))
    assert (record["status"], record["ended"], record["rows"], record["pace"]["missed"]) == ("partial", "failed", 2, 1)
    assert len(pyarrow.parquet.read_table(tmp_path / "out/signals.parquet")) == 2


def test_a_via_pose_out_of_reach_is_refused_before_anything_moves(tmp_path: Path) -> None:
    """The gripper of the mobile manipulator, which stands on the ground, is wanted at a height of 3 m; platform and all
    it comes right below."""
    (tmp_path / "via.csv").write_text("time,x,y,z,z1,y2,z3\n0,0.7,0,0.5,0,3.14,0\n5,1.5,0,3,0,3.14,0\n")
    answer = call("run", "mobile-reach", "--set", f"planner.table={tmp_path / 'via.csv'}", "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert len(answer.output.strip().splitlines()) == 1
    assert "via point 2 at 5 s, (1.5, 0, 3) m" in answer.output
    found = re.search(r"the nearest feasible pose is \((.*?), (.*?), (.*?)\) m", answer.output)
    assert found is not None
    assert [float(x) for x in found.groups()[:2]] == pytest.approx([1.5, 0.0], abs=0.02)
    assert 1.0 < float(found[3]) < 1.6
    assert not (tmp_path / "out").exists()
