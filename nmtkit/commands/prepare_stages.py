"""The stages of a preparation: each a function from what it needs to files and a Stage that tells of them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.commands.prepare_inputs import Inputs
from nmtkit.commands.prepare_report import percent
from nmtkit.config import Config
from nmtkit.corpus.cleaning import Cleaner, CorpusCounts, Drops, KeptPair, Normalizers, read_held_out
from nmtkit.corpus.lines import EncodingError
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import ParallelText
from nmtkit.corpus.segmenters import Learned, Segmenter, SegmenterConfig, learn_segmenter, open_segmenter
from nmtkit.corpus.spool import read_spool, sample_spool, write_spool
from nmtkit.data.batching import plan_epoch, summarize
from nmtkit.data.manifest import Stage, digest
from nmtkit.data.packing import PackCounts, lost_in_segmenting, pack
from nmtkit.data.store import PairStore, prefixes, side_files, writing_pairs
from nmtkit.errors import DataError
from nmtkit.log import Log, Meter, counted
from nmtkit.run_folder import RunFolder, replacing

METER_STEP = 1_000
"""Pairs between two looks at the clock."""

USUAL_SHARE = 0.999
"""A line longer than this share of the training lines is unlike what the model has seen."""


def clean_text(config: Config, inputs: Inputs, spool: Path, log: Log, *, key: str) -> Stage:
    """Read, normalise and filter the training corpora into the spool. Raises DataError where no pair is left."""
    texts = [*inputs.train, *inputs.held_out]
    with log.progress("counting", len(texts), "texts") as meter:
        # Counting first shows at once where two files do not belong together.
        pairs = 0
        for place, text in enumerate(texts):
            count = text.count_pairs()
            pairs += count if place < len(inputs.train) else 0
            meter.advance()
    held_out, held_out_counts = _read_held_out(config, inputs)
    normalize = Normalizers(config.prepare, config.languages)
    clean = Cleaner(config.prepare, normalize, held_out)
    corpora = [CorpusCounts(text.name, drops=clean.no_drops()) for text in inputs.train]
    try:
        with log.progress("cleaning", pairs, "pairs") as meter:
            text_digest = write_spool(spool, _clean(clean, inputs.train, corpora, meter))
    except EncodingError as error:
        raise DataError(f'{error}, or let such pairs be dropped: prepare.invalid_utf8 = "drop"') from None
    if not any(counts.kept for counts in corpora):
        raise DataError(_nothing_left(corpora))
    lines = normalize.source.lines
    changed = zip(normalize.kinds, normalize.source.changed, normalize.target.changed, strict=True)
    report = {
        "corpora": [asdict(counts) for counts in corpora],
        "held_out": [asdict(counts) for counts in held_out_counts],
        "normalizers": [
            {"kind": kind, "source_changed": source / max(lines, 1), "target_changed": target / max(lines, 1)}
            for kind, source, target in changed
        ],
    }
    return Stage(key, text_digest, report=report)


def kept_pairs(text: Stage) -> int:
    """Return how many pairs the spool of a text stage holds."""
    return sum(counts["kept"] for counts in text.report["corpora"])


class Vocabularies(NamedTuple):
    """What was learned for source and target; the same twice where joint."""

    source: Learned
    target: Learned
    stage: Stage

    def write(self, run: RunFolder) -> None:
        """Write the model files."""
        for path, learned in ((run.source_segmenter, self.source), (run.target_segmenter, self.target)):
            with replacing(path) as temporary:
                temporary.write_bytes(learned.model)


def learn_vocabularies(config: Config, spool: Path, pairs: int, log: Log, *, run: RunFolder, key: str) -> Vocabularies:
    """Learn the segmenters, joint or of each side, from a sample of the `pairs` pairs of the spool."""
    settings = config.prepare.segmenter
    size = max(1, settings.sample_size // 2)
    lines = min(pairs, size) * (2 if settings.joint else 1)
    each = "" if settings.joint else " for each language"
    log.info(f"learning a vocabulary of {settings.vocabulary_size:,} pieces from {counted(lines, 'line')}{each}")
    if settings.joint:
        both = (side for pair in sample_spool(spool, pairs, size) for side in pair)
        source = target = learn_segmenter(settings, both, of="the text")
    else:
        source, target = _learn_apart(settings, spool, pairs, size)
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
    files = {run.source_segmenter.name: len(source.model), run.target_segmenter.name: len(target.model)}
    return Vocabularies(source, target, Stage(key, vocabulary_digest(*fingerprints), files, report))


def _learn_apart(settings: SegmenterConfig, spool: Path, pairs: int, size: int) -> tuple[Learned, Learned]:
    """Learn a segmenter of each side. Raises one DataError for both: the size that suits one may not suit the other."""
    learned, problems = [], []
    for side in SentencePair._fields:
        lines = (getattr(pair, side) for pair in sample_spool(spool, pairs, size))
        try:
            learned.append(learn_segmenter(settings, lines, of=f"the {side} text"))
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
    spool: Path,
    pairs: int,
    segmenters: tuple[Segmenter, Segmenter],
    log: Log,
    *,
    folder: Path,
    key: str,
) -> Stage:
    """Pack the training pairs. Raises DataError where all are too long."""
    source, target = segmenters
    with (
        log.progress("packing", pairs, "pairs") as meter,
        writing_pairs(folder, "train", (source.size, target.size)) as writer,
    ):
        counts = pack(
            read_spool(spool), source, target, writer, max_pieces=config.prepare.max_pieces, advance=meter.advance
        )
        if not counts.pairs:
            raise DataError(
                f"nothing is left to train on: all {pairs} pairs that the filters kept have more than "
                f"prepare.max_pieces = {config.prepare.max_pieces} pieces on a side; raise it"
            )
    report = _packed(counts)
    report["usual_pieces"] = _usual(PairStore.open(folder, "train").source.lengths)
    report["too_long"] = [asdict(counts.too_long.get(place, Drops())) for place in range(len(config.corpus.train))]
    return Stage(key, files=_packed_files(folder, "train"), report=report)


def pack_dev(
    config: Config, text: ParallelText, segmenters: tuple[Segmenter, Segmenter], *, folder: Path, key: str
) -> Stage:
    """Pack the development set, for perplexity, and see whether its lines survive segmenting.

    The digest is that of its clean text.
    """
    source, target = segmenters
    counts = CorpusCounts(text.name)
    normalize = Normalizers(config.prepare, config.languages)
    pairs = list(read_held_out(text, normalize, counts))
    with writing_pairs(folder, "dev", (source.size, target.size)) as writer:
        packed = pack(pairs, source, target, writer, max_pieces=config.prepare.max_pieces)
        if not packed.pairs:
            raise DataError(
                f"{text.source}: no pair of corpus.dev has text on both sides and at most prepare.max_pieces = "
                f"{config.prepare.max_pieces} pieces; give another development set"
            )
    report = _packed(packed)
    report["lines"] = counts.read
    report["left_out"] = {reason: asdict(drops) for reason, drops in counts.drops.items()}
    for drops in packed.too_long.values():
        report["left_out"]["max_pieces"] = asdict(drops)
    lines = [kept.line for kept in pairs]
    report["lost_in_segmenting"] = {
        "source": _lost(source, [kept.pair.source for kept in pairs], lines),
        "target": _lost(target, [kept.pair.target for kept in pairs], lines),
    }
    return Stage(key, digest([kept.pair for kept in pairs]), _packed_files(folder, "dev"), report)


def plan_batches(config: Config, *, folder: Path, key: str) -> Stage:
    """Plan the batches of the first epoch, to report them."""
    store = PairStore.open(folder, "train")
    source, target = store.source.lengths, store.target.lengths
    plan = plan_epoch(source, target, config.train.batch, seed=config.train.seed, epoch=0)
    cost = summarize(plan, source, target)
    return Stage(key, report={"pairs": len(store), **cost._asdict(), "padding": cost.padding})


def remove_split(folder: Path, split: str) -> None:
    """Remove the packed files of a split."""
    for path in _packed_paths(folder, split):
        path.unlink(missing_ok=True)


def _read_held_out(config: Config, inputs: Inputs) -> tuple[list[SentencePair], list[CorpusCounts]]:
    """Return the normalised pairs of development and test sets, and what was met on the way."""
    normalize = Normalizers(config.prepare, config.languages)
    pairs, all_counts = [], []
    for text in inputs.held_out:
        counts = CorpusCounts(text.name)
        pairs += [kept.pair for kept in read_held_out(text, normalize, counts)]
        all_counts.append(counts)
    return pairs, all_counts


def _clean(
    clean: Cleaner, texts: Sequence[ParallelText], corpora: Sequence[CorpusCounts], meter: Meter
) -> Iterator[KeptPair]:
    for place, (text, counts) in enumerate(zip(texts, corpora, strict=True)):
        told = 0
        for kept in clean(text, place, counts):
            if counts.read - told >= METER_STEP:
                meter.advance(counts.read - told)
                told = counts.read
            yield kept
        meter.advance(counts.read - told)


def _nothing_left(corpora: Sequence[CorpusCounts]) -> str:
    reasons: dict[str, int] = {}
    for counts in corpora:
        for reason, drops in counts.drops.items():
            reasons[reason] = reasons.get(reason, 0) + drops.count
    read = sum(counts.read for counts in corpora)
    dropped = ", ".join(f"{reason} {count} ({percent(count / read)})" for reason, count in reasons.items() if count)
    return f"nothing is left to train on: all {read} pairs were dropped ({dropped}); check files and prepare.filters"


def _packed(counts: PackCounts) -> dict[str, Any]:
    return {"pairs": counts.pairs, "source": asdict(counts.source), "target": asdict(counts.target)}


def _usual(lengths: NDArray[np.int32]) -> int:
    """Return the pieces that USUAL_SHARE of the lines have at most."""
    return int(np.quantile(lengths, USUAL_SHARE, method="higher"))


def _lost(segmenter: Segmenter, texts: Sequence[str], lines: Sequence[int]) -> dict[str, Any]:
    """Return how many texts do not survive segmenting, and the lines of the first."""
    drops = Drops()
    for place in lost_in_segmenting(segmenter, texts):
        drops.add(lines[place])
    return {**asdict(drops), "share": drops.count / len(texts)}


def _packed_paths(folder: Path, split: str) -> list[Path]:
    return [path for prefix in prefixes(folder, split) for path in side_files(prefix)]


def _packed_files(folder: Path, split: str) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in _packed_paths(folder, split)}
