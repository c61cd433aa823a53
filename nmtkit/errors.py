"""The errors a user can meet. Each ends the command with its exit code and its message, never a traceback.

Exit codes: 0 done, 1 expected failure (data, counts, checkpoint), 2 usage or configuration,
70 our own bug (the only one that shows a traceback), 130 interrupted by Ctrl-C, 143 by SIGTERM, 138 and 129 a training
stopped by SIGUSR1 or by a terminal that was closed.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class NmtkitError(Exception):
    """An expected failure. The message names file, line or key, value, and the remedy."""

    exit_code = 1


class DataError(NmtkitError):
    """Text or packed data that cannot be used: unequal counts, invalid UTF-8, a missing or empty file."""


class CheckpointError(NmtkitError):
    """A checkpoint or run folder that cannot be used: missing, damaged, or made with other settings."""


class UnreadableError(CheckpointError):
    """A file of a checkpoint that is there but cannot be read now, so that nobody knows whether it is whole."""


class ConfigError(NmtkitError):
    """Settings that cannot be used. `problems` holds one line for each mistake."""

    exit_code = 2

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class AlreadySaid(NmtkitError):  # noqa: N818  said, and so no error any more
    """An error that another process of the same training reports, for all of them."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised as Ctrl-C raises KeyboardInterrupt, so that what is at work can tidy up."""


def raise_terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the handler's signature
    """Handle SIGTERM."""
    raise Terminated


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError say which file it is about: a read or write that fails, as on a full disk, does not by itself."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def check_stdout(what: str) -> None:
    """Raise DataError where standard output is closed; `what` would go there."""
    if sys.stdout is None:
        raise DataError(f"standard output is closed; {what} there, so leave it open or send it to a file")
