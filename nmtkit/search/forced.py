"""Forced scoring: the log-probability a model gives to a translation that is already there."""

from collections.abc import Sequence

import torch

from nmtkit.data.batch import Batch, Padded, collate
from nmtkit.models.base import AutoregressiveModel


def forced_scores(
    model: AutoregressiveModel, source: Padded, targets: Sequence[tuple[Sequence[int], bool]]
) -> list[float]:
    """Return the log-probability, in nats, of one target for each of the B source sentences.

    A target is (ids without the end mark, finished). As in a search, an unfinished one was ended by the
    length limit and has no end mark, so no probability of one is counted. The softmax goes over the whole
    vocabulary, float32.
    """
    target = collate([ids for ids, _ in targets]).to(source.ids.device)
    counted = target.lengths - torch.tensor([not finished for _, finished in targets], device=source.ids.device).long()
    log_probabilities = model.logits(Batch(source, target)).float().log_softmax(dim=-1)
    chosen = log_probabilities.gather(2, target.ids[:, :, None])[:, :, 0]
    position = torch.arange(chosen.size(1), device=chosen.device)
    sums: list[float] = chosen.masked_fill(position >= counted[:, None], 0.0).sum(dim=1).tolist()
    return sums
