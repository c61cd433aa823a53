"""What is made ahead comes in order, never far ahead, and errors come in their place."""

import threading
import time
from collections.abc import Iterator

import pytest

from nmtkit.data.ahead import ahead


def test_everything_comes_in_order() -> None:
    assert list(ahead(range(1_000), 3)) == list(range(1_000))
    assert list(ahead([], 1)) == []


def test_no_more_is_made_than_was_asked_for() -> None:
    made = []

    def counted() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    elements = ahead(counted(), 2)
    assert [next(elements) for _ in range(3)] == [0, 1, 2]
    time.sleep(0.05)
    # Three taken, two waiting, one in the hand of the thread.
    assert 3 <= len(made) <= 6
    elements.close()
    assert len(made) <= 7
    assert not [thread for thread in threading.enumerate() if thread.name == "ahead"]


def test_it_is_made_in_a_thread_of_its_own_while_the_last_is_used() -> None:
    began = threading.Event()

    def two() -> Iterator[str]:
        yield threading.current_thread().name
        began.set()
        yield "second"

    elements = ahead(two(), 1)
    assert next(elements) == "ahead"
    assert began.wait(5)
    assert list(elements) == ["second"]


def test_an_error_is_raised_behind_what_was_made_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        yield 2
        raise OSError("the disk")

    elements = ahead(failing(), 5)
    assert [next(elements), next(elements)] == [1, 2]
    with pytest.raises(OSError, match="the disk"):
        next(elements)
    with pytest.raises(StopIteration):
        next(elements)
