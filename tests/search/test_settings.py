"""The settings of searches: what cannot go together, and what they build."""

import pytest
from pydantic import ValidationError

from nmtkit.search.beam import BeamSearch
from nmtkit.search.greedy import GreedySearch
from nmtkit.search.sampling import SamplingSearch
from nmtkit.search.settings import BeamConfig, GreedyConfig, SamplingConfig


def test_n_best_beyond_the_beam_is_reported() -> None:
    assert [c.key for c in BeamConfig(beam=4, n_best=5).conflicts()] == ["n_best"]
    assert not list(BeamConfig(beam=4, n_best=4).conflicts())


def test_greedy_knows_no_beam() -> None:
    with pytest.raises(ValidationError, match="beam"):
        GreedyConfig.model_validate({"kind": "greedy", "beam": 4})


def test_sections_build_their_search() -> None:
    beam = BeamConfig(beam=7, n_best=2, length_penalty=0.9, max_length_ratio=2.0, max_length_extra=9).build()
    assert isinstance(beam, BeamSearch)
    assert (beam.beam, beam.n_best, beam.length_penalty, beam.limit) == (7, 2, 0.9, (2.0, 9))
    assert isinstance(GreedyConfig().build(), GreedySearch)
    drawing = SamplingConfig(n_best=3, temperature=0.5, top_k=9, top_p=0.8, seed=4, max_length_extra=9).build()
    assert isinstance(drawing, SamplingSearch)
    assert (drawing.samples, drawing.chances, drawing.seed, drawing.limit) == (3, (0.5, 9, 0.8), 4, (1.0, 9))
    rows = [config.rows_per_sentence for config in (GreedyConfig(), BeamConfig(beam=7), SamplingConfig(n_best=3))]
    assert rows == [1, 7, 3]
