"""Writes the sample corpus: two text files for each part, and the phenomenon of each test line."""

from collections.abc import Iterable
from pathlib import Path

from nmtkit.run_folder import write_text
from nmtkit.sample.corpus import Sample

LABELS = "test.labels"
"""Its line n names the phenomenon that line n of the test shows."""


def write_sample(sample: Sample, folder: Path) -> None:
    """Write train, dev and test as .en and .de, and test.labels."""
    for name, part in zip(Sample._fields, sample, strict=True):
        write_text(folder / f"{name}.en", _lines(one.pair.source for one in part))
        write_text(folder / f"{name}.de", _lines(one.pair.target for one in part))
    write_text(folder / LABELS, _lines(one.phenomenon for one in sample.test))


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)
