"""How well `nmtkit train --plan` foresees the memory of trainings on a CPU: planned and measured figures, as JSON.

    python tests/benchmarks/plan_memory.py
    python tests/benchmarks/plan_memory.py --case base base-fp32 --allocator mappings --keep DIR

Each case is a whole `nmtkit train` of a few updates on made-up text, in a process of its own, whose peak of resident
memory the kernel tells. What the process takes by itself is measured likewise, by the training of a model of width 16
on tensors of few tokens, and taken off; the figure of the plan is taken without its own base. `ratio` is the plan over
the measurement, `ratio_with_base` the same of whole processes.

With the allocator `mappings` each block of memory of 256 KiB or more goes back to the system when it is freed, so that
what is measured is what tensors fill. With `heap`, as training does unless told otherwise, it also holds the holes
between blocks.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from processes import Finished, end_when_told, run

PAIRS, WORDS = 40_000, 12_000
LENGTHS = 12, 24
"""Words of the shortest and the longest sentence."""
UPDATES = 6
STOP = f"train.stop.updates={UPDATES}"

CONFIG = """
[languages]
source = "en"
target = "de"

[[corpus.train]]
name = "made-up"
source = "train.en"
target = "train.de"

[prepare.segmenter]
vocabulary_size = 8000

[train]
log_every = 1

[train.validation]
every = 0

[train.checkpoints]
every = 1
average = 0
"""

TINY, BASE_SIZES = "model={preset='tiny'}", "model={preset='base'}"
SHALLOW = "model={encoder_layers=1, decoder_layers=1, width=1024, feed_forward=4096, heads=16}"
DEEP = "model={encoder_layers=12, decoder_layers=2, width=256, feed_forward=1024, heads=4, norm='pre'}"
RNN = "model={kind='rnn', preset='tiny'}"
FP32, NO_KERNELS = "train.precision='fp32'", "train.kernels=false"
CASES: dict[str, tuple[str, ...]] = {
    "tiny": (TINY,),
    "tiny-fp32": (TINY, FP32),
    "tiny-written": (TINY, NO_KERNELS),
    "shallow": (SHALLOW,),
    "shallow-fp32": (SHALLOW, FP32),
    "shallow-written": (SHALLOW, NO_KERNELS),
    "deep": (DEEP,),
    "deep-recomputed": (DEEP, "train.recompute=true"),
    "base": (BASE_SIZES,),
    "base-fp32": (BASE_SIZES, FP32),
    "base-recomputed": (BASE_SIZES, "train.recompute=true"),
    "base-one-tensor": (BASE_SIZES, "train.batch={tokens_per_update=2048, tokens_per_tensor=2048}"),
    "rnn": (RNN,),
    "rnn-lstm-dot": ("model={kind='rnn', preset='tiny', cell='lstm', attention='dot', input_feeding=false}",),
}
"""Settings of each training."""
ALONE = ("model={encoder_layers=1, decoder_layers=1, width=16, feed_forward=16, heads=2}", FP32)
"""Settings of a training whose memory is that of the process by itself."""
BATCH = "train.batch={tokens_per_update=8192, tokens_per_tensor=4096}"
SMALL_BATCH = "train.batch={tokens_per_update=400, tokens_per_tensor=300}"
ALLOCATORS = {"mappings": {"MALLOC_MMAP_THRESHOLD_": str(2**18)}, "heap": {}}
"""What the environment has for each."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--allocator", nargs="+", choices=ALLOCATORS, default=list(ALLOCATORS))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for text and runs, used again if it is there")
    arguments = parser.parse_args()
    end_when_told()
    with tempfile.TemporaryDirectory(prefix="plan-memory-") as temporary:
        project = Project(arguments.keep or Path(temporary))
        project.prepare()
        for allocator in arguments.allocator:
            project.environment = ALLOCATORS[allocator]
            alone = project.measured((*ALONE, SMALL_BATCH))
            print(json.dumps({"allocator": allocator, "process_alone_mib": round(alone / 2**20)}), flush=True)
            for case in arguments.case:
                settings = CASES[case]
                settings += () if any(setting.startswith("train.batch") for setting in settings) else (BATCH,)
                found = compared(project, settings, alone)
                print(json.dumps({"allocator": allocator, "case": case, **found}), flush=True)


class Project:
    """A folder with made-up text, and the commands of nmtkit in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment: dict[str, str] = {}

    def prepare(self) -> None:
        """Write text and settings and prepare them, where that is not done yet."""
        if (self._folder / "run" / "data" / "manifest.json").exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        draw = random.Random(1)
        words = ["".join(draw.choices("aeioustrnlmdkbpg", k=draw.randint(2, 9))) for _ in range(WORDS)]
        weights = [1 / (rank + 10) for rank in range(WORDS)]
        # Many sentences of each length, so that tensors are full and the first updates are like all others.
        lengths = [draw.randint(*LENGTHS) for _ in range(PAIRS)]
        for side in ("en", "de"):
            lines = (" ".join(draw.choices(words, weights, k=max(1, n + draw.randint(-2, 2)))) for n in lengths)
            text = "".join(f"{line}\n" for line in lines)
            (self._folder / f"train.{side}").write_text(text, encoding="utf-8")
        (self._folder / "nmtkit.toml").write_text(CONFIG, encoding="utf-8")
        self.nmtkit("prepare", (), "--quiet")

    def measured(self, settings: tuple[str, ...]) -> float:
        """Train a few updates in a new run folder and return the bytes that the process took at most."""
        folder = self._folder / "run-measured"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copytree(self._folder / "run" / "data", folder / "data")
        done = self.nmtkit("train", (*settings, STOP), "--run", str(folder), "--device", "cpu", "--quiet")
        shutil.rmtree(folder)
        return done.largest_mib * 2**20

    def planned(self, settings: tuple[str, ...]) -> dict[str, Any]:
        """Return the plan of the same training."""
        found: dict[str, Any] = json.loads(
            self.nmtkit("train", (*settings, STOP), "--plan", "--json", "--device", "cpu").output
        )
        return found

    def nmtkit(self, command: str, settings: tuple[str, ...], *options: str) -> Finished:
        """Run a command of nmtkit; end with what it said where it fails."""
        given = [part for setting in settings for part in ("--set", setting)]
        place = ["--config", str(self._folder / "nmtkit.toml")]
        done = run([sys.executable, "-m", "nmtkit", command, *place, *given, *options], self.environment)
        if done.code:
            raise SystemExit(f"nmtkit {command} {' '.join(options)}: {done.complaint}")
        return done


def compared(project: Project, settings: tuple[str, ...], alone: float) -> dict[str, Any]:
    """Return the memory of a training in MiB, as measured and as planned."""
    plan, measured = project.planned(settings), project.measured(settings)
    memory = plan["memory"]["replicate"]
    planned = memory["together"] - memory["parts"]["base"]
    return {
        "parameters": plan["parameters"],
        "precision": plan["precision"],
        "measured_mib": round((measured - alone) / 2**20),
        "planned_mib": round(planned / 2**20),
        "ratio": round(planned / (measured - alone), 3),
        "ratio_with_base": round(memory["together"] / measured, 3),
        "parts_mib": {part: round(size / 2**20) for part, size in memory["parts"].items()},
    }


if __name__ == "__main__":
    main()
