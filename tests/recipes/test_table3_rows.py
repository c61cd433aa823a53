"""The rows of Table 3: the paper's values with the paper's base, others in proportion, and what is left out."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from recipe_parts.saying import RecipeError
from recipe_parts.table3_rows import BASE, ROWS, chosen, in_words, variations

from nmtkit.config import Config, resolve
from nmtkit.models.transformer.settings import TransformerConfig

PAPER = {"model": {"preset": "base"}, "train": {"stop": {"updates": 100_000}}}

SETTINGS = {
    "base": {},
    "A1": {"model.heads": 1},
    "A4": {"model.heads": 4},
    "A16": {"model.heads": 16},
    "A32": {"model.heads": 32},
    "B16": {"model.key_size": 16},
    "B32": {"model.key_size": 32},
    "C-2-layers": {"model.encoder_layers": 2, "model.decoder_layers": 2},
    "C-4-layers": {"model.encoder_layers": 4, "model.decoder_layers": 4},
    "C-8-layers": {"model.encoder_layers": 8, "model.decoder_layers": 8},
    "C-width-256": {"model.width": 256},
    "C-width-1024": {"model.width": 1024},
    "C-ff-1024": {"model.feed_forward": 1024},
    "C-ff-4096": {"model.feed_forward": 4096},
    "D-dropout-0": {"model.dropout": 0.0},
    "D-dropout-0.2": {"model.dropout": 0.2},
    "D-smoothing-0": {"train.label_smoothing": 0.0},
    "D-smoothing-0.2": {"train.label_smoothing": 0.2},
    "E": {"model.positions": "learned"},
    "big": {
        "model.width": 1024,
        "model.feed_forward": 4096,
        "model.heads": 16,
        "model.dropout": 0.3,
        "train.stop.updates": 300_000,
    },
}


def base(tables: Mapping[str, Any]) -> Config:
    return resolve({"languages": {"source": "en", "target": "de"}, **tables}, "x.toml")


def settings_of(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {variation.row.name: variation.settings for variation in variations(base(tables), list(ROWS))[0]}


def left_out(tables: Mapping[str, Any]) -> dict[str, str]:
    return {left.row.name: left.why for left in variations(base(tables), list(ROWS))[1]}


def test_the_papers_base_has_the_papers_rows() -> None:
    assert settings_of(PAPER) == SETTINGS
    assert left_out(PAPER) == {}


def test_overrides_are_read_back_as_they_were_meant() -> None:
    for variation in variations(base(PAPER), list(ROWS))[0]:
        config = resolve({"languages": {"source": "en", "target": "de"}, **PAPER}, "x.toml", variation.overrides)
        for key, value in variation.settings.items():
            section, *names = key.split(".")
            found = getattr(config, section)
            for name in names:
                found = getattr(found, name)
            assert found == value


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.paper.parameters])
def test_parameters_are_those_of_the_paper(name: str) -> None:
    """With some 40,800 pieces, by which the base has the 65M of the paper, each row has what the paper says of it."""
    model = TransformerConfig(preset="base")
    settings = {key.removeprefix("model."): value for key, value in SETTINGS[name].items() if key.startswith("model.")}
    with torch.device("meta"):
        built = model.model_copy(update=settings).build(40_800, 40_800)
    row = next(row for row in ROWS if row.name == name)
    fewer = (40_800 - 36_000) * 1024 if name == "big" else 0  # whose figure fits some 36,000 pieces
    millions = (sum(parameter.numel() for parameter in built.parameters()) - fewer) / 1e6
    assert millions == pytest.approx(row.paper.parameters, abs=2)


SMALL = {
    "model": {
        "encoder_layers": 3,
        "decoder_layers": 3,
        "width": 128,
        "feed_forward": 512,
        "heads": 4,
        "dropout": 0.3,
    },
    "train": {"stop": {"updates": 1_500}},
}


def test_another_base_has_rows_in_proportion() -> None:
    found = settings_of(SMALL)
    assert found["A1"] == {"model.heads": 1}
    assert found["A4"] == {"model.heads": 2}
    assert found["A32"] == {"model.heads": 16}
    assert found["B16"] == {"model.key_size": 8}
    assert found["C-2-layers"] == {"model.encoder_layers": 1, "model.decoder_layers": 1}
    assert found["C-8-layers"] == {"model.encoder_layers": 4, "model.decoder_layers": 4}
    assert found["C-width-256"] == {"model.width": 64}
    assert found["D-dropout-0.2"] == {"model.dropout": 0.5}  # no more, whatever the factor
    assert found["big"]["train.stop.updates"] == 4_500


def test_sides_of_different_depth_keep_their_proportion() -> None:
    found = settings_of({"model": {"encoder_layers": 6, "decoder_layers": 2}})
    assert found["C-2-layers"] == {"model.encoder_layers": 2, "model.decoder_layers": 1}
    assert found["C-4-layers"] == {"model.encoder_layers": 4, "model.decoder_layers": 1}


def test_a_schedule_that_names_its_end_follows_the_updates() -> None:
    linear = {"kind": "linear", "decay_to": 1_600}
    tables = {**SMALL, "train": {"stop": {"updates": 1_500}, "schedule": linear}}
    assert settings_of(tables)["big"]["train.schedule.decay_to"] == 4_800
    assert "train.schedule.decay_to" not in settings_of(tables)["C-width-1024"]


def test_keys_of_their_own_follow_the_width() -> None:
    tables = {"model": {"preset": "base", "key_size": 32}}
    found = settings_of(tables)
    assert found["C-width-256"] == {"model.width": 256, "model.key_size": 16}
    assert found["B16"] == {"model.key_size": 8}
    assert "model.key_size" not in found["big"]  # twice as many heads in twice the width


def test_rows_that_are_none_are_left_out_with_the_reason() -> None:
    tables = {"model": {**SMALL["model"], "width": 12, "heads": 2, "dropout": 0.0, "positions": "learned"}}
    found = left_out(tables)
    assert found["A4"] == "the same as A1 for this base"
    assert found["A32"] == "8 heads do not divide width 12; choose a divisor"
    assert found["D-dropout-0"] == found["E"] == "the same as base for this base"
    assert "A1" not in found


def test_a_width_that_halves_to_an_odd_one_is_left_out() -> None:
    assert "9 is odd" in left_out({"model": {**SMALL["model"], "width": 18, "heads": 1}})["C-width-256"]


def test_what_a_row_changes_in_words() -> None:
    config = base(SMALL)
    words = {each.row.name: in_words(config, each) for each in variations(config, list(ROWS))[0]}
    assert words["base"] == ""
    assert words["C-4-layers"] == "layers 3 → 2"
    assert words["B32"] == "key size 32 → 16"
    assert words["D-smoothing-0.2"] == "label smoothing 0.1 → 0.2"
    assert words["E"] == "positions sinusoidal → learned"
    assert (
        words["big"]
        == "width 128 → 256, feed forward 512 → 1,024, heads 4 → 8, dropout 0.3 → 0.5, updates 1,500 → 4,500"
    )


def test_rows_are_chosen_by_name_and_the_base_is_always_there() -> None:
    assert [row.name for row in chosen(["E", "A1"])] == ["base", "A1", "E"]
    assert chosen([]) == list(ROWS)
    assert chosen(["base"]) == [BASE]
    with pytest.raises(RecipeError, match=r"--rows: A2, x is none; there are: base, A1, A4") as caught:
        chosen(["A2", "A1", "x"])
    assert caught.value.code == 2


def test_another_architecture_has_no_such_table() -> None:
    with pytest.raises(RecipeError, match=r'model\.kind = "rnn": the table is about the Transformer') as caught:
        variations(base({"model": {"kind": "rnn"}}), list(ROWS))
    assert caught.value.code == 2
