"""What a plan knows of the text: prepared pairs and how they are dealt out, or, without them, settings alone."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

from nmtkit.commands.batches import open_batches
from nmtkit.commands.inspect_prepared import Prepared
from nmtkit.commands.train_summary import SAMPLED_WINDOWS
from nmtkit.config import Config
from nmtkit.corpus.segmenters import BytesConfig, SizedConfig
from nmtkit.corpus.vocabulary import EOS
from nmtkit.data.batching import NEAR, PlanSummary, deal
from nmtkit.data.epochs import Batches
from nmtkit.data.manifest import load_manifest
from nmtkit.data.position import Position
from nmtkit.errors import CheckpointError, ConfigError, DataError
from nmtkit.models.activations import Shape
from nmtkit.run_folder import RunFolder

DEALT = 50
"""Updates that are dealt out to processes to say how many tensors each computes."""
LENGTHS = (32, 192, 384)
"""Positions of sentences, beside the longest possible, at which one way of computing attention ends or another does."""


class Hardware(NamedTuple):
    """What a training is planned for; it need not be there."""

    device: Literal["cpu", "cuda"]
    processes: int = 1


class Text(NamedTuple):
    """Prepared pairs and the batches made of them."""

    prepared: Prepared
    batches: Batches


class Material(NamedTuple):
    """What is known of the text."""

    vocabularies: tuple[int, int]
    """Pieces of source and target."""
    stated_by: str
    """What says so."""
    text: Text | None
    missing: str | None = None
    """Why there is no text."""


class UpdatePlan(NamedTuple):
    """What an update is, on all processes together and on each."""

    tokens_at_most: int
    """Of either side, padding included."""
    cost: PlanSummary | None
    """Of some updates, where there is text."""
    tensors_of_a_process: float
    """On average, one after another; pieces of tensors count as tensors."""
    several: bool
    """Whether some process computes more than one."""
    largest: list[Shape]
    """Tensors of one process that no other exceeds by much."""

    @property
    def target_tokens(self) -> float:
        """Target tokens of an update on average; at most, where there is no text."""
        return self.cost.target_tokens / self.cost.updates if self.cost else self.tokens_at_most

    def to_json(self) -> dict[str, Any]:
        """Return what is known, everything for one update."""
        said: dict[str, Any] = {"tokens_at_most": self.tokens_at_most}
        if self.cost is not None:
            updates = self.cost.updates
            for name in ("pairs", "source_tokens", "target_tokens", "tensors"):
                said[name] = getattr(self.cost, name) / updates
            said["padding"] = self.cost.padding
        return {**said, "tensors_of_a_process": self.tensors_of_a_process}


class EpochPlan(NamedTuple):
    """What an epoch is."""

    pairs: int
    updates: float
    exact: bool
    """False where some of its updates were planned to tell for all."""


def open_material(config: Config, run: RunFolder, vocabulary: int | None) -> Material:
    """Return what is known of the text: what is prepared for these settings, else the size of the vocabulary alone.

    `vocabulary` is that size where it was given. Raises ConfigError where nothing tells it, or two things do.
    """
    try:
        prepared = Prepared.open(config, run, "train")
        text = Text(prepared, open_batches(config, prepared.store, prepared.sizes))
    except (DataError, CheckpointError) as error:
        size, stated_by = (vocabulary, "--vocabulary") if vocabulary else _stated_vocabulary(config)
        is_there = load_manifest(run.manifest).fingerprint
        missing = str(error).split("\n", 1)[0].rstrip(":") if is_there else f"{run.data} is not prepared"
        return Material((size, size), stated_by, None, missing)
    if vocabulary is not None:
        raise ConfigError(
            f"--vocabulary {vocabulary}: {run.data} has vocabularies of its own, and lengths by them; leave it away, "
            "or give a --run where nothing is prepared"
        )
    source, target = prepared.segmenters
    return Material((source.size, target.size), str(run.data), text)


def _stated_vocabulary(config: Config) -> tuple[int, str]:
    """Return the size of each vocabulary by the settings, and the key that says so."""
    segmenter, key = config.prepare.segmenter, "prepare.segmenter"
    if isinstance(segmenter, SizedConfig):
        return segmenter.vocabulary_size, f"{key}.vocabulary_size"
    if isinstance(segmenter, BytesConfig):
        size = 256 + EOS + 1 + len(segmenter.symbols) + len(config.corpus.trained_tags)
        return size, f'{key}.kind = "bytes"'
    raise ConfigError(
        f'{key}.kind = "{segmenter.kind}": how many pieces that makes shows when the text is prepared; give '
        "--vocabulary N, or run `nmtkit prepare` first"
    )


def plan_update(config: Config, text: Text | None, hardware: Hardware) -> UpdatePlan:
    """Return what an update of these settings is."""
    batch, processes = config.train.batch, hardware.processes
    if text is None:
        positions = min(batch.tokens_per_tensor, round(batch.tokens_per_update * (1 + NEAR) / processes))
        each = batch.tokens_per_update / batch.tokens_per_tensor / processes
        shapes = list(_possible_shapes(positions, longest=config.prepare.max_pieces + 1))
        several = processes > 1 or batch.tokens_per_update > batch.tokens_per_tensor
        return UpdatePlan(batch.tokens_per_update, None, max(1.0, each), several, shapes)
    prepared, batches = text
    shares = list(_shares(batches, processes))
    sides = prepared.store.source.lengths, prepared.store.target.lengths
    shapes = [
        Shape(len(pairs), *(int(lengths[pairs].max()) + 1 for lengths in sides))
        for pairs in batches.largest(Position(), processes)
    ]
    cost = batches.summary(windows=SAMPLED_WINDOWS)
    return UpdatePlan(batch.tokens_per_update, cost, sum(shares) / len(shares), max(shares) > 1, shapes)


def _possible_shapes(positions: int, longest: int) -> Iterator[Shape]:
    """Yield tensors of so many positions a side, of sentences of several lengths."""
    for length in sorted({min(length, longest, positions) for length in (*LENGTHS, longest)}):
        yield Shape(positions // length, length, length)


def _shares(batches: Batches, processes: int) -> Iterator[int]:
    """Yield how many tensors, or pieces of them, each process computes in each of the first updates."""
    for step in islice(batches.steps(Position()), DEALT):
        for rank in range(processes):
            yield len(deal(step.update.tensors, batches.source, batches.target, rank=rank, ranks=processes))


def plan_epoch(text: Text, cost: PlanSummary) -> EpochPlan:
    """Return what an epoch is, where some of its updates have this cost."""
    pairs = text.batches.pairs_per_epoch()
    return EpochPlan(pairs, cost.updates * pairs / cost.pairs, pairs == cost.pairs)
