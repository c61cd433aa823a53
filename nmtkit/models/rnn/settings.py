"""The settings of the recurrent encoder-decoder."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from nmtkit.models.activations import Activations, Shape, Way
from nmtkit.models.section import ModelSection
from nmtkit.section import Conflict

if TYPE_CHECKING:
    from nmtkit.models.rnn.network import RecurrentNetwork

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 1, "decoder_layers": 1, "width": 256, "dropout": 0.3},
    "small": {"encoder_layers": 2, "decoder_layers": 2, "width": 512, "dropout": 0.3},
    # Luong et al. 2015, section 4.1, where 1,000 stands for 1,024
    "base": {"encoder_layers": 4, "decoder_layers": 4, "width": 1024, "dropout": 0.2},
}


class RnnConfig(ModelSection):
    """The recurrent encoder-decoder of Bahdanau et al. and Luong et al. 2015. A preset fills every size not given."""

    presets: ClassVar = PRESETS

    kind: Literal["rnn"] = "rnn"
    preset: Literal["tiny", "small", "base"] = Field(
        "base",
        description="Sizes to start from; any key given beside it wins. "
        "tiny is for some 10,000 pairs, base has those of Luong et al. 2015.",
    )
    cell: Literal["gru", "lstm"] = Field(
        "gru",
        description="The recurrent cell: gru (Cho et al. 2014), or lstm (Hochreiter and Schmidhuber 1997), "
        "which has a third more weights.",
    )
    encoder_layers: int = Field(4, ge=1, le=100, description="Layers of the encoder, each read in both directions.")
    decoder_layers: int = Field(4, ge=1, le=100, description="Layers of the decoder.")
    width: int = Field(
        1024,
        ge=2,
        le=65_536,
        description="Width of embeddings and decoder; even, since each direction of the encoder has half of it.",
    )
    attention: Literal["additive", "dot"] = Field(
        "additive",
        description="How a source position is scored: by a layer of its own (additive, Bahdanau et al. 2015), "
        "or by a product with the decoder's state (dot, the `general` score of Luong et al. 2015), which is faster.",
    )
    input_feeding: bool = Field(
        True,
        description="Give each step what attention found at the last one (Luong et al. 2015, section 3.3). "
        "Without it the decoder reads all target positions in one go, which is faster.",
    )
    dropout: float = Field(
        0.2,
        ge=0,
        lt=1,
        description="Dropout on embeddings, between layers, on what the encoder made and before the output layer; "
        "never from one position to the next (Zaremba et al. 2014).",
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report a width that the encoder's two directions cannot share."""
        if self.width % 2:
            yield Conflict(
                "width", f"{self.width} is odd, but each direction of the encoder has half; choose an even one"
            )

    def build(self, source_vocabulary: int, target_vocabulary: int) -> "RecurrentNetwork":
        """Return the network for vocabularies of these sizes, with freshly drawn weights."""
        from nmtkit.models.rnn.network import RecurrentNetwork

        return RecurrentNetwork(self, source_vocabulary, target_vocabulary)

    def activations(self, shape: Shape, way: Way) -> Activations:
        """Return the bytes that a tensor of sentence pairs takes on its way through the network and back."""
        from nmtkit.models.rnn.activations import activations

        return activations(self, shape, way)

    def rounded(self, target_vocabulary: int) -> int:
        """Return the elements of all matrices of which a copy in the format of products is held."""
        from nmtkit.models.rnn.activations import rounded

        return rounded(self, target_vocabulary)
