"""What this processor does at most in matrix products: billions of operations a second by number format, as JSON.

    python tests/benchmarks/matrix_peak.py

A multiplication and an addition are two operations. As `nmtkit train --profile` measures it, with torch's threads.
"""

import json

import torch

from nmtkit.training.flops import matrix_peak


def main() -> None:
    """Measure and print."""
    cpu = torch.device("cpu")
    peaks = {precision: round(matrix_peak(precision, cpu) / 1e9) for precision in ("fp32", "bf16")}
    print(json.dumps({"kind": "matrix_peak", **peaks, "threads": torch.get_num_threads(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
