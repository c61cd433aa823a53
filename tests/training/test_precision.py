"""The number format that training chooses."""

import io
from unittest.mock import patch

import pytest
import torch

from nmtkit.errors import ConfigError
from nmtkit.training.precision import LossScale, Precision, autocast, choose, unfit

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def cpu_with(flags: str):
    text = f"processor\t: 0\nflags\t\t: fpu vme {flags} sse2\nbugs\t\t:\n"
    return patch("builtins.open", lambda *args, **kwargs: io.StringIO(text))


@pytest.mark.parametrize(
    ("flags", "precision"),
    [("avx512f", "fp32"), ("avx512_bf16", "bf16"), ("amx_bf16 amx_tile", "bf16"), ("not_amx_bf16", "fp32")],
)
def test_auto_asks_the_cpu_for_its_instructions(flags: str, precision: str) -> None:
    with cpu_with(flags):
        assert choose("auto", CPU) == precision


def test_auto_without_cpuinfo_is_fp32() -> None:
    with patch("builtins.open", side_effect=FileNotFoundError):
        assert choose("auto", CPU) == "fp32"


@pytest.mark.parametrize(
    ("supported", "capability", "precision"), [(True, (8, 0), "bf16"), (False, (7, 0), "fp16"), (False, (6, 1), "fp32")]
)
def test_auto_asks_the_gpu(supported: bool, capability: tuple[int, int], precision: str) -> None:
    with (
        patch("torch.cuda.is_bf16_supported", return_value=supported),
        patch("torch.cuda.get_device_capability", return_value=capability),
    ):
        assert choose("auto", GPU) == precision


@pytest.mark.parametrize("precision", ["fp16", "tf32"])
def test_formats_of_gpus_are_refused_elsewhere(precision: Precision) -> None:
    with pytest.raises(
        ConfigError, match=rf'train\.precision = "{precision}" is for a GPU, but this trains on cpu; set'
    ):
        choose(precision, CPU)
    assert choose(precision, GPU) == precision


def test_the_loss_scale_falls_at_once_and_rises_slowly() -> None:
    """Halved by an overflow, doubled after 2,000 updates without one; both counted anew from there."""
    scale = LossScale(CPU)
    for _ in range(1_999):
        scale.follow(torch.tensor(True))
    assert scale.read() == (2.0**16, 1_999)
    scale.follow(torch.tensor(False))
    assert scale.read() == (2.0**15, 0)
    for _ in range(2_000):
        scale.follow(torch.tensor(True))
    assert scale.read() == (2.0**16, 0)
    other = LossScale(CPU)
    other.load(2.0**9, 7)
    other.follow(torch.tensor(True))
    assert other.read() == (2.0**9, 8)


def test_what_is_asked_for_is_taken() -> None:
    with cpu_with("amx_bf16"):
        assert choose("fp32", CPU) == "fp32"
    with cpu_with(""):
        assert choose("bf16", CPU) == "bf16"


@pytest.mark.parametrize(
    ("flags", "precision", "device", "slow"),
    [
        ("avx avx2", "bf16", CPU, True),
        ("avx avx2", "fp32", CPU, False),
        ("avx avx2", "bf16", GPU, False),
        ("avx2 avx512_bf16", "bf16", CPU, False),
        ("", "bf16", CPU, False),  # another kind of processor, of which nothing is known
    ],
)
def test_a_processor_without_bf16_is_said_to_be_slow(
    flags: str, precision: Precision, device: torch.device, slow: bool
) -> None:
    with cpu_with(flags):
        assert ('train.precision = "fp32"' in unfit(precision, device)) == slow


def test_products_are_bf16_under_autocast_only() -> None:
    x = torch.ones(2, 2)
    with autocast("bf16", CPU):
        assert (x @ x).dtype == torch.bfloat16
    with autocast("fp32", CPU):
        assert (x @ x).dtype == torch.float32
