"""How fast updates are made: target tokens a second (padding left out) by preset and precision, as JSON lines.

    python tests/benchmarks/training_speed.py --preset tiny base --precision fp32 bf16
    python tests/benchmarks/training_speed.py --kind rnn --preset tiny --set cell=lstm attention=dot input_feeding=false

Synthetic pairs of 14-15 pieces, a vocabulary of 9,712, whole updates: collate, forward, backward, Adam. `plain` is the
same model with PyTorch's own dropout and fused attention: what the written-out ones are worth, in the same run.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import torch
from pydantic import TypeAdapter
from torch import Tensor
from torch.nn import functional as F

from nmtkit.data.batch import Batch, collate
from nmtkit.models.layers import Dropout
from nmtkit.models.settings import ModelConfig
from nmtkit.toml import parse_value
from nmtkit.training.memory import keep_freed_memory
from nmtkit.training.optimizers import AdamConfig

VOCABULARY = 9_712


@contextmanager
def plain() -> Iterator[None]:
    """Put PyTorch's own dropout and attention in place of ours."""

    def attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: Dropout) -> Tensor:
        mask = None if bias is None else bias.to(query.dtype)
        p = dropout.p if dropout.training else 0.0
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=p)

    with (
        patch.object(Dropout, "forward", lambda self, x: F.dropout(x, self.p, self.training)),
        patch("nmtkit.models.transformer.network.attention", attention),
    ):
        yield


def rate(config: ModelConfig, precision: str, target_tokens: int, repeats: int) -> float:
    """Return target tokens a second, the best of some repeats."""
    torch.manual_seed(1)
    model = config.build(VOCABULARY, VOCABULARY).train()
    optimizer = AdamConfig().build(model.parameters())
    draw = random.Random(1)
    pairs = target_tokens // 16
    sides = [
        [[draw.randrange(4, VOCABULARY) for _ in range(draw.choice((14, 15)))] for _ in range(pairs)] for _ in "st"
    ]
    best = 0.0
    for repeat in range(repeats + 1):
        began = time.perf_counter()
        batch = Batch(collate(sides[0]), collate(sides[1]))
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch, 0.1)
        (loss.total / loss.tokens).backward()
        for group in optimizer.param_groups:
            group["lr"] = 1e-4
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if repeat:  # the first one warms up
            best = max(best, loss.tokens / (time.perf_counter() - began))
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", default="transformer")
    parser.add_argument("--preset", nargs="+", default=["tiny", "base"])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more settings of the model")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--target-tokens", type=int, default=4_096)
    parser.add_argument("--repeats", type=int, default=8)
    arguments = parser.parse_args()
    keep_freed_memory()
    more = {key: parse_value(value) for key, _, value in (setting.partition("=") for setting in arguments.set)}
    for preset in arguments.preset:
        model = {"kind": arguments.kind, "preset": preset, **more}
        config = TypeAdapter(ModelConfig).validate_python(model)
        for precision in arguments.precision:
            ours = rate(config, precision, arguments.target_tokens, arguments.repeats)
            with plain():
                theirs = rate(config, precision, arguments.target_tokens, arguments.repeats)
            record = {**model, "precision": precision, "threads": torch.get_num_threads()}
            print(json.dumps({**record, "ours": round(ours), "plain": round(theirs), "ratio": round(ours / theirs, 2)}))


if __name__ == "__main__":
    main()
