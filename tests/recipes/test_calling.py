"""Calling nmtkit: which one, and how its end becomes that of a recipe."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from recipe_parts.calling import Nmtkit
from recipe_parts.saying import RecipeError, duration, size


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder of programs, with those of the system behind it."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin"


def test_the_nmtkit_on_the_path_is_called(path, tmp_path):
    program(path / "nmtkit", 'echo "called with $@"')
    assert Nmtkit(tmp_path / "nothing")("score", "a b", capture=True) == "called with score a b\n"


def test_what_is_not_captured_goes_to_stderr(path, tmp_path, capfd):
    program(path / "nmtkit", "echo a plan")
    Nmtkit(tmp_path / "nothing")("train", "--plan")
    assert capfd.readouterr() == ("", "a plan\n")


def test_without_one_it_is_set_up_once(path, tmp_path):
    program(tmp_path / "venv" / "nmtkit", "echo installed")
    set_up = program(tmp_path / "set-up", f"echo x >> {tmp_path / 'times'}; echo {tmp_path / 'venv'}")
    nmtkit = Nmtkit(set_up)
    assert [nmtkit("score", capture=True) for _ in range(2)] == ["installed\n"] * 2
    assert (tmp_path / "times").read_text() == "x\n"


def test_what_cannot_be_set_up_is_said(path, tmp_path):
    set_up = program(tmp_path / "set-up", "exit 2")
    with pytest.raises(RecipeError, match="could not install nmtkit") as caught:
        Nmtkit(set_up)("train")
    assert caught.value.code == 2


@pytest.mark.parametrize(("end", "code"), [("exit 1", 1), ("exit 138", 138), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_end_of_a_command_is_passed_on(path, tmp_path, end, code):
    program(path / "nmtkit", end)
    with pytest.raises(RecipeError, match=re.escape(f"nmtkit train ended with exit code {code}")) as caught:
        Nmtkit(tmp_path / "nothing")("train")
    assert caught.value.code == code


def test_a_signal_ends_a_recipe_even_where_the_command_was_done_by_then(path, tmp_path):
    held = tmp_path / "held"
    program(path / "nmtkit", f"trap 'exit 0' TERM; touch {held}; while :; do sleep 0.02; done")

    def strike():
        while not held.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=strike).start()
    with pytest.raises(RecipeError, match="stopped after nmtkit train was done; the same command goes on") as caught:
        Nmtkit(tmp_path / "nothing")("train")
    assert caught.value.code == 143


def test_sizes_and_times_in_words():
    sizes = (0, 999, 1_000, 9_994, 657_632_379, 2_365_634_246, 10**18)
    assert [size(each) for each in sizes] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "10.0 kB",
        "658 MB",
        "2.4 GB",
        "1,000,000 TB",
    ]
    assert [duration(each) for each in (0, 59, 100, 4_000, 500_000)] == [
        "0 s",
        "59 s",
        "2 min",
        "1 h 07 min",
        "5.8 days",
    ]
