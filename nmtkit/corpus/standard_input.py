"""Standard input as a training corpus: it can be read once, a corpus is read several times, so it is copied first."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmtkit.corpus.archives import reading
from nmtkit.corpus.lines import BLOCK
from nmtkit.corpus.settings import CorpusConfig
from nmtkit.errors import DataError, naming


def reads_standard_input(corpus: CorpusConfig) -> bool:
    """Tell whether a training corpus comes from standard input."""
    return any(files.standard_inputs for files in corpus.train)


@contextmanager
def received(path: Path) -> Iterator[Path]:
    """Copy standard input into a file, which is gone after the block.

    Raises DataError where there is nothing on standard input; OSError, naming the file, where it cannot be written.
    """
    if sys.stdin is None:
        raise DataError("standard input is closed, but a training corpus is read from it (`-`); send text to it")
    if sys.stdin.isatty():
        raise DataError(
            "a training corpus is read from standard input (`-`), but that is the keyboard; send text to it: "
            "zcat corpus.tsv.gz | nmtkit prepare"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with naming(path), path.open("wb") as copy:
            while block := _read():
                copy.write(block)
        if not path.stat().st_size:
            raise DataError("standard input is empty, but a training corpus is read from it (`-`); send text to it")
        yield path
    finally:
        path.unlink(missing_ok=True)


def _read() -> bytes:
    with reading("standard input"):
        return sys.stdin.buffer.read(BLOCK)
