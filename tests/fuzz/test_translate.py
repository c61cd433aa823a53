"""`nmtkit translate` answers line n by line n, whatever the lines hold."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from toy.formats import PACKERS
from toy.runs import write_run

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.command import call, sent
from fuzz.text import documents, numbered, plain, strings
from nmtkit.api import Translator
from nmtkit.corpus.archives import archive_of_files
from nmtkit.run_folder import RunFolder

SHORT = ["--set", "translate.search.max_length_extra=4", "--set", "translate.search.max_length_ratio=0.5"]
"""Keeps searches, whose results do not matter here, from taking long."""
LONGEST = 40
"""Times a piece of text may be repeated in a line."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    """Two untrained models: they answer with anything that their vocabularies hold, single bytes of one too."""
    folder = tmp_path_factory.mktemp("fuzz")
    bytes_too = {"kind": "bpe", "vocabulary_size": 330, "byte_fallback": True}
    rnn = {"kind": "rnn", "encoder_layers": 1, "decoder_layers": 1, "width": 16}
    return [
        write_run(folder / "transformer"),
        write_run(folder / "rnn", {"model": rnn, "prepare.segmenter": bytes_too, "prepare.normalizers": []}),
    ]


def texts_of(content: bytes) -> list[str]:
    """Return the lines as they are translated."""
    return [oracle.mended(raw) for raw in oracle.raw_lines(content)]


def check_answers(texts: list[str], answers: list[str]) -> None:
    """See that each line has its answer, on one line, and that blank ones stay blank."""
    assert len(answers) == len(texts)
    for text, answer in zip(texts, answers, strict=True):
        assert oracle.is_one_line(answer), repr(answer)
        assert text.strip() or answer == ""


def rows_of(out: bytes) -> list[str]:
    """Return the lines of an output."""
    assert out == b"" or out.endswith(b"\n")
    return out.decode().split("\n")[:-1]


def check_numbered(texts: list[str], rows: list[str], n_best: int) -> None:
    """See that each line has between one and `n_best` answers, best first."""
    columns = [row.split("\t") for row in rows]
    assert all(len(row) == 3 for row in columns)
    assert sorted({int(number) for number, _, _ in columns}) == list(range(1, len(texts) + 1))
    assert [int(number) for number, _, _ in columns] == sorted(int(number) for number, _, _ in columns)
    for number, text in enumerate(texts, start=1):
        own = [(float(score), answer) for line, score, answer in columns if int(line) == number]
        assert 1 <= len(own) <= n_best
        scores = [score for score, _ in own]
        assert all(math.isfinite(score) for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert text.strip() or own == [(0.0, "")]
        check_answers([text] * len(own), [answer for _, answer in own])


WAYS = ["pipe", "file as standard input", "file"]
ENDINGS = ["", *PACKERS, ""]
"""Of packed and plain files."""
FORMS = ["text", "text", "scores", "n-best"]


@each_tier
def test_translate(tier: str, runs: list[RunFolder], tmp_path: Path) -> None:
    @given(
        content=documents(6, LONGEST),
        run=st.sampled_from(runs),
        way=st.sampled_from(WAYS),
        ending=st.sampled_from(ENDINGS),
        form=st.sampled_from(FORMS),
        to_file=st.booleans(),
        sizes=st.tuples(st.integers(1, 8), st.integers(40, 400), st.integers(8, 64)),
    )
    @example(content=b"", run=runs[0], way="pipe", ending="", form="text", to_file=False, sizes=(8, 200, 64))
    @example(
        content=b"\n\r\n\xc2\xa0\n", run=runs[0], way="file", ending="", form="n-best", to_file=True, sizes=(1, 1, 1)
    )
    @example(
        content=b"a " * 2_000,
        run=runs[0],
        way="pipe",
        ending=".zst",
        form="scores",
        to_file=False,
        sizes=(8, 4_000, 64),
    )
    @example(
        content=b"<s></s>\n" * 50, run=runs[1], way="pipe", ending="", form="text", to_file=False, sizes=(7, 400, 64)
    )
    def check(
        content: bytes, run: RunFolder, way: str, ending: str, form: str, to_file: bool, sizes: tuple[int, int, int]
    ) -> None:
        assume(not archive_of_files(content) if ending else plain(content))
        is_file, packed = way == "file", PACKERS[ending](content)
        names = ("chunk_lines", "batch_tokens", "max_pieces")
        options: list[Any] = ["--run", run.path, "--device", "cpu", *SHORT]
        for name, size in zip(names, sizes, strict=True):
            options += ["--set", f"translate.{name}={size}"]
        options += {"text": list[Any](), "scores": ["--scores"], "n-best": ["--n-best", 2]}[form]
        if is_file:
            path = tmp_path / f"in{ending}"
            path.write_bytes(packed)
            options.append(path)
        if to_file:
            options += ["--output", tmp_path / "out"]
        with sent(b"" if is_file else packed, tmp_path, through_pipe=way == "pipe") as stdin:
            ended = call("translate", *options, stdin=stdin)
        assert ended.code == 0, ended.err
        assert not to_file or ended.out == b""
        out = (tmp_path / "out").read_bytes() if to_file else ended.out

        texts = texts_of(content)
        assert len(texts) == oracle.count(content)
        blank = sum(not text.strip() for text in texts)
        assert f"\n{len(texts):,} line{'' if len(texts) == 1 else 's'} ({blank:,} blank, " in f"\n{ended.err}"
        if form == "n-best":
            check_numbered(texts, rows_of(out), 2)
        elif form == "scores":
            scores, answers = zip(*(row.split("\t") for row in rows_of(out)), strict=True) if texts else ([], [])
            assert all(math.isfinite(float(score)) for score in scores)
            check_answers(texts, list(answers))
        else:
            check_answers(texts, rows_of(out))

    try_cases(check, tier)


@each_tier
def test_translate_in_chunks_and_batches_of_any_size(tier: str, runs: list[RunFolder], tmp_path: Path) -> None:
    """The same text but for ties, one in a thousand lines: matrix products round differently by batch size."""
    sizes = st.tuples(st.integers(1, 10), st.sampled_from([1, 60, 100, 300, 1_000]))
    lines: list[bool] = []

    def answered(content: bytes, run: RunFolder, chunk: int, tokens: int) -> list[tuple[float, str]]:
        settings = [f"translate.chunk_lines={chunk}", f"translate.batch_tokens={tokens}", "translate.max_pieces=30"]
        options = [part for setting in settings for part in ("--set", setting)]
        with sent(content, tmp_path, through_pipe=False) as stdin:
            ended = call("translate", "--run", run.path, *SHORT, *options, "--scores", "--quiet", stdin=stdin)
        assert ended.code == 0, ended.err
        rows = [row.split("\t") for row in rows_of(ended.out)]
        return [(float(score), text) for score, text in rows]

    @given(content=numbered(8, 10), run=st.sampled_from(runs), one=sizes, other=sizes)
    def check(content: bytes, run: RunFolder, one: tuple[int, int], other: tuple[int, int]) -> None:
        assume(plain(content))
        first, second = answered(content, run, *one), answered(content, run, *other)
        assert len(first) == len(second) == 8
        for (score, text), (other_score, other_text) in zip(first, second, strict=True):
            lines.append(text == other_text)
            assert text != other_text or abs(score - other_score) < 1e-5 * max(1.0, abs(score))
        assert lines[-8:].count(False) <= 1

    try_cases(check, tier)
    assert lines.count(False) <= max(1, len(lines) // 1_000)


@each_tier
def test_translate_from_python(tier: str, runs: list[RunFolder]) -> None:
    """Strings that no file could hold, with line feeds and lone surrogates in them, are lines too."""
    translators = [Translator.load(run.path, device="cpu") for run in runs]

    @given(texts=st.lists(strings(), max_size=6), translator=st.sampled_from(translators))
    def check(texts: list[str], translator: Translator) -> None:
        mended = ["".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text) for text in texts]
        cleaned = ["".join(oracle.mended(char.encode()) for char in text) for text in mended]
        check_answers(cleaned, translator.translate(texts))
        assert translator.translate(cleaned) == translator.translate(texts)

    try_cases(check, tier)
