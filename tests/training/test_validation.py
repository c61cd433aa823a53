"""Validation: perplexity computed by hand, and the state in which the model is left."""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from toy.models import VARIANTS, build
from toy.training import random_pairs

from nmtkit.data.batch import make_batch
from nmtkit.metrics.base import Metric, Score
from nmtkit.models.base import AutoregressiveModel
from nmtkit.training.validation import DevSet, Translating, Validator, perplexity

CPU = torch.device("cpu")


def loss_by_hand(model: AutoregressiveModel, pairs) -> float:
    """Return the mean negative log-likelihood per target token, one sentence at a time, without dropout."""
    model.eval()
    nll, tokens = 0.0, 0
    for place in range(len(pairs)):
        batch = make_batch(pairs, [place])
        probabilities = model.logits(batch).detach().double().softmax(-1)[0]
        for position, token in enumerate(batch.target.ids[0]):
            nll -= math.log(probabilities[position, token])
            tokens += 1
    return nll / tokens


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tokens", [12, 1_000])
def test_perplexity_is_unsmoothed_and_without_dropout(variant: str, tokens: int) -> None:
    model, pairs = build(VARIANTS[variant]), random_pairs(20)
    expected = loss_by_hand(model, pairs)
    model.train()
    validation = Validator(model, DevSet(pairs, [], []), None, tokens=tokens, device=CPU)()
    assert validation.loss == pytest.approx(expected, rel=1e-5)
    assert validation.perplexity == pytest.approx(math.exp(expected), rel=1e-4)
    assert (validation.score.name, validation.score.higher_is_better) == ("perplexity", False)
    assert not validation.translated
    assert model.training


class Echo:
    """Translates every line to itself."""

    def __init__(self, model: AutoregressiveModel) -> None:
        self.model, self.asked, self.numbers = model, [], []

    def translate(self, lines: Sequence[str], *, tag: str, numbers: Iterable[int] = ()) -> list[str]:
        assert not self.model.training
        assert tag == "news"
        self.asked.append(list(lines))
        self.numbers.append(list(islice(numbers, len(lines))))
        return list(lines)


class Matches(Metric):
    """Counts equal lines."""

    name = "matches"

    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str] | None
    ) -> np.ndarray:
        return np.array([[float(line in answers)] for line, *answers in zip(hypotheses, *references, strict=True)])

    def score(self, statistics: np.ndarray, references: int) -> Score:
        return Score("matches", float(self.values(statistics.sum(0))), "exact", higher_is_better=True)

    def values(self, sums: np.ndarray) -> np.ndarray:
        return sums[..., 0]


def test_raw_lines_are_translated_and_scored() -> None:
    model = build(VARIANTS["transformer"]).train()
    sources = [f"line {'x' * number}" for number in range(9)]
    references = [*sources[:5], "", "other", *sources[7:]]
    echo = Echo(model)
    dev = DevSet(random_pairs(9), sources, references, "news")
    validator = Validator(model, dev, Translating(echo, Matches()), tokens=99, device=CPU)
    validation = validator()
    assert validation.score == Score("matches", 7, "exact", higher_is_better=True)
    assert validation.translated
    assert echo.asked == [sources]
    validator.rehearse()
    assert echo.asked[1] == sources[:4:-1]  # the longest four
    assert model.training


@pytest.mark.parametrize("rank", [0, 1])
def test_lines_have_the_same_numbers_in_whatever_process(rank: int) -> None:
    model = build(VARIANTS["transformer"]).train()
    echo = Echo(model)
    dev = DevSet(random_pairs(9), list("abcdefg"), list("abcdefg"), "news")
    group = SimpleNamespace(rank=rank, ranks=2, moved=lambda: None)
    Validator(model, dev, Translating(echo, None), tokens=99, device=CPU, group=group).compute()
    assert list(zip("abcdefg", range(1, 8), strict=True))[rank::2] == list(
        zip(echo.asked[0], echo.numbers[0], strict=True)
    )


def test_a_perplexity_too_large_for_a_float_is_infinite() -> None:
    assert perplexity(0.0) == 1.0
    assert perplexity(1e4) == math.inf
