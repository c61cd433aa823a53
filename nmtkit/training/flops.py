"""FLOPs: the floating-point operations of what is computed, and how many a second a processor reaches at its best."""

import math
import time
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils import flop_counter as counting

from nmtkit.training.precision import Precision

Shape = Sequence[int]

PEAK_SIZES = {"cpu": (512, 1_024, 2_048), "cuda": (4_096, 8_192)}
"""Sides of the square matrices whose product is timed."""

PEAK_SECONDS = 1.5
"""How long it is timed."""


def flop_counter() -> counting.FlopCounterMode:
    """Return a context that counts the operations of matrix products, backward ones too, in `get_total_flops`.

    A multiplication and an addition count as two. Torch's own counter knows neither products that are added in place,
    nor recurrent layers that are one operator, nor the fused attention of a CPU; and it counts the scores that a fused
    backward pass computes once more, which are no operations of the model. So it is told.
    """
    aten = torch.ops.aten
    backward = (
        aten._scaled_dot_product_flash_attention_for_cpu_backward,
        aten._scaled_dot_product_flash_attention_backward,
        aten._scaled_dot_product_efficient_attention_backward,
        aten._scaled_dot_product_cudnn_attention_backward,
    )
    return counting.FlopCounterMode(
        display=False,
        custom_mapping={
            **{operator: lambda _gradient, q, k, v, *_, **__: 2 * _attention(q, k, v) for operator in backward},
            aten.addmm_: lambda _sum, x, y, *_, **__: 2 * math.prod(x) * y[-1],
            aten.baddbmm_: lambda _sum, x, y, *_, **__: 2 * math.prod(x) * y[-1],
            aten.mkldnn_rnn_layer: lambda x, *weights, **_: _recurrent(x, weights[:4]),
            aten.mkldnn_rnn_layer_backward: lambda x, *weights, **_: 2 * _recurrent(x, weights[:4]),
            aten._cudnn_rnn: lambda x, weights, *_, **__: _recurrent(x, weights),
            aten._cudnn_rnn_backward: lambda x, weights, *_, **__: 2 * _recurrent(x, weights),
            aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, **__: _attention(q, k, v),
        },
    )


def _attention(query: Shape, key: Shape, value: Shape) -> int:
    """Count both products of attention, (B, H, T, d) over (B, H, L, d)."""
    return 2 * math.prod(query) * key[-2] + 2 * math.prod(query[:-1]) * math.prod(value[-2:])


def _recurrent(x: Shape, weights: Sequence[Shape]) -> int:
    """Count recurrent layers over the positions of x, (…, I): each of their matrices meets each position once."""
    return 2 * math.prod(x[:-1]) * sum(math.prod(weight) for weight in weights if len(weight) == 2)


def product_flops(operator: str, shapes: Sequence[Shape]) -> int:
    """Return the operations of a matrix product, given as the profiler names it and its inputs; 0 for anything else."""
    begin = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}.get(operator.removeprefix("aten::").removesuffix("_"))
    if begin is None or len(shapes) < begin + 2 or not shapes[begin + 1]:
        return 0
    return 2 * math.prod(shapes[begin]) * shapes[begin + 1][-1]


def matrix_peak(precision: Precision, device: torch.device) -> float:
    """Return the operations a second of the fastest of some large matrix products, in the format of a precision."""
    sizes = PEAK_SIZES[device.type]
    return max(_rate_of_products(size, precision, device, PEAK_SECONDS / len(sizes)) for size in sizes)


def _rate_of_products(size: int, precision: Precision, device: torch.device, seconds: float) -> float:
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    result = torch.empty_like(left)
    at_once = 10 if device.type == "cuda" else 1  # to launch one takes as long as to compute it
    best, end = 0.0, time.perf_counter() + seconds
    _multiply(left, right, result, at_once)  # the first one prepares the others
    while not best or time.perf_counter() < end:
        taken = _multiply(left, right, result, at_once)
        best = max(best, 2 * size**3 * at_once / taken)
    return best


def _multiply(left: Tensor, right: Tensor, result: Tensor, times: int) -> float:
    """Return the seconds that some products take."""
    wait_for(left.device)
    began = time.perf_counter()
    for _ in range(times):
        torch.mm(left, right, out=result)
    wait_for(left.device)
    return time.perf_counter() - began


def wait_for(device: torch.device) -> None:
    """Wait until a device has done all it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
