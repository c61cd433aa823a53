"""Masks of dropout: each is drawn for a whole tensor, also where only some of its sentences are computed here.

So what dropout does to a sentence depends on the seed and on its place in the update, not on how many processes share
the work. Nothing here knows what a mask looks like: that is up to whoever draws from the seed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_before: ContextVar[int] = ContextVar("sentences before", default=0)


@contextmanager
def behind(sentences: int) -> Iterator[None]:
    """Within, the sentences at hand are those of a tensor that stand behind so many others."""
    before = _before.set(sentences)
    try:
        yield
    finally:
        _before.reset(before)


def sentences_before() -> int:
    """Return how many sentences of the tensor stand before those at hand, whose masks begin that much later."""
    return _before.get()


def draw_seed() -> int:
    """Return the seed of a mask, 0 to 2^63 - 1, from torch's default generator of the CPU."""
    return int(torch.empty((), dtype=torch.int64).random_())
