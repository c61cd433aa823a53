"""The settings of languages, corpus files and their preparation."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nmtkit.corpus.filters import BlankConfig, DuplicateConfig, FilterConfig, LengthConfig, OverlapConfig, RatioConfig
from nmtkit.corpus.normalizers import NormalizerConfig, UnicodeConfig, WhitespaceConfig
from nmtkit.corpus.segmenters import BpeConfig, SegmenterConfig
from nmtkit.corpus.tags import tag_conflicts
from nmtkit.section import Conflict, Section

LARGEST_WEIGHT = 1e9
"""How often an epoch may see a pair: so the pairs of an epoch can be counted in 64 bits."""


class LanguagesConfig(Section):
    """The direction of translation."""

    source: str = Field(min_length=1, description="Language code of the source (en, de, …).")
    target: str = Field(min_length=1, description="Language code of the target.")


def _file_names(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    raise ValueError("not a file name, nor a list of file names; give names in quotes")


def _columns(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(value) in (0, 2):
        numbers = all(type(column) is int and column > 0 for column in value)
        if numbers or all(isinstance(column, str) and column for column in value):
            return tuple(value)
    raise ValueError("not two columns; give two numbers, counted from 1, or two names that the first line holds")


def _codes(value: Any) -> Any:
    is_list = isinstance(value, (list, tuple)) and len(value) in (0, 2)
    if is_list and all(isinstance(code, str) and code.strip() for code in value):
        return tuple(value)
    raise ValueError('not two language codes; give those of source and target, as in ["en-GB", "de"]')


FileNames = Annotated[str | tuple[str, ...], BeforeValidator(_file_names)]
Columns = Annotated[tuple[int, int] | tuple[str, str] | tuple[()], BeforeValidator(_columns)]
Codes = Annotated[tuple[str, str] | tuple[()], BeforeValidator(_codes)]


class ParallelFiles(Section):
    """A named parallel text: two files (`source`, `target`), one of tab-separated pairs (`tsv`) or a `tmx` memory.

    Each may be a pattern (`part*.en`) or a list of files, read one after the other, and packed: .gz, .bz2, .xz, .zst.
    """

    name: str = Field(min_length=1, description="Name used in reports.")
    source: FileNames = Field(
        "",
        description="File of source sentences, one a line, or a WMT test set (.sgm); or a pattern as `part*.en`, or a "
        "list of files. Packed ones (.gz, .bz2, .xz, .zst) are unpacked. `-` is standard input, in training only.",
    )
    target: FileNames = Field(
        "",
        description="File or files of target sentences; line n translates line n of source, file n goes with file n.",
    )
    tsv: FileNames = Field(
        "", description="File or files of pairs, source TAB target, one a line; instead of source and target."
    )
    columns: Columns = Field(
        (),
        description="Of `tsv`: the columns of source and target, as numbers from 1 (`[2, 5]`) or as names in the first "
        'line (`["en", "de"]`). Empty: there are two.',
    )
    tmx: FileNames = Field("", description="Translation memory or memories (TMX); instead of source and target.")
    codes: Codes = Field(
        (),
        description="Of `tmx`: the language codes of source and target in the file; `en` stands for `en-GB` too. "
        "Empty: those of languages.",
    )
    tag: str = Field(
        "",
        description="A word put before each source as one piece of its own, such as a language, a domain or `bt`; "
        "empty: none. Development and test sets take one of the tags of training corpora.",
    )

    @property
    def standard_inputs(self) -> int:
        """How many of the names are `-`, standard input."""
        given = (self.source, self.target, self.tsv, self.tmx)
        return sum(name == "-" for names in given for name in ((names,) if isinstance(names, str) else names))

    def conflicts(self) -> Iterator[Conflict]:
        """Report a text given twice, half, or not at all, what goes with another form of it, and a tag of two words."""
        forms = [name for name in ("tsv", "tmx") if getattr(self, name)]
        two = "source" if self.source else "target" if self.target else ""
        if len(forms) + bool(two) > 1:
            others = "tmx" if len(forms) > 1 else "source or target"
            yield Conflict(forms[0], f"given beside {others}; give either tsv, or tmx, or both source and target")
        elif not forms and not (self.source and self.target):
            yield Conflict("source", "source and target are needed both (or tsv or tmx alone)")
        for name, form in (("columns", "tsv"), ("codes", "tmx")):
            if getattr(self, name) and not getattr(self, form):
                yield Conflict(name, f"goes with {form} only; remove it, or give the text as {form}")
        if self.codes and self.codes[0].lower() == self.codes[1].lower():
            yield Conflict("codes", "source and target are the same language; give two")
        yield from tag_conflicts(self.tag)


class TrainFiles(ParallelFiles):
    """A training corpus: a parallel text, how much of it is seen, and by which filters of its own."""

    weight: float | None = Field(
        None,
        gt=0,
        le=LARGEST_WEIGHT,
        description="How often each pair is seen in an epoch: 2 for twice, 0.5 for half of them, drawn anew for each "
        "epoch. None: once, or as corpus.temperature has it.",
    )
    filters: tuple[FilterConfig, ...] | None = Field(
        None, strict=False, description="Filters of this corpus, instead of prepare.filters."
    )


class TestFiles(ParallelFiles):
    """A test set: a parallel text, perhaps with more reference translations, whose pairs may be labelled."""

    more_references: tuple[str, ...] = Field(
        (),
        strict=False,
        description="Files of other translations of the source, beside that of the pairs; line n of each translates "
        "line n of the source. `nmtkit score` compares with all of them, and the filter `overlap` knows all of them.",
    )
    labels: str = Field(
        "", description="File of what each pair is about (a domain, a phenomenon), one label a line, scored apart too."
    )


class CorpusConfig(Section):
    """Where the parallel texts lie."""

    folder: str = Field(
        "", description="Folder the file names below start from; empty or relative: seen from the config file's folder."
    )
    temperature: float | None = Field(
        None,
        ge=1,
        description="Weighs training corpora by their sizes to the power of 1/temperature (Arivazhagan et al. 2019): 1 "
        "leaves them as they are, 5 brings small ones up. None: as their `weight` says.",
    )
    train: tuple[TrainFiles, ...] = Field(
        (), strict=False, description="Training corpora, [[corpus.train]] each; read in this order."
    )
    dev: ParallelFiles | None = Field(None, description="Development set, translated and scored during training.")
    test: tuple[TestFiles, ...] = Field((), strict=False, description="Test sets, [[corpus.test]] each.")

    @property
    def trained_tags(self) -> tuple[str, ...]:
        """The tags of training corpora, each once."""
        return tuple(dict.fromkeys(files.tag for files in self.train if files.tag))

    def conflicts(self) -> Iterator[Conflict]:
        """Report names given twice, two ways of weighing, and standard input where it cannot be."""
        texts: list[tuple[str, ParallelFiles]] = [(f"train[{place}]", files) for place, files in enumerate(self.train)]
        texts += [("dev", self.dev)] if self.dev else []
        texts += [(f"test[{place}]", files) for place, files in enumerate(self.test)]
        first: dict[str, str] = {}
        for place, files in texts:
            if first.setdefault(files.name, place) != place:
                yield Conflict(f"{place}.name", f"corpus.{first[files.name]} has this name already; names must differ")
        weighted = [place for place, files in enumerate(self.train) if files.weight is not None]
        if self.temperature is not None and weighted:
            yield Conflict("temperature", f"given beside train[{weighted[0]}].weight; give one of them")
        yield from self._standard_input(texts)

    def _standard_input(self, texts: list[tuple[str, ParallelFiles]]) -> Iterator[Conflict]:
        used = 0
        for place, files in texts:
            if files.standard_inputs and not place.startswith("train"):
                yield Conflict(place, "standard input (`-`) can be read only once, this is read again; give a file")
                continue
            used += files.standard_inputs
            if files.standard_inputs and used > 1:
                yield Conflict(place, "standard input (`-`) is named twice, but can be read only once; give files")


class PrepareConfig(Section):
    """From raw text to packed ids."""

    normalizers: tuple[NormalizerConfig, ...] = Field(
        (UnicodeConfig(), WhitespaceConfig()),
        strict=False,
        description="Applied in this order to both sides of training and to the source of every translation.",
    )
    filters: tuple[FilterConfig, ...] = Field(
        (BlankConfig(), LengthConfig(), RatioConfig(), OverlapConfig(), DuplicateConfig()),
        strict=False,
        description="Applied in this order to each training pair; the first that objects drops it, counted. Duplicates "
        "are looked for last, among what all others keep.",
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

    def filters_of(self, corpus: TrainFiles) -> tuple[FilterConfig, ...]:
        """Return the filters that hold for a training corpus: its own, where it has some."""
        return self.filters if corpus.filters is None else corpus.filters
