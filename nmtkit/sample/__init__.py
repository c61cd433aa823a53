"""The embedded sample corpus: English-German pairs out of a synchronous grammar, the same for the same seed."""

from nmtkit.sample.corpus import PHENOMENA, Labelled, Sample, generate
from nmtkit.sample.files import LABELS, files_of

__all__ = ["LABELS", "PHENOMENA", "Labelled", "Sample", "files_of", "generate"]
