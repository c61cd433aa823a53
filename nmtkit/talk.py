"""Talk: what is said on stderr. That nobody hears it any more ends no work of days, and changes no exit code."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Talk:
    """The stderr of the moment, as a file to write to. What it cannot take is dropped.

    A pipe whose reader went away, or a terminal that was closed, is told nothing more; a full disk is tried again.
    """

    @property
    def _stream(self) -> Any:
        """The file itself, not what Rich puts before it while there is a bar: that would come back here."""
        return getattr(sys.stderr, "rich_proxied_file", sys.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> None:
        """Write text."""
        self._attempt(lambda stream: stream.write(text))

    def flush(self) -> None:
        """Send what was written."""
        self._attempt(lambda stream: stream.flush())

    def _attempt(self, work: Callable[[Any], object]) -> None:
        stream = self._stream
        if stream is None:  # closed before Python began
            return
        try:
            work(stream)
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.EIO):  # Python would try once more at its end, and complain
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(line: str) -> None:
    """Say a line on stderr, where there is one."""
    talk = Talk()
    talk.write(f"{line}\n")
    talk.flush()
