"""Files that grow together and outlive a kill: what was committed stays, what came after it is cut off."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import nmtkit
from nmtkit.errors import naming
from nmtkit.run_folder import write_text
from nmtkit.seals import seal, unseal

PROGRESS = "progress.json"


class Appender:
    """Appends to files of a folder of its own, in steps.

    A step is made permanent by `commit`, together with a state of JSON's types. Opened again with the same key after an
    interruption at any moment, the files end where the last commit left them and `state` is what it said; with another
    key, or left by another version of nmtkit, they begin anew.
    """

    def __init__(self, folder: Path, key: str, names: Sequence[str]) -> None:
        self.folder, self._key = folder, f"{nmtkit.__version__} {key}"
        self._progress = folder / PROGRESS
        folder.mkdir(parents=True, exist_ok=True)
        sizes, self.state = self._committed(names)
        self._files: dict[str, BinaryIO] = {}
        try:
            for name, size in sizes.items():
                self._open(name, size)
        except BaseException:
            self._close()
            raise

    def _committed(self, names: Sequence[str]) -> tuple[dict[str, int], dict[str, Any] | None]:
        """Return the sizes of the last commit and its state; 0 and None where there is none to go on from."""
        try:
            content = unseal(self._progress.read_bytes())
            sizes = {name: int(content["sizes"][name]) for name in names}
            whole = all((self.folder / name).stat().st_size >= size for name, size in sizes.items())
            if whole and content["key"] == self._key and isinstance(content["state"], dict):
                return sizes, content["state"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        self._progress.unlink(missing_ok=True)
        return dict.fromkeys(names, 0), None

    def _open(self, name: str, size: int) -> None:
        path = self.folder / name
        with naming(path):
            file = self._files[name] = path.open("r+b" if path.exists() else "w+b", buffering=1 << 20)
            file.truncate(size)
            file.seek(size)

    def write(self, name: str, content: bytes | memoryview) -> None:
        """Append to a file."""
        with naming(self.folder / name):
            self._files[name].write(content)

    def size(self, name: str) -> int:
        """Return the bytes of a file, uncommitted ones included."""
        return self._files[name].tell()

    def commit(self, state: dict[str, Any]) -> None:
        """Make everything written so far permanent, with a state."""
        for name, file in self._files.items():
            with naming(self.folder / name):
                file.flush()
                os.fsync(file.fileno())
        sizes = {name: file.tell() for name, file in self._files.items()}
        content = seal({"key": self._key, "sizes": sizes, "state": state})
        write_text(self._progress, json.dumps(content) + "\n")

    def __enter__(self) -> Self:
        """Write in a block; what the block did not commit is lost."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        for file in self._files.values():
            with suppress(OSError):  # what was committed is on the disk, and nothing else counts
                file.close()
