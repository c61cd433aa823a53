"""What the recurrent network keeps for the way back, in bytes, by formula.

Letters as in `models.base`. Everything before the output layer computes in float32, so sizes are counted in numbers of
one position and multiplied by 4 in the end. A direction of the encoder has half the width, h = D / 2.

A recurrent layer of PyTorch over whole sequences keeps a copy of its input, I, and more. A GRU is computed position by
position on a CPU and keeps what its weights made of the state, 3 h, the candidate, h, twice what a gate was multiplied
with, 2 h, and the state, h. An LSTM is computed by oneDNN, which keeps a work space beside the output, h: the gates,
4 h, and room for states and their gradients, by measurement 5 h + 6 I (1 to 4 % more for what fills up its rows).
A step of our own keeps 7 D. GRU: what its weights made of the state, 3 D, two gates, candidate and state; LSTM: three
gates, the candidate, the cell before and behind tanh, and the state.
Additive attention keeps tanh(query + key) for each pair of positions, D S numbers a target position, which is most of
what this network takes where sentences are long.
"""

from nmtkit.models.activations import FLOAT, ID, Activations, Shape, Way
from nmtkit.models.rnn.settings import RnnConfig

SEQUENCE_KEPT = {"gru": (7, 1), "lstm": (10, 7)}
"""Numbers that PyTorch's layer keeps of each position: times its own width, and times that of its input."""
STEP_KEPT = 7
"""Numbers that a step of our own keeps of each position and unit beside its input."""


def activations(config: RnnConfig, shape: Shape, way: Way) -> Activations:
    """Return what a tensor of sentence pairs takes on its way through the network and back."""
    formula = _Formula(config, shape)
    # What is predicted from is there in float32 while the loss is computed in another format.
    predicted = 0 if way.number == FLOAT else shape.target_positions * config.width
    if way.recompute:
        return Activations(FLOAT * (formula.inputs() + predicted), FLOAT * (formula.largest() + formula.work()), 0)
    return Activations(FLOAT * (formula.kept() + predicted), FLOAT * formula.work(), 0)


def rounded(config: RnnConfig, target_vocabulary: int) -> int:
    """Return the elements of all matrices of which a copy in the format of products is held: that of the output."""
    return target_vocabulary * config.width


class _Formula:
    """The sizes of one network and one tensor, and what follows from them, in numbers of 4 bytes."""

    def __init__(self, config: RnnConfig, shape: Shape) -> None:
        self.config, self.shape, self.width = config, shape, config.width
        self.source, self.target = shape.source_positions, shape.target_positions

    def kept(self) -> int:
        """Return what everything from the embeddings to what the output layer is given keeps."""
        encoder = self.config.encoder_layers * (self.encoder_layer() + self.mask(self.source))
        embedded = self.mask(self.source) + self.mask(self.target)
        return embedded + encoder + self.memory() + self.decoder() + self.mask(self.target) + self.ids()

    def ids(self) -> int:
        """Return the ids of both sides, and of the decoder's input, which is a tensor of its own."""
        return (self.source + 2 * self.target) * ID // FLOAT

    def mask(self, positions: int) -> int:
        """Return the mask of dropout."""
        return positions * self.width if self.config.dropout else 0

    def encoder_layer(self) -> int:
        """Both directions: their layers, and for the backward one its input and output as they were turned round.

        Turning round keeps what it turns, and an index for each position: of the input D, of the output h.
        """
        half = self.width // 2
        turned = self.source * (self.width + half + 2 * ID // FLOAT)
        return turned + 2 * self.sequence(self.source, self.width, half)

    def sequence(self, positions: int, inputs: int, width: int) -> int:
        """Return what a layer of PyTorch over whole sentences keeps."""
        by_width, by_inputs = SEQUENCE_KEPT[self.config.cell]
        return positions * (by_width * width + by_inputs * inputs)

    def memory(self) -> int:
        """Return what is kept of what attention gets of the source: the values, D, and keys that are multiplied, D."""
        return self.source * self.width * (2 if self.config.attention == "dot" else 1)

    def decoder(self) -> int:
        """Return what all layers and attention keep, over all target positions."""
        layers, width = self.config.decoder_layers, self.width
        between = (layers - 1) * 2 * self.mask(self.target)  # dropout makes the layer above an input of its own
        if self.config.input_feeding:
            embedded = self.target * width
            return embedded + STEP_KEPT * layers * self.target * width + between + self.attention()
        queries = self.target * width  # a copy, since PyTorch's layer gives them position by position
        above = (layers - 1) * self.mask(self.target)
        return layers * self.sequence(self.target, width, width) + above + queries + self.attention()

    def attention(self) -> int:
        """Return what attention and the attentional vector keep: weights, what was found beside the state, 2 D, D."""
        pairs = self.target * self.shape.source
        scored = pairs * self.width if self.config.attention == "additive" else 0
        return scored + pairs + 3 * self.target * self.width

    def inputs(self) -> int:
        """Return what is kept where layers, attention and steps are recomputed: what they are given."""
        embedded = self.mask(self.source) + self.mask(self.target)
        encoder = self.config.encoder_layers * (self.source * self.width + self.mask(self.source))
        return embedded + encoder + self.memory() + self.inputs_of_decoder() + self.mask(self.target) + self.ids()

    def inputs_of_decoder(self) -> int:
        """Return what the decoder is given, layer by layer or, with input feeding, step by step."""
        layers, size = self.config.decoder_layers, self.target * self.width
        if self.config.input_feeding:
            states, gates = (2, 4) if self.config.cell == "lstm" else (1, 3)
            return size * (1 + gates + 1 + states * layers)
        return (layers + 1) * size + (layers - 1) * self.mask(self.target)

    def largest(self) -> int:
        """Return what is there again of what is recomputed: a step, layer or attention of the decoder.

        Or a layer of the encoder, when what the decoder was given is gone.
        """
        if self.config.input_feeding:
            decoder = self.decoder() // max(1, self.shape.target)
        else:
            decoder = max(self.sequence(self.target, self.width, self.width), self.attention())
        return max(decoder, self.encoder_layer() - self.inputs_of_decoder())

    def work(self) -> int:
        """Return what the way back takes besides at its beginning: the gradient of the attentional vectors, D twice.

        Where attention is additive and looks at all positions at once, also that of its hidden layer, behind tanh and
        in front of it.
        """
        hidden = 0
        if self.config.attention == "additive" and not self.config.input_feeding:
            hidden = self.target * self.shape.source * self.width
        return 2 * (self.target * self.width + hidden)
