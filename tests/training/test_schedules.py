"""Learning rates, against numbers computed by hand."""

import math

import pytest
from toy.union import members

from nmtkit.training.schedules import (
    LEAST_WARMUP,
    ConstantConfig,
    InverseSqrtConfig,
    LinearConfig,
    NoamConfig,
    ScheduleConfig,
    WsdConfig,
)

SHORT = {
    NoamConfig: {"warmup": 50},
    InverseSqrtConfig: {"warmup": 50},
    ConstantConfig: {"warmup": 50},
    LinearConfig: {"warmup": 50, "decay_to": 200},
    WsdConfig: {"warmup": 0.5, "decay": 0.4},
}
"""Settings for a curve of 200 updates with a peak at 50, or 101 where it is fitted; a new schedule needs an entry."""


@pytest.mark.parametrize(
    ("update", "rate"),
    # 512^-0.5 = 0.04419417382; times 4000^-1.5 = 3.952847075e-6, 4000^-0.5 = 0.0158113883, 1e5^-0.5 = 0.0031622777
    [(1, 1.746928107e-7), (4_000, 6.987712429e-4), (100_000, 1.397542486e-4)],
)
def test_the_papers_rate_for_base(update: int, rate: float) -> None:
    assert NoamConfig().rate(update, 512, 0.5) == pytest.approx(rate, rel=1e-9)


def test_the_papers_rate_rises_linearly_and_falls_by_the_root() -> None:
    noam = NoamConfig(factor=2.0, warmup=100)
    assert noam.rate(100, 64, 0.5) == pytest.approx(2 * 0.125 * 0.1)
    assert noam.rate(50, 64, 0.5) == pytest.approx(noam.rate(100, 64, 0.5) / 2)
    assert noam.rate(400, 64, 0.5) == pytest.approx(noam.rate(100, 64, 0.5) / 2)


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
        assert config.rate(update, 999, 0.5) == pytest.approx(rate)


@pytest.mark.parametrize("kind", members(ScheduleConfig))
def test_every_schedule_rises_to_its_peak_and_never_rises_again(kind: type) -> None:
    rates = [kind(**SHORT[kind]).rate(update, 64, (update - 0.5) / 200) for update in range(1, 201)]
    peak = 101 if kind is WsdConfig else 50
    assert all(math.isfinite(rate) and rate > 0 for rate in rates)
    assert rates[:peak] == sorted(rates[:peak])
    assert rates[0] < rates[peak - 1] == max(rates)
    assert rates[peak - 1 :] == sorted(rates[peak - 1 :], reverse=True)


@pytest.mark.parametrize(
    ("spent", "share_of_peak"),
    [(0.0, 0.0), (0.05, 0.25), (0.2, 1.0), (0.55, 1.0), (0.6, 1.0), (0.7, 0.75), (0.9, 0.25), (1.0, 0.0)],
)
def test_the_fitted_schedule_turns_by_what_is_spent(spent: float, share_of_peak: float) -> None:
    """The count of updates is nothing to it, once there were some."""
    config = WsdConfig(peak=0.4, warmup=0.2, decay=0.4)
    for update in (LEAST_WARMUP, 12_345):
        assert config.rate(update, 64, spent) == pytest.approx(0.4 * share_of_peak)


def test_a_slow_first_update_does_not_end_the_warm_up() -> None:
    """By the clock: compiling the model may take longer than the whole warm-up."""
    config = WsdConfig(peak=0.4, warmup=0.02)
    rates = [config.rate(update, 64, 0.1 + update * 1e-4) for update in range(1, LEAST_WARMUP + 2)]
    assert rates[:LEAST_WARMUP] == pytest.approx([0.4 * update / LEAST_WARMUP for update in range(1, LEAST_WARMUP + 1)])
    assert rates[-1] == 0.4


def test_without_warm_up_only_the_first_updates_are_slower() -> None:
    config = WsdConfig(peak=0.4, warmup=0.0, decay=1.0)
    assert config.rate(LEAST_WARMUP, 64, 0.0) == 0.4
    assert config.rate(LEAST_WARMUP // 2, 64, 0.0) == pytest.approx(0.2)


@pytest.mark.parametrize("width", [128, 512])
def test_the_peak_for_a_width_is_that_of_the_paper_for_a_short_warm_up(width: int) -> None:
    highest = WsdConfig().rate(4_000, width, 0.4)
    assert highest == pytest.approx(NoamConfig(warmup=2_000).rate(2_000, width, 0.4))


def test_a_curve_longer_than_training_is_reported() -> None:
    (conflict,) = WsdConfig(warmup=0.4, decay=0.7).conflicts()
    assert conflict == ("warmup", "with decay = 0.7 that is more than the whole training; lower one of them")
    assert not list(WsdConfig(warmup=0.3, decay=0.7).conflicts())
