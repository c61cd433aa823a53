"""The sample corpus as files: two texts for each part, and the phenomenon of each test line."""

from collections.abc import Iterable

from nmtkit.sample.corpus import Sample

LABELS = "test.labels"
"""Its line n names the phenomenon that line n of the test shows."""


def files_of(sample: Sample) -> dict[str, str]:
    """Return the text of each file by its name: train, dev and test as .en and .de, and test.labels."""
    files = {}
    for name, part in zip(Sample._fields, sample, strict=True):
        files[f"{name}.en"] = _lines(one.pair.source for one in part)
        files[f"{name}.de"] = _lines(one.pair.target for one in part)
    return {**files, LABELS: _lines(one.phenomenon for one in sample.test)}


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)
