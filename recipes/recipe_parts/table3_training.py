"""Training the cells of Table 3, several at once, until all are finished or somebody says stop."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from nmtkit.workers import cores
from recipe_parts.calling import heeded
from recipe_parts.saying import RecipeError, duration, say
from recipe_parts.table3_cells import Base, Cell, start

SECONDS_BETWEEN_LOOKS = 0.2


class Running(NamedTuple):
    """A cell that is being trained."""

    cell: Cell
    process: "subprocess.Popen[bytes]"
    began: float
    place: int
    """Which of those at once it is, from 0."""


def train(cells: Sequence[Cell], base: Base, *, at_once: int, inherited: tuple[int, ...]) -> list[Cell]:
    """Train the cells that are not finished, in their order; return those that failed.

    Ends the process after a signal, when the trainings have written their checkpoints.
    """
    waiting = [cell for cell in cells if cell.result() is None]
    if len(waiting) < len(cells):
        say(f"finished before: {len(cells) - len(waiting)} of {len(cells)} cells")
    threads, gpus = (_threads(at_once) if at_once > 1 else 0), _gpus()
    running: list[Running] = []
    failed: list[Cell] = []
    done = len(cells) - len(waiting)
    with _told() as stop:
        while (waiting or running) and not stop:
            while waiting and len(running) < at_once:
                cell, place = waiting.pop(0), min(set(range(at_once)) - {each.place for each in running})
                gpu = gpus[place % len(gpus)] if gpus else None
                say(f"{cell.name}: training in {cell.run}" + (f" on GPU {gpu}" if gpu else ""))
                process = start(cell, base, inherited, threads=threads, gpu=gpu)
                running.append(Running(cell, process, time.monotonic(), place))
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for each in [each for each in running if each.process.poll() is not None]:
                running.remove(each)
                done += 1
                if not _succeeded(each, f"{done} of {len(cells)}"):
                    failed.append(each.cell)
        if stop:
            _end(running, stop)
            say("interrupted; the same command goes on")
            raise SystemExit(128 + stop[0])
    return failed


def _threads(at_once: int) -> int:
    """Return how many threads each of several trainings has: an equal part of the cores that there are for them."""
    return max(1, len(cores()) // at_once)


def _gpus() -> list[str]:
    """Return the GPUs that trainings may have, one each, by the names that CUDA_VISIBLE_DEVICES has for them."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is not None:
        return [name.strip() for name in asked.split(",") if name.strip()]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def _succeeded(each: Running, count: str) -> bool:
    """Say how a training ended; return whether the cell is finished."""
    cell, code, result = each.cell, each.process.returncode, each.cell.result()
    if code or result is None:
        lines = cell.log.read_text("utf-8", "replace").strip().split("\n")
        say(f"{cell.name}: failed with exit code {code}: {lines[-1]} (see {cell.log})")
        return False
    say(
        f"{cell.name}: perplexity {result.perplexity:.2f}, {result.metric} {result.score:.2f} after "
        f"{duration(time.monotonic() - each.began)} ({count} cells)"
    )
    return True


def _end(running: Sequence[Running], told: Sequence[int]) -> None:
    """Let all trainings write a checkpoint and end; a second signal ends them as they are."""
    say("stopping: trainings write their checkpoints; once more ends them at once")
    for each in running:
        # They have sessions of their own, so no terminal tells them.
        each.process.send_signal(signal.SIGTERM if told[0] == signal.SIGHUP else told[0])
    first = 2 if told[0] == signal.SIGHUP else 1  # a terminal that closes may send SIGTERM right behind
    while any(each.process.poll() is None for each in running):
        if len(told) > first:
            for each in running:
                each.process.kill()
        time.sleep(SECONDS_BETWEEN_LOOKS)


@contextmanager
def _told() -> Iterator[list[int]]:
    """Note signals in the list that is given, and nothing else."""
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        noted.append(number)

    usual = {number: signal.signal(number, note) for number in heeded()}
    try:
        yield noted
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def failure(failed: Sequence[Cell]) -> RecipeError:
    """Return what to say of cells that failed."""
    names = "; ".join(cell.name for cell in failed)
    return RecipeError(f"{len(failed)} of the cells failed: {names}; the same command trains them again")
