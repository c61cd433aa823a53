"""The batches of a training as the settings ask for them: what `train` feeds on and `prepare` reports."""

from collections.abc import Mapping

from nmtkit.config import Config
from nmtkit.data.epochs import Batches
from nmtkit.data.manifest import Stage
from nmtkit.data.mixing import corpus_ranges
from nmtkit.data.store import REMEDY, PairStore
from nmtkit.errors import DataError


def open_batches(config: Config, pairs: PairStore, sizes: Mapping[str, int]) -> Batches:
    """Return the batches over training pairs, which lie in the store corpus by corpus, in these sizes.

    Raises DataError where these are not the corpora of the settings.
    """
    names = [corpus.name for corpus in config.corpus.train]
    if names != list(sizes) or sum(sizes.values()) != len(pairs):
        raise DataError(
            f"corpus.train names {', '.join(names) or 'no corpus'}, but prepared are {', '.join(sizes)}, "
            f"{len(pairs):,} pairs; {REMEDY}"
        )
    weights = [corpus.weight for corpus in config.corpus.train]
    corpora = corpus_ranges(list(sizes.values()), weights, config.corpus.temperature)
    lengths = pairs.source.lengths, pairs.target.lengths
    return Batches(*lengths, corpora, config.train.batch, seed=config.train.seed)


def corpus_sizes(stages: Mapping[str, Stage]) -> dict[str, int]:
    """Return the packed pairs of each training corpus: those that cleaning kept and packing did not find too long."""
    corpora, too_long = stages["text"].report["corpora"], stages["train"].report["too_long"]
    return {corpus["name"]: corpus["kept"] - drops["count"] for corpus, drops in zip(corpora, too_long, strict=True)}
