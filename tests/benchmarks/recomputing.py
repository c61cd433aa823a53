"""Memory and time of training steps with layers recomputed on the way back (train.recompute) and kept, as JSON.

    python tests/benchmarks/recomputing.py
    python tests/benchmarks/recomputing.py --preset big --pairs 64 --length 63 --precision bf16

Forward and backward of one tensor of equal pairs, `length` pieces and an end mark a side, each measurement a fresh
process: `memory_mib` is what the process grew by at its peak beyond the model and its gradients, `seconds` the median
of the passes behind the first, `cpu_seconds` the same of all threads, without waiting for other processes. At the end
the ratios of medians, recomputed to kept.
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

WAYS = ("kept", "recomputed")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Compute gradients some times in one way."""
    import torch
    from pydantic import TypeAdapter

    from nmtkit.data.batch import Batch, collate
    from nmtkit.kernels.building import NotBuilt
    from nmtkit.kernels.library import Kernels, using
    from nmtkit.models.settings import ModelConfig
    from nmtkit.training.memory import keep_freed_memory
    from nmtkit.training.precision import autocast

    kernels = None
    if not arguments.without_kernels:
        with contextlib.suppress(NotBuilt):
            kernels = Kernels()
    keep_freed_memory()
    torch.manual_seed(1)
    config = TypeAdapter(ModelConfig).validate_python({"kind": arguments.kind, "preset": arguments.preset})
    model = config.build(arguments.vocabulary, arguments.vocabulary).train()
    model.recompute = arguments.way == "recomputed"
    for parameter in model.parameters():
        parameter.grad = torch.empty_like(parameter).zero_()  # which takes its memory at once
    sides = [torch.randint(4, arguments.vocabulary, (arguments.pairs, arguments.length)).tolist() for _ in "st"]
    batch = Batch(*map(collate, sides))
    before, seconds, cpu_seconds, losses = resident(), [], [], []
    for _ in range(arguments.passes + 1):
        began, computed = time.perf_counter(), time.process_time()
        torch.manual_seed(2)
        with autocast(arguments.precision[0], torch.device("cpu")), using(kernels):
            loss = model(batch, 0.1)
        (loss.total / loss.tokens).backward()
        seconds.append(time.perf_counter() - began)
        cpu_seconds.append(time.process_time() - computed)
        losses.append(loss.total.item())
        model.zero_grad(set_to_none=False)
    return {
        "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before),
        "seconds": round(statistics.median(seconds[1:]), 3),
        "cpu_seconds": round(statistics.median(cpu_seconds[1:]), 3),
        "loss": losses[-1],
        "kernels": kernels is not None,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="transformer")
    parser.add_argument("--preset", default="base")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--length", type=int, default=63)
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--precision", nargs="+", choices=("bf16", "fp32"), default=["bf16", "fp32"])
    parser.add_argument("--passes", type=int, default=2, help="behind the first one")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--without-kernels", action="store_true", help="PyTorch's operations alone")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        print(json.dumps(measure(arguments)))
        return
    given = {name: getattr(arguments, name) for name in ("kind", "preset", "pairs", "length", "vocabulary")}
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    options += ["--passes", str(arguments.passes), *(["--without-kernels"] if arguments.without_kernels else [])]
    for precision in arguments.precision:
        found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(arguments.repeats):
            for way in WAYS:
                done = run([sys.executable, __file__, *options, "--precision", precision, "--way", way])
                if done.code:
                    raise SystemExit(f"{way}, {precision}: {done.complaint}")
                found[way].append(json.loads(done.output))
                print(json.dumps({"way": way, "precision": precision, **found[way][-1]}), flush=True)
        medians = {
            key: {way: statistics.median(record[key] for record in records) for way, records in found.items()}
            for key in ("memory_mib", "seconds", "cpu_seconds", "loss")
        }
        ratios = {f"{key}_ratio": round(value["recomputed"] / value["kept"], 4) for key, value in medians.items()}
        print(json.dumps({"kind": "summary", "precision": precision, **given, **ratios}), flush=True)


if __name__ == "__main__":
    main()
