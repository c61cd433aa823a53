"""The watchdog: who is silent, who hangs, who has ended and why."""

import os
import sys
import threading
import time

import pytest
from torch.distributed import HashStore, Store

from nmtkit.training import watchdog
from nmtkit.training.watchdog import Beat, Watchdog

TIMEOUT = 0.8


class Kennel:
    """Watchdogs of several ranks over one store; what they complain of is collected."""

    def __init__(self, ranks: int, store: Store | None = None) -> None:
        self.store = store or HashStore()
        self.said: dict[int, str] = {}
        self.exchanges = dict.fromkeys(range(ranks), 0)
        self.dogs = [self._dog(rank, ranks) for rank in range(ranks)]

    def _dog(self, rank: int, ranks: int) -> Watchdog:
        return Watchdog(
            self.store,
            rank,
            ranks,
            TIMEOUT,
            exchanges=lambda: self.exchanges[rank],
            end=lambda message: self.said.update({rank: message}),
        )

    def start(self, *ranks: int) -> None:
        for rank in ranks or range(len(self.dogs)):
            self.dogs[rank].start()

    def work(self, seconds: float, *moving: int) -> None:
        """Let time pass, in which some ranks get on."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.said:
            for rank in moving:
                self.dogs[rank].moved()
            time.sleep(0.02)

    def close(self) -> None:
        for dog in self.dogs:
            dog.stop()


@pytest.fixture(autouse=True)
def in_haste(monkeypatch):
    monkeypatch.setattr(watchdog, "SECONDS_TO_LEAVE", 0.5)


@pytest.fixture
def kennel():
    made = Kennel(3)
    yield made
    made.close()


@pytest.mark.parametrize("ended", [None, "", 'rank 2: no "such" file'])
def test_a_beat_is_read_as_it_was_written(ended):
    beat = Beat(3, 4, 17, 5, "process 77 on a host", ended, heard=True)
    assert Beat.read(beat.written().encode()) == beat


def test_all_is_well_while_all_get_on(kennel):
    kennel.start()
    kennel.work(2 * TIMEOUT, 0, 1, 2)
    assert not kennel.said


def test_one_that_is_silent_is_named_with_its_last_update(kennel):
    kennel.dogs[1].moved(57)
    kennel.dogs[1]._beat()  # and never again
    kennel.start(0, 2)
    kennel.work(10, 0, 2)
    assert set(kennel.said) <= {0, 2}
    for message in kennel.said.values():
        assert message.startswith("rank 1 (process ")
        assert f"has not answered for {TIMEOUT:g} seconds; its last update was 57." in message


def test_time_counts_once_all_have_joined(kennel):
    """The last of them may have been long in coming."""
    for dog in kennel.dogs:
        dog.introduce()
    time.sleep(1.5 * TIMEOUT)
    kennel.start()
    kennel.work(TIMEOUT / 2)
    assert not kennel.said


def test_nobody_is_behind_the_last_exchange(kennel):
    """Though what was heard last of the lost process may be a second old."""
    kennel.dogs[1].moved(57)
    kennel.dogs[1]._beat()
    kennel.dogs[0].moved(59)
    kennel.dogs[0].met()
    kennel.dogs[0].moved(60)
    kennel.start(0)
    assert "; its last update was 59." in kennel.dogs[0].blame(RuntimeError("connection closed by peer"))


def test_one_that_never_said_a_word_is_silent(kennel):
    kennel.start(0, 1)
    kennel.work(10, 0, 1)
    assert set(kennel.said.values()) == {
        f"rank 2 has not answered for {TIMEOUT:g} seconds; its last update was 0. The same command goes on from the "
        "newest checkpoint"
    }


@pytest.mark.parametrize("behind", [0, 2])
def test_of_all_that_hang_the_one_is_named_that_came_to_fewer_exchanges(kennel, behind):
    """Whatever else it did: of a validation, or of a layer, one process may compute more than another."""
    for rank, dog in enumerate(kennel.dogs):
        kennel.exchanges[rank] = 5 if rank == behind else 6
        for _ in range(9 if rank == behind else 2):
            dog.moved(9)
    kennel.start()
    kennel.work(10)
    message = next(iter(kennel.said.values()))
    assert message.startswith(f"rank {behind} (process ")
    assert f"has hung for {TIMEOUT:g} seconds; its last update was 9." in message
    assert message.endswith("; where that only took long, as writing to a slow disk may, raise train.timeout")


def test_several_that_hang(kennel):
    kennel.exchanges[1] = 1
    kennel.start()
    kennel.work(10)
    assert f"has hung for {TIMEOUT:g} seconds, as 1 more; its last update was 0." in next(iter(kennel.said.values()))


def test_all_that_hang_in_the_same_exchange(kennel):
    kennel.start()
    kennel.work(10)
    message = next(iter(kennel.said.values()))
    assert message.startswith(f"no process has got on for {TIMEOUT:g} seconds, and none is behind the others: ")
    assert message.endswith("; where that only took long, as writing to a slow disk may, raise train.timeout")


def test_one_that_has_ended_well_is_not_missed(kennel):
    kennel.start()
    kennel.dogs[1].part()
    kennel.work(0.5, 0, 2)
    kennel.dogs[1].stop()
    kennel.work(2 * TIMEOUT, 0, 2)
    assert not kennel.said


def test_one_that_hangs_when_others_have_ended_well(kennel):
    kennel.start()
    for rank in (0, 2):
        kennel.exchanges[rank] = 1
        kennel.dogs[rank].part()
    kennel.work(10)
    assert next(iter(kennel.said.values())).startswith("rank 1 (process ")


def test_one_that_has_ended_with_an_error_and_does_not_go(kennel):
    kennel.start()
    kennel.dogs[1].part("the disk is full")
    kennel.work(10)
    assert set(kennel.said.values()) == {"rank 1 ended behind update 0: the disk is full"}


def test_one_that_hangs_when_another_has_given_it_up(kennel):
    kennel.start()
    told = "rank 0 (process 77 on a host) has hung"
    for rank in (1, 2):
        kennel.dogs[rank].part(told)
        kennel.dogs[rank].stop()
    kennel.work(10)
    assert kennel.said == {0: told}


def test_a_store_that_keeps_everybody_waiting(kennel):
    """As it does where the process is stopped that has it, or the network broken: no call returns."""
    back = threading.Event()

    class Waiting(HashStore):
        def get(self, key: str) -> bytes:
            back.wait()
            return super().get(key)

    waiting = Kennel(2, Waiting())
    waiting.dogs[0]._beat = lambda: None
    waiting.start(1)
    waiting.work(10, 1)
    back.set()
    waiting.close()
    assert waiting.said[1].startswith(f"rank 0 has not answered for {TIMEOUT:g} seconds; its last update was 0.")


def test_a_broken_exchange_is_blamed_on_who_ended_with_an_error(kennel):
    kennel.dogs[2].moved(12)
    kennel.start()
    ending = threading.Thread(target=kennel.dogs[2].part, args=("corpus: no such file",))
    ending.start()
    said = kennel.dogs[0].blame(RuntimeError("connection closed by peer"))
    ending.join()
    assert said == "rank 2 ended behind update 12: corpus: no such file"


def test_who_ended_because_of_another_is_not_to_blame(kennel):
    kennel.start()
    told = "rank 1 (process 77 on a host) has died; its last update was 3"
    ending = threading.Thread(target=kennel.dogs[2].part, args=(told,))
    ending.start()
    assert kennel.dogs[0].blame(RuntimeError("connection closed by peer")) == told
    ending.join()


def test_a_broken_exchange_is_blamed_on_who_is_silent(kennel):
    kennel.dogs[1].moved(3)
    kennel.dogs[1]._beat()
    kennel.start(0, 2)
    said = kennel.dogs[0].blame(RuntimeError("connection closed by peer"))
    assert said.startswith("rank 1 (process ")
    assert "has died, or its machine cannot be reached; its last update was 3." in said


def test_a_broken_exchange_that_nobody_is_to_blame_for(kennel, monkeypatch):
    monkeypatch.setattr(watchdog, "SECONDS_TO_BLAME", 0.1)
    kennel.start()
    moving = threading.Thread(target=kennel.work, args=(2 * TIMEOUT, 1, 2))
    moving.start()
    said = kennel.dogs[0].blame(RuntimeError("connection closed by peer\nstack"))
    moving.join()
    assert said == "the exchange with the other processes failed: connection closed by peer"


class Gone(Store):
    """A store whose process has ended."""

    def set(self, key: str, value: str) -> None:
        raise RuntimeError("broken pipe")


def test_without_a_store_the_leading_process_is_gone():
    alone = Kennel(2, Gone())
    alone.start(1)
    alone.work(10)
    assert alone.said[1].startswith("rank 0 has ended, or its machine cannot be reached; its last update was 0.")
    assert alone.dogs[1].blame(RuntimeError("connection closed by peer")).startswith("rank 0 has died, or its machine ")


def test_without_a_store_one_that_has_ended_well_complains_of_nothing():
    """The leading process may be gone a moment before it."""
    alone = Kennel(2, Gone())
    alone.dogs[1].part()
    alone.start(1)
    alone.work(TIMEOUT)
    assert not alone.said


def test_the_leading_process_stays_until_all_know_that_it_ends(kennel):
    """As long as it lives, the store does."""
    kennel.start()
    leading = threading.Thread(target=lambda: (kennel.dogs[0].part("this"), kennel.dogs[0].stop()))
    leading.start()
    leading.join()
    assert all(kennel.dogs[rank]._heard[0][0].ended == "this" for rank in (1, 2))


@pytest.mark.parametrize("other", ["also this", ""])
def test_who_ends_is_silent_where_the_leading_process_lives(kennel, other):
    """It says what its own error is, or this one when it waits for the process that has ended."""
    kennel.start()
    leading = threading.Thread(target=kennel.dogs[0].part, args=(other,))
    leading.start()
    assert kennel.dogs[1].part("this")
    leading.join()


def test_who_ends_speaks_where_the_leading_process_is_silent(kennel):
    for rank in range(3):
        kennel.dogs[rank].introduce()
    kennel.start(1, 2)
    assert not kennel.dogs[1].part("this")


def test_the_leading_process_does_not_wait_for_the_dead(kennel, monkeypatch):
    monkeypatch.setattr(watchdog, "SECONDS_TO_LEAVE", 60)
    kennel.dogs[2].introduce()
    kennel.start(0, 1)
    kennel.dogs[0].part("this")


@pytest.mark.parametrize("closed", [True, False])
def test_a_process_ends_though_nobody_hears_why(closed, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with os.fdopen(writing, "w") as unheard:
        monkeypatch.setattr(sys, "stderr", None if closed else unheard)
        watchdog.end_process("rank 1 has died")
    assert ended == [1]
