"""Scores of groups of lines equal those of the lines scored by themselves."""

import pytest
from sacrebleu.metrics import BLEU
from toy.reports import scored

from nmtkit.analysis.scoring import estimates
from nmtkit.metrics.bleu import BleuConfig

REFERENCES = [f"der Hund Nummer {number} läuft über die Wiese nach Hause ." for number in range(40)]
SYSTEMS = [
    [line.replace("läuft", "rennt") if place % 2 else line for place, line in enumerate(REFERENCES)],
    [line.replace("nach Hause", "heim") if place % 3 else line for place, line in enumerate(REFERENCES)],
]


def test_a_group_scores_what_its_lines_do():
    scores = scored(BleuConfig().build("de"), SYSTEMS, REFERENCES)
    assert scores.name == "BLEU"
    some = [0, 3, 5, 8]
    for system, estimate in zip(SYSTEMS, estimates(scores, some), strict=True):
        chosen = [[side[line] for line in some] for side in (system, REFERENCES)]
        assert estimate.value == pytest.approx(BLEU().corpus_score(chosen[0], [chosen[1]]).score)


def test_the_interval_is_around_the_score_and_always_the_same():
    scores = scored(BleuConfig().build("de"), SYSTEMS, REFERENCES)
    found = estimates(scores, range(40))
    assert found == estimates(scores, range(40))
    for estimate in found:
        assert estimate.low < estimate.value < estimate.high
    perfect = scored(BleuConfig().build("de"), [REFERENCES], REFERENCES)
    assert estimates(perfect, [4]) == [pytest.approx((100, 100, 100))]
