"""The number format that training chooses."""

import io
from unittest.mock import patch

import pytest
import torch

from nmtkit.training.precision import autocast, choose

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


@pytest.mark.parametrize(("supported", "precision"), [(True, "bf16"), (False, "fp32")])
def test_auto_asks_the_gpu(supported: bool, precision: str) -> None:
    with patch("torch.cuda.is_bf16_supported", return_value=supported):
        assert choose("auto", GPU) == precision


def test_what_is_asked_for_is_taken() -> None:
    with cpu_with("amx_bf16"):
        assert choose("fp32", CPU) == "fp32"
    with cpu_with(""):
        assert choose("bf16", CPU) == "bf16"


def test_products_are_bf16_under_autocast_only() -> None:
    x = torch.ones(2, 2)
    with autocast("bf16", CPU):
        assert (x @ x).dtype == torch.bfloat16
    with autocast("fp32", CPU):
        assert (x @ x).dtype == torch.float32
