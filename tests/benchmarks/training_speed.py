"""How fast updates are made: target tokens a second (padding left out) by preset and precision, as JSON lines.

    python tests/benchmarks/training_speed.py --preset tiny base --precision fp32 bf16
    python tests/benchmarks/training_speed.py --kind rnn --preset tiny --set cell=lstm attention=dot input_feeding=false

Synthetic pairs of 14-15 pieces (or --length), a vocabulary of 9,712, whole updates: collate, forward, backward, Adam.
`kernels` is what training does where there is a C++ compiler, `written` what it does without one, `plain` the same with
PyTorch's own dropout and fused attention; all in the same run, in turn, the median of the repeats of each.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import torch
from pydantic import TypeAdapter
from torch import Tensor
from torch.nn import functional as F

from nmtkit.data.batch import Batch, collate
from nmtkit.kernels.library import Kernels, using
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
        patch("nmtkit.models.fused.attention", attention),
        patch("nmtkit.models.transformer.network.attention", attention),
    ):
        yield


class Training:
    """A model with its optimizer and a batch."""

    def __init__(self, config: ModelConfig, precision: str, arguments: argparse.Namespace) -> None:
        torch.manual_seed(1)
        self.model = config.build(VOCABULARY, VOCABULARY).train()
        self.optimizer = AdamConfig().build(self.model.parameters())
        self.precision = precision
        draw, length = random.Random(1), arguments.length
        self.sides = [
            [
                [draw.randrange(4, VOCABULARY) for _ in range(draw.choice((length - 1, length)))]
                for _ in range(max(1, arguments.target_tokens // (length + 1)))
            ]
            for _ in "st"
        ]

    def rate(self, kernels: Kernels | None) -> float:
        """Make an update and return target tokens a second."""
        began = time.perf_counter()
        batch = Batch(collate(self.sides[0]), collate(self.sides[1]))
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"), using(kernels):
            loss = self.model(batch, 0.1)
        (loss.total / loss.tokens).backward()
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-4
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.tokens / (time.perf_counter() - began)


def measure(training: Training, repeats: int) -> dict[str, float]:
    """Return the median rate of each way, after one update that warms up."""
    found: dict[str, list[float]] = {"kernels": [], "written": [], "plain": []}
    kernels = Kernels()
    for _ in range(repeats + 1):
        found["kernels"].append(training.rate(kernels))
        found["written"].append(training.rate(None))
        with plain():
            found["plain"].append(training.rate(None))
    return {name: statistics.median(rates[1:]) for name, rates in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", default="transformer")
    parser.add_argument("--preset", nargs="+", default=["tiny", "base"])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more settings of the model")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--target-tokens", type=int, default=4_096)
    parser.add_argument("--length", type=int, default=15, help="pieces of a sentence, at most")
    parser.add_argument("--repeats", type=int, default=8)
    arguments = parser.parse_args()
    keep_freed_memory()
    more = {key: parse_value(value) for key, _, value in (setting.partition("=") for setting in arguments.set)}
    for preset in arguments.preset:
        model = {"kind": arguments.kind, "preset": preset, **more}
        config = TypeAdapter(ModelConfig).validate_python(model)
        for precision in arguments.precision:
            rates = measure(Training(config, precision, arguments), arguments.repeats)
            record = {**model, "length": arguments.length, "precision": precision, "threads": torch.get_num_threads()}
            ratio = round(rates["kernels"] / rates["plain"], 2)
            print(json.dumps({**record, **{name: round(rate) for name, rate in rates.items()}, "ratio": ratio}))


if __name__ == "__main__":
    main()
