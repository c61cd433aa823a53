"""Beam search: the most probable partial translations at each step, ranked in the end by length penalty."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.corpus.vocabulary import BOS, EOS
from nmtkit.data.batch import Padded
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, LengthLimit, Place, Search
from nmtkit.search.candidates import best_tokens

DEAD = -float("inf")
"""The log-probability of a row that holds no hypothesis."""


class _Open(NamedTuple):
    """The sentences still searched, B of them, and their open hypotheses: K columns, best first, dead ones last."""

    sentences: Tensor
    """(B,) the place in the batch that was asked for."""
    limits: Tensor
    """(B,) the longest hypothesis allowed, in tokens chosen."""
    places: Tensor
    """(B,) the size of the beam less the hypotheses that ended."""
    best_scores: Tensor
    """(B, n_best) the best scores of ended hypotheses, best first, −∞ where there are fewer."""
    prefixes: Tensor
    """(B, K, T) the tokens chosen so far."""
    log_probabilities: Tensor
    """(B, K) of the tokens chosen so far."""

    def select(self, kept: Tensor) -> "_Open":
        """Return the sentences named by `kept`."""
        return _Open(*(tensor.index_select(0, kept) for tensor in self))


class _Expansions(NamedTuple):
    """What the open hypotheses of B sentences grow into: W columns, best first."""

    parents: Tensor
    """(B, W) the column each came from."""
    prefixes: Tensor
    """(B, W, T + 1) the tokens chosen, the new one included."""
    log_probabilities: Tensor
    """(B, W); −∞ where the sentence has no place or no expansion left."""
    ends: Tensor
    """(B, W) true where the end mark or the limit ends a hypothesis."""
    scores: Tensor
    """(B, W) after length penalty."""


class BeamSearch(Search[AutoregressiveModel]):
    """Keeps `beam` hypotheses a sentence and returns the `n_best`.

    Open hypotheses are chosen by log-probability. One that ends keeps its place in the beam, so a beam of 1
    is greedy and the work shrinks as hypotheses end. In the end all are ranked by log-probability / ((5 +
    length) / 6)^α, where length counts the tokens chosen, end mark included (Wu et al. 2016, equation 14;
    their coverage penalty is left out). With `stop_early` a sentence is left once no open hypothesis can
    still enter the n-best list: log-probabilities only fall, so the best an open one can reach is its
    log-probability now under the penalty at the limit.
    """

    def __init__(
        self, beam: int, length_penalty: float, n_best: int, limit: LengthLimit, *, stop_early: bool = True
    ) -> None:
        self.beam = beam
        self.length_penalty = length_penalty
        self.n_best = n_best
        self.limit = limit
        self.stop_early = stop_early

    def __call__(
        self,
        model: AutoregressiveModel,
        source: Padded,
        places: Sequence[Place] | None = None,  # noqa: ARG002  nothing is drawn
    ) -> list[list[Hypothesis]]:
        """Return at most `n_best` hypotheses for each of the B sentences, fewer only where no more exist."""
        memory = model.encode(source)
        state = model.start(memory)
        beams = self._start(source)
        tokens = torch.full_like(beams.sentences, BOS)
        found: list[list[Hypothesis]] = [[] for _ in beams.sentences]
        while len(beams.sentences):
            scores, state = model.step(tokens, memory, state)
            expansions = self._expand(beams, scores)
            _collect(beams.sentences, expansions, found)
            columns = beams.prefixes.size(1)
            grown, parents = self._grow(beams, expansions)
            kept = self._unfinished(grown).nonzero()[:, 0]
            rows = (kept[:, None] * columns + parents.index_select(0, kept)).flatten()
            state = model.select(state, rows)
            if len(kept) < len(grown.sentences):
                memory = model.select(memory, kept)
            beams = grown.select(kept)
            tokens = beams.prefixes[:, :, -1].flatten()
        return [self._rank(hypotheses) for hypotheses in found]

    def _start(self, source: Padded) -> _Open:
        sentences = torch.arange(len(source.ids), device=source.ids.device)
        count = len(sentences)
        return _Open(
            sentences=sentences,
            limits=self.limit.of(source),
            places=torch.full_like(sentences, self.beam),
            best_scores=torch.full((count, self.n_best), DEAD, device=sentences.device),
            prefixes=sentences.new_empty(count, 1, 0),
            log_probabilities=torch.zeros(count, 1, device=sentences.device),
        )

    def _expand(self, beams: _Open, scores: Tensor) -> _Expansions:
        """Return for each sentence its most probable expansions, as many as it has places."""
        sentences, columns, length = beams.prefixes.shape
        # No hypothesis can have more than `beam` of the chosen expansions: the best of each row are enough.
        best, ids = best_tokens(scores, self.beam)
        sums = beams.log_probabilities[:, :, None] + best.view(sentences, columns, -1)
        log_probabilities, flat = sums.flatten(1).topk(min(self.beam, sums[0].numel()), dim=1)
        parents = flat // best.size(1)
        tokens = ids.view(sentences, -1).gather(1, flat)
        column = torch.arange(flat.size(1), device=flat.device)
        log_probabilities = log_probabilities.masked_fill(column >= beams.places[:, None], DEAD)
        prefixes = beams.prefixes.gather(1, parents[:, :, None].expand(-1, -1, length))
        at_limit = (beams.limits <= length + 1)[:, None]
        return _Expansions(
            parents=parents,
            prefixes=torch.cat([prefixes, tokens[:, :, None]], dim=2),
            log_probabilities=log_probabilities,
            ends=(log_probabilities != DEAD) & ((tokens == EOS) | at_limit),
            scores=log_probabilities / self._penalty(length + 1),
        )

    def _grow(self, beams: _Open, expansions: _Expansions) -> tuple[_Open, Tensor]:
        """Return the sentences with the expansions that stay open, and the columns these came from, (B, K)."""
        ends, log_probabilities = expansions.ends, expansions.log_probabilities
        ended_scores = torch.cat([beams.best_scores, expansions.scores.masked_fill(~ends, DEAD)], dim=1)
        is_open = (log_probabilities != DEAD) & ~ends
        columns = int(is_open.sum(dim=1).max())
        # A stable sort brings the open ones to the front and leaves them best first.
        order = is_open.long().argsort(dim=1, descending=True, stable=True)[:, :columns]
        grown = beams._replace(
            places=beams.places - ends.sum(dim=1),
            best_scores=ended_scores.topk(self.n_best, dim=1).values,
            prefixes=expansions.prefixes.gather(1, order[:, :, None].expand(-1, -1, expansions.prefixes.size(2))),
            log_probabilities=log_probabilities.masked_fill(~is_open, DEAD).gather(1, order),
        )
        return grown, expansions.parents.gather(1, order)

    def _unfinished(self, beams: _Open) -> Tensor:
        """Return which sentences must be searched further, (B,) bool."""
        if not beams.log_probabilities.size(1):
            return torch.zeros_like(beams.sentences, dtype=torch.bool)
        best_open = beams.log_probabilities[:, 0]
        if not self.stop_early:
            return best_open != DEAD
        return (best_open != DEAD) & (best_open / self._penalty(beams.limits) > beams.best_scores[:, -1])

    def _penalty(self, length: Tensor | int) -> Tensor:
        return ((5.0 + torch.as_tensor(length)) / 6.0) ** self.length_penalty

    def _rank(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        # Nothing ends where a broken model gives −∞ to every token; the sentence is still answered.
        ranked = sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[: self.n_best]
        return ranked or [Hypothesis((), DEAD, DEAD, finished=False)]


def _collect(sentences: Tensor, expansions: _Expansions, found: list[list[Hypothesis]]) -> None:
    """Add the hypotheses that ended to those found."""
    rows, columns = expansions.ends.nonzero(as_tuple=True)
    for sentence, chosen, log_probability, score in zip(
        sentences[rows].tolist(),
        expansions.prefixes[rows, columns].tolist(),
        expansions.log_probabilities[rows, columns].tolist(),
        expansions.scores[rows, columns].tolist(),
        strict=True,
    ):
        found[sentence].append(Hypothesis.of(chosen, log_probability, score))
