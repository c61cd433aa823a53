"""Fine-tuning: weights of another run put into a model, rows of embeddings and output by the text of their pieces.

The rows of pieces that the other vocabulary does not have stay as they were drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.corpus.segmenters import Segmenter
from nmtkit.errors import CheckpointError
from nmtkit.models.base import Model, Side
from nmtkit.toml import inline
from nmtkit.training.parallel import own_tensors

SHOWN = 10
"""How many new pieces, and how many that are left out, are named."""


class Pieces(NamedTuple):
    """How a vocabulary relates to the one that weights were trained with."""

    rows: Tensor
    """For each piece its id there, (V,) int64; -1 for one that is new."""
    trained: int
    """Pieces there."""
    new: Sequence[str]
    left_out: Sequence[str]
    """Those there that are not here."""

    @property
    def kept(self) -> int:
        """How many pieces are in both."""
        return len(self.rows) - len(self.new)

    def in_words(self, of: str) -> Iterator[str]:
        """Yield lines on what becomes of the pieces of a vocabulary, called `of`."""
        yield f"{of}: {self.kept:,} pieces kept, {len(self.new):,} new, {len(self.left_out):,} left out"
        for what, pieces in (("new, with rows drawn anew", self.new), ("left out", self.left_out)):
            if pieces:
                more = " …" if len(pieces) > SHOWN else ""
                yield f"{of}, {what}: {' '.join(map(inline, pieces[:SHOWN]))}{more}"


def match_pieces(own: Segmenter, trained: Segmenter) -> Pieces:
    """Find the pieces of a vocabulary in another one, by their text; tags and control pieces by their names."""
    ours, theirs = own.pieces(range(own.size)), trained.pieces(range(trained.size))
    ids: dict[str, int] = {}
    for id_, piece in enumerate(theirs):
        ids.setdefault(piece, id_)
    here = set(ours)
    return Pieces(
        torch.tensor([ids.get(piece, -1) for piece in ours]),
        trained.size,
        [piece for piece in ours if piece not in ids],
        [piece for piece in theirs if piece not in here],
    )


def put_weights(
    model: Model, tensors: Mapping[str, Tensor], file: Path, pieces: Mapping[Side, Pieces] | None = None
) -> None:
    """Copy the tensors of a weights file, named as `own_tensors` names them, into a model.

    With `pieces`, the vocabularies differ: where a tensor has a row for each piece, those of the same piece are copied.
    Raises CheckpointError, naming each tensor, where the file holds those of another model.
    """
    own = own_tensors(model)
    matched = {
        name: pieces[model.vocabulary_rows[name]]
        for name in own
        if pieces is not None and name in model.vocabulary_rows
    }
    problems = [
        f"  {name}: {_shown(found)} in the file, {_shown(wanted)} in this model"
        for name in sorted(own.keys() | tensors.keys())
        for found, wanted in [(_shape(tensors.get(name)), _wanted(own.get(name), matched.get(name)))]
        if found != wanted
    ]
    if problems:
        raise CheckpointError(
            "\n".join([f"{file}: holds weights of another model:", *problems])
            + "\nset [model] as the run that they are from has it (its config.toml), or take another run"
        )
    with torch.no_grad():
        for name, tensor in own.items():
            if name in matched:
                rows = matched[name].rows
                (places,) = torch.nonzero(rows >= 0, as_tuple=True)
                copied = tensors[name].index_select(0, rows[places])
                tensor.index_copy_(0, places.to(tensor.device), copied.to(tensor.device))
            else:
                tensor.copy_(tensors[name])


def _shape(tensor: Tensor | None) -> tuple[int, ...] | None:
    return None if tensor is None else tuple(tensor.shape)


def _wanted(own: Tensor | None, pieces: Pieces | None) -> tuple[int, ...] | None:
    """Return the shape that the file must have a tensor in."""
    shape = _shape(own)
    return shape if shape is None or pieces is None else (pieces.trained, *shape[1:])


def _shown(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else str(shape)
