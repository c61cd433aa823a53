"""Learning rates, against numbers computed by hand."""

import math

import pytest
from toy.union import members

from nmtkit.training.schedules import ConstantConfig, InverseSqrtConfig, LinearConfig, NoamConfig, ScheduleConfig

SHORT = {
    NoamConfig: {"warmup": 50},
    InverseSqrtConfig: {"warmup": 50},
    ConstantConfig: {"warmup": 50},
    LinearConfig: {"warmup": 50, "decay_to": 200},
}
"""Settings for a curve of 200 updates with a peak at 50; a new schedule needs an entry."""


@pytest.mark.parametrize(
    ("update", "rate"),
    # 512^-0.5 = 0.04419417382; times 4000^-1.5 = 3.952847075e-6, 4000^-0.5 = 0.0158113883, 1e5^-0.5 = 0.0031622777
    [(1, 1.746928107e-7), (4_000, 6.987712429e-4), (100_000, 1.397542486e-4)],
)
def test_the_papers_rate_for_base(update: int, rate: float) -> None:
    assert NoamConfig().rate(update, 512) == pytest.approx(rate, rel=1e-9)


def test_the_papers_rate_rises_linearly_and_falls_by_the_root() -> None:
    noam = NoamConfig(factor=2.0, warmup=100)
    assert noam.rate(100, 64) == pytest.approx(2 * 0.125 * 0.1)
    assert noam.rate(50, 64) == pytest.approx(noam.rate(100, 64) / 2)
    assert noam.rate(400, 64) == pytest.approx(noam.rate(100, 64) / 2)


@pytest.mark.parametrize(
    ("config", "rates"),
    [
        (InverseSqrtConfig(peak=0.4, warmup=4), {1: 0.1, 4: 0.4, 16: 0.2, 64: 0.1}),
        (ConstantConfig(peak=0.4, warmup=4), {1: 0.1, 3: 0.3, 4: 0.4, 1000: 0.4}),
        (ConstantConfig(peak=0.4), {1: 0.4, 1000: 0.4}),
        (LinearConfig(peak=0.4, warmup=4, decay_to=11), {1: 0.1, 4: 0.4, 8: 0.2, 11: 0.05, 12: 0.0, 50: 0.0}),
    ],
)
def test_rates_by_hand(config: ScheduleConfig, rates: dict[int, float]) -> None:
    for update, rate in rates.items():
        assert config.rate(update, 999) == pytest.approx(rate)


@pytest.mark.parametrize("kind", members(ScheduleConfig))
def test_every_schedule_rises_to_its_peak_and_never_rises_again(kind: type) -> None:
    rates = [kind(**SHORT[kind]).rate(update, 64) for update in range(1, 201)]
    assert all(math.isfinite(rate) and rate > 0 for rate in rates)
    assert rates[:50] == sorted(rates[:50])
    assert rates[0] < rates[49] == max(rates)
    assert rates[49:] == sorted(rates[49:], reverse=True)
