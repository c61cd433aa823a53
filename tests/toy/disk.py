"""A disk that fails, for tests: root may read and write everything, and nobody's disk is full when a test needs it."""

import errno
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_TEMPORARY = re.compile(r"\.(.+)\.\d+\.tmp$")


class _Unreadable(io.FileIO):
    """Opens, but cannot be read: a damaged sector, a network that went away."""

    def readinto(self, buffer: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def read(self, size: int | None = -1) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def readall(self) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


class _Full(io.FileIO):
    """Opens, but takes nothing."""

    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Makes files fail by name (a temporary name counts as the one it stands for), or writing step by step."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._faults: dict[str, str] = {}
        self._spared: dict[str, int] = {}
        self._read_only: Path | None = None
        self._room: int | None = None
        self.steps = 0
        """Writing steps so far: files opened for writing, flushed, renamed."""
        self._real_open = Path.open
        patch.setattr(Path, "open", self._opening())
        patch.setattr(os, "fsync", lambda descriptor: self._step(None))  # no test waits for a disk
        for name in ("replace", "rename"):
            self._guard(Path, name)
        for name in ("mkdir", "unlink"):
            self._guard(Path, name, counts=False)
        patch.setattr(os, "open", self._os_open(os.open))

    def deny(self, name: str) -> None:
        """Let opening a file fail for want of permission."""
        self._faults[name] = "deny"

    def fail_to_read(self, name: str, *, spared: int = 0) -> None:
        """Let reading a file fail, but for the first times that it is opened."""
        self._faults[name], self._spared[name] = "read", spared

    def fill(self, name: str) -> None:
        """Let no byte more go into a file."""
        self._faults[name] = "write"

    def fill_after(self, steps: int) -> None:
        """Let this many further writing steps succeed, and none after them."""
        self.steps, self._room = 0, steps

    def protect(self, folder: Path) -> None:
        """Let nothing in a folder be changed."""
        self._read_only = folder.resolve()

    def repair(self) -> None:
        """Let everything work again."""
        self._faults.clear()
        self._read_only = self._room = None

    def read(self, path: Path) -> bytes:
        """Return what a file holds, whatever is wrong with it."""
        with self._real_open(path, "rb") as stream:
            content: bytes = stream.read()
        return content

    def _opening(self) -> Callable[..., Any]:
        def opened(path: Path, *args: Any, **kwargs: Any) -> Any:  # a function, to become a method of Path
            return self._open(path, *args, **kwargs)

        return opened

    def _open(self, path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        match = _TEMPORARY.fullmatch(path.name)
        fault = self._faults.get(match[1] if match else path.name)
        writes = mode.startswith(("w", "a", "x")) or "+" in mode
        if writes:
            self._refuse(path)
            self._step(path)
        if fault == "deny":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if fault == "read" and not writes:
            self._spared[path.name] -= 1
        if fault == "read" and not writes and self._spared[path.name] < 0:
            return io.BufferedReader(_Unreadable(path))
        if fault == "write" and writes:
            binary = io.BufferedWriter(_Full(path, mode.replace("b", "")))
            return binary if "b" in mode else io.TextIOWrapper(binary, encoding="utf-8")
        return self._real_open(path, mode, *args, **kwargs)

    def _step(self, path: Path | None) -> None:
        self.steps += 1
        if self._room is not None and self.steps > self._room:
            name = [str(path)] if path else []
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *name)

    def _refuse(self, path: Path) -> None:
        if self._read_only is not None and path.resolve().is_relative_to(self._read_only):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    def _guard(self, owner: type, name: str, *, counts: bool = True) -> None:
        real = getattr(owner, name)

        def guarded(path: Path, *args: Any, **kwargs: Any) -> Any:
            if name == "mkdir" and kwargs.get("exist_ok") and path.is_dir():
                return None
            if name == "unlink" and kwargs.get("missing_ok") and not path.exists():
                return None
            self._refuse(path)
            if counts:
                self._step(path)
            return real(path, *args, **kwargs)

        self._patch.setattr(owner, name, guarded)

    def _os_open(self, real: Callable[..., int]) -> Callable[..., int]:
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT

        def guarded(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if flags & writing and isinstance(path, str | os.PathLike):
                self._refuse(Path(path))
            return real(path, flags, *args, **kwargs)

        return guarded
