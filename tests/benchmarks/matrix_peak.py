"""What this processor does at most in matrix products: billions of operations a second by number format, as JSON.

    python tests/benchmarks/matrix_peak.py

A multiplication and an addition are two operations. The best of square products of some sizes, with torch's threads.
"""

import json
import time

import torch

SIZES = (1_024, 2_048, 4_096)
SECONDS = 1.0
"""At least, for each size and format."""


def peak(dtype: torch.dtype) -> float:
    """Return operations a second of the fastest product."""
    return max(_rate(size, dtype) for size in SIZES)


def _rate(size: int, dtype: torch.dtype) -> float:
    left, right = (torch.randn(size, size).to(dtype) for _ in range(2))
    result = torch.empty(size, size, dtype=dtype)
    best, began = 0.0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        start = time.perf_counter()
        torch.mm(left, right, out=result)
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best


def main() -> None:
    """Measure and print."""
    peaks = {name: round(peak(dtype) / 1e9) for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))}
    print(json.dumps({"kind": "matrix_peak", **peaks, "threads": torch.get_num_threads(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
