"""The bridge to sacreBLEU (Post 2018), which does the arithmetic and writes the signatures."""

from collections.abc import Callable, Sequence
from typing import Any

from nmtkit.metrics.base import Metric, Score


class SacrebleuMetric(Metric):
    """A corpus metric of sacreBLEU, with one reference for each hypothesis.

    `metric` is an instance of a class of `sacrebleu.metrics`; `describe` says what its score is made of.
    """

    def __init__(self, metric: Any, *, higher_is_better: bool, describe: Callable[[Any], str] | None = None) -> None:
        self._metric = metric
        self._higher_is_better = higher_is_better
        self._describe = describe

    def compute(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """Return sacreBLEU's own corpus score and signature."""
        score = self._metric.corpus_score(hypotheses, [references])
        return Score(
            name=score.name,
            value=score.score,
            # the signature is complete only now: it counts the references it has seen
            signature=str(self._metric.get_signature()),
            higher_is_better=self._higher_is_better,
            details=self._describe(score) if self._describe else "",
        )
