"""RunLock: one process at a time prepares, trains or averages in a run folder."""

import os
from pathlib import Path
from types import TracebackType

from nmtkit.errors import CheckpointError, naming

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows: nothing keeps two processes apart there
    flock = None  # type: ignore[assignment]


class RunLock:
    """Holds a lock file of the run folder while entered. The kernel lets go of it however the process ends.

    Raises CheckpointError, naming the other process, where it is held.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    def __enter__(self) -> "RunLock":
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if flock is None:
            return self
        try:
            with naming(self.path):  # some network file systems know no locks
                flock(self._descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._descriptor, 20).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise CheckpointError(
                f"{self.path.parent}: process {holder if holder.isdecimal() else 'unknown'} is at work in this folder; "
                "wait for it, end it, or use another folder with --run"
            ) from error
        return self

    def sign(self) -> None:
        """Write this process's number into the file, for others to read. Until then the file is left as it was."""
        with naming(self.path):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode("ascii"), 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
