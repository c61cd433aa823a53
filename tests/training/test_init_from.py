"""Weights of another run: taken as they are, or row by row where the vocabularies differ."""

from pathlib import Path

import pytest
import torch
from toy.models import VARIANTS, build
from toy.segmenters import KINDS, SIZED_KINDS, learn, segmenter

from nmtkit.corpus.segmenters import Segmenter, open_segmenter
from nmtkit.errors import CheckpointError
from nmtkit.models.settings import ModelConfig
from nmtkit.training.init_from import Pieces, match_pieces, put_weights
from nmtkit.training.parallel import own_tensors

FILE = Path("other/weights.safetensors")


def opened(kind: str, **values: object) -> Segmenter:
    return open_segmenter(learn(kind, **values), "test")


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_has_all_pieces_of_itself(kind: str) -> None:
    pieces = match_pieces(segmenter(kind), segmenter(kind))
    assert pieces.rows.tolist() == list(range(segmenter(kind).size))
    assert (pieces.kept, pieces.new, pieces.left_out) == (segmenter(kind).size, [], [])


@pytest.mark.parametrize("kind", [*SIZED_KINDS, "characters"])
def test_pieces_are_found_by_their_text_and_tags_by_their_names(kind: str) -> None:
    sizes = ({"vocabulary_size": 70}, {"vocabulary_size": 84}) if kind in SIZED_KINDS else ({}, {})
    own = opened(kind, lines=["ж ж"] * 20, tags=("news", "bt"), byte_fallback=False, **sizes[0])
    other = opened(kind, lines=["ы ы"] * 20, tags=("talk", "news"), symbols=("<2de>",), byte_fallback=False, **sizes[1])
    pieces = match_pieces(own, other)
    ours, theirs = own.pieces(range(own.size)), other.pieces(range(other.size))
    for piece, row in zip(ours, pieces.rows.tolist(), strict=True):
        assert (theirs[row] == piece) if row >= 0 else (piece not in theirs)
    assert pieces.rows[:4].tolist() == [0, 1, 2, 3]
    assert pieces.rows[own.tag("news")] == other.tag("news")
    assert pieces.rows[own.tag("bt")] == -1
    assert {"<tag:bt>", "ж"} <= set(pieces.new)
    assert {"<tag:talk>", "<2de>", "ы"} <= set(pieces.left_out)
    assert pieces.kept + len(pieces.new) == own.size
    assert pieces.kept + len(pieces.left_out) == other.size == pieces.trained


def test_what_becomes_of_the_pieces_is_told() -> None:
    new = [f"n{number}" for number in range(11)]
    pieces = Pieces(torch.tensor([0, 2, *[-1] * 11]), 3, new, ['"'])
    assert list(pieces.in_words("vocabulary")) == [
        "vocabulary: 2 pieces kept, 11 new, 1 left out",
        'vocabulary, new, with rows drawn anew: "n0" "n1" "n2" "n3" "n4" "n5" "n6" "n7" "n8" "n9" …',
        'vocabulary, left out: "\\""',
    ]
    assert list(Pieces(torch.tensor([1, 0]), 2, [], []).in_words("x")) == ["x: 2 pieces kept, 0 new, 0 left out"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_vocabulary_takes_all_weights(variant: str) -> None:
    model, other = build(VARIANTS[variant], seed=1), build(VARIANTS[variant], seed=2)
    put_weights(model, own_tensors(other), FILE)
    for name, tensor in own_tensors(model).items():
        assert torch.equal(tensor, own_tensors(other)[name]), name


SOURCE = Pieces(torch.tensor([0, 1, 2, 3, 8, -1, 5]), 9, ["new"], [])
TARGET = Pieces(torch.tensor([0, 1, 2, 3, -1, 4]), 10, ["new"], [])


@pytest.mark.parametrize("variant", ["transformer-unshared", "transformer-target-shared", "rnn-lstm-unshared"])
def test_rows_of_each_side_follow_their_pieces(variant: str) -> None:
    """Rows of new pieces stay as they were drawn, and all other tensors are the other model's."""
    config = VARIANTS[variant]
    model, drawn, other = (_built(config, *sizes) for sizes in ((7, 6, 1), (7, 6, 1), (9, 10, 2)))
    put_weights(model, own_tensors(other), FILE, {"source": SOURCE, "target": TARGET})
    theirs, untouched = own_tensors(other), own_tensors(drawn)
    for name, tensor in own_tensors(model).items():
        pieces = {"source_embedding.weight": SOURCE}.get(name, TARGET) if name.endswith("embedding.weight") else None
        for place, row in enumerate(tensor):
            taken = place if pieces is None else int(pieces.rows[place])
            assert torch.equal(row, theirs[name][taken] if taken >= 0 else untouched[name][place]), (name, place)


def test_a_shared_matrix_is_taken_once() -> None:
    config = VARIANTS["transformer"]
    model, other = _built(config, 6, 6, 1), _built(config, 10, 10, 2)
    put_weights(model, own_tensors(other), FILE, {"source": TARGET, "target": TARGET})
    assert model.source_embedding is model.output_embedding
    assert torch.equal(model.source_embedding.weight[5], other.source_embedding.weight[4])


def _built(config: ModelConfig, source: int, target: int, seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return config.build(source, target)


def test_tensors_of_another_model_are_named() -> None:
    model, other = (
        build(VARIANTS["transformer"].model_copy(update=update))
        for update in ({}, {"decoder_layers": 3, "feed_forward": 20})
    )
    before = {name: tensor.clone() for name, tensor in own_tensors(model).items()}
    with pytest.raises(CheckpointError) as caught:
        put_weights(model, own_tensors(other), FILE)
    lines = str(caught.value).split("\n")
    assert lines[0] == "other/weights.safetensors: holds weights of another model:"
    assert "  encoder.0.feed_forward.inner.weight: (20, 16) in the file, (24, 16) in this model" in lines
    assert "  decoder.2.feed_forward.output.bias: (16,) in the file, missing in this model" in lines
    assert lines[-1].startswith("set [model] as the run that they are from has it")
    for name, tensor in own_tensors(model).items():
        assert torch.equal(tensor, before[name])


def test_a_file_with_other_rows_than_its_vocabulary_is_refused() -> None:
    model, other = _built(VARIANTS["transformer"], 6, 6, 1), _built(VARIANTS["transformer"], 11, 11, 2)
    with pytest.raises(CheckpointError, match=r"target_embedding\.weight: \(11, 16\) in the file, \(10, 16\) in this"):
        put_weights(model, own_tensors(other), FILE, {"source": TARGET, "target": TARGET})
