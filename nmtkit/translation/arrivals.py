"""Arrivals: lines read ahead in a thread and handed out in chunks of what is there."""

from collections import deque
from collections.abc import Iterable, Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

T = TypeVar("T")

GRACE = 0.02
"""Seconds that further lines of a chunk are waited for: short to a person, long to a program that writes lines."""


class Arrivals(Generic[T]):
    """Reads lines while others are translated, at most two chunks ahead.

    A chunk holds at least one line and at most `chunk_lines`. With a `grace` it is handed out that many
    seconds after its first line at the latest, so whoever writes a line and waits gets the answer; without
    one, chunks are full.
    """

    def __init__(self, lines: Iterable[T], chunk_lines: int, *, grace: float | None) -> None:
        self._lines = lines
        self._chunk_lines = chunk_lines
        self._grace = grace
        self._arrived: deque[T] = deque()
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
            chunk = [self._arrived.popleft() for _ in range(min(self._chunk_lines, len(self._arrived)))]
            self._changed.notify_all()
            return chunk

    def _wait_for(self, count: int, seconds: float | None) -> None:
        self._wanted = count
        self._changed.wait_for(lambda: self._ended or len(self._arrived) >= count, seconds)

    def _read(self) -> None:
        try:
            for line in self._lines:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or len(self._arrived) < 2 * self._chunk_lines)
                    if self._closed:
                        return
                    self._arrived.append(line)
                    if len(self._arrived) >= self._wanted:
                        self._changed.notify_all()
        except BaseException as error:  # raised again by the thread that takes the lines
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
