"""PairScorer: from pairs of lines to the log-probability of each target, in order, streaming."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import torch

from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import Segmenter
from nmtkit.corpus.tags import check_tags
from nmtkit.corpus.vocabulary import UNK
from nmtkit.data.batch import collate
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import LengthLimit
from nmtkit.search.forced import forced_log_probabilities
from nmtkit.translation.settings import TranslateConfig
from nmtkit.translation.translator import inference

Pair = tuple[str, str]
"""Source and target, as a SentencePair or not."""
HELD = 2**26
"""Scores of pieces of a batch held at once, in float32 256 MB: no batch has more target positions than that allows."""


class PairScore(NamedTuple):
    """What a model makes of a target, given its source.

    `log_probability` is in nats, the sum over `tokens` pieces, the end mark one of them; −∞ where the model was not
    asked. `ids` are the pieces of the target without the end mark, `each` the log-probabilities of all `tokens`; both
    are empty where the model was not asked.
    """

    log_probability: float
    tokens: int
    ids: tuple[int, ...] = ()
    each: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """The log-probability of a piece; of none, that of the pair."""
        return self.log_probability / max(1, self.tokens)

    @property
    def perplexity(self) -> float:
        """Of a piece; infinite where that is too large for a float."""
        return math.exp(-self.mean) if self.mean > -700 else math.inf

    def penalized(self, alpha: float) -> float:
        """Return the log-probability after the length penalty of beam search, by which hypotheses are ranked."""
        penalty: float = ((5 + self.tokens) / 6) ** alpha
        return self.log_probability / penalty


@dataclass
class ScoringCounts:
    """What a scorer met so far."""

    pairs: int = 0
    blank: int = 0
    """Pairs with a blank side, or two."""
    too_long: int = 0
    """Pairs with more pieces than are computed; their score is −∞."""
    first_too_long: int = 0
    """The first of them, counted from 1; 0: none."""
    broken: int = 0
    """What stood in the place of a pair and is none; its score is −∞."""
    first_broken: int = 0
    """The first of them, counted from 1; 0: none."""
    scored: int = 0
    """Pairs that the model was asked about."""
    tokens: int = 0
    """Target pieces of these, end marks included."""
    log_probability: float = 0.0
    """The sum over these."""
    pieces: int = 0
    """Pieces of both sides."""
    unknown: int = 0
    """Pieces that the vocabulary does not hold."""

    @property
    def perplexity(self) -> float:
        """Of a target piece of all pairs that were scored; 1 where none was."""
        return PairScore(self.log_probability, self.tokens).perplexity


class PairScorer:
    """Tells how probable a model finds translations that are there already.

    The log-probability of a target is that which a search reports where it finds the same pieces: of the whole
    vocabulary, in float32, with that of the end mark. A blank source has a blank translation, found without the model,
    and no other: of a blank target it makes 0, of any other −∞. A pair with a source of more than `config.max_pieces`
    pieces, or a target longer than any translation may be (and than that), is not computed and scores −∞.
    """

    def __init__(
        self,
        model: AutoregressiveModel,
        segmenters: tuple[Segmenter, Segmenter],
        normalizers: tuple[Callable[[str], str], Callable[[str], str]],
        config: TranslateConfig,
        device: torch.device | str = "cpu",
    ) -> None:
        self.model = model
        self.source_segmenter, self.target_segmenter = segmenters
        self.normalize_source, self.normalize_target = normalizers
        self.config = config
        self.device = torch.device(device)
        self.limit = LengthLimit(config.search.max_length_ratio, config.search.max_length_extra)
        self.longest_target = max(config.max_pieces, int(config.max_pieces * self.limit.ratio) + self.limit.extra)
        self.counts = ScoringCounts()

    def scores(
        self, pairs: Iterable[Pair | None], *, tag: str | None = None, found: bool = False
    ) -> Iterator[PairScore]:
        """Yield the score of each pair in order; None stands for what is no pair.

        `tag` is put before each source; empty: none, None: `config.tag`. With `found` the targets are what a search
        found: one as long as the search of these settings allows was ended by that limit, so no end mark counts, as
        the search had it. Raises ConfigError for a tag that the vocabulary does not have. Reads `config.chunk_lines`
        pairs at a time. The model is put into evaluation mode only while it works.
        """
        key, asked = ("translate.tag", self.config.tag) if tag is None else ("tag", tag)
        check_tags({key: asked}, self.source_segmenter.tags)
        return self._stream(iter(pairs), [self.source_segmenter.tag(asked)] if asked else [], found)

    def _stream(self, pairs: Iterator[Pair | None], before: list[int], found: bool) -> Iterator[PairScore]:
        while chunk := list(islice(pairs, self.config.chunk_lines)):
            yield from self._answer(chunk, before, found)

    def _answer(self, pairs: Sequence[Pair | None], before: list[int], found: bool) -> list[PairScore]:
        """Return the scores of a chunk of pairs; the ids `before` come before those of each source."""
        sources = _encode(self.source_segmenter, self.normalize_source, [pair[0] if pair else "" for pair in pairs])
        targets = _encode(self.target_segmenter, self.normalize_target, [pair[1] if pair else "" for pair in pairs])
        scores = [self._without_the_model(*each) for each in zip(pairs, sources, targets, strict=True)]
        asked = [place for place, score in enumerate(scores) if score is None]
        computed = self._compute([before + sources[each] for each in asked], [targets[each] for each in asked], found)
        for place, score in zip(asked, computed, strict=True):
            scores[place] = score
            self.counts.scored += 1
            self.counts.tokens += score.tokens
            self.counts.log_probability += score.log_probability
        return [score for score in scores if score is not None]

    def _without_the_model(self, pair: Pair | None, source: list[int], target: list[int]) -> PairScore | None:
        """Count a pair and return its score; None where the model must be asked."""
        counts = self.counts
        counts.pairs += 1
        counts.pieces += len(source) + len(target)
        counts.unknown += source.count(UNK) + target.count(UNK)
        if pair is None:
            counts.broken += 1
            counts.first_broken = counts.first_broken or counts.pairs
            return PairScore(-math.inf, 0)
        if not source or not target:
            counts.blank += 1
        if not source:
            return PairScore(-math.inf, len(target) + 1) if target else PairScore(0.0, 0)
        if len(source) > self.config.max_pieces or len(target) > self.longest_target:
            counts.too_long += 1
            counts.first_too_long = counts.first_too_long or counts.pairs
            return PairScore(-math.inf, len(target) + 1)
        return None

    def _compute(self, sources: Sequence[list[int]], targets: Sequence[list[int]], found: bool) -> list[PairScore]:
        """Return the scores of targets, computed in batches of like length."""
        scores = [PairScore(0.0, 0) for _ in targets]
        with inference(self.model):
            for batch in self._batches(sources, targets):
                source = collate([sources[each] for each in batch]).to(self.device)
                limits = self.limit.of(source).tolist()
                given = [
                    (targets[each], not (found and len(targets[each]) == limit))
                    for each, limit in zip(batch, limits, strict=True)
                ]
                computed = forced_log_probabilities(self.model, source, given)
                for place, each in zip(batch, computed, strict=True):
                    scores[place] = PairScore(math.fsum(each), len(each), tuple(targets[place]), tuple(each))
        return scores

    def _batches(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> Iterator[list[int]]:
        """Yield places of pairs, longest first: what needs most memory comes at once or never."""
        lengths = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
        most = min(self.config.batch_tokens, HELD // self.target_segmenter.size)
        order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], -len(targets[place])))
        begin = 0
        while begin < len(order):
            size = max(1, most // lengths[order[begin]])
            yield order[begin : begin + size]
            begin += size


def _encode(segmenter: Segmenter, normalize: Callable[[str], str], lines: Sequence[str]) -> list[list[int]]:
    """Return the ids of lines; none of one that is blank by Unicode white space."""
    texts = [normalize(clean(line)) for line in lines]
    encoded = iter(segmenter.encode([text for text in texts if text.strip()]))
    return [next(encoded) if text.strip() else [] for text in texts]
