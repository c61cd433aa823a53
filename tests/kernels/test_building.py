"""Building the kernels: once, kept, and a reason in words where they cannot be had."""

import stat
from pathlib import Path

import pytest

from nmtkit.kernels import building
from nmtkit.kernels.building import NotBuilt, build

pytestmark = pytest.mark.usefixtures("_own_cache")


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)


def compiler(path: Path, script: str) -> str:
    """Write a stand-in for a compiler and return the folder it lies in."""
    path.mkdir(exist_ok=True)
    file = path / "c++"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotBuilt, match=r"no C\+\+ compiler \(c\+\+, g\+\+ or clang\+\+\)"):
        build()


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing = 'test "$1" = --version && exit; echo "first line" >&2; echo more >&2; exit 1'
    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", failing) + ":/usr/bin:/bin")
    with pytest.raises(NotBuilt, match=r"did not compile the kernels: first line$"):
        build()
    assert list((tmp_path / "cache/nmtkit").iterdir()) == []


def test_what_is_no_library_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", "exit 0") + ":/usr/bin:/bin")
    with pytest.raises(NotBuilt, match=r"kernels-\w{16}\.so: "):
        build()


def test_a_compiler_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(building, "SECONDS", 0.1)
    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", "exec sleep 5") + ":/usr/bin:/bin")
    with pytest.raises(NotBuilt, match="timed out"):
        build()


@pytest.mark.slow
@pytest.mark.parametrize("home", ["kept", "none"])
def test_it_is_compiled_once_where_there_is_a_place_to_keep_it(
    home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []
    compile_ = building._compile
    monkeypatch.setattr(building, "_compile", lambda *arguments: calls.append(1) or compile_(*arguments))
    if home == "none":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.delenv("HOME")
    try:
        assert build().relu_forward_float32
    except NotBuilt as reason:
        pytest.skip(str(reason))
    build()
    assert len(calls) == (1 if home == "kept" else 2)


@pytest.mark.slow
def test_a_damaged_library_is_compiled_anew(tmp_path: Path) -> None:
    try:
        build()
    except NotBuilt as reason:
        pytest.skip(str(reason))
    (library,) = (tmp_path / "cache/nmtkit").iterdir()
    library.unlink()  # not cut short in place: it is in use
    library.write_bytes(b"")
    assert build().relu_forward_float32


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", "exit 0") + ":/usr/bin:/bin")
    monkeypatch.setattr(building.tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(NotBuilt, match="No such file or directory"):
        build()


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", "exit 0") + ":/usr/bin:/bin")
    monkeypatch.setattr(building.tempfile, "mkstemp", full)
    with pytest.raises(NotBuilt, match="No space left on device"):
        build()
