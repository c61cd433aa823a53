"""The prepared data of a run, opened to be looked at. Imports no torch."""

from typing import Any, NamedTuple

import numpy as np

from nmtkit.commands.batches import corpus_sizes
from nmtkit.commands.prepare_inputs import check_settings, dev_tag
from nmtkit.config import Config
from nmtkit.corpus.segmenters import Segmenter, load_segmenter
from nmtkit.data.manifest import prepared
from nmtkit.data.store import REMEDY, PairStore, open_lines
from nmtkit.errors import DataError
from nmtkit.run_folder import RunFolder


class Prepared(NamedTuple):
    """A split of the prepared data of a run; `sizes` are the pairs of each corpus, which lie one behind the other."""

    store: PairStore
    segmenters: tuple[Segmenter, Segmenter]
    sizes: dict[str, int]
    lines: Any
    """Numbered as the pairs; None where they are not known."""
    tags: dict[str, str]
    """What stands before the sources of each corpus; empty where nothing does."""

    @classmethod
    def open(cls, config: Config, run: RunFolder, split: str) -> "Prepared":
        """Open a split. Raises DataError where it is not prepared, or with other settings."""
        manifest = prepared(run)
        check_settings(config, run, manifest)
        store = PairStore.open(run.data, split)
        segmenters = (load_segmenter(run.source_segmenter), load_segmenter(run.target_segmenter))
        if split == "train":
            tags = {files.name: files.tag for files in config.corpus.train}
            return cls(store, segmenters, corpus_sizes(manifest.stages), open_lines(run.data), tags)
        name = config.corpus.dev.name if config.corpus.dev else split
        return cls(store, segmenters, {name: len(store)}, None, {name: dev_tag(config)})

    def place(self, number: int) -> dict[str, Any]:
        """Return where a pair, counted from 1, comes from."""
        ends = np.cumsum(list(self.sizes.values()))
        corpus = list(self.sizes)[int(np.searchsorted(ends, number - 1, side="right"))]
        line = {} if self.lines is None else {"line": int(self.lines[number - 1])}
        tag = self.tags.get(corpus, "")  # what is prepared may be a corpus that the settings no longer have
        return {"pair": number, "corpus": corpus, **line, **({"tag": tag} if tag else {})}

    def pair(self, number: int) -> dict[str, Any]:
        """Return all there is of a pair, counted from 1."""
        shown = {**self.place(number), "of": len(self.store)}
        sides = (("source", self.store.source), ("target", self.store.target))
        for (side, sentences), segmenter in zip(sides, self.segmenters, strict=True):
            ids = sentences[number - 1].tolist()
            shown[side] = {"text": segmenter.decode([ids])[0], "pieces": segmenter.pieces(ids), "ids": ids}
        return shown

    def texts(self, number: int) -> dict[str, str]:
        """Return the text of both sides of a pair, counted from 1."""
        sides = (("source", self.store.source), ("target", self.store.target))
        both = zip(sides, self.segmenters, strict=True)
        return {side: segmenter.decode([sentences[number - 1].tolist()])[0] for (side, sentences), segmenter in both}

    def range_of(self, corpus: str) -> tuple[int, int]:
        """Return the places of the pairs of a corpus: the first, and one behind the last.

        Raises DataError where it is not among those prepared.
        """
        begin = 0
        for name, size in self.sizes.items():
            if name == corpus:
                return begin, begin + size
            begin += size
        raise DataError(f"corpus {corpus!r} is not among those prepared ({', '.join(self.sizes)}); {REMEDY}")

    def number(self, corpus: str, line: int) -> int | None:
        """Return which pair, counted from 1, a line of a corpus became; None where it became none."""
        begin, end = self.range_of(corpus)
        place = begin + int(np.searchsorted(self.lines[begin:end], line))
        return place + 1 if place < end and int(self.lines[place]) == line else None
