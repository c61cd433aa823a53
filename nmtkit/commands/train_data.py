"""What a training reads: prepared pairs that fit the settings, and the raw development set."""

from pathlib import Path
from typing import NamedTuple

from nmtkit.commands.batches import corpus_sizes, open_batches
from nmtkit.commands.prepare_inputs import check_content, check_settings
from nmtkit.config import Config
from nmtkit.corpus.reader import PairCounts, check_files, locate
from nmtkit.data.epochs import Batches
from nmtkit.data.manifest import Manifest, prepared
from nmtkit.data.store import REMEDY, PairStore
from nmtkit.errors import DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.group import Group
from nmtkit.training.validation import DevSet


class TrainingData(NamedTuple):
    """Training pairs and, where there is one, the development set."""

    pairs: PairStore
    batches: Batches
    fingerprint: str
    """Of the packed pairs: their clean text, the vocabulary and the longest pair allowed."""
    dev: DevSet | None
    dev_fingerprint: str
    """Of the development pairs; empty where there are none."""


def open_data(config: Config, base: Path, run: RunFolder, sizes: tuple[int, int]) -> TrainingData:
    """Open the prepared data of a run, whose vocabularies have these sizes.

    Raises DataError where it was not prepared, or with other settings than these or another development set, which are
    then named.
    """
    manifest = prepared(run)
    check_settings(config, run, manifest)
    pairs = PairStore.open(run.data, "train", sizes)
    batches = open_batches(config, pairs, corpus_sizes(manifest.stages))
    dev = _dev_set(config, base, run, manifest, sizes)
    fingerprint = "" if dev is None else manifest.stages["dev"].digest
    return TrainingData(pairs, batches, manifest.stages["train"].digest, dev, fingerprint)


def check_prepared(run: RunFolder, log: Log, group: Group) -> None:
    """See that vocabularies and packed pairs are, byte for byte, what `nmtkit prepare` wrote.

    One process of each machine reads them; the others would read the same out of its memory. Raises DataError naming
    what is not as it was, in all processes, and OSError where a file cannot be read.
    """
    damaged: list[Path] = []
    if group.local_rank == 0:
        stages = prepared(run).stages.values()
        files = [run.data / name for stage in stages for name in stage.files]
        size = sum(file.stat().st_size for file in files if file.exists())
        with log.progress("checking the prepared pairs", size, "bytes") as meter:

            def advance(read: int) -> None:
                meter.advance(read)
                group.moved()

            damaged = [path for stage in stages for path in stage.damaged(run.data, advance)]
    if found := dict.fromkeys(path for theirs in group.gather(damaged) for path in theirs):
        said = "is not as `nmtkit prepare` wrote it: damaged, or changed since"
        raise DataError("\n".join(f"{path} {said}; {REMEDY}" for path in found))


def _dev_set(config: Config, base: Path, run: RunFolder, manifest: Manifest, sizes: tuple[int, int]) -> DevSet | None:
    """Return the development set, its raw lines read as `score` reads them."""
    if config.corpus.dev is None:
        return None
    if "dev" not in manifest.stages:
        raise DataError(f"{run.data}: corpus.dev is not prepared; run `nmtkit prepare` for this run folder again")
    text = locate(base, config.corpus, config.corpus.dev, config.languages)
    check_files([text])
    text.count_pairs()
    lines = list(text.pairs(PairCounts()))
    check_content(text, run, manifest)
    sources, references = [pair.source for pair in lines], [pair.target for pair in lines]
    return DevSet(PairStore.open(run.data, "dev", sizes), sources, references, config.corpus.dev.tag)
