"""The trainings of Table 3: in their order, at once, gone on with after a stop, refused where settings changed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from recipe_parts import table3, table3_cells
from recipe_parts.calling import heeded, passing_on
from recipe_parts.table3_training import Running, _end, _told
from toy.corpora import write_project

ROOT = Path(__file__).resolve().parent.parent.parent

FAKE = """
import json, os, pathlib, sys, time
arguments = sys.argv[1:]
run = pathlib.Path(arguments[arguments.index("--run") + 1])
run.mkdir(parents=True, exist_ok=True)
calls = pathlib.Path(os.environ["CALLS"])
def note(word):
    with calls.open("a") as file:
        file.write(f"{word} {run.name} {os.environ.get('OMP_NUM_THREADS')} {os.environ.get('CUDA_VISIBLE_DEVICES')}\\n")
note(arguments[0])
if arguments[0] == "prepare":
    from nmtkit.data.manifest import Manifest, Stage
    data = Stage("key", os.environ.get("PAIRS", "some pairs"))
    Manifest({"a": "fact"}, {"train": data}, complete=True).save(run / "data" / "manifest.json")
if arguments[0] == "train":
    assert (run / "data").resolve() == run.parent.parent.resolve() / "prepared" / "data"
    if run.name in os.environ.get("FAILING", "").split():
        sys.exit("something is wrong")
    for _ in range(500):
        if calls.read_text().count("train ") >= int(os.environ.get("TOGETHER", "0")):
            break
        time.sleep(0.02)
    else:
        sys.exit("alone")
    while (run.parent.parent / f"hold-{run.name}").exists():
        time.sleep(0.02)
    dev = {"update": 8, "perplexity": 5.5, "score": 20.0, "metric": "BLEU", "signature": "s"}
    (run / "run.json").write_text(json.dumps({
        "training": {"ended": "x", "updates": 8}, "development": {"last": dev},
        "model": {"parameters": {"all": 10}}, "time": {"seconds": 1.0},
        "data": {"fingerprint": json.loads((run / "data" / "manifest.json").read_bytes())["fingerprint"]},
    }))
    note("end")
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a stand-in take the place of nmtkit, and write its calls here."""
    fake, calls = tmp_path / "fake.py", tmp_path / "calls"
    fake.write_text(FAKE, encoding="utf-8")
    calls.touch()
    monkeypatch.setenv("CALLS", str(calls))
    monkeypatch.setattr("recipe_parts.table3_training.SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(table3_cells, "_nmtkit", lambda command: [sys.executable, str(fake), command])
    return calls


def said(calls: Path) -> list[str]:
    return calls.read_text().split("\n")[:-1]


def run(base: Path, *arguments: str) -> int:
    return table3.main(["--config", str(base), "--out", str(base.parent.parent / "out"), *arguments])


def test_seeds_come_one_after_the_other_and_finished_cells_are_left_alone(base: Path, calls: Path, capfd) -> None:
    assert run(base, "--rows", "A1,E", "--seeds", "1,2") == 0
    order = ["base-1", "A1-1", "E-1", "base-2", "A1-2", "E-2"]
    trained = [line.split()[1] for line in said(calls) if line.startswith("train")]
    assert trained == order
    out = capfd.readouterr().out
    assert out == (base.parent.parent / "out" / "table.md").read_text(encoding="utf-8")
    assert "| A1 " in out
    assert run(base, "--rows", "A1,E", "--seeds", "1,2,3") == 0
    trained = [line.split()[1] for line in said(calls) if line.startswith("train")]
    assert trained == [*order, "base-3", "A1-3", "E-3"]
    content = json.loads((base.parent.parent / "out" / "table.json").read_bytes())
    assert [len(row["results"]) for row in content["rows"]] == [3, 3, 3]


def test_several_at_once_share_the_cores(base: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recipe_parts.table3_training._threads", lambda at_once: 8 // at_once)
    monkeypatch.setenv("TOGETHER", "2")  # no training ends before a second has begun
    assert run(base, "--rows", "A1,E", "--seeds", "1", "--at-once", "2") == 0
    lines = [line.split() for line in said(calls) if not line.startswith("prepare")]
    assert {line[2] for line in lines} == {"4"}
    assert len(lines) == 6


def test_several_at_once_have_gpus_of_their_own(base: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5")
    monkeypatch.setenv("TOGETHER", "2")
    assert run(base, "--rows", "A1,E", "--seeds", "1", "--at-once", "2") == 0
    gpus = [line.split()[3] for line in said(calls) if line.startswith("train")]
    assert sorted(gpus[:2]) == ["3", "GPU-5"]
    assert gpus[2] in ("3", "GPU-5")


def test_cells_of_other_pairs_are_refused(base: Path, calls: Path, capfd, monkeypatch) -> None:
    assert run(base, "--rows", "A1", "--seeds", "1") == 0
    monkeypatch.setenv("PAIRS", "more pairs")
    capfd.readouterr()
    assert run(base, "--rows", "A1", "--seeds", "1,2") == 1
    assert "base-1: was trained on other pairs than those in " in capfd.readouterr().err
    assert len([line for line in said(calls) if line.startswith("train")]) == 2
    monkeypatch.delenv("PAIRS")
    assert run(base, "--rows", "A1", "--seeds", "1,2") == 0


def test_a_cell_that_fails_is_named_and_the_others_go_on(base: Path, calls: Path, capfd, monkeypatch) -> None:
    monkeypatch.setenv("FAILING", "A1-1")
    assert run(base, "--rows", "A1,E", "--seeds", "1") == 1
    printed = capfd.readouterr()
    assert "A1, seed 1: failed with exit code 1: something is wrong (see " in printed.err
    assert "1 of the cells failed: A1, seed 1; the same command trains them again" in printed.err
    assert "| E " in printed.out
    monkeypatch.setenv("FAILING", "")
    assert run(base, "--rows", "A1,E", "--seeds", "1") == 0
    assert [line.split()[1] for line in said(calls) if line.startswith("train")] == ["base-1", "A1-1", "E-1", "A1-1"]


def test_a_plan_trains_nothing(base: Path, calls: Path, capfd) -> None:
    assert run(base, "--rows", "A1,A16", "--plan") == 0
    assert said(calls) == []
    assert not (base.parent.parent / "out").exists()
    out = capfd.readouterr().out
    assert "heads 2 → 1" in out
    assert "heads 2 → 4" in out


def test_what_is_there_can_be_shown_meanwhile(base: Path, calls: Path, capfd) -> None:
    run(base, "--rows", "A1", "--seeds", "1")
    before = said(calls)
    capfd.readouterr()
    assert run(base, "--rows", "A1,E", "--seeds", "1,2", "--show") == 0
    assert "| A1 " in capfd.readouterr().out
    assert said(calls) == before


MISTAKES = {
    "no updates": (
        ["--set", "train.stop.updates=0", "--set", "train.stop.minutes=1"],
        "rows are compared behind equal",
    ),
    "minutes": (["--set", "train.stop.minutes=1"], "train.stop.minutes: it would end rows behind unequal numbers"),
    "a mistake in the settings": (["--set", "model.heads=0"], "--set model.heads=0: "),
    "an unknown row": (["--rows", "A3"], "--rows: A3 is none; there are: base, A1"),
    "another architecture": (["--set", "model={kind='rnn', preset='tiny'}"], 'model.kind = "rnn": the table is about'),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named_before_anything_is_done(base: Path, calls: Path, capfd, arguments, message) -> None:
    assert run(base, *arguments) == 2
    assert message in capfd.readouterr().err
    assert said(calls) == []


def test_without_a_development_set_there_is_no_table(tmp_path: Path, calls: Path, capfd) -> None:
    base = write_project(tmp_path / "project", {"corpus.dev": None, "train.validation.every": 0})
    assert run(base) == 2
    assert "corpus.dev: perplexity and BLEU are those of a development set" in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [["--seeds", "1,1"], ["--seeds", "x"], ["--at-once", "0"], ["--frobnicate"]])
def test_options_that_are_none(base: Path, arguments: list[str], capfd) -> None:
    with pytest.raises(SystemExit) as caught:
        run(base, *arguments)
    assert caught.value.code == 2


def test_cells_of_other_settings_are_refused(base: Path, calls: Path, capfd) -> None:
    out = base.parent.parent / "out"
    run(base, "--rows", "A1", "--seeds", "1")
    for name, heads in (("base-1", "2"), ("A1-1", "1")):
        words = [*table3_cells.EVERY_CELL, "train.seed=1", f"model.heads={heads}", "corpus.folder=elsewhere"]
        from nmtkit.config import dump, load

        (out / "cells" / name / "config.toml").write_text(dump(load(base, words)), encoding="utf-8")
    assert run(base, "--rows", "A1", "--seeds", "1") == 0
    capfd.readouterr()
    before = said(calls)
    assert run(base, "--rows", "A1", "--seeds", "1", "--set", "model.dropout=0.2") == 1
    error = capfd.readouterr().err
    assert "base-1: was trained with other settings:\n  model.dropout: 0.1 in the run, now 0.2\n" in error
    assert "give another folder with --out" in error
    assert said(calls) == before


# A process of its own, told to stop


def until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def start(base: Path, tmp_path: Path) -> "subprocess.Popen[bytes]":
    """Start the command with the stand-in for nmtkit."""
    program = (
        "import sys; from recipe_parts import table3, table3_cells; "
        f"table3_cells._nmtkit = lambda command: [sys.executable, {str(tmp_path / 'fake.py')!r}, command]; "
        "sys.exit(table3.main(sys.argv[1:]))"
    )
    arguments = ["--config", base, "--out", tmp_path / "out", "--rows", "A1", "--seeds", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "recipes")}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stderr=subprocess.PIPE, env=environment)


STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"


def test_a_second_signal_ends_trainings_that_do_not() -> None:
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        _end([Running(None, process, 0.0, 0)], [signal.SIGTERM, signal.SIGTERM])
        assert process.returncode == -signal.SIGKILL


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert signal.SIGHUP not in heeded()
        with _told() as told, passing_on() as (_, passed):
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert (told, passed) == ([], [])
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_trainings_and_the_same_command_goes_on(
    base: Path, calls: Path, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "out").mkdir()
    hold = tmp_path / "out" / "hold-A1-1"
    hold.touch()
    process = start(base, tmp_path)
    until(lambda: any(line.startswith("train A1-1") for line in said(calls)))
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"interrupted; the same command goes on" in error
    assert "end A1-1" not in " ".join(said(calls))
    assert (tmp_path / "out" / "table.md").exists()  # as far as it is there
    hold.unlink()
    assert run(base, "--rows", "A1", "--seeds", "1") == 0
    trained = [line.split()[1] for line in said(calls) if line.startswith("train")]
    assert trained == ["base-1", "A1-1", "A1-1"]


def test_a_training_that_a_killed_table_left_keeps_others_out(base: Path, calls: Path, tmp_path: Path, capfd) -> None:
    (tmp_path / "out").mkdir()
    hold = tmp_path / "out" / "hold-base-1"
    hold.touch()
    process = start(base, tmp_path)
    until(lambda: any(line.startswith("train base-1") for line in said(calls)))
    process.kill()
    process.communicate(timeout=60)
    assert run(base, "--rows", "A1", "--seeds", "1") == 1
    assert "is at work here; wait for it or end it" in capfd.readouterr().err
    hold.unlink()
    until(lambda: any(line.startswith("end base-1") for line in said(calls)))
    until(lambda: run(base, "--rows", "A1", "--seeds", "1") == 0)
    trained = [line.split()[1] for line in said(calls) if line.startswith("train")]
    assert trained == ["base-1", "A1-1"]


# With nmtkit itself


@pytest.mark.slow
def test_a_small_table_is_trained_stopped_and_gone_on_with(tmp_path: Path) -> None:
    base, out = write_project(tmp_path / "project"), tmp_path / "out"
    arguments = ["--config", base, "--out", out, "--rows", "B32", "--seeds", "1"]
    command = [sys.executable, "-m", "recipe_parts.table3", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "recipes")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    card = out / "cells" / "base-1" / "run.json"
    until(lambda: (card.exists() and json.loads(card.read_bytes())["training"]["ended"]) or process.poll() is not None)
    process.terminate()
    _, error = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, error
    stamps = {path: path.stat().st_mtime_ns for path in (out / "cells" / "base-1").rglob("*") if path.is_file()}
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    content = json.loads((out / "table.json").read_bytes())
    base_row, keys = content["rows"]
    assert keys["settings"] == {"model.key_size": 4}
    (one,), (other,) = base_row["results"], keys["results"]
    # One attention of the encoder and two of the decoder: queries and keys of two heads lose 4 of 8 rows each.
    assert one["parameters"] - other["parameters"] == 3 * 2 * 2 * 4 * 17
    assert one["updates"] == other["updates"] == 8
    assert "nrefs:1" in one["signature"]
    assert again.stdout == (out / "table.md").read_text(encoding="utf-8")
