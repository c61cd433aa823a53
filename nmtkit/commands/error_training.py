"""How often words stand in the training text of a run, read back from its packed ids."""

from collections import Counter
from collections.abc import Iterator

from nmtkit.analysis.findings import Frequencies
from nmtkit.analysis.groups import count_words
from nmtkit.corpus.segmenters import Segmenter, load_segmenter
from nmtkit.data.store import PairStore, Sentences
from nmtkit.errors import NmtkitError
from nmtkit.log import Log, Meter
from nmtkit.run_folder import RunFolder

MOST = 300_000
"""Pairs that are read, evenly spread; of more it would take minutes, and say little more."""
AT_ONCE = 1_000


def training_frequencies(run: RunFolder, log: Log) -> Frequencies | None:
    """Return how often words are in the training text that a run has prepared; None where there is none."""
    if not run.manifest.exists():
        return None
    try:
        store = PairStore.open(run.data, "train")
        segmenters = load_segmenter(run.source_segmenter), load_segmenter(run.target_segmenter)
    except NmtkitError as error:
        log.warn(f"the report counts words in the test set instead of the training text: {error}")
        return None
    pairs = len(store)
    step = -(-pairs // MOST) if pairs else 1
    read = len(range(0, pairs, step))
    with log.progress("counting words of the training text", 2 * read, "lines") as meter:
        source, target = (
            _count(side, segmenter, step, meter)
            for side, segmenter in zip((store.source, store.target), segmenters, strict=True)
        )
    where = f"{pairs:,} training pairs" if step == 1 else f"{read:,} of {pairs:,} training pairs"
    return Frequencies(source, target, where)


def _count(sentences: Sentences, segmenter: Segmenter, step: int, meter: Meter) -> Counter[str]:
    return count_words(_lines(sentences, segmenter, step, meter))


def _lines(sentences: Sentences, segmenter: Segmenter, step: int, meter: Meter) -> Iterator[str]:
    for begin in range(0, len(sentences), step * AT_ONCE):
        places = range(begin, min(begin + step * AT_ONCE, len(sentences)), step)
        yield from segmenter.decode([sentences[place].tolist() for place in places])
        meter.advance(len(places))
