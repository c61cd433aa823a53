"""The state of training: what is remembered of validations, and how it is written."""

import json

import pytest

from nmtkit.data.batching import Budget
from nmtkit.data.position import Leg, Position
from nmtkit.metrics.base import Score
from nmtkit.training.state import TrainingState


def bleu(value: float, signature: str = "13a") -> Score:
    return Score("BLEU", value, signature, higher_is_better=True)


def perplexity(value: float) -> Score:
    return Score("perplexity", value, "", higher_is_better=False)


def test_json_and_back() -> None:
    position = Position(1, (1.0, 0.5), 40, 20, 9, 77, (Leg(Budget(400, 200), 2), Leg(Budget(300, 300), 1)))
    state = TrainingState(update=7, position=position, pairs=90, seconds=1.25, skipped=1)
    assert (state.epoch, state.position.seen) == (1, 49)
    state.record_score(bleu(12.5), counts=True)
    assert TrainingState.from_json(json.loads(json.dumps(state.to_json()))) == state
    assert TrainingState.from_json(TrainingState().to_json()) == TrainingState()


def test_a_state_of_a_version_that_knew_less_can_be_read() -> None:
    content = TrainingState(update=7, pairs=90).to_json()
    for name in ("watched", "recent_nll", "recent_tokens", "lowest_loss", "steady", "returns"):
        del content[name]
    assert TrainingState.from_json(content) == TrainingState(update=7, pairs=90)


def test_a_state_becomes_another_but_stays_itself() -> None:
    state, other = TrainingState(update=7), TrainingState(update=3, pairs=5, best=bleu(1.0), steady=2)
    known = [state]
    state.become(other)
    assert known[0] == other
    other.update = 4
    assert state.update == 3


@pytest.mark.parametrize(
    "content",
    [
        {},
        *(
            {**TrainingState().to_json(), **wrong}
            for wrong in (
                {"more": 1},
                {"update": "8"},
                {"position": None},
                {"position": {**Position().to_json(), "begin": 1.0}},
                {"pairs": -1},
                {"seconds": True},
                {"best": {**perplexity(1.0)._asdict(), "value": "1"}},
            )
        ),
    ],
)
def test_other_json_is_refused(content: dict[str, object]) -> None:
    with pytest.raises((TypeError, KeyError)):
        TrainingState.from_json(content)


def test_patience_counts_validations_without_gain() -> None:
    state = TrainingState()
    gains = []
    for update, value in enumerate([10.0, 12.0, 12.0, 11.0, 12.5, 3.0], 1):
        state.update = update
        gains.append(state.record_score(bleu(value), counts=True))
    assert gains == [True, True, False, False, True, False]
    assert (state.best, state.best_update, state.validations_without_gain) == (bleu(12.5), 5, 1)
    assert state.current_score == bleu(3.0)
    state.update = 7
    assert state.current_score is None


def test_a_validation_out_of_turn_does_not_cost_patience() -> None:
    state = TrainingState(best=bleu(10.0))
    assert not state.record_score(bleu(9.0), counts=False)
    assert state.validations_without_gain == 0


def test_lower_perplexity_is_better() -> None:
    state = TrainingState(update=1)
    assert [state.record_score(perplexity(value), counts=True) for value in (90.0, 80.0, 85.0)] == [True, True, False]


def test_a_score_measured_otherwise_begins_anew() -> None:
    state = TrainingState(best=bleu(30.0), best_update=3, validations_without_gain=2)
    state.update = 4
    assert state.record_score(bleu(20.0, "intl"), counts=True)
    assert (state.best_update, state.validations_without_gain) == (4, 0)
