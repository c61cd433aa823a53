"""Precision: the number format of matrix products. Weights, optimizer, losses and norms are float32 in any case."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor

from nmtkit.errors import ConfigError

Precision = Literal["fp32", "tf32", "bf16", "fp16"]

FIRST_LOSS_SCALE = 2.0**16
_CALM = 2_000


def choose(wanted: Literal["auto"] | Precision, device: torch.device) -> Precision:
    """Return the precision to train with.

    `auto` is a fixed rule by hardware, since a timing would make equal runs differ: bf16 on a GPU that computes it and
    on a CPU with instructions for it (AMX or AVX-512 BF16); on an older GPU fp16; else fp32. Measured on one core of
    an AMD EPYC with AVX-512 BF16, forward and backward: bf16 is 1.3 times as fast as fp32 with tiny, 2.0 times with
    small and base. Raises ConfigError for a format that the device does not compute.
    """
    if wanted in ("fp16", "tf32") and device.type != "cuda":
        raise ConfigError(
            f'train.precision = "{wanted}" is for a GPU, but this trains on {device.type}; set "bf16", "fp32" or "auto"'
        )
    if wanted != "auto":
        return wanted
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return "bf16"
        return "fp16" if torch.cuda.get_device_capability(device) >= (7, 0) else "fp32"
    return "bf16" if device.type == "cpu" and _cpu_computes_bf16() else "fp32"


def unfit(precision: Precision, device: torch.device) -> str:
    """Return what to know of a precision that this processor has no instructions for; empty where all is well.

    Measured on two cores of an AMD EPYC with AVX2 alone: 1 billion operations a second in bf16, 131 billion in fp32.
    """
    if precision != "bf16" or device.type != "cpu" or _cpu_computes_bf16() or "avx" not in _instructions():
        return ""
    return (
        "precision bf16: this processor has no instructions for it (AVX-512 BF16 or AMX), so training may take a "
        'hundred times as long as with train.precision = "fp32"'
    )


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which a model computes its loss."""
    if precision in ("fp32", "tf32"):
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16 if precision == "bf16" else torch.float16)


def set_float32_products(precision: Precision) -> None:
    """Let a GPU compute float32 matrix products in TF32 (10 bits of mantissa) for this precision alone."""
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


class LossScale:
    """What the loss is multiplied by so that fp16 holds its gradients: halved at an overflow, doubled after a calm.

    Micikevicius et al. (2018), section 3.2. Both numbers stay on the device.
    """

    def __init__(self, device: torch.device) -> None:
        self.value = torch.full((), FIRST_LOSS_SCALE, device=device)
        self._calm = torch.zeros((), device=device)

    def follow(self, finite: Tensor) -> None:
        """Take in whether an update, (), bool, was finite."""
        calm = (self._calm + 1) * finite
        grown = calm >= _CALM
        self.value = torch.where(finite, torch.where(grown, self.value * 2, self.value), self.value / 2)
        self._calm = torch.where(grown, torch.zeros_like(calm), calm)

    def read(self) -> tuple[float, int]:
        """Return the scale, and the updates since it changed; waits for the device."""
        return float(self.value), int(self._calm)

    def load(self, value: float, calm: int) -> None:
        """Go on from what `read` returned."""
        self.value.fill_(value)
        self._calm.fill_(calm)


def _cpu_computes_bf16() -> bool:
    return not _instructions().isdisjoint({"amx_bf16", "avx512_bf16"})


def _instructions() -> set[str]:
    """Return what Linux names a processor of Intel's or AMD's to have; empty for any other."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:  # noqa: PTH123  not a file of ours
            return set(next((line for line in lines if line.startswith("flags")), "").split())
    except OSError:
        return set()
