"""Files that grow together: what a kill leaves is what was committed."""

import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.appending import PROGRESS, Appender

NAMES = ("one", "two")


def content(folder):
    return {name: (folder / name).read_bytes() for name in NAMES}


def test_what_was_not_committed_is_cut_off(tmp_path):
    with Appender(tmp_path / "new", "key", NAMES) as files:
        assert files.state is None
        files.write("one", b"abc")
        assert (files.size("one"), files.size("two")) == (3, 0)
        files.commit({"step": 1})
        files.write("one", b"def")
        files.write("two", b"x")
    with Appender(tmp_path / "new", "key", NAMES) as files:
        assert files.state == {"step": 1}
        assert content(tmp_path / "new") == {"one": b"abc", "two": b""}
        files.write("two", b"y")
        files.commit({"step": 2})
    assert content(tmp_path / "new") == {"one": b"abc", "two": b"y"}


def damage_key(folder):
    return "another"


def damage_progress(folder):
    (folder / PROGRESS).write_bytes(b'{"key": "key", "sizes"')
    return "key"


def damage_file(folder):
    (folder / "one").write_bytes(b"ab")
    return "key"


def damage_names(folder):
    (folder / "two").unlink()
    return "key"


@pytest.mark.parametrize("damage", [damage_key, damage_progress, damage_file, damage_names])
def test_everything_begins_anew_where_it_does_not_fit(tmp_path, damage):
    with Appender(tmp_path, "key", NAMES) as files:
        files.write("one", b"abc")
        files.commit({})
    with Appender(tmp_path, damage(tmp_path), NAMES) as files:
        assert files.state is None
        assert content(tmp_path) == {"one": b"", "two": b""}


def test_everything_begins_anew_in_another_version(tmp_path, monkeypatch):
    with Appender(tmp_path, "key", NAMES) as files:
        files.write("one", b"abc")
        files.commit({})
    monkeypatch.setattr("nmtkit.__version__", "another")
    with Appender(tmp_path, "key", NAMES) as files:
        assert files.state is None
        assert content(tmp_path) == {"one": b"", "two": b""}


@settings(max_examples=20)
@given(steps=st.lists(st.tuples(st.binary(max_size=5), st.booleans()), max_size=8), kill=st.integers(0, 8))
def test_a_copy_taken_at_any_moment_goes_on_to_the_same_files(tmp_path_factory, steps, kill):
    straight, killed, resumed = (tmp_path_factory.mktemp(name) for name in ("straight", "killed", "resumed"))

    def work(folder, *, stop=None):
        with Appender(folder, "key", NAMES) as files:
            begin = files.state["done"] if files.state else 0
            for number, (written, commits) in enumerate(steps[begin:], start=begin):
                if number == stop:
                    shutil.copytree(folder, resumed, dirs_exist_ok=True)
                    return
                files.write("one", written)
                files.write("two", written[::-1])
                if commits:
                    files.commit({"done": number + 1})
            files.commit({"done": len(steps)})

    work(straight)
    work(killed, stop=kill)
    work(resumed)
    assert content(resumed) == content(straight)
