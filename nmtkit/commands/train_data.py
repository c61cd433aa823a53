"""What a training reads: prepared pairs that fit the settings, and the raw development set."""

from pathlib import Path
from typing import NamedTuple

from nmtkit.commands.batches import corpus_sizes, open_batches
from nmtkit.commands.prepare_inputs import check_settings
from nmtkit.config import Config
from nmtkit.corpus.reader import PairCounts, check_files, locate
from nmtkit.data.epochs import Batches
from nmtkit.data.manifest import Manifest, prepared
from nmtkit.data.store import PairStore
from nmtkit.errors import DataError
from nmtkit.run_folder import RunFolder
from nmtkit.training.validation import DevSet


class TrainingData(NamedTuple):
    """Training pairs and, where there is one, the development set."""

    pairs: PairStore
    batches: Batches
    fingerprint: str
    """Of the packed pairs: their clean text, the vocabulary and the longest pair allowed."""
    dev: DevSet | None


def open_data(config: Config, base: Path, run: RunFolder) -> TrainingData:
    """Open the prepared data of a run.

    Raises DataError where it was not prepared, or with other settings than these, which are then named.
    """
    manifest = prepared(run)
    check_settings(config, run, manifest)
    pairs = PairStore.open(run.data, "train")
    batches = open_batches(config, pairs, corpus_sizes(manifest.stages))
    return TrainingData(pairs, batches, manifest.stages["train"].digest, _dev_set(config, base, run, manifest))


def _dev_set(config: Config, base: Path, run: RunFolder, manifest: Manifest) -> DevSet | None:
    """Return the development set, its raw lines read as `score` reads them."""
    if config.corpus.dev is None:
        return None
    if "dev" not in manifest.stages:
        raise DataError(f"{run.data}: corpus.dev is not prepared; run `nmtkit prepare` for this run folder again")
    text = locate(base, config.corpus, config.corpus.dev, config.languages)
    check_files([text])
    text.count_pairs()
    lines = list(text.pairs(PairCounts()))
    sources, references = [pair.source for pair in lines], [pair.target for pair in lines]
    return DevSet(PairStore.open(run.data, "dev"), sources, references, config.corpus.dev.tag)
