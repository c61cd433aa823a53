"""The settings of the Transformer, with the paper's sizes as presets."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from nmtkit.models.activations import Activations, Shape, Way
from nmtkit.models.section import ModelSection
from nmtkit.section import Conflict

if TYPE_CHECKING:
    from nmtkit.models.transformer.network import Transformer

PRESETS: dict[str, dict[str, Any]] = {
    # 4 + 4 layers for small corpora (Wu et al. 2021, "Good for Misconceived Reasons")
    "tiny": {
        "encoder_layers": 4,
        "decoder_layers": 4,
        "width": 128,
        "feed_forward": 256,
        "heads": 4,
        "dropout": 0.3,
    },
    "small": {
        "encoder_layers": 6,
        "decoder_layers": 6,
        "width": 256,
        "feed_forward": 1024,
        "heads": 4,
        "dropout": 0.2,
    },
    # Vaswani et al. 2017, table 3
    "base": {
        "encoder_layers": 6,
        "decoder_layers": 6,
        "width": 512,
        "feed_forward": 2048,
        "heads": 8,
        "dropout": 0.1,
    },
    "big": {
        "encoder_layers": 6,
        "decoder_layers": 6,
        "width": 1024,
        "feed_forward": 4096,
        "heads": 16,
        "dropout": 0.3,
    },
}


class TransformerConfig(ModelSection):
    """The encoder-decoder of Vaswani et al. 2017. A preset fills every size that is not given."""

    presets: ClassVar = PRESETS
    apart_from_weights: ClassVar = ModelSection.apart_from_weights | {"attention_dropout", "activation_dropout"}

    kind: Literal["transformer"] = "transformer"
    preset: Literal["tiny", "small", "base", "big"] = Field(
        "base", description="Sizes to start from; any key given beside it wins. base and big are the paper's."
    )
    encoder_layers: int = Field(6, ge=1, le=1_000, description="Layers of the encoder.")
    decoder_layers: int = Field(6, ge=1, le=1_000, description="Layers of the decoder.")
    width: int = Field(
        512,
        ge=2,
        le=65_536,
        description="Width of embeddings and layers (d_model); an even multiple of heads.",
    )
    feed_forward: int = Field(
        2048, ge=1, le=1_048_576, description="Inner width of the feed-forward sub-layers (d_ff)."
    )
    heads: int = Field(
        8, ge=1, le=1_024, description="Attention heads; width / heads is the size of a head (d_k = d_v)."
    )
    key_size: int | None = Field(
        None,
        ge=1,
        le=65_536,
        description="Numbers in a query and a key of each head (d_k). None: width / heads, as in a value (d_v).",
    )
    positions: Literal["sinusoidal", "learned"] = Field(
        "sinusoidal",
        description="What is added to embeddings to tell positions apart: sines and cosines (the paper), or a learned "
        "row for each, one matrix for sources and one for targets.",
    )
    max_positions: int = Field(
        512,
        ge=2,
        le=65_536,
        description="Of learned positions: rows of each matrix. What a translation has beyond shares the last one.",
    )
    dropout: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="Dropout on each sub-layer's output and on embeddings + positions (P_drop).",
    )
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout on attention weights (the paper has none).")
    activation_dropout: float = Field(
        0.0, ge=0, lt=1, description="Dropout inside the feed-forward sub-layers (the paper has none)."
    )
    norm: Literal["post", "pre"] = Field(
        "post",
        description="Layer norm behind each residual sum (post, the paper) or before each sub-layer (pre), "
        "which trains deep stacks more safely.",
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report sizes that do not divide."""
        if self.width % self.heads:
            yield Conflict("heads", f"{self.heads} heads do not divide width {self.width}; choose a divisor")
        if self.width % 2 and self.positions == "sinusoidal":
            yield Conflict("width", f"{self.width} is odd, but sinusoidal positions need pairs; choose an even width")

    @property
    def key_width(self) -> int:
        """Numbers in the queries, and in the keys, of all heads together."""
        return self.width if self.key_size is None else self.heads * self.key_size

    @property
    def longest(self) -> int | None:
        """Positions that are told apart; None: any number."""
        return self.max_positions if self.positions == "learned" else None

    def build(self, source_vocabulary: int, target_vocabulary: int) -> "Transformer":
        """Return the network for vocabularies of these sizes, with freshly drawn weights."""
        from nmtkit.models.transformer.network import Transformer

        return Transformer(self, source_vocabulary, target_vocabulary)

    def activations(self, shape: Shape, way: Way) -> Activations:
        """Return the bytes that a tensor of sentence pairs takes on its way through the network and back."""
        from nmtkit.models.transformer.activations import activations

        return activations(self, shape, way)

    def rounded(self, target_vocabulary: int) -> int:
        """Return the elements of all matrices of which a copy in the format of products is held."""
        from nmtkit.models.transformer.activations import rounded

        return rounded(self, target_vocabulary)
