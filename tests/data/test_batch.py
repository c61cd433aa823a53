"""Padding, end marks, and the decoder input."""

import torch

from nmtkit.data.batch import Batch, collate


def test_collate_pads_and_ends():
    padded = collate([[5, 6], [7], []])
    assert padded.ids.tolist() == [[5, 6, 3], [7, 3, 0], [3, 0, 0]]
    assert padded.lengths.tolist() == [3, 2, 1]
    assert padded.mask.tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    assert padded.ids.dtype == padded.lengths.dtype == torch.int64


def test_decoder_input_is_the_target_behind_the_begin_mark():
    batch = Batch(collate([[5], [4]]), collate([[5, 6], [7]]))
    assert batch.decoder_input.tolist() == [[2, 5, 6], [2, 7, 3]]
    assert batch.target.ids.tolist() == [[5, 6, 3], [7, 3, 0]]


def test_to_moves_both_sides():
    moved = Batch(collate([[5]]), collate([[6]])).to(torch.device("cpu"))
    assert moved.source.ids.tolist() == [[5, 3]]
    assert moved.target.ids.tolist() == [[6, 3]]
