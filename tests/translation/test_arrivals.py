"""Reading ahead: chunks of what has arrived, errors in their place."""

import threading
import time
from collections.abc import Iterator

import pytest

from nmtkit.errors import DataError
from nmtkit.translation import arrivals
from nmtkit.translation.arrivals import Arrivals


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 13])
def test_full_chunks_where_nothing_is_waited_for(count: int) -> None:
    chunks = list(Arrivals((str(number) for number in range(count)), 4, grace=None))
    assert [len(chunk) for chunk in chunks] == [4] * (count // 4) + [count % 4] * (count % 4 > 0)
    assert [line for chunk in chunks for line in chunk] == [str(number) for number in range(count)]


def test_a_line_is_handed_out_before_the_next_is_written() -> None:
    answered = threading.Event()

    def lines() -> Iterator[str]:
        for number in range(3):
            yield f"line {number}"
            assert answered.wait(20)
            answered.clear()

    chunks = []
    for chunk in Arrivals(lines(), 100, grace=0.001):
        chunks.append(chunk)
        answered.set()
    assert chunks == [["line 0"], ["line 1"], ["line 2"]]


def test_a_chunk_of_long_lines_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "LARGE", 10)
    lines = ["1", "2", "123456789", "x" * 50, "", "y" * 10, "z"]
    assert list(Arrivals(lines, 3, grace=None)) == [["1", "2", "123456789"], ["x" * 50], ["", "y" * 10], ["z"]]
    pairs = [("12345", "67890"), None, ("", "")]
    assert list(Arrivals(pairs, 3, grace=None)) == [[("12345", "67890")], [None, ("", "")]]


def test_an_error_of_the_reader_is_raised_behind_the_lines_before_it() -> None:
    def lines() -> Iterator[str]:
        yield "one"
        yield "two"
        raise DataError("broken after two")

    chunks = iter(Arrivals(lines(), 1, grace=None))
    assert [next(chunks), next(chunks)] == [["one"], ["two"]]
    with pytest.raises(DataError, match="broken after two"):
        next(chunks)


def test_reads_no_further_ahead_than_two_chunks_and_stops_when_closed() -> None:
    taken = []

    def lines() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield str(number)

    arrivals = Arrivals(lines(), 5, grace=None)
    assert next(iter(arrivals)) == ["0", "1", "2", "3", "4"]
    reader = next(thread for thread in threading.enumerate() if thread.name == "reader")
    deadline = time.monotonic() + 20
    while len(taken) < 5 + 10 + 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(taken) == 5 + 10 + 1
    arrivals.close()
    reader.join(20)
    assert not reader.is_alive()
    assert len(taken) == 5 + 10 + 1
