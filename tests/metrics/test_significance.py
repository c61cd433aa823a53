"""Intervals and p-values: what they promise, and beside sacreBLEU's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from nmtkit.metrics import formulas, significance
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.settings import ScoreConfig, build_metrics
from nmtkit.metrics.significance import Comparison, Interval, Measured, interval, p_value, resampled

WORDS = ["der", "die", "das", "Hund", "Katze", "Maus", "läuft", "schläft", "frisst", "auf", "unter", "dem", "Dach"]
DRAWS = {"draws": 200, "seed": 12345, "confidence": 0.95}

sums = st.lists(st.integers(0, 8), min_size=2, max_size=30)


def means(*systems):
    """The numbers of a metric that is a mean, of systems by their lines' scores."""
    rows = [np.stack([np.array(lines, dtype=float), np.ones(len(lines))], axis=-1) for lines in systems]
    return Measured(rows, formulas.mean)


def texts(lines: int, *mistakes: float) -> tuple[list[str], list[list[str]]]:
    """Return references, and systems that replace this share of their words."""
    drawn = np.random.default_rng(1)
    references = [" ".join(drawn.choice(WORDS, drawn.integers(4, 12))) for _ in range(lines)]
    systems = [
        [
            " ".join(drawn.choice(WORDS) if drawn.random() < share else word for word in line.split())
            for line in references
        ]
        for share in mistakes
    ]
    return references, systems


def compared(*systems, **draws):
    (found,) = resampled([means(*systems)], **{**DRAWS, **draws})
    return found


@given(lines=sums)
@settings(max_examples=30, deadline=None)
def test_equal_systems_never_differ(lines):
    (comparison,) = compared(lines, lines).comparisons
    assert comparison == Comparison(0, 1, 1)
    assert not comparison.is_significant


@given(lines=sums, seed=st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_systems_of_equal_scores_never_differ_whatever_their_lines(lines, seed):
    (comparison,) = compared(lines, list(reversed(lines)), seed=seed).comparisons
    assert (comparison.p_bootstrap, comparison.p_randomization) == (1, 1)
    assert comparison.difference == pytest.approx(0, abs=1e-12)


@given(lines=sums.flatmap(lambda ours: st.tuples(st.just(ours), st.permutations(ours))))
@settings(max_examples=30, deadline=None)
def test_fractions_that_round_in_another_order_are_still_equal(lines):
    ours, theirs = ([each / 7 + 0.1 for each in side] for side in lines)
    (comparison,) = compared(ours, theirs).comparisons
    assert not comparison.is_significant
    assert comparison.p_randomization == comparison.p_bootstrap == 1


@given(both=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=30), seed=st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_p_values_do_not_depend_on_who_is_the_baseline(both, seed):
    ours, theirs = zip(*both, strict=True)
    (there,), (back,) = compared(ours, theirs, seed=seed).comparisons, compared(theirs, ours, seed=seed).comparisons
    assert there.difference == -back.difference
    assert (there.p_bootstrap, there.p_randomization) == (back.p_bootstrap, back.p_randomization)
    assert 0 < there.p_bootstrap <= 1
    assert 0 < there.p_randomization <= 1


@given(lines=sums, seed=st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_the_same_seed_draws_the_same(lines, seed):
    others = [each + n % 3 for n, each in enumerate(lines)]
    assert compared(lines, others, seed=seed) == compared(lines, others, seed=seed)


def test_another_seed_draws_something_else():
    drawn = np.random.default_rng(3)
    ours, theirs = drawn.random(50), drawn.random(50)
    assert compared(ours, theirs, seed=1).intervals != compared(ours, theirs, seed=2).intervals


@pytest.mark.parametrize("metric", build_metrics(ScoreConfig(), "de").metrics, ids=lambda metric: metric.name)
def test_a_clearly_better_system_is_found_by_every_metric(metric):
    references, systems = texts(80, 0.4, 0.4, 0.2)
    rows = [metric.measure(system, references) for system in systems]
    (found,) = resampled([Measured(rows, metric.values)], **DRAWS)
    alike, better = found.comparisons
    assert not alike.is_significant
    assert better.is_significant
    assert better.difference * (1 if metric.higher_is_better else -1) > 0
    for own, bounds in zip(rows, found.intervals, strict=True):
        assert bounds.low <= metric.values(own.sum(axis=0)) <= bounds.high


def test_metrics_together_find_what_each_finds_alone():
    references, systems = texts(30, 0.4, 0.3)
    metrics = build_metrics(ScoreConfig(), "de").metrics
    measured = [Measured([metric.measure(lines, references) for lines in systems], metric.values) for metric in metrics]
    together = resampled(measured, **DRAWS)
    assert together == [resampled([each], **DRAWS)[0] for each in measured]


def test_intervals_are_those_of_sacrebleu():
    references, (system,) = texts(60, 0.3)
    score = BLEU().corpus_score(system, [references], n_bootstrap=1000)
    metric = BleuConfig().build("de")
    (found,) = resampled([Measured([metric.measure(system, references)], metric.values)], **{**DRAWS, "draws": 1000})
    assert found.intervals[0].half == pytest.approx(score._ci)
    assert found.comparisons == []


def test_approximate_randomization_is_that_of_sacrebleu_but_for_ties():
    references, (baseline, system) = texts(60, 0.3, 0.25)
    _, peers = PairedTest([("a", baseline), ("b", system)], {"BLEU": BLEU()}, [references], "ar", n_samples=500)()
    metric = BleuConfig().build("de")
    rows = [metric.measure(lines, references) for lines in (baseline, system)]
    (found,) = resampled([Measured(rows, metric.values)], **{**DRAWS, "draws": 500})
    assert found.comparisons[0].p_randomization == pytest.approx(peers["BLEU"][1].p_value)


def test_sacrebleu_finds_the_same_system_significant_and_we_do_not():
    references, (system,) = texts(40, 0.3)
    _, peers = PairedTest([("a", system), ("b", system)], {"BLEU": BLEU()}, [references], "ar", n_samples=100)()
    assert peers["BLEU"][1].p_value < 0.05
    metric = BleuConfig().build("de")
    rows = [metric.measure(system, references)] * 2
    assert resampled([Measured(rows, metric.values)], **DRAWS)[0].comparisons[0] == Comparison(0, 1, 1)


def test_one_line_proves_nothing():
    (comparison,) = compared([0.0], [1.0]).comparisons
    assert comparison.p_randomization == 1
    assert not comparison.is_significant


@pytest.mark.parametrize("lines", [33, 100, 128])
def test_draws_in_portions_are_the_same(lines, monkeypatch):
    drawn = np.random.default_rng(5)
    ours, theirs = drawn.random(lines), drawn.random(lines) + 0.05
    whole = compared(ours, theirs, draws=2000)
    monkeypatch.setattr(significance, "_AT_ONCE", 7 * lines)
    assert len(list(significance._chunks(lines, 2000, 32))) > 10
    portions = compared(ours, theirs, draws=2000)
    assert portions.comparisons[0] == pytest.approx(whole.comparisons[0])
    assert portions.intervals[0] == pytest.approx(whole.intervals[0])


@pytest.mark.parametrize(
    ("differences", "real", "p"),
    [([0.0, 0.0, 0.0], 0.0, 1.0), ([1, -2, 3], 2.0, 3 / 4), ([1, -2, 3], -2.0, 3 / 4), ([1, 1, 1], 5.0, 1 / 4)],
)
def test_a_draw_that_ties_counts_and_so_does_the_real_difference(differences, real, p):
    assert p_value(np.array(differences, dtype=float), real) == p


@pytest.mark.parametrize(("confidence", "bounds"), [(0.95, (3, 98)), (0.9, (6, 95)), (0.99, (1, 100)), (0.5, (26, 75))])
def test_an_interval_leaves_out_as_much_at_either_end(confidence, bounds):
    assert interval(np.random.default_rng(1).permutation(np.arange(1.0, 101)), confidence) == Interval(*bounds)
