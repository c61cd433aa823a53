"""What `nmtkit score` costs: seconds of one core for each metric and for what is drawn, as JSON.

    python tests/benchmarks/scoring.py --lines 3003 --systems 5

The text is drawn, as long as that of newstest2014; systems replace half of its words.
"""

import argparse
import json
import random
import sys
import time

from nmtkit.metrics.settings import ScoreConfig, build_metrics
from nmtkit.metrics.significance import Measured, resampled


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=3003)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--draws", type=int, default=1000)
    asked = parser.parse_args()

    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghij-'", k=drawn.randint(2, 9))) for _ in range(4000)]
    references = [" ".join(drawn.choices(words, k=drawn.randint(5, 45))).capitalize() + "." for _ in range(asked.lines)]
    systems = [
        [
            " ".join(drawn.choice(words) if drawn.random() < 0.5 else word for word in line.split())
            for line in references
        ]
        for _ in range(asked.systems)
    ]
    seconds, measured = {}, []
    for metric in build_metrics(ScoreConfig(), "de").metrics:
        begin = time.perf_counter()
        rows = [metric.measure(system, references) for system in systems]
        seconds[metric.name] = round(time.perf_counter() - begin, 2)
        measured.append(Measured(rows, metric.values))
    begin = time.perf_counter()
    resampled(measured, draws=asked.draws, seed=12345, confidence=0.95)
    seconds["draws"] = round(time.perf_counter() - begin, 2)
    sys.stdout.write(json.dumps({**vars(asked), "seconds": seconds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
