"""What a checkpoint costs training: written in its own thread, and by a thread beside it, as JSON lines.

    python tests/benchmarks/checkpoint_writing.py --preset tiny base --folder DIR

`stops` is how long training stands still for the copy that is written, `alone` what writing takes while nothing else
happens, `beside` while updates are computed; `update` and `update_beside` are the medians of updates alone and then.
`lost` is the time that updates lose to the thread in one checkpoint, `checksum` what of writing the checksums are.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from pydantic import TypeAdapter
from training_speed import Training

from nmtkit.kernels.library import Kernels
from nmtkit.log import Log
from nmtkit.models.settings import ModelConfig
from nmtkit.training.checkpoint_writer import CheckpointWriter
from nmtkit.training.checkpoints import Tensors, training_tensors
from nmtkit.training.memory import keep_freed_memory
from nmtkit.training.parallel import Whole
from nmtkit.training.settings import CheckpointConfig
from nmtkit.training.state import Origin, TrainingState
from nmtkit.training.tensor_folder import checksum

ORIGIN = Origin("fp32", "", "", "", {}, dev="")


def seconds(work: Callable[[], object]) -> float:
    """Return what work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def copies(tensors: Tensors) -> Tensors:
    """Return tensors that no update changes."""
    return {file: {name: tensor.detach().clone() for name, tensor in named.items()} for file, named in tensors.items()}


def measure(training: Training, folder: Path, repeats: int) -> dict[str, float]:
    """Return the medians over some checkpoints; the first two, for which memory is found, do not count."""
    kernels = Kernels()
    writer = CheckpointWriter(folder, CheckpointConfig(average=0, keep_last=1, keep_best=0), Log("quiet"))
    state = TrainingState()
    found: dict[str, list[float]] = {name: [] for name in ("stops", "alone", "beside", "lost", "checksum")}
    updates: dict[str, list[float]] = {"update": [], "update_beside": []}

    def begin() -> float:
        state.update += 1
        tensors = training_tensors(Whole(training.model), training.optimizer)
        return seconds(lambda: writer.write(tensors, state, ORIGIN, regular=True))

    training.rate(kernels)
    for _ in range(repeats + 2):
        updates["update"] += [seconds(lambda: training.rate(kernels)) for _ in range(3)]
        found["stops"].append(begin())
        writer.wait()
        found["alone"].append(writer.seconds - found["stops"][-1])
        begin()
        beside = []
        while writer._is_writing:
            beside.append(seconds(lambda: training.rate(kernels)))
        writer.wait()
        found["beside"].append(writer.seconds - found["stops"][-1])
        found["lost"].append(sum(beside) - len(beside) * statistics.median(updates["update"]))
        updates["update_beside"] += beside
        held = copies(training_tensors(Whole(training.model), training.optimizer))
        found["checksum"].append(sum(seconds(lambda named=named: checksum(named)) for named in held.values()))
    medians = {name: statistics.median(values[2:]) for name, values in found.items()}
    return {**medians, **{name: statistics.median(values) for name, values in updates.items()}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", nargs="+", default=["tiny", "base"])
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--target-tokens", type=int, default=2_048)
    parser.add_argument("--length", type=int, default=15, help="pieces of a sentence, at most")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    arguments = parser.parse_args()
    keep_freed_memory()
    for preset in arguments.preset:
        config = TypeAdapter(ModelConfig).validate_python({"kind": "transformer", "preset": preset})
        training = Training(config, arguments.precision, arguments)
        parameters = sum(parameter.numel() for parameter in training.model.parameters())
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            medians = measure(training, Path(folder), arguments.repeats)
        record = {"preset": preset, "parameters": parameters, "threads": torch.get_num_threads()}
        print(json.dumps({**record, **{name: round(value, 4) for name, value in medians.items()}}))


if __name__ == "__main__":
    main()
