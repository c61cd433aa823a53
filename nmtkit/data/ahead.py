"""Ahead: a thread that makes what comes next while what came before is used. Imports no torch."""

import threading
from collections.abc import Generator, Iterable
from queue import Empty, Full, Queue
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

PATIENCE = 0.1
"""Seconds after which a thread that waits looks whether it is still wanted."""


def ahead(made: Iterable[T], depth: int) -> Generator[T]:
    """Yield what an iterable yields, in order, made by a thread up to `depth` elements ahead.

    What the iterable raises is raised here, in its place. Closing the generator ends the thread at the element that it
    is at; it dies with the process in any case.
    """
    maker = _Maker(made, depth)
    maker.start()
    try:
        while True:
            element = maker.next()
            if isinstance(element, _Ending):
                if element.error is not None:
                    raise element.error
                return
            yield element
    finally:
        maker.unwanted.set()
        maker.join()


class _Ending(NamedTuple):
    """What comes behind the last element."""

    error: BaseException | None


class _Maker(threading.Thread, Generic[T]):
    def __init__(self, made: Iterable[T], depth: int) -> None:
        super().__init__(name="ahead", daemon=True)
        self._made = made
        self._queue: Queue[T | _Ending] = Queue(depth)
        self.unwanted = threading.Event()

    def run(self) -> None:
        """Make one element after another as long as they are wanted."""
        try:
            for element in self._made:
                self._put(element)
                if self.unwanted.is_set():
                    return
        except BaseException as error:  # raised where it is waited for
            self._put(_Ending(error))
        else:
            self._put(_Ending(None))

    def _put(self, element: T | _Ending) -> None:
        while not self.unwanted.is_set():
            try:
                self._queue.put(element, timeout=PATIENCE)
            except Full:
                continue
            return

    def next(self) -> T | _Ending:
        """Return the next element; waits in short naps, so that a signal is heard."""
        while True:
            try:
                return self._queue.get(timeout=PATIENCE)
            except Empty:
                continue
