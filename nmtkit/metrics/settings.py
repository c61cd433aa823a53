"""The settings of `nmtkit score` and the union of the metrics."""

from typing import Annotated

from pydantic import Field

from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.ter import TerConfig
from nmtkit.section import Section

MetricConfig = Annotated[BleuConfig | ChrfConfig | TerConfig, Field(discriminator="kind")]


class ScoreConfig(Section):
    """Which scores to report. The first one chooses the best checkpoint."""

    metrics: tuple[MetricConfig, ...] = Field(
        (BleuConfig(), ChrfConfig(), TerConfig()),
        strict=False,
        min_length=1,
        description="Metrics to report; the first one is logged in training and chooses the best checkpoint.",
    )
