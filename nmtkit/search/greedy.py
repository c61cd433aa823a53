"""Greedy search: the most probable token at each step."""

from collections.abc import Sequence

import torch

from nmtkit.corpus.vocabulary import BOS, EOS
from nmtkit.data.batch import Padded
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, LengthLimit, Place, Search
from nmtkit.search.candidates import best_tokens


class GreedySearch(Search[AutoregressiveModel]):
    """Finds one hypothesis a sentence; its score is its log-probability."""

    def __init__(self, limit: LengthLimit) -> None:
        self.limit = limit

    def __call__(
        self,
        model: AutoregressiveModel,
        source: Padded,
        places: Sequence[Place] | None = None,  # noqa: ARG002  nothing is drawn
    ) -> list[list[Hypothesis]]:
        """Return one hypothesis for each of the B sentences.

        Sentences leave the batch as they end, so a long one does not keep the short ones busy.
        """
        memory = model.encode(source)
        state = model.start(memory)
        sentences = torch.arange(len(source.ids), device=source.ids.device)
        limits = self.limit.of(source)
        log_probabilities = torch.zeros(len(sentences), device=sentences.device)
        tokens = torch.full_like(sentences, BOS)
        prefixes = tokens.new_empty(len(sentences), 0)
        found: list[list[Hypothesis]] = [[] for _ in sentences]
        while len(sentences):
            scores, state = model.step(tokens, memory, state)
            best, ids = best_tokens(scores, 1)
            tokens = ids[:, 0]
            log_probabilities = log_probabilities + best[:, 0]
            prefixes = torch.cat([prefixes, ids], dim=1)
            ends = (tokens == EOS) | (limits <= prefixes.size(1))
            if not ends.any():
                continue
            for sentence, chosen, log_probability in zip(
                sentences[ends].tolist(),
                prefixes[ends].tolist(),
                log_probabilities[ends].tolist(),
                strict=True,
            ):
                found[sentence].append(Hypothesis.of(chosen, log_probability, log_probability))
            kept = (~ends).nonzero()[:, 0]
            memory, state = model.select(memory, kept), model.select(state, kept)
            sentences, limits, tokens = sentences[kept], limits[kept], tokens[kept]
            prefixes, log_probabilities = prefixes[kept], log_probabilities[kept]
        return found
