"""Arrivals: lines read ahead in a thread and handed out in chunks of what is there."""

from collections import deque
from collections.abc import Iterable, Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

T = TypeVar("T")

GRACE = 0.02
"""Seconds that further lines of a chunk are waited for: short to a person, long to a program that writes lines."""


LARGE = 4_000_000
"""Characters of a chunk from which on it is handed out, however few lines it has."""


def size_of_text(line: object) -> int:
    """Return the characters of a line, or of the parts of one."""
    if isinstance(line, str):
        return len(line)
    return sum(map(size_of_text, line)) if isinstance(line, tuple) else 0


class Arrivals(Generic[T]):
    """Reads lines while others are translated, at most two chunks ahead.

    A chunk holds at least one line and at most `chunk_lines`, or fewer that have LARGE characters together.
    With a `grace` it is handed out that many seconds after its first line at the latest, so whoever writes a
    line and waits gets the answer; without one, chunks are full.
    """

    def __init__(self, lines: Iterable[T], chunk_lines: int, *, grace: float | None) -> None:
        self._lines = lines
        self._chunk_lines = chunk_lines
        self._grace = grace
        self._arrived: deque[T] = deque()
        self._characters = 0
        self._wanted = 1
        self._ended = self._closed = False
        self._error: BaseException | None = None
        self._changed = Condition()
        # A thread that waits for standard input cannot be stopped; it must not keep the process alive.
        Thread(target=self._read, name="reader", daemon=True).start()

    def __iter__(self) -> Iterator[list[T]]:
        """Yield chunks until the lines end. An error of the reader is raised here, behind the lines before it."""
        while chunk := self._take():
            yield chunk
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Let the reader stop at its next line."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self) -> list[T]:
        with self._changed:
            self._wait_for(1, None)
            self._wait_for(self._chunk_lines, self._grace)
            chunk, size = list[T](), 0
            while self._arrived and len(chunk) < self._chunk_lines and size < LARGE:
                chunk.append(self._arrived.popleft())
                size += size_of_text(chunk[-1])
            self._characters -= size
            self._changed.notify_all()
            return chunk

    def _wait_for(self, count: int, seconds: float | None) -> None:
        self._wanted = count
        self._changed.wait_for(lambda: self._ended or self._are_there(count), seconds)

    def _are_there(self, count: int) -> bool:
        return len(self._arrived) >= count or self._characters >= LARGE

    def _has_room(self) -> bool:
        return len(self._arrived) < 2 * self._chunk_lines and self._characters < 2 * LARGE

    def _read(self) -> None:
        try:
            for line in self._lines:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._has_room())
                    if self._closed:
                        return
                    self._arrived.append(line)
                    self._characters += size_of_text(line)
                    if self._are_there(self._wanted):
                        self._changed.notify_all()
        except BaseException as error:  # raised again by the thread that takes the lines
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
