"""What became of a line: each step of its way through prepare, to the pair it is now or the filter that took it."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from nmtkit.commands.inspect_prepared import Prepared
from nmtkit.commands.inspect_repeated import Repeated
from nmtkit.commands.prepare_inputs import dev_tag
from nmtkit.config import Config
from nmtkit.corpus.blocks import Block
from nmtkit.corpus.chunk_cleaning import ChunkCleaner, CleanChunk
from nmtkit.corpus.cleaning import clean_held_out, clean_more_references, corpus_cleaners
from nmtkit.corpus.counts import INVALID
from nmtkit.corpus.filters import BlankConfig, OverlapConfig
from nmtkit.corpus.filters.folding import Folding
from nmtkit.corpus.lines import EncodingError, clean
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import ParallelText, check_files, locate
from nmtkit.corpus.settings import ParallelFiles
from nmtkit.errors import ConfigError, DataError
from nmtkit.run_folder import RunFolder

SIDES = ("source", "target")


class LineExplainer:
    """Explains lines under the settings of a configuration in folder `base`; a run tells of pieces and duplicates."""

    def __init__(self, config: Config, base: Path, run: RunFolder) -> None:
        self._config, self._base, self._run = config, base, run
        self._names = [files.name for files in config.corpus.train]

    def explain(self, name: str, number: int) -> dict[str, Any]:
        """Return the steps of a line and, in words, its result; `kept` tells whether it is a pair now.

        Raises ConfigError where there is no such corpus, DataError where it has no such line or cannot be read.
        """
        place, text, cleaner = self._corpus(name)
        block = _find(text, number)
        shown: dict[str, Any] = {"corpus": name, "line": number, "steps": [], "kept": False, "reason": ""}
        if not block.sources:
            return {**shown, "reason": block.left_out[0][0], "result": "dropped: it lacks one of the languages"}
        raws = [raws[0].removesuffix(b"\r").decode("utf-8", "replace") for raws in (block.sources, block.targets)]
        shown["steps"].append(_step("raw", *raws))
        try:
            chunk = cleaner(block)
        except EncodingError as error:
            return {**shown, "reason": INVALID, "result": f"prepare stops here: {error}"}
        if chunk.counts.drops[INVALID].count:
            return {**shown, "reason": INVALID, "result": f"dropped by {INVALID}: a side is not UTF-8"}
        cleaned = SentencePair(*map(clean, raws))
        if list(cleaned) != raws:
            shown["steps"].append(_step("controls and separators", *cleaned))
        explanation = cleaner.explain(cleaned)
        for source, target in zip(explanation.source, explanation.target, strict=True):
            shown["steps"].append(_step(source[0], source[1], target[1]))
        if explanation.reason:
            where = self._held_out_place(place, explanation.pair) if explanation.reason.startswith("overlap") else ""
            result = f"dropped by {explanation.reason}: {explanation.objection}{where}"
            if place is None:
                result = f"left out of perplexity, but translated and scored: {explanation.objection}"
            return {**shown, "reason": explanation.reason, "result": result}
        return {**shown, **self._packed(place, number, explanation.pair, chunk)}

    def _corpus(self, name: str) -> tuple[int | None, ParallelText, ChunkCleaner]:
        """Return a training corpus by its place, or the development set (no place), and what cleans it."""
        corpus = self._config.corpus
        if name in self._names:
            place = self._names.index(name)
            return place, self._text(corpus.train[place]), self._cleaners[place].clean
        if corpus.dev is not None and name == corpus.dev.name:
            cleaner = ChunkCleaner(self._config.prepare, self._config.languages, (), (BlankConfig(),))
            return None, self._text(corpus.dev), cleaner
        known = ", ".join([*self._names, *([corpus.dev.name] if corpus.dev else [])])
        raise ConfigError(f"--line: no training corpus or development set is named {name!r}; there are {known}")

    def _text(self, files: ParallelFiles) -> ParallelText:
        if files.standard_inputs:
            raise ConfigError(f"--line: corpus {files.name!r} came from standard input, now gone; give it as a file")
        text = locate(self._base, self._config.corpus, files, self._config.languages)
        check_files([text])
        return text

    @cached_property
    def _cleaners(self) -> Sequence[Any]:
        pairs = [SentencePair(*pair) for _, chunk in self._held_out for pair in zip(*chunk[:2], strict=True)]
        return corpus_cleaners(self._config.prepare, self._config.languages, self._config.corpus.train, pairs)

    @cached_property
    def _held_out(self) -> list[tuple[str, CleanChunk]]:
        """Development and test sets by their names, where a filter compares training pairs with them."""
        corpus = self._config.corpus
        filters = [each for files in corpus.train for each in self._config.prepare.filters_of(files)]
        if not any(isinstance(each, OverlapConfig) for each in filters):
            return []
        texts = [self._text(files) for files in [*([corpus.dev] if corpus.dev else []), *corpus.test]]
        settings = self._config.prepare, self._config.languages
        return [
            (text.name, chunk)
            for text in texts
            for chunk in [clean_held_out(text, *settings), *clean_more_references(text, *settings)]
        ]

    def _held_out_place(self, place: int | None, pair: SentencePair) -> str:
        """Return where the development and test sets have a side of a pair."""
        filters = self._config.prepare.filters_of(self._config.corpus.train[place or 0])
        kinds = [each for each in filters if isinstance(each, OverlapConfig)]
        for fold in (Folding(kind.case, kind.punctuation, kind.digits) for kind in kinds):
            for name, chunk in self._held_out:
                for line, *both in zip(chunk.lines.tolist(), chunk.sources, chunk.targets, strict=True):
                    if any(fold(mine) == fold(its) for mine, its in zip(pair, both, strict=True)):
                        return f" ({name}:{line})"
        return ""

    @cached_property
    def _prepared(self) -> Prepared | DataError:
        try:
            return Prepared.open(self._config, self._run, "train")
        except DataError as error:
            return error

    def _packed(self, place: int | None, number: int, pair: SentencePair, chunk: CleanChunk) -> dict[str, Any]:
        """Return what became of a pair that the filters of single pairs kept."""
        prepared = self._prepared
        if isinstance(prepared, DataError):
            why = str(prepared).split("\n")[0].removesuffix(":")
            return {"result": f"kept by all filters of single pairs; pieces and duplicates are not known, as {why}"}
        ids = [segmenter.encode([text])[0] for segmenter, text in zip(prepared.segmenters, pair, strict=True)]
        both = zip(SIDES, prepared.segmenters, ids, strict=True)
        shown: dict[str, Any] = {"pieces": {side: segmenter.pieces(some) for side, segmenter, some in both}}
        tag = dev_tag(self._config) if place is None else self._config.corpus.train[place].tag
        if tag:
            shown["tag"] = tag
        found = prepared.number(self._names[place], number) if place is not None else None
        if found is not None:
            return {**shown, "kept": True, "pair": found, "result": f"kept: pair {found:,} of the training data"}
        longest = self._config.prepare.max_pieces
        for side, some in zip(SIDES, ids, strict=True):
            if len(some) > longest:
                objection = f"the {side} has {len(some)} pieces, more than prepare.max_pieces = {longest}"
                return {**shown, "reason": "max_pieces", "result": f"dropped by max_pieces: {objection}"}
        if place is None:
            return {**shown, "kept": True, "result": "kept: a pair of the development set"}
        reason, where = Repeated(self._config, self._texts, self._cleaners, prepared).first(place, number, chunk, ids)
        if not reason:
            return {**shown, "result": "not among the prepared pairs, though nothing speaks against it: has a file "
                    "changed? Run `nmtkit prepare` again"}  # fmt: skip
        return {**shown, "reason": reason, "repeats": where, "result": f"dropped by {reason}: it repeats {where}"}

    def _texts(self, place: int) -> ParallelText:
        return self._text(self._config.corpus.train[place])


def _find(text: ParallelText, number: int) -> Block:
    """Return a block of one pair; of none where the unit with this number lacks a language. Reads no further."""
    last = 0
    for block in text.blocks():
        last = block.last
        if last < number:
            continue
        left_out = [each for each in block.left_out if each[1] == number]
        if left_out:
            return Block(number, [], [], left_out=left_out)
        at = bisect_left(block.numbers, number)
        some = block.sources[at : at + 1], block.targets[at : at + 1]
        return Block(number, *some, block.source_place, block.target_place, [number])
    raise DataError(f"--line: corpus {text.name!r} has {last:,} lines, so there is no line {number:,}")


def _step(name: str, source: str, target: str) -> dict[str, str]:
    return {"step": name, "source": source, "target": target}
