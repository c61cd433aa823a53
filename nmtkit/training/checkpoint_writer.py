"""The writer of checkpoints: training stops for as long as a copy in memory takes, the disk is left to a thread.

Measured on two cores that training kept busy, 49 million parameters (590 MB): the copy takes 0.05 s, and over the 0.7
to 1.1 s that writing takes updates lose 0.4 s, which is nothing beside the 1,000 updates of 1.9 s in between
(`tests/benchmarks/checkpoint_writing.py`).
"""

import threading
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from time import monotonic
from types import TracebackType

import torch
from torch import Tensor

from nmtkit.errors import NmtkitError
from nmtkit.log import Log
from nmtkit.training.checkpoints import Tensors, prune, save_checkpoint
from nmtkit.training.settings import CheckpointConfig
from nmtkit.training.state import Origin, TrainingState


class CheckpointWriter:
    """Writes the checkpoints of a run under a folder (RUN/checkpoints), one after another, and prunes behind each.

    Holds a copy of what it writes, from the first checkpoint on: with Adam 12 bytes a parameter of the CPU's memory.
    What goes wrong in its thread, `look` tells, and the next `wait` or `write` raises. Leaving its block waits for it.
    """

    def __init__(self, folder: Path, config: CheckpointConfig, log: Log, *, seconds: float = 0.0) -> None:
        """`seconds`: what a checkpoint took in an earlier process."""
        self._folder, self._config, self._log = folder, config, log
        self._copies: dict[str, dict[str, Tensor]] = {}
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._written: Path | None = None
        self._began, self._took = 0.0, seconds

    def __enter__(self) -> "CheckpointWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.wait()
            return
        try:
            self.wait()
        except (NmtkitError, OSError) as own:  # another error ends training
            self._log.warn(str(own))

    @property
    def seconds(self) -> float:
        """What the latest checkpoint took, from the copy until all is on the disk; more where one takes longer now."""
        return max(self._took, monotonic() - self._began if self._is_writing else 0.0)

    def write(self, tensors: Tensors, state: TrainingState, origin: Origin, *, regular: bool) -> None:
        """Take a copy of tensors and state as they are and begin to write it; waits for the checkpoint before.

        Raises what went wrong with that one.
        """
        self.wait()
        self._began = monotonic()
        files = {file: self._copied(file, named) for file, named in tensors.items()}
        for device in {tensor.device for named in tensors.values() for tensor in named.values() if tensor.is_cuda}:
            torch.cuda.current_stream(device).synchronize()
        taken = files, deepcopy(state), origin, regular
        self._thread = threading.Thread(target=self._work, args=taken, name="checkpoint", daemon=True)
        self._thread.start()

    def look(self) -> bool:
        """Take in that a checkpoint is finished, if one is; return whether it failed, why `wait` then raises."""
        if self._is_writing:
            return False
        if self._error is not None:
            return True
        self.wait()
        return False

    def wait(self) -> None:
        """Wait until what is to be written is on the disk. Raises what went wrong: CheckpointError mostly."""
        if self._thread is None:
            return
        self._thread.join()
        self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        self._log.detail(f"checkpoint written: {self._written}")

    @property
    def _is_writing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _copied(self, file: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return copies of tensors, in the memory of earlier ones where those fit; from a GPU they are on their way."""
        copies = self._copies.setdefault(file, {})
        for name in copies.keys() - tensors.keys():
            del copies[name]
        for name, tensor in tensors.items():
            if name not in copies or not _alike(copies[name], tensor):
                copies[name] = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
            copies[name].copy_(tensor.detach(), non_blocking=True)
        return copies

    def _work(self, files: Tensors, state: TrainingState, origin: Origin, regular: bool) -> None:
        """Be the thread."""
        try:
            self._written = save_checkpoint(self._folder, files, state, origin, regular=regular)
            prune(self._folder, self._config, state.update)
        except Exception as error:  # raised where it is waited for
            self._error = error
        self._took = monotonic() - self._began


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype
