"""Memory and time of the loss of a large vocabulary, computed in chunks and all at once, as JSON.

    python tests/benchmarks/loss_memory.py
    python tests/benchmarks/loss_memory.py --tokens 25000 --vocabulary 37000 --width 512 --precision bf16 fp32

Projection to the vocabulary, smoothed loss and its gradients towards both what is projected and the matrix, each
measurement a fresh process: `chunked` is what models are trained with, `unchunked` the same in PyTorch's own operations
on all scores. `memory_mib` is what the process grew by at its peak, `first_seconds` the first pass, in which the memory
is met for the first time, `seconds` the median of those behind it. At the end the ratios of medians, chunked to all at
once. All at once takes some 15 GB with the default sizes.
"""

import argparse
import contextlib
import json
import resource
import statistics
import sys
import time
from typing import Any

from processes import resident, run

WAYS = ("chunked", "unchunked")
SMOOTHING = 0.1


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Compute the loss some times in one way."""
    import torch
    from torch import Tensor
    from torch.nn import functional as F

    from nmtkit.kernels.building import NotBuilt
    from nmtkit.kernels.library import Kernels, using
    from nmtkit.models.loss import output_loss
    from nmtkit.models.products import Rounded
    from nmtkit.training.memory import keep_freed_memory
    from nmtkit.training.precision import autocast

    def all_at_once(x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        logs = F.linear(x, weight).float().log_softmax(-1)
        nll = -logs.gather(1, targets[:, None]).sum()
        return (1 - SMOOTHING) * nll - SMOOTHING * logs.mean(-1).sum()

    kernels = None
    if arguments.way == "chunked" and not arguments.without_kernels:
        with contextlib.suppress(NotBuilt):
            kernels = Kernels()
    keep_freed_memory()
    torch.manual_seed(1)
    hidden = torch.randn(arguments.tokens, arguments.width, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(arguments.vocabulary, arguments.width) * arguments.width**-0.5)
    targets = torch.randint(arguments.vocabulary, (arguments.tokens,))
    before, seconds = resident(), []
    for _ in range(arguments.passes + 1):
        began = time.perf_counter()
        with autocast(arguments.precision[0], torch.device("cpu")), using(kernels):
            if arguments.way == "chunked":
                total = output_loss(hidden, weight, Rounded(), targets, SMOOTHING).total
            else:
                total = all_at_once(hidden, weight, targets)
        (total / arguments.tokens).backward()
        seconds.append(time.perf_counter() - began)
        loss, norm = total.item() / arguments.tokens, weight.grad.norm().item()
        hidden.grad = weight.grad = None
        del total
    return {
        "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before),
        "before_mib": round(before),
        "first_seconds": round(seconds[0], 2),
        "seconds": round(statistics.median(seconds[1:]), 3),
        "loss": loss,
        "gradient_norm": norm,
        "kernels": kernels is not None,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=25_000)
    parser.add_argument("--vocabulary", type=int, default=37_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--precision", nargs="+", choices=("bf16", "fp32"), default=["bf16", "fp32"])
    parser.add_argument("--passes", type=int, default=3, help="behind the first one")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without-kernels", action="store_true", help="chunks in PyTorch's operations alone")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        print(json.dumps(measure(arguments)))
        return
    sizes = {name: getattr(arguments, name) for name in ("tokens", "vocabulary", "width")}
    for precision in arguments.precision:
        found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(arguments.repeats):
            for way in WAYS:
                given = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
                more = ["--passes", str(arguments.passes), "--precision", precision, "--way", way]
                more += ["--without-kernels"] if arguments.without_kernels else []
                done = run([sys.executable, __file__, *given, *more])
                if done.code:
                    raise SystemExit(f"{way}, {precision}: {done.complaint}")
                found[way].append(json.loads(done.output))
                print(json.dumps({"way": way, "precision": precision, **found[way][-1]}), flush=True)
        medians = {
            key: {way: statistics.median(record[key] for record in records) for way, records in found.items()}
            for key in ("memory_mib", "seconds", "first_seconds", "loss", "gradient_norm")
        }
        ratios = {f"{key}_ratio": round(value["chunked"] / value["unchunked"], 4) for key, value in medians.items()}
        print(json.dumps({"kind": "summary", "precision": precision, **sizes, **ratios}), flush=True)


if __name__ == "__main__":
    main()
