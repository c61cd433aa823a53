"""The settings of `nmtkit score` and the union of the metrics."""

from typing import Annotated, NamedTuple

from pydantic import Field

from nmtkit.metrics.base import Metric
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.comet import CometConfig
from nmtkit.metrics.ter import TerConfig
from nmtkit.metrics.tokenized_bleu import CompoundSplitBleuConfig, TokenizedBleuConfig
from nmtkit.section import Section

MetricConfig = Annotated[
    BleuConfig | TokenizedBleuConfig | CompoundSplitBleuConfig | ChrfConfig | TerConfig | CometConfig,
    Field(discriminator="kind"),
]


class SignificanceConfig(Section):
    """How sure scores and their differences are: what is drawn from the lines of a test set."""

    draws: int = Field(
        1000,
        ge=0,
        le=100_000,
        description="Draws of the bootstrap, for intervals and paired comparisons, and of approximate randomization; "
        "0: none of these.",
    )
    seed: int = Field(12345, ge=0, description="Seed of the draws: the same files have the same p-values.")
    confidence: float = Field(0.95, gt=0, lt=1, description="How much of the draws an interval holds.")


class ScoreConfig(Section):
    """Which scores to report. The first one chooses the best checkpoint."""

    metrics: tuple[MetricConfig, ...] = Field(
        (
            BleuConfig(),
            TokenizedBleuConfig(),
            CompoundSplitBleuConfig(),
            ChrfConfig(),
            ChrfConfig(word_order=2),
            TerConfig(),
        ),
        strict=False,
        min_length=1,
        description="Metrics to report; the first one is logged in training and chooses the best checkpoint. docs/"
        "scoring.md says what each is for.",
    )
    significance: SignificanceConfig = Field(
        SignificanceConfig(), description="Intervals of scores, and p-values of differences between systems."
    )


class Metrics(NamedTuple):
    """The metrics of a target language, and what a person should know about the choice."""

    metrics: list[Metric]
    notices: list[str]


def build_metrics(config: ScoreConfig, target_language: str) -> Metrics:
    """Return the metrics that serve a language; the others, but for the first, are left out with a notice.

    Raises ConfigError where the first one does not serve it, or one cannot be had on this machine.
    """
    metrics: list[Metric] = []
    left_out: dict[str, list[str]] = {}
    for place, each in enumerate(config.metrics):
        problem = each.unfit(target_language)
        if problem and place:
            left_out.setdefault(problem, []).append(each.kind)
        else:
            metrics.append(each.build(target_language))
    notices = [f"no {', '.join(kinds)}: {problem}" for problem, kinds in left_out.items()]
    return Metrics(metrics, [*notices, *dict.fromkeys(metric.notice for metric in metrics if metric.notice)])
