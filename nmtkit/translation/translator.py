"""LineTranslator: from lines to hypotheses, in order, streaming. Every translation nmtkit makes goes through it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice

import torch

from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import Segmenter
from nmtkit.corpus.tags import check_tags
from nmtkit.corpus.vocabulary import UNK
from nmtkit.data.batch import collate
from nmtkit.log import counted
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, Place
from nmtkit.translation.cutting import cut, holds_several
from nmtkit.translation.settings import TranslateConfig

BLANK = Hypothesis(ids=(), log_probability=0.0, score=0.0, finished=True)
"""The answer to a blank line, found without the model."""


@dataclass
class TranslationCounts:
    """What a translator met so far."""

    lines: int = 0
    blank: int = 0
    cut: int = 0
    """Lines longer than `max_pieces`, translated in parts."""
    first_cut: int = 0
    """The first of them, counted from 1; 0: none."""
    paragraphs: int = 0
    """Lines of several sentences that are longer than what was trained on."""
    first_paragraph: int = 0
    """The first of them, counted from 1; 0: none."""
    endless: int = 0
    """Lines whose translation was ended by the length limit."""
    first_endless: int = 0
    """The first of them, counted from 1; 0: none."""
    pieces: int = 0
    """Source pieces translated."""
    unknown: int = 0
    """Source pieces that the vocabulary does not hold."""


class LineTranslator:
    """Answers each line by its hypotheses, whatever the line holds.

    A line that is blank by Unicode white space is answered by a blank line. A line of more pieces than
    `config.max_pieces` is cut (see `translation.cutting`), its parts, each with the tag, are translated by themselves
    and joined with a space: the i-th best of the line is made of the i-th best of every part, and log-probabilities and
    scores are added. No text holds a tab or a character that anyone takes for a line end. `restore` makes the text of
    each hypothesis from the text that the model was trained to write.
    """

    usual_pieces: int = 0
    """Pieces that nearly no line trained on had more of; 0 where that is not known."""

    def __init__(
        self,
        model: AutoregressiveModel,
        source_segmenter: Segmenter,
        target_segmenter: Segmenter,
        normalize: Callable[[str], str],
        config: TranslateConfig,
        device: torch.device | str = "cpu",
        restore: Callable[[str], str] | None = None,
    ) -> None:
        self.model = model
        self.source_segmenter = source_segmenter
        self.target_segmenter = target_segmenter
        self.normalize = normalize
        self.restore = restore
        self.config = config
        self.device = torch.device(device)
        self.search = config.search.build()
        self.counts = TranslationCounts()
        self.computed: Callable[[], None] = lambda: None
        """Called behind each batch."""

    def warnings(self) -> Iterator[str]:
        """Yield what a person should know of the lines that were translated, by what `counts` says."""
        counts = self.counts
        if counts.cut:
            yield (
                f"more than translate.max_pieces pieces, translated in parts: {counted(counts.cut, 'line')} "
                f"(first line {counts.first_cut:,})"
            )
        if counts.paragraphs:
            usual = self.usual_pieces
            yield (
                f"of several sentences and longer than 99.9 % of the lines trained on ({usual} pieces), so that "
                f"sentences may get lost: {counted(counts.paragraphs, 'line')} "
                f"(first line {counts.first_paragraph:,}); put one sentence on a line, or set translate.max_pieces = "
                f"{usual} to have lines cut at sentence ends"
            )
        if counts.endless:
            yield (
                "ended by the length limit, so that the end is missing, or the translation goes round in circles: "
                f"{counted(counts.endless, 'line')} (first line {counts.first_endless:,}); "
                "translate.search.max_length_ratio and max_length_extra set the limit"
            )

    def translate(
        self, lines: Iterable[str], *, tag: str | None = None, numbers: Iterable[int] | None = None
    ) -> list[str]:
        """Return the best translation of each line, as `hypotheses` does."""
        return [hypotheses[0].text for hypotheses in self.hypotheses(lines, tag=tag, numbers=numbers)]

    def hypotheses(
        self, lines: Iterable[str], *, tag: str | None = None, numbers: Iterable[int] | None = None
    ) -> Iterator[list[Hypothesis]]:
        """Yield the hypotheses of each line in order, best first, at least one.

        `tag` is put before each source; empty: none, None: `config.tag`. `numbers` are those of the lines, of which
        depends what a search draws at random; None: 1, 2, …. Raises ConfigError for a tag that the vocabulary does not
        have. Reads `config.chunk_lines` lines at a time. The model is put into evaluation mode only while it works.
        """
        if isinstance(lines, str):
            raise TypeError("lines must be a list of strings, not one string; write [line]")
        key, asked = ("translate.tag", self.config.tag) if tag is None else ("tag", tag)
        check_tags({key: asked}, self.source_segmenter.tags)
        before = [self.source_segmenter.tag(asked)] if asked else []
        return self._stream(iter(lines), before, iter(count(1) if numbers is None else numbers))

    def _stream(self, lines: Iterator[str], before: list[int], numbers: Iterator[int]) -> Iterator[list[Hypothesis]]:
        while chunk := list(islice(lines, self.config.chunk_lines)):
            yield from self._answer(chunk, before, list(islice(numbers, len(chunk))))

    def _answer(self, lines: Sequence[str], before: list[int], numbers: Sequence[int]) -> list[list[Hypothesis]]:
        """Return the hypotheses of a chunk of lines; the ids `before` come before those of each source."""
        before_these = self.counts.lines
        texts = [self.normalize(clean(line)) for line in lines]
        encoded = iter(self.source_segmenter.encode([text for text in texts if text.strip()]))
        parts: list[list[int]] = []
        places: list[Place] = []
        parts_of_line: list[range] = []
        for text, number in zip(texts, numbers, strict=True):
            first = len(parts)
            parts += [before + part for part in self._parts(next(encoded) if text.strip() else [])]
            parts_of_line.append(range(first, len(parts)))
            places += [Place(number, part) for part in range(len(parts) - first)]
        found = self._search(parts, places)
        answers = [self._restored(_join([found[part] for part in own])) for own in parts_of_line]
        for number, (best, *_) in enumerate(answers, start=before_these + 1):
            if not best.finished:
                self.counts.endless += 1
                self.counts.first_endless = self.counts.first_endless or number
        return answers

    def _restored(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """Return hypotheses with the text that is written; of those with the same text the best alone."""
        different: dict[str, Hypothesis] = {}
        for each in hypotheses:
            text = each.text if self.restore is None else clean(self.restore(each.text))
            different.setdefault(text, each._replace(text=text))
        return list(different.values())

    def _parts(self, ids: list[int]) -> list[list[int]]:
        """Return the parts of a line to translate: none of a blank one, one of most, more of an over-long one."""
        self.counts.lines += 1
        self.counts.pieces += len(ids)
        self.counts.unknown += ids.count(UNK)
        if not ids:
            self.counts.blank += 1
            return []
        ends = [len(ids)]
        if len(ids) > self.config.max_pieces:
            self.counts.cut += 1
            self.counts.first_cut = self.counts.first_cut or self.counts.lines
            ends = cut(self.source_segmenter.pieces(ids), self.config.max_pieces)
        parts = [ids[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
        if any(self._is_paragraph(part) for part in parts):
            self.counts.paragraphs += 1
            self.counts.first_paragraph = self.counts.first_paragraph or self.counts.lines
        return parts

    def _is_paragraph(self, ids: list[int]) -> bool:
        """Tell whether text is of several sentences and longer than what was trained on: sentences may get lost."""
        return 0 < self.usual_pieces < len(ids) and holds_several(self.source_segmenter.pieces(ids))

    def _search(self, sentences: Sequence[list[int]], places: Sequence[Place]) -> list[list[Hypothesis]]:
        """Return the hypotheses, with text, of sentences of ids, computed in batches of like length."""
        found: list[list[Hypothesis]] = [[] for _ in sentences]
        with inference(self.model):
            for batch in self._batches(sentences):
                source = collate([sentences[each] for each in batch]).to(self.device)
                answers = self.search(self.model, source, [places[each] for each in batch])
                for each, hypotheses in zip(batch, answers, strict=True):
                    found[each] = hypotheses
                self.computed()
        texts = iter(self.target_segmenter.decode([h.ids for hypotheses in found for h in hypotheses]))
        return [[h._replace(text=clean(next(texts))) for h in hypotheses] for hypotheses in found]

    def _batches(self, sentences: Sequence[list[int]]) -> Iterator[list[int]]:
        """Yield places of sentences, longest first: what needs most memory comes at once or never."""
        order = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
        begin = 0
        while begin < len(order):
            longest = len(sentences[order[begin]]) + 1
            size = max(1, self.config.batch_tokens // (longest * self.config.search.rows_per_sentence))
            yield order[begin : begin + size]
            begin += size


@contextmanager
def inference(model: AutoregressiveModel) -> Iterator[None]:
    """Switch dropout and gradients off, and dropout back to what it was."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def _join(parts: Sequence[list[Hypothesis]]) -> list[Hypothesis]:
    """Return the hypotheses of a line from those of its parts; the part with the fewest sets how many."""
    if not parts:
        return [BLANK]
    if len(parts) == 1:
        return parts[0]
    return [
        Hypothesis(
            ids=tuple(token for hypothesis in same_rank for token in hypothesis.ids),
            log_probability=sum(hypothesis.log_probability for hypothesis in same_rank),
            score=sum(hypothesis.score for hypothesis in same_rank),
            finished=all(hypothesis.finished for hypothesis in same_rank),
            text=" ".join(hypothesis.text for hypothesis in same_rank),
        )
        for same_rank in zip(*parts, strict=False)
    ]
