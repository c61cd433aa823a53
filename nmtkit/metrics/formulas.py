"""The formulas of scores over many sums at once, as resampling needs them: what sacreBLEU computes for one.

The last dimension of `sums` holds the numbers of one score, in the order in which sacreBLEU counts them.
"""

import numpy as np

from nmtkit.metrics.base import Array

ADDED = {"floor": 0.1, "add-k": 1.0}
"""sacreBLEU's values of the smoothing methods that have one (Chen and Cherry 2014)."""


def bleu(sums: Array, *, smoothing: str, effective: bool = False) -> Array:
    """Return BLEU from lengths of hypothesis and reference, matches by order and n-grams by order: (…, 2 + 2n) → (…).

    With `effective`, orders that a hypothesis is too short for do not count.
    """
    orders = (sums.shape[-1] - 2) // 2
    length, wanted = sums[..., 0], sums[..., 1]
    matches, ngrams = sums[..., 2 : 2 + orders], sums[..., 2 + orders :]
    any_match = matches.any(axis=-1)
    if smoothing == "add-k":
        more = np.where(np.arange(orders) > 0, ADDED["add-k"], 0.0)
        matches, ngrams = matches + more, ngrams + more
    seen = np.logical_and.accumulate(ngrams > 0, axis=-1)
    missed = seen & (matches == 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        precisions = np.where(seen, matches / ngrams, 0.0)
        if smoothing == "exp":
            halved = np.exp2(-np.cumsum(missed, axis=-1))
            precisions = np.where(missed, halved / ngrams, precisions)
        elif smoothing == "floor":
            precisions = np.where(missed, ADDED["floor"] / ngrams, precisions)
        logs = np.log(precisions)
        counted = seen if effective else np.ones_like(seen)
        mean = np.where(counted, logs, 0.0).sum(axis=-1) / np.maximum(counted.sum(axis=-1), 1)
        penalty = np.where(length < wanted, np.exp(1 - wanted / length), 1.0)
        scores: Array = np.where(any_match, 100 * penalty * np.exp(mean), 0.0)
    return scores


def chrf(sums: Array, *, beta: int) -> Array:
    """Return chrF from n-grams of hypothesis, of reference and matches, by order: (…, 3n) → (…)."""
    ours, theirs, matches = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3), -1, 0)
    both = (ours > 0) & (theirs > 0)
    orders = np.maximum(both.sum(axis=-1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(both, matches / ours, 0.0).sum(axis=-1) / orders
        recall = np.where(both, matches / theirs, 0.0).sum(axis=-1) / orders
        score = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return np.where(precision + recall > 0, 100 * score, 0.0)


def ter(sums: Array) -> Array:
    """Return TER from edits and the length of the reference: (…, 2) → (…)."""
    edits, length = sums[..., 0], sums[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length > 0, 100 * edits / length, np.where(edits > 0, 100.0, 0.0))


def mean(sums: Array) -> Array:
    """Return the mean from a sum and the number of its terms: (…, 2) → (…)."""
    found: Array = sums[..., 0] / sums[..., 1]
    return found
