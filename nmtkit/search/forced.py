"""Forced scoring: the log-probability a model gives to a translation that is already there."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmtkit.data.batch import Batch, Padded, collate
from nmtkit.models.base import AutoregressiveModel
from nmtkit.models.loss import SLICE

Target = tuple[Sequence[int], bool]
"""Ids without the end mark, and whether the end mark stands behind them.

As in a search, one that is not finished was ended by the length limit: no probability of an end mark is counted.
"""


def forced_log_probabilities(
    model: AutoregressiveModel, source: Padded, targets: Sequence[Target]
) -> list[list[float]]:
    """Return the log-probability, in nats, of each token of one target for each of the B source sentences.

    The end mark of a finished target comes last. The softmax goes over the whole vocabulary, float32.
    """
    device = source.ids.device
    target = collate([ids for ids, _ in targets]).to(device)
    chosen = _chosen(model.logits(Batch(source, target)).flatten(0, 1), target.ids.flatten())
    rows: list[list[float]] = chosen.view_as(target.ids).tolist()
    return [row[: len(ids) + finished] for row, (ids, finished) in zip(rows, targets, strict=True)]


def _chosen(scores: Tensor, ids: Tensor) -> Tensor:
    """Return the log-probability of one of the V tokens in each row of scores, (N, V), by the N ids.

    Slice by slice, so that no log-probabilities stand beside scores that fill the memory already.
    """
    size = max(1, SLICE // scores.size(1))
    found = []
    for begin in range(0, len(scores), size):
        rows = slice(begin, begin + size)
        found.append(scores[rows].float().log_softmax(dim=-1).gather(1, ids[rows, None])[:, 0])
    return torch.cat(found)
