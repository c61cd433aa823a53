"""`nmtkit score --model` on pairs, without the command line around it."""

import gzip
import io
import json
import math
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy.corpora import sentence_pair
from toy.formats import sgm_of
from toy.runs import write_run

from nmtkit.api import Scorer, load_run_config
from nmtkit.commands.score_pairs import score_pairs
from nmtkit.commands.score_pairs_output import Wanted
from nmtkit.config import Config
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import ConfigError, DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.translation.scorer import PairScore

FIGURES = Wanted()
PAIRS = [SentencePair(*sentence_pair(number * 613)) for number in range(11)]
PAIRS[3] = SentencePair("", "")
PAIRS[5] = SentencePair("a painter .", "")
PAIRS[8] = SentencePair("", "ein Maler .")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("score_pairs") / "run")


@pytest.fixture(scope="module")
def expected(run: RunFolder) -> list[PairScore]:
    return list(Scorer.load(run.path).scores(PAIRS))


def tsv(pairs: Sequence[SentencePair]) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode()


def column(place: int) -> bytes:
    return "".join(f"{pair[place]}\n" for pair in PAIRS).encode()


def config_of(run: RunFolder, **changes: Any) -> Config:
    config = load_run_config(run)
    return config.model_copy(update={"translate": config.translate.model_copy(update=changes)})


class Asking:
    """Scores what is given and returns the lines that were written."""

    def __init__(self, run: RunFolder, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self.run, self.folder, self.capture = run, folder, capture
        self.said = ""

    def __call__(self, *contents: bytes, wanted: Wanted = FIGURES, quiet: bool = False, **changes: Any) -> list[str]:
        files = []
        for number, content in enumerate(contents):
            files.append(self.folder / f"{number}.txt")
            files[-1].write_bytes(content)
        return self.files(*files, wanted=wanted, quiet=quiet, **changes)

    def files(self, *files: Path, wanted: Wanted = FIGURES, quiet: bool = False, **changes: Any) -> list[str]:
        self.capture.readouterr()
        log = Log("quiet" if quiet else "normal")
        try:
            score_pairs(self.run, config_of(self.run, **changes), log, files, wanted, device="cpu")
        finally:
            captured = self.capture.readouterr()
            self.said = captured.err.decode()
        rows = captured.out.decode().split("\n")
        assert rows.pop() == ""
        return rows


@pytest.fixture
def ask(run: RunFolder, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Asking:
    return Asking(run, tmp_path, capsysbinary)


def agree(rows: Sequence[str], scores: Sequence[PairScore]) -> bool:
    """Tell whether rows of figures are those of some scores, but for what batches round differently."""
    found = [tuple(map(float, row.split("\t"))) for row in rows]
    wanted = [(score.log_probability, score.tokens, score.perplexity) for score in scores]
    return len(found) == len(wanted) and all(
        one == pytest.approx(other, rel=2e-5, abs=2e-6) for one, other in zip(found, wanted, strict=True)
    )


def figures(scores: Sequence[PairScore]) -> list[str]:
    return [f"{each.log_probability:.6f}\t{each.tokens}\t{each.perplexity:.6g}" for each in scores]


def test_a_line_of_figures_for_each_pair(ask: Asking, expected: list[PairScore]) -> None:
    rows = ask(column(0), column(1))
    assert rows == figures(expected)
    assert rows[3] == "0.000000\t0\t1"
    assert rows[8].startswith("-inf\t")
    assert rows[8].endswith("\tinf")
    scored = [each for each in expected if each.each]
    tokens = sum(each.tokens for each in scored)
    perplexity = math.exp(-sum(each.log_probability for each in scored) / tokens)
    assert f"perplexity {perplexity:.4f} of a piece, over {tokens} target pieces of 9 pairs" in ask.said
    assert "with a blank side: 3 pairs" in ask.said
    assert "11 pairs in " in ask.said


def test_all_ways_in_are_the_same(
    ask: Asking, tmp_path: Path, expected: list[PairScore], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = figures(expected)
    assert ask(tsv(PAIRS), quiet=True) == rows
    assert ask.said == ""
    assert ask(gzip.compress(tsv(PAIRS))) == ask(b"\xef\xbb\xbf" + tsv(PAIRS).replace(b"\n", b"\r\n")) == rows
    assert ask(tsv(PAIRS).removesuffix(b"\n")) == rows
    for files in ((), (Path("-"),)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tsv(PAIRS))))
        assert agree(ask.files(*files), expected)
    for place, name in enumerate(("source.sgm", "target.sgm")):
        (tmp_path / name).write_bytes(sgm_of([pair[place] for pair in PAIRS]))
    assert ask.files(tmp_path / "source.sgm", tmp_path / "target.sgm") == rows


@pytest.mark.parametrize("chunk", [1, 2, 10, 11, 12])
def test_chunks_change_nothing(ask: Asking, expected: list[PairScore], chunk: int) -> None:
    assert agree(ask(tsv(PAIRS), chunk_lines=chunk), expected)


def test_files_that_can_be_read_once(ask: Asking, tmp_path: Path, expected: list[PairScore]) -> None:
    paths = [tmp_path / name for name in ("source", "target")]
    writers = []
    for place, path in enumerate(paths):
        os.mkfifo(path)
        writers.append(threading.Thread(target=path.write_bytes, args=(column(place),), daemon=True))
        writers[-1].start()
    assert agree(ask.files(*paths), expected)
    for writer in writers:
        writer.join(60)


def test_pieces_and_text_are_further_columns(ask: Asking, run: RunFolder, expected: list[PairScore]) -> None:
    segmenter = Scorer.load(run.path).target_segmenter
    rows = [row.split("\t") for row in ask(tsv(PAIRS), wanted=Wanted(tokens=True, text=True))]
    for cells, pair, score in zip(rows, PAIRS, expected, strict=True):
        assert "\t".join(cells[:3]) == figures([score])[0]
        assert tuple(cells[5:]) == pair
        pieces, each = (cell.split(" ") if cell else [] for cell in cells[3:5])
        assert len(pieces) == len(each) == len(score.each)
        if pieces:
            assert pieces == [*segmenter.pieces(score.ids), "</s>"]
            assert math.fsum(map(float, each)) == pytest.approx(score.log_probability, abs=1e-4)


def test_a_threshold_parts_the_pairs_in_two(ask: Asking, expected: list[PairScore]) -> None:
    median = sorted(score.mean for score in expected if score.each)[4]
    kept = [score.tokens > 0 and score.mean >= median for score in expected]
    above, below = ask(tsv(PAIRS), wanted=Wanted(above=median)), ask(tsv(PAIRS), wanted=Wanted(below=median))
    texts = ["\t".join(pair) for pair in PAIRS]
    assert above == [text for text, keep in zip(texts, kept, strict=True) if keep]
    assert below == [text for text, keep in zip(texts, kept, strict=True) if not keep]
    assert len(above) == 5
    assert "\t" in below, "a pair of two blanks is none that a filter keeps"
    with_figures = ask(tsv(PAIRS), wanted=Wanted(above=median, text=True))
    rows = [f"{figure}\t{text}" for figure, text in zip(figures(expected), texts, strict=True)]
    assert with_figures == [row for row, keep in zip(rows, kept, strict=True) if keep]
    lowest = min(score.mean for score in expected if score.each)
    assert ask(tsv(PAIRS), wanted=Wanted(above=lowest, below=median)) == [
        text for text, score in zip(texts, expected, strict=True) if score.each and lowest <= score.mean < median
    ]


def test_json_is_an_object_a_pair_and_one_of_all(ask: Asking, run: RunFolder, expected: list[PairScore]) -> None:
    *rows, last = map(json.loads, ask(tsv(PAIRS), wanted=Wanted(tokens=True, text=True, as_json=True)))
    for number, (row, pair, score) in enumerate(zip(rows, PAIRS, expected, strict=True), start=1):
        infinite = score.log_probability == -math.inf
        assert row["line"] == number
        assert (row["source"], row["target"]) == pair
        assert row["log_probability"] == (None if infinite else score.log_probability)
        assert row["perplexity"] == (None if infinite else score.perplexity)
        assert tuple(row["log_probabilities"]) == score.each
        assert len(row["pieces"]) == len(score.each)
    corpus = last["corpus"]
    assert (corpus["pairs"], corpus["scored"], corpus["blank"], corpus["too_long"], corpus["broken"]) == (
        11,
        9,
        3,
        0,
        0,
    )
    assert corpus["perplexity"] == pytest.approx(math.exp(-corpus["log_probability"] / corpus["tokens"]))
    assert corpus["weights"].startswith(str(run.path))
    (empty,) = map(json.loads, ask(b"", wanted=Wanted(as_json=True)))
    assert (empty["corpus"]["pairs"], empty["corpus"]["perplexity"]) == (0, None)


def test_pairs_that_are_too_long_score_minus_infinity(ask: Asking) -> None:
    long = SentencePair("the small bird finds a baker . " * 9, "ein Maler .")
    rows = ask(tsv([PAIRS[0], long]), max_pieces=30)
    assert rows[1].startswith("-inf\t")
    assert "warning: of more than 30 source or 30 target pieces, so that they score -inf: 1 pair (first 2)" in ask.said
    assert "raise translate.max_pieces" in ask.said


def test_what_is_no_pair_is_answered_and_counted(ask: Asking, expected: list[PairScore]) -> None:
    broken = [b"one column", b"three\tcolumns\there", b"bad \xff\tbytes", b"", b"\t"]
    content = tsv(PAIRS[:1]) + b"\n".join(broken) + b"\n" + tsv(PAIRS[1:2])
    rows = ask(content)
    blank = "0.000000\t0\t1"
    assert rows[1:-1] == [*["-inf\t0\tinf"] * 3, blank, blank]
    assert agree([rows[0], rows[-1]], expected[:2])
    assert "warning: not two columns, or not UTF-8, so that they score -inf: 3 lines (first line 2)" in ask.said
    assert ask(column(0), column(1).replace(b"ein Maler", b"\xffein Maler"))[8] == "-inf\t0\tinf"
    assert ask(content, wanted=Wanted(text=True))[1] == "-inf\t0\tinf\t\t"


def test_separators_within_a_text_end_no_line(ask: Asking) -> None:
    content = "the\u2028dog\vsees\ta\fbird\x85\x1cto\rday\n".encode() * 2
    assert [row.count("\t") for row in ask(content, wanted=Wanted(text=True))] == [4, 4]


def test_files_of_unequal_length_are_refused_before_a_line_is_scored(ask: Asking, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"0\.txt has 11 lines but .*1\.txt has 10; line n of the one must"):
        ask(column(0), b"".join(column(1).splitlines(keepends=True)[:10]))
    assert ask.said == ""


def test_streams_of_unequal_length_are_refused_behind_the_last_pair(ask: Asking, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "source")
    writer = threading.Thread(target=(tmp_path / "source").write_bytes, args=(column(0),), daemon=True)
    writer.start()
    (tmp_path / "target").write_bytes(column(1) + b"more\n")
    with pytest.raises(DataError, match=r"target goes on behind line 11, where .*source ends; line n"):
        ask.files(tmp_path / "source", tmp_path / "target")
    writer.join(60)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no tab\n", r"0\.txt, line 1: 1 column where 2 are needed, SOURCE TAB TARGET; choose them with `cut -f`, or"),
        (b"a\tb\tc\n", r"0\.txt, line 1: 3 columns where 2 are needed"),
    ],
)
def test_a_file_of_another_form_is_refused_at_its_first_line(ask: Asking, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ask(content + tsv(PAIRS))


def test_what_cannot_be_used_is_told_before_the_model_is_loaded(
    ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Scorer:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Scorer, "open", fail)
    good = tmp_path / "good"
    good.write_bytes(column(0))
    for files, message in (
        ((tmp_path / "absent",), "absent does not exist"),
        ((tmp_path,), "is a folder"),
        ((good, tmp_path / "absent"), "absent does not exist"),
        ((tmp_path / "absent", good), "absent does not exist"),
        ((good, tmp_path), "is a folder"),
        ((good, Path("-")), "-: of two files neither can be standard input; send SOURCE TAB TARGET"),
    ):
        with pytest.raises(DataError, match=message):
            ask.files(*files)


@pytest.mark.parametrize(("name", "message"), [("stdin", "input is closed"), ("stdout", "output is closed")])
def test_a_closed_stream_is_named(run: RunFolder, monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    monkeypatch.setattr(sys, name, None)
    with pytest.raises(DataError, match=f"standard {message}"):
        score_pairs(run, config_of(run), Log("quiet"), (), FIGURES, device="cpu")


def test_a_tag_that_was_not_trained_is_refused(ask: Asking) -> None:
    with pytest.raises(ConfigError, match=r'^translate\.tag = "old": the vocabulary has no tags'):
        ask(tsv(PAIRS), tag="old")


def test_the_text_of_a_run_with_tags_should_have_one(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    corpora = [{"name": tag, "tag": tag, "source": f"{tag}.en", "target": f"{tag}.de"} for tag in ("news", "bt")]
    ask = Asking(write_run(tmp_path / "run", {"corpus.train": corpora}), tmp_path, capsysbinary)
    found = {tag: ask(tsv(PAIRS[:2]), tag=tag) for tag in ("news", "bt", "")}
    assert "warning: the text has no tag, though every training corpus has one" in ask.said
    assert len({tuple(rows) for rows in found.values()}) == 3


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=6))
def test_as_many_lines_out_as_line_feeds_in_whatever_they_hold(ask: Asking, raws: list[bytes]) -> None:
    content = tsv(PAIRS[:1]) + b"".join(raw + b"\n" for raw in raws)
    for wanted in (Wanted(tokens=True, text=True), Wanted(as_json=True, text=True)):
        rows = ask(content, wanted=wanted, max_pieces=20)
        assert len(rows) == 1 + len(raws) + wanted.as_json
        for row in rows:
            assert len(f"{row}\n".splitlines()) == 1 or wanted.as_json
