"""Models of width 16, one or more for every architecture of the union, and batches for them."""

import torch

from nmtkit.data.batch import Batch, collate
from nmtkit.models.base import AutoregressiveModel
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.settings import ModelConfig
from nmtkit.models.transformer.settings import TransformerConfig

VOCABULARY = 23

_TINY = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "width": 16,
    "feed_forward": 24,
    "heads": 2,
    "dropout": 0.1,
}

_TINY_RNN = {"encoder_layers": 2, "decoder_layers": 2, "width": 16, "dropout": 0.1}

VARIANTS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(**_TINY),
    "transformer-pre-norm": TransformerConfig(**_TINY, norm="pre", attention_dropout=0.1, activation_dropout=0.1),
    "transformer-unshared": TransformerConfig(**_TINY, share_embeddings="none"),
    "transformer-target-shared": TransformerConfig(**_TINY, share_embeddings="target"),
    "transformer-small-keys": TransformerConfig(**_TINY, key_size=3),
    "transformer-learned-positions": TransformerConfig(**_TINY, norm="pre", positions="learned", max_positions=16),
    "rnn": RnnConfig(**_TINY_RNN, cell="gru", attention="additive"),
    "rnn-lstm-dot-unfed": RnnConfig(**_TINY_RNN, cell="lstm", attention="dot", input_feeding=False),
    "rnn-lstm-unshared": RnnConfig(**_TINY_RNN, cell="lstm", attention="additive", share_embeddings="none"),
}
"""A name for each variation of each architecture; contract tests run over all of them."""


def build(config: ModelConfig, vocabulary: int = VOCABULARY, seed: int = 1) -> AutoregressiveModel:
    """Return a model in evaluation mode whose predictions are far from uniform."""
    torch.manual_seed(seed)
    model = config.build(vocabulary, vocabulary)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def random_sentences(lengths: list[int], seed: int = 0, vocabulary: int = VOCABULARY) -> list[list[int]]:
    """Return sentences of ordinary ids (no control ids) of the given lengths."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(4, vocabulary, (length,), generator=generator).tolist() for length in lengths]


def random_batch(lengths: list[tuple[int, int]], seed: int = 0, vocabulary: int = VOCABULARY) -> Batch:
    """Return pairs of (source, target) lengths, end marks not counted."""
    source = random_sentences([pair[0] for pair in lengths], seed, vocabulary)
    target = random_sentences([pair[1] for pair in lengths], seed + 1, vocabulary)
    return Batch(collate(source), collate(target))
