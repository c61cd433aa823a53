"""Watchdog: a process of a training that dies or hangs is named, and the others end instead of waiting for ever.

Each process writes down, once a second and in a thread of its own, that it lives and how far it has come, where all the
others read it. Silence means that a process has died or is stopped; if all of them talk but none gets on, it is the one
that has begun fewer exchanges than the others which keeps them waiting.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from torch.distributed.distributed_c10d import Store

from nmtkit.talk import say

SECONDS_BETWEEN = 1.0
PROCESSES_A_SECOND = 64
"""More processes than that write, and read each other, less often: they all ask one of them."""
SECONDS_TO_BLAME = 8.0
"""How long to look for the process that broke an exchange: a few beats."""
SECONDS_TO_LEAVE = 3.0
"""How long to wait for a sign of the leading process, or in that for all the others to learn why it ends."""
SECONDS_TO_STOP = 1.0
"""How long to wait for a store that may never answer."""
SECONDS_TO_TALK = 0.1
"""Between two beats of a process that is about to end."""
TOO_SHORT = "; where that only took long, as writing to a slow disk may, raise train.timeout"
"""What to do where nothing was wrong."""


class Beat(NamedTuple):
    """What a process says of itself."""

    number: int = 0
    """Of the beat."""
    moves: int = 0
    """Steps of its work."""
    exchanges: int = 0
    """Begun with the others; all of them make the same in the same order."""
    update: int = 0
    """The last that is behind it."""
    where: str = ""
    """Process and host."""
    ended: str | None = None
    """Why it ends, nothing where all is well; None while it goes on."""
    heard: bool = False
    """Whether it knows that the leading process ends."""

    def written(self) -> str:
        """Return the beat as the store holds it."""
        return json.dumps(self)

    @classmethod
    def read(cls, text: bytes) -> "Beat":
        """Return what `written` wrote."""
        return cls(*json.loads(text))


def end_process(message: str) -> None:
    """Say why and end this process at once: its main thread waits for somebody who will not come."""
    say(f"nmtkit: error: {message}")
    os._exit(1)


class Watchdog:
    """Watches over processes that share a store, of which this is one; tells them of this one.

    One thread talks to the store, where it may be kept waiting for ever; another judges by what that one has heard.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        ranks: int,
        timeout: float,
        *,
        exchanges: Callable[[], int] = int,
        end: Callable[[str], None] = end_process,
    ) -> None:
        self._store, self._rank, self._ranks = store, rank, ranks
        self._timeout, self._exchanges, self._end = timeout, exchanges, end
        self._between = min(max(SECONDS_BETWEEN, ranks / PROCESSES_A_SECOND), timeout / 4)
        self._where = f"process {os.getpid()} on {socket.gethostname()}"
        self._number, self._moves, self._update, self._met = 0, 0, 0, 0
        self._word: str | None = None
        """What the others are left with (`Beat.ended`)."""
        now = time.monotonic()
        self._heard = {other: (Beat(), now) for other in range(ranks)}
        """The last beat of each rank, and when it came."""
        self._moved_at = self._answered_at = now
        """When any of them last got on, and when the store last answered."""
        self._gone = False
        """Whether the store is, with the leading process."""
        self._speaks = threading.Event()
        """Set while the main thread is about to say what is wrong."""
        self._hurry, self._stopped = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._talk, self._watch)]

    def introduce(self) -> None:
        """Tell the others of this process, before they listen. Raises RuntimeError where the store is gone."""
        self._number += 1
        heard = bool(self._heard[0][0].ended)
        own = Beat(self._number, self._moves, self._exchanges(), self._update, self._where, self._word, heard)
        self._take_in(self._rank, own)
        self._store.set(f"beat {self._rank}", own.written())

    def start(self) -> None:
        """Begin to beat and to watch; silence counts from here on."""
        self._moved_at = self._answered_at = now = time.monotonic()
        self._heard = {rank: (beat, now) for rank, (beat, _) in self._heard.items()}
        for thread in self._threads:
            thread.start()

    def moved(self, update: int | None = None) -> None:
        """Take in that work goes on, and what the last update was."""
        self._moves += 1
        if update is not None:
            self._update = update

    def met(self) -> None:
        """Take in that an exchange has come about, so that nobody's last update is before the one of this process."""
        self._moves += 1
        self._met = self._update

    def part(self, error: str = "") -> bool:
        """Leave the others a word: why this process ends, or nothing where all is well; it is watched until `stop`.

        With an error, waits some seconds for the others to learn of it. Returns whether the leading process is known to
        be alive: it reports an error of its own, or this one, when it comes to wait for this process.
        """
        self._word = error
        if not error:
            return False
        self._speaks.set()
        known = self._heard[0][0].number
        until = time.monotonic() + max(SECONDS_TO_LEAVE, 3 * self._between)
        while not self._gone and time.monotonic() < until:
            self._hurry.set()
            first, silent = self._heard[0][0], self._silent(3 * self._between)
            # The next beat may be from before it died.
            if self._rank and (first.ended or first.number > known + 1):
                return True
            if not self._rank and all(beat.heard or rank in silent for rank, (beat, _) in self._heard.items() if rank):
                break
            time.sleep(SECONDS_TO_TALK / 2)
        return False

    def stop(self) -> None:
        """End watching, once the others were told of all that is known here."""
        self._stopped.set()
        self._hurry.set()
        if self._threads[0].is_alive():
            self._threads[0].join(SECONDS_TO_STOP)

    def blame(self, error: BaseException) -> str:
        """Return the message of an exchange that failed, naming the process that is lost, if one can be found."""
        self._speaks.set()
        until = time.monotonic() + max(SECONDS_TO_BLAME, 6 * self._between)
        while time.monotonic() < until:
            for rank, (beat, _) in self._heard.items():
                if beat.ended and rank != self._rank:
                    return self._ended(rank, beat)
            if self._gone:
                return self._lost([0], "has died, or its machine cannot be reached")
            if silent := self._silent(3 * self._between):
                return self._lost(silent, "has died, or its machine cannot be reached")
            time.sleep(SECONDS_TO_TALK)
        return f"the exchange with the other processes failed: {str(error).splitlines()[0]}"

    def _talk(self) -> None:
        going_on = True
        while going_on:
            going_on = not self._stopped.is_set()  # and where it is, one last time
            try:
                self._beat()
            except RuntimeError:
                self._gone = True
                return
            if self._hurry.wait(self._between if going_on else 0):
                self._hurry.clear()
                time.sleep(SECONDS_TO_TALK)

    def _beat(self) -> None:
        """Hear of the others, and tell them of this process. Raises RuntimeError where the store is gone."""
        for rank, (before, _) in self._heard.items():
            key = f"beat {rank}"
            if rank == self._rank or not (before.number or self._store.check([key])):
                continue
            beat = Beat.read(self._store.get(key))
            self._take_in(rank, beat)
            self._answered_at = time.monotonic()
        self.introduce()

    def _take_in(self, rank: int, beat: Beat) -> None:
        before, now = self._heard[rank][0], time.monotonic()
        if before.number != beat.number:
            self._heard[rank] = beat, now
        if before.moves != beat.moves or before.ended != beat.ended:
            self._moved_at = now

    def _watch(self) -> None:
        while not self._stopped.wait(self._between):
            message = self._complaint()
            if message and not self._stopped.is_set() and not self._speaks.is_set():
                self._word = message
                self._hurry.set()
                # The others are told why, if they can be; the store ends with the leading process.
                time.sleep(2 * SECONDS_TO_TALK if self._rank else 2 * self._between + SECONDS_TO_TALK)
                self._end(message)
                return

    def _complaint(self) -> str:
        """Return what is wrong with others, if anything."""
        now = time.monotonic()
        if self._gone:
            return "" if self._word is not None else self._lost([0], "has ended, or its machine cannot be reached")
        if now - self._answered_at > self._timeout:
            return self._lost([0], f"has not answered for {self._timeout:g} seconds")
        if silent := self._missing(self._timeout):
            return self._lost(silent, f"has not answered for {self._timeout:g} seconds")
        # Whoever is not heard of any more may have got on: silence will tell.
        fresh = now - self._answered_at < 3 * self._between and not self._missing(3 * self._between)
        return self._held_up() if fresh and now - self._moved_at > self._timeout else ""

    def _held_up(self) -> str:
        """Return who keeps the others waiting."""
        for rank, (beat, _) in self._heard.items():
            if beat.ended:
                return self._ended(rank, beat)
        exchanges = {rank: beat.exchanges for rank, (beat, _) in self._heard.items()}
        behind = [rank for rank, count in exchanges.items() if count == min(exchanges.values())]
        if len(behind) < self._ranks:
            return self._lost(behind, f"has hung for {self._timeout:g} seconds") + TOO_SHORT
        return (
            f"no process has got on for {self._timeout:g} seconds, and none is behind the others: they wait for the "
            f"network or for a disk; the last update was {self._update:,}. The same command goes on from the "
            f"newest checkpoint{TOO_SHORT}"
        )

    def _silent(self, seconds: float) -> list[int]:
        now = time.monotonic()
        return [rank for rank, (_, came) in self._heard.items() if rank != self._rank and now - came > seconds]

    def _missing(self, seconds: float) -> list[int]:
        return [rank for rank in self._silent(seconds) if self._heard[rank][0].ended is None]

    def _ended(self, rank: int, beat: Beat) -> str:
        if beat.ended is not None and beat.ended.startswith(("rank ", "no process ")):  # it has found somebody to blame
            return beat.ended
        return f"rank {rank} ended behind update {beat.update:,}: {beat.ended}"

    def _lost(self, ranks: list[int], what: str) -> str:
        beat = self._heard[ranks[0]][0]
        update = max(beat.update, self._met)  # the beat may be a second old
        where = f" ({beat.where})" if beat.where else ""
        more = f", as {len(ranks) - 1} more" if len(ranks) > 1 else ""
        return (
            f"rank {ranks[0]}{where} {what}{more}; its last update was {update:,}. The same command goes on from "
            "the newest checkpoint"
        )
