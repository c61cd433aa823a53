"""The settings of languages, corpus files and their preparation."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from nmtkit.corpus.filters import BlankConfig, DuplicateConfig, FilterConfig, LengthConfig, OverlapConfig, RatioConfig
from nmtkit.corpus.normalizers import NormalizerConfig, UnicodeConfig, WhitespaceConfig
from nmtkit.corpus.segmenters import BpeConfig, SegmenterConfig
from nmtkit.section import Conflict, Section


class LanguagesConfig(Section):
    """The direction of translation."""

    source: str = Field(min_length=1, description="Language code of the source (en, de, …).")
    target: str = Field(min_length=1, description="Language code of the target.")


class ParallelFiles(Section):
    """A named parallel text: two files (`source`, `target`) or one of tab-separated pairs (`tsv`), plain or .gz."""

    name: str = Field(min_length=1, description="Name used in reports.")
    source: str = Field("", description="File of source sentences, one a line.")
    target: str = Field("", description="File of target sentences; line n translates line n of source.")
    tsv: str = Field("", description="File of pairs, source TAB target, one a line; instead of source and target.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report a text given twice, half, or not at all."""
        if self.tsv and (self.source or self.target):
            yield Conflict("tsv", "given beside source or target; give either tsv or both source and target")
        elif not self.tsv and not (self.source and self.target):
            yield Conflict("source", "source and target are needed both (or tsv alone)")


class TestFiles(ParallelFiles):
    """A test set: a parallel text whose pairs may be labelled."""

    labels: str = Field(
        "", description="File of what each pair is about (a domain, a phenomenon), one label a line, scored apart too."
    )


class CorpusConfig(Section):
    """Where the parallel texts lie."""

    folder: str = Field(
        "", description="Folder the file names below start from; empty or relative: seen from the config file's folder."
    )
    train: tuple[ParallelFiles, ...] = Field(
        (), strict=False, description="Training corpora, [[corpus.train]] each; read in this order."
    )
    dev: ParallelFiles | None = Field(None, description="Development set, translated and scored during training.")
    test: tuple[TestFiles, ...] = Field((), strict=False, description="Test sets, [[corpus.test]] each.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report names given twice."""
        places = [(f"train[{place}]", files) for place, files in enumerate(self.train)]
        places += [("dev", self.dev)] if self.dev else []
        places += [(f"test[{place}]", files) for place, files in enumerate(self.test)]
        first: dict[str, str] = {}
        for place, files in places:
            if first.setdefault(files.name, place) != place:
                yield Conflict(f"{place}.name", f"corpus.{first[files.name]} has this name already; names must differ")


class PrepareConfig(Section):
    """From raw text to packed ids."""

    normalizers: tuple[NormalizerConfig, ...] = Field(
        (UnicodeConfig(), WhitespaceConfig()),
        strict=False,
        description="Applied in this order to both sides of training and to the source of every translation.",
    )
    filters: tuple[FilterConfig, ...] = Field(
        (BlankConfig(), LengthConfig(), RatioConfig(), DuplicateConfig(), OverlapConfig()),
        strict=False,
        description="Applied in this order to each training pair; the first that objects drops it, counted.",
    )
    max_pieces: int = Field(
        256, ge=1, description="Training pairs with more pieces than this on a side are dropped, counted."
    )
    invalid_utf8: Literal["error", "drop"] = Field(
        "error",
        description="Bytes that are not UTF-8 in a training corpus: stop (error), or drop the pair, counted (drop). "
        "Development and test sets lose no line, so they must be UTF-8.",
    )
    segmenter: SegmenterConfig = Field(BpeConfig(), description="How text becomes pieces.")
