"""What the Transformer keeps for the way back, in bytes, by formula.

Letters as in `models.base`, and **F** the inner width of the feed-forward sub-layers, **H** heads, **n** the bytes of
an element in the format of products. All sizes below are of one position, but for those of attention weights.

A product keeps what it multiplies, n times its width, and the copy of its matrix, which is no activation. What stands
between products, by our kernels | by PyTorch's operations:

    residual sum and norm   the sum, 4 D, and mean and rate, 8                    | also the mask of dropout, n D
    ReLU                    nothing of its own: its output is kept by a product   | with dropout also the mask and the
                                                                                  | input of the mask, 2 n F
    attention               queries, keys, values, n D each                       | the same; see `_Formula.attention`
    embedding               the mask of dropout, 4 D, by PyTorch in both cases

So a layer of the encoder keeps, a position, by kernels: n (3 D of queries, keys and values, D before them, D before
and F within the feed-forward sub-layer, D before the output of attention) + 8 D + 16, that is n (6 D + F) + 8 D + 16;
a layer of the decoder n (9 D + F) + 12 D + 24, and n · 2 D a source position. A norm before each sub-layer keeps the
same as one behind it. Where queries and keys have a size of their own, theirs takes the place of D.
"""

from typing import Literal

from nmtkit.models.activations import FLOAT, ID, Activations, Shape, Way, gradient_of_matrix
from nmtkit.models.fused import FEW
from nmtkit.models.layers import LONG
from nmtkit.models.transformer.settings import TransformerConfig

MOMENTS = 2
"""Numbers that a norm keeps of each row: mean and rate."""


def activations(config: TransformerConfig, shape: Shape, way: Way) -> Activations:
    """Return what a tensor of sentence pairs takes on its way through the network and back."""
    formula = _Formula(config, shape, way)
    return Activations(formula.kept(), formula.work(), formula.products())


def rounded(config: TransformerConfig, target_vocabulary: int) -> int:
    """Return the elements of all matrices of which a copy in the format of products is held: all but embeddings.

    An attention has 2 D E of queries and keys, E wide, and 2 D² of values and output; a layer of the encoder has one
    and 2 D F, one of the decoder two and 2 D F; the output has V D.
    """
    width = config.width
    attention, feed_forward = 2 * width * (config.key_width + width), 2 * width * config.feed_forward
    encoder = config.encoder_layers * (attention + feed_forward)
    decoder = config.decoder_layers * (2 * attention + feed_forward)
    return encoder + decoder + target_vocabulary * width


def attention_way(
    config: TransformerConfig, way: Way, queries: int, keys: int
) -> Literal["kernel", "fused", "written out", "by PyTorch in float32"]:
    """Return how attention of so many positions over so many others is computed (`models.fused`, `models.layers`)."""
    if way.kernels and max(queries, keys) <= FEW and not config.attention_dropout:
        return "kernel"
    if not way.cuda and keys <= LONG:
        return "written out"
    # With dropout PyTorch has no fused kernel for a CPU and does what it would fuse one by one, in float32.
    return "by PyTorch in float32" if config.attention_dropout and not way.cuda else "fused"


class _Formula:
    """The sizes of one network and one tensor, and what follows from them."""

    def __init__(self, config: TransformerConfig, shape: Shape, way: Way) -> None:
        self.config, self.shape, self.way = config, shape, way
        self.number, self.width = way.number, config.width

    def products(self) -> int:
        """Return how many products of different shapes there are: those of a layer, which are those of all layers.

        An encoder layer has four, a decoder layer four besides those with its D × D matrices, which are alike, but for
        queries of another size, and its keys and values of the source one; attention written out has two in each of
        its three uses. Each gives rise to two more on the way back.
        """
        shape = self.shape
        uses = ((shape.source, shape.source), (shape.target, shape.target), (shape.target, shape.source))
        written = [use for use in uses if attention_way(self.config, self.way, *use) == "written out"]
        unlike = self.config.key_width != self.width
        return 3 * (4 + 4 + unlike + 1 + 2 * len(written))

    def kept(self) -> int:
        """Return the bytes kept by everything from the embeddings to what the output layer is given."""
        source, target = self.shape.source_positions, self.shape.target_positions
        if self.way.recompute:
            encoder = self.inputs(source, self.config.encoder_layers)
            decoder = self.inputs(target, self.config.decoder_layers)
        else:
            encoder = self.config.encoder_layers * self.encoder_layer()
            decoder = self.config.decoder_layers * self.decoder_layer()
        # The keys and values of all layers of the decoder are products of one encoder output.
        between = self.product(source, self.width)
        last_norms = self.norm(source) + self.norm(target) if self.config.norm == "pre" else 0
        ids = ID * (source + 2 * target)  # the decoder's input is a tensor of its own
        ids += ID * (self.shape.source + self.shape.target) if self.config.longest else 0  # learned positions
        return self.embedding(source) + self.embedding(target) + encoder + between + decoder + last_norms + ids

    def inputs(self, positions: int, layers: int) -> int:
        """Return what layers are given, where nothing else is kept of them: the residual sum in float32.

        Behind a norm it is there in the format of products as well, and in any case so in front of the first layer.
        """
        rounded = 0 if self.number == FLOAT else self.product(positions, self.width)
        return FLOAT * positions * self.width * layers + rounded * (layers if self.config.norm == "post" else 1)

    def encoder_layer(self) -> int:
        """Self-attention, then feed-forward."""
        source = self.shape.source
        attended = self.attention(source, source, within=True)
        return attended + self.feed_forward(self.shape.source_positions)

    def decoder_layer(self) -> int:
        """Self-attention, attention over the source, then feed-forward."""
        target, source = self.shape.target, self.shape.source
        attended = self.attention(target, target, within=True) + self.attention(target, source, within=False)
        return attended + self.feed_forward(self.shape.target_positions)

    def attention(self, queries: int, keys: int, *, within: bool) -> int:
        """Return what the sub-layer keeps, its residual sum included; `within` a sequence, or over another.

        The product that makes queries (and, in self-attention, keys and values) keeps what it is given, D, the output
        product what was found, D. In between are queries, keys and values, with their biases added where PyTorch
        computes. Its fused attention keeps what was found, which the output product shares, a float32 for each row and
        head, and what hides later positions or padding. Written out, B H T L weights are kept as the softmax made
        them, in float32, and as the product with the values got them: the same, unless dropout or rounding made
        others; dropout keeps its mask too.
        """
        number, kind = self.number, attention_way(self.config, self.way, queries, keys)
        asking, asked = self.shape.pairs * queries, self.shape.pairs * keys
        weights = asking * keys * self.config.heads
        projected = self.config.key_width * (asking + asked) + self.width * asked
        own = number * projected
        if kind == "fused":
            own += number * self.widened(asking, asked, within=within)
            hidden = queries * keys if queries == keys == self.shape.target else asked
            own += FLOAT * self.config.heads * asking + number * hidden
        elif kind == "by PyTorch in float32":
            own = FLOAT * (projected + 3 * weights)
        elif kind == "written out" and self.config.attention_dropout:
            own += weights * (2 * FLOAT + number)
        elif kind == "written out":
            own += weights * (FLOAT if number == FLOAT else FLOAT + number)
        return 2 * self.product(asking, self.width) + own + self.residual(asking)

    def widened(self, asking: int, asked: int, *, within: bool) -> int:
        """Return the elements of what fused attention keeps besides where keys and values differ in size (`layers`).

        The smaller ones are copied and filled up; what they are parts of is kept all the same, but for queries that
        stand alone. What is found, as wide as the larger ones, the output product has a copy of.
        """
        keys, values = self.config.key_width, self.width
        if keys < values:
            return values * (2 * asking + asked) - (0 if within else keys * asking)
        return keys * (asking + asked) if keys > values else 0

    def feed_forward(self, positions: int) -> int:
        """Return what the sub-layer keeps, its residual sum included: what it is given, D, and F within."""
        inner = self.product(positions, self.config.feed_forward)
        if self.config.activation_dropout and not self.way.kernels:
            inner *= 3
        return self.product(positions, self.width) + inner + self.residual(positions)

    def residual(self, positions: int) -> int:
        """Return what a residual sum with dropout and its norm keep."""
        masked = bool(self.config.dropout) and not self.way.kernels
        return self.norm(positions) + (self.product(positions, self.width) if masked else 0)

    def norm(self, positions: int) -> int:
        """Return what a norm keeps: what it is given in float32, and two numbers a row."""
        return FLOAT * positions * (self.width + MOMENTS)

    def embedding(self, positions: int) -> int:
        """Return what embedding and position keep: the mask of dropout in float32."""
        return FLOAT * positions * self.width if self.config.dropout else 0

    def product(self, positions: int, inputs: int) -> int:
        """Return what a product keeps: what it multiplies, in its format."""
        return self.number * positions * inputs

    def work(self) -> int:
        """Return what the way back takes besides in the last layer of the decoder, where it begins.

        In the feed-forward sub-layer: the gradient of its sum's two inputs, 4 D and n D, of which 4 D take the place of
        the sum that is no longer needed; those in front of and behind the ReLU, n F each; and the gradient of a matrix.
        In attention written out: the gradient of the weights behind and in front of the softmax, in float32, when what
        the feed-forward sub-layer kept is gone, and with it the rounded weights. Where layers are recomputed, all that
        the largest of them keeps is there again but for its input, which is there already.
        """
        positions, width, inner = self.shape.target_positions, self.width, self.config.feed_forward
        by_inner = 2 * self.product(positions, inner) + self.product(positions, width)
        feed_forward = by_inner + gradient_of_matrix(width * inner, self.number)
        written = [
            self.config.heads * positions * keys
            for keys in (self.shape.target, self.shape.source)
            if attention_way(self.config, self.way, self.shape.target, keys) in ("written out", "by PyTorch in float32")
        ]
        gone = 0 if self.number == FLOAT else self.number
        attention = (2 * FLOAT - gone) * max(written, default=0) - self.feed_forward(positions)
        return self.again() + max(feed_forward, attention)

    def again(self) -> int:
        """Return what is there again while a layer is on its way back, where layers are recomputed."""
        if not self.way.recompute:
            return 0
        source, target = self.shape.source_positions, self.shape.target_positions
        encoder = self.encoder_layer() - self.product(source, self.width)
        return max(encoder, self.decoder_layer() - self.product(target, self.width))
