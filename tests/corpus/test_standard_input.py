import io
import sys
from pathlib import Path

import pytest
from toy.formats import PACKERS, tmx_of

from nmtkit.corpus.reader import PairCounts, locate
from nmtkit.corpus.settings import CorpusConfig, LanguagesConfig, TrainFiles
from nmtkit.corpus.standard_input import reads_standard_input, received
from nmtkit.errors import DataError

LANGUAGES = LanguagesConfig(source="en", target="de")


class Standard:
    """What stands for sys.stdin."""

    def __init__(self, content: bytes, *, terminal: bool = False) -> None:
        self.buffer = io.BytesIO(content)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("end", PACKERS)
def test_it_is_copied_and_then_read_as_often_as_needed(
    tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Standard(PACKERS[end](tmx_of([("one", "eins")]))))
    corpus = CorpusConfig(train=(TrainFiles(name="piped", tmx="-"),))
    assert reads_standard_input(corpus)
    path = tmp_path / "run" / "copy"
    with received(path) as copy:
        text = locate(tmp_path, corpus, corpus.train[0], LANGUAGES, copy)
        for _ in range(2):
            assert list(text.pairs(PairCounts())) == [("one", "eins")]
        assert (text.source_name, text.files) == ("standard input", (path,))
    assert not path.exists()


def test_messages_call_it_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Standard(b"one\n\xff\n"))
    (tmp_path / "a.de").write_bytes(b"eins\nzwei\n")
    corpus = CorpusConfig(train=(TrainFiles(name="piped", source="-", target="a.de"),))
    with received(tmp_path / "copy") as copy:
        text = locate(tmp_path, corpus, corpus.train[0], LANGUAGES, copy)
        with pytest.raises(DataError, match=r"^standard input, line 2, byte 1: 0xff is not UTF-8"):
            list(text.pairs(PairCounts()))


def test_what_fails_in_reading_and_what_in_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    standard = Standard(b"")
    standard.buffer = Broken()
    monkeypatch.setattr(sys, "stdin", standard)
    with (
        pytest.raises(DataError, match=r"^standard input cannot be read: Input/output error; check"),
        received(tmp_path / "a"),
    ):
        pass

    class Full(io.BytesIO):
        def write(self, block: object, /) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdin", Standard(b"one\n"))
    monkeypatch.setattr(Path, "open", lambda *_: Full())
    with pytest.raises(OSError, match="No space left on device") as raised, received(tmp_path / "copy"):
        pass
    assert raised.value.filename == str(tmp_path / "copy")


def test_no_copy_is_left_when_something_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Standard(b"one\n"))

    def fail() -> None:
        with received(tmp_path / "copy") as copy:
            assert copy.read_bytes() == b"one\n"
            raise ValueError("fails")

    with pytest.raises(ValueError, match="fails"):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (None, r"standard input is closed, but a training corpus is read from it \(`-`\); send text to it"),
        (Standard(b"", terminal=True), r"from standard input \(`-`\), but that is the keyboard; send text to it: zcat"),
        (Standard(b""), r"standard input is empty, but a training corpus is read from it \(`-`\); send text to it"),
    ],
)
def test_what_cannot_be_read_is_told(
    tmp_path: Path, stdin: Standard | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(DataError, match=said), received(tmp_path / "copy"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_no_corpus_needs_it() -> None:
    assert not reads_standard_input(CorpusConfig(train=(TrainFiles(name="a", tsv="a.tsv"),)))
