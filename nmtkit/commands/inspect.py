"""`nmtkit inspect`: prepared pairs, the batches of an epoch, and what became of a line, for people and as JSON."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmtkit.commands.batches import open_batches
from nmtkit.commands.inspect_line import LineExplainer
from nmtkit.commands.inspect_prepared import Prepared
from nmtkit.commands.inspect_text import batch_text, line_text, pair_text
from nmtkit.commands.prepare_content import to_json
from nmtkit.config import Config
from nmtkit.data.batching import Update, padded_sizes, summarize
from nmtkit.data.epochs import Step
from nmtkit.data.position import Position
from nmtkit.errors import ConfigError
from nmtkit.log import counted
from nmtkit.run_folder import RunFolder

Write = Callable[[str], None]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def inspect_pairs(
    config: Config, run: RunFolder, write: Write, *, numbers: Sequence[str], dev: bool, as_json: bool
) -> None:
    """Show pairs of the prepared training data, or of the development set, as text, pieces and ids.

    `numbers` are such as "3", "3,5" and "3-8", counted from 1; `write` takes a line at a time. Raises ConfigError for
    others, DataError where the data is not prepared.
    """
    shown = Prepared.open(config, run, "dev" if dev else "train")
    pairs = [shown.pair(number) for number in _numbers(numbers, len(shown.store))]
    _write_all(pairs, pair_text, write, as_json=as_json)


def inspect_batch(config: Config, run: RunFolder, write: Write, *, number: int, epoch: int, as_json: bool) -> None:
    """Show an update of an epoch, both counted from 1: its tensors, their sizes and sentences.

    Raises ConfigError where the epoch has fewer, DataError where the data is not prepared.
    """
    shown = Prepared.open(config, run, "train")
    batches = open_batches(config, shown.store, shown.sizes)
    steps = batches.steps(Position(epoch - 1))
    for count, step in enumerate(steps, start=1):  # pragma: no branch  an epoch ends
        if count == number:
            _write_all([_batch(shown, step, number, epoch)], batch_text, write, as_json=as_json)
            return
        if step.behind.epoch >= epoch:
            raise ConfigError(f"--batch {number}: epoch {epoch} has {counted(count, 'update')}; give 1 to {count}")


def inspect_lines(
    config: Config, base: Path, run: RunFolder, write: Write, *, lines: Sequence[str], as_json: bool
) -> None:
    """Explain what became of lines of training corpora or the development set, named CORPUS:LINE, counted from 1.

    Raises ConfigError where there is no such corpus, DataError where it has no such line.
    """
    explainer = LineExplainer(config, base, run)
    explained = [explainer.explain(*_place(line)) for line in lines]
    _write_all(explained, line_text, write, as_json=as_json)


def _batch(shown: Prepared, step: Step, number: int, epoch: int) -> dict[str, Any]:
    lengths = shown.store.source.lengths, shown.store.target.lengths
    cost = summarize([step.update], *lengths)
    tensors = [_tensor(shown, tensor.tolist()) for tensor in step.update.tensors]
    return {"update": number, "epoch": epoch, **cost._asdict(), "padding": cost.padding, "tensors": tensors}


def _tensor(shown: Prepared, places: Sequence[int]) -> dict[str, Any]:
    tensor = np.array(places, np.int64)
    lengths = shown.store.source.lengths, shown.store.target.lengths
    source, target = (padded_sizes([tensor], *lengths)[0] // len(places)).tolist()
    return {
        "pairs": len(places),
        "source_length": source,
        "target_length": target,
        "padding": summarize([Update([tensor])], *lengths).padding,
        "sentences": [{**shown.place(place + 1), **shown.texts(place + 1)} for place in places],
    }


def _write_all(
    shown: Sequence[dict[str, Any]],
    as_text: Callable[[dict[str, Any]], Iterator[str]],
    write: Write,
    *,
    as_json: bool,
) -> None:
    if as_json:
        write(to_json(shown).removesuffix("\n"))
        return
    for count, one in enumerate(shown):
        if count:
            write("")
        for line in as_text(one):
            write(line)


def _numbers(given: Sequence[str], most: int) -> list[int]:
    """Return the numbers meant by "3", "3,5" and "3-8". Raises ConfigError for what is none, or too large."""
    numbers: list[int] = []
    for part in ",".join(given).split(","):
        found = _RANGE.fullmatch(part.strip())
        if not found:
            raise ConfigError(f"--pair {part.strip()!r}: no number of a pair; give such as 3, or 3,5 or 3-8")
        first, last = int(found[1]), int(found[2] or found[1])
        if not 1 <= first <= last <= most:
            raise ConfigError(f"--pair {part.strip()}: there are {counted(most, 'pair')}; give 1 to {most}")
        numbers += range(first, last + 1)
    return numbers


def _place(line: str) -> tuple[str, int]:
    corpus, _, number = line.rpartition(":")
    if not corpus or not (number.isascii() and number.isdecimal()) or not int(number):
        raise ConfigError(f"--line {line!r}: no line of a corpus; give its name and a number, such as train:17")
    return corpus, int(number)
