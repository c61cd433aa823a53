"""The later stages of a preparation: each a function from what it needs to files and a Stage that tells of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from nmtkit.appending import Appender
from nmtkit.checksums import file_checksum
from nmtkit.commands.batches import open_batches
from nmtkit.commands.prepare_inputs import dev_tag
from nmtkit.commands.prepare_pieces import coverage, side_report
from nmtkit.commands.prepare_text import worthwhile
from nmtkit.config import Config
from nmtkit.corpus.cleaning import clean_held_out
from nmtkit.corpus.counts import Drops
from nmtkit.corpus.profile import Profile, stride_for
from nmtkit.corpus.reader import ParallelText
from nmtkit.corpus.segmenters import Learned, Segmenter, SegmenterConfig, learn_segmenter, open_segmenter
from nmtkit.corpus.spool import Spool, SpoolBlock, sample
from nmtkit.data.manifest import Stage
from nmtkit.data.packing import PACK_FILES, PackCounts, Packer, Packing, lost_in_segmenting, pack_into
from nmtkit.data.store import PairStore, PairWriter, split_files, writing_pairs
from nmtkit.errors import DataError
from nmtkit.log import Log, counted
from nmtkit.run_folder import RunFolder, replacing, sync
from nmtkit.seals import digest

USUAL_SHARE = 0.999
"""A line longer than this share of the training lines is unlike what the model has seen."""


class Vocabularies(NamedTuple):
    """What was learned for source and target; the same twice where joint."""

    source: Learned
    target: Learned
    stage: Stage

    def write(self, run: RunFolder) -> Stage:
        """Write the model files, and return the stage with their checksums."""
        files = {run.source_segmenter: self.source, run.target_segmenter: self.target}
        for path, learned in files.items():
            with replacing(path) as temporary:
                temporary.write_bytes(learned.model)
        return replace(self.stage, files=_checksums(run.data, [path.name for path in files]))


def learn_vocabularies(config: Config, base: Path, spool: Spool, log: Log, *, key: str) -> Vocabularies:
    """Learn the segmenters, joint or of each side, from a sample of the pairs of the spool.

    A path in the settings starts from the folder `base`. Raises DataError and ConfigError as `learn_segmenter` does.
    """
    settings = config.prepare.segmenter
    size = settings.sample_size // 2
    lines = min(int(spool.kept.sum()), size) * (2 if settings.joint else 1)
    each = "" if settings.joint else " for each language"
    log.info(f"learning {settings.aim} from {counted(lines, 'line')}{each}" if size else f"taking {settings.aim}")
    tags = config.corpus.trained_tags
    if settings.joint:
        both = (side for pair in sample(spool, size) for side in pair)
        source = target = learn_segmenter(settings, both, of="the text", tags=tags, base=base)
    else:
        source, target = _learn_apart(settings, spool, tags, base)
    report: dict[str, Any] = {"kind": settings.kind, "joint": settings.joint}
    fingerprints = []
    for side, learned in (("source", source), ("target", target)):
        segmenter = open_segmenter(learned.model, f"just learned for the {side}")
        fingerprints.append(segmenter.fingerprint)
        report[side] = {
            "size": segmenter.size,
            "fingerprint": segmenter.fingerprint,
            "lines": learned.lines,
            "lines_too_long": learned.too_long,
        }
    return Vocabularies(source, target, Stage(key, vocabulary_digest(*fingerprints), report=report))


def _learn_apart(settings: SegmenterConfig, spool: Spool, tags: Sequence[str], base: Path) -> tuple[Learned, Learned]:
    """Learn a segmenter of each side. Raises one DataError for both: the size that suits one may not suit the other."""
    learned, problems = [], []
    sides: tuple[tuple[Literal["source", "target"], Sequence[str]], ...] = (("source", tags), ("target", ()))
    for side, own_tags in sides:
        lines = (getattr(pair, side) for pair in sample(spool, settings.sample_size // 2))
        of = f"the {side} text"
        try:
            learned.append(learn_segmenter(settings, lines, of=of, side=side, tags=own_tags, base=base))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    source, target = learned
    return source, target


def vocabulary_digest(source: str, target: str) -> str:
    """Return what a vocabulary stage is known by: the fingerprints of both model files."""
    return f"{source} {target}"


def pack_train(
    config: Config,
    spool: Spool,
    segmenters: tuple[Segmenter, Segmenter],
    log: Log,
    *,
    run: RunFolder,
    key: str,
    processes: int,
) -> Stage:
    """Pack the training pairs, from where an interruption left it. Raises DataError where all are too long."""
    pairs, longest = int(spool.kept.sum()), config.prepare.max_pieces
    tags = tuple(corpus.tag for corpus in config.corpus.train)
    sizes = np.bincount([place.corpus for place in spool.places], [place.pairs for place in spool.places], len(tags))
    strides = tuple(stride_for(int(size)) for size in sizes)
    packing = Packing(spool.folder, run.source_segmenter, run.target_segmenter, longest, tags, strides)
    folder = spool.folder.with_name("packing")
    with log.progress("packing", pairs, "pairs") as meter, Appender(folder, key, PACK_FILES) as files:
        writer = PairWriter(files.write, "train", (segmenters[0].size, segmenters[1].size))
        size = sum(place.source_bytes + place.target_bytes for place in spool.places)
        counts = pack_into(files, writer, spool, packing, processes=worthwhile(size, processes), advance=meter.advance)
    if not counts.pairs:
        raise DataError(
            f"nothing is left to train on: all {pairs} pairs that the filters kept have more than "
            f"prepare.max_pieces = {longest} pieces on a side; raise it"
        )
    for name in PACK_FILES:
        (folder / name).replace(run.data / name)
    sync(run.data)
    report = _packed(counts)
    places = range(len(config.corpus.train))
    report["too_long"] = [asdict(counts.too_long.get(place, Drops())) for place in places]
    report["profiles"] = [asdict(counts.profiles.get(place, Profile())) for place in places]
    store = PairStore.open(run.data, "train")
    sides = zip(("source", "target"), (store.source, store.target), segmenters, counts.frequencies, strict=True)
    for side, sentences, segmenter, frequencies in sides:
        report[side].update(side_report(sentences.lengths, frequencies, segmenter))
    report["usual_pieces"] = _usual(report["source"]["lengths"])
    report["coverage"] = coverage(counts.frequencies, joint=config.prepare.segmenter.joint)
    return Stage(key, files=_checksums(run.data, PACK_FILES), report=report)


def pack_dev(
    config: Config, text: ParallelText, segmenters: tuple[Segmenter, Segmenter], *, folder: Path, key: str
) -> Stage:
    """Pack the development set, for perplexity, and see whether its lines survive segmenting.

    The digest is that of its clean text.
    """
    source, target = segmenters
    clean = clean_held_out(text, config.prepare, config.languages)
    tag = dev_tag(config)
    pack = Packer(source, target, config.prepare.max_pieces, [source.tag(tag) if tag else None])
    packed = pack(SpoolBlock(0, clean.lines, clean.sources, clean.targets))
    counts = PackCounts()
    counts.add(packed)
    if not counts.pairs:
        raise DataError(
            f"{text.source_name}: no pair of corpus.dev has text on both sides and at most prepare.max_pieces = "
            f"{config.prepare.max_pieces} pieces; give another development set"
        )
    with writing_pairs(folder, "dev", (source.size, target.size)) as writer:
        writer.write(packed.source, packed.target)
    report = _packed(counts)
    report["lines"] = clean.counts.read
    report["left_out"] = {reason: asdict(drops) for reason, drops in clean.counts.drops.items() if drops.count}
    for drops in counts.too_long.values():
        report["left_out"]["max_pieces"] = asdict(drops)
    lines = clean.lines.tolist()
    report["lost_in_segmenting"] = {
        "source": _lost(source, clean.sources, lines),
        "target": _lost(target, clean.targets, lines),
    }
    return Stage(key, digest([clean.sources, clean.targets]), _checksums(folder, split_files("dev")), report)


def plan_batches(config: Config, sizes: Mapping[str, int], *, folder: Path, key: str) -> Stage:
    """Plan the batches of the first epoch, to report them; `sizes` are the packed pairs of each training corpus."""
    cost = open_batches(config, PairStore.open(folder, "train"), sizes).summary()
    return Stage(key, report={**cost._asdict(), "padding": cost.padding})


def remove_split(folder: Path, split: str) -> None:
    """Remove the packed files of a split."""
    for name in split_files(split):
        (folder / name).unlink(missing_ok=True)


def _packed(counts: PackCounts) -> dict[str, Any]:
    return {"pairs": counts.pairs, "source": asdict(counts.source), "target": asdict(counts.target)}


def _usual(counts: Sequence[int]) -> int:
    """Return the pieces that USUAL_SHARE of the lines have at most; `counts` are the lines of 0, 1, 2 … pieces."""
    up_to = np.cumsum(counts)
    return int(np.searchsorted(up_to, math.ceil(USUAL_SHARE * (up_to[-1] - 1)), side="right"))


def _lost(segmenter: Segmenter, texts: Sequence[str], lines: Sequence[int]) -> dict[str, Any]:
    """Return how many texts do not survive segmenting, and the lines of the first."""
    drops = Drops()
    for place in lost_in_segmenting(segmenter, texts):
        drops.add(lines[place])
    return {**asdict(drops), "share": drops.count / len(texts)}


def _checksums(folder: Path, names: Sequence[str]) -> dict[str, str]:
    return {name: file_checksum(folder / name) for name in names}
