"""`nmtkit score --model --n-best`, without the command line around it."""

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from toy.corpora import sentence_pair
from toy.runs import write_run

from nmtkit.api import Scorer, Translator, load_run_config
from nmtkit.commands.rerank import Ranking, rerank
from nmtkit.commands.translate import translate
from nmtkit.config import Config
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.translation.scorer import PairScore

LINES = ["", *(sentence_pair(number * 613)[0] for number in range(7)), "\u00a0"]
TEXT = "".join(f"{line}\n" for line in LINES).encode()
ALPHA = 0.6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("rerank") / "run")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("rerank") / "other", seed=5)


def config_of(run: RunFolder, **changes: Any) -> Config:
    config = load_run_config(run)
    return config.model_copy(update={"translate": config.translate.model_copy(update=changes)})


def beam(run: RunFolder, size: int = 5) -> Config:
    search = load_run_config(run).translate.search
    return config_of(run, search=search.model_copy(update={"beam": size, "n_best": size, "length_penalty": ALPHA}))


@pytest.fixture(scope="module")
def listed(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("listed")
    (folder / "in").write_bytes(TEXT)
    translate(run, beam(run), Log("quiet"), source=folder / "in", output=folder / "out")
    return (folder / "out").read_bytes()


class Asking:
    """Ranks a list and returns the lines that were written."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self.folder, self.capture = folder, capture

    def __call__(
        self, run: RunFolder, listed: bytes, ranking: Ranking, source: bytes = TEXT, **changes: Any
    ) -> list[list[str]]:
        (self.folder / "list").write_bytes(listed)
        (self.folder / "source").write_bytes(source)
        return self.files(run, self.folder / "list", self.folder / "source", ranking, **changes)

    def files(
        self, run: RunFolder, listed: Path, source: Path | None, ranking: Ranking, **changes: Any
    ) -> list[list[str]]:
        self.capture.readouterr()
        rerank(run, config_of(run, **changes), Log("quiet"), listed, source, ranking, device="cpu")
        rows = self.capture.readouterr().out.decode().split("\n")
        assert rows.pop() == ""
        return [row.split("\t") for row in rows]


@pytest.fixture
def ask(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Asking:
    return Asking(tmp_path, capsysbinary)


def rows_of(content: bytes) -> list[list[str]]:
    return [row.split("\t") for row in content.decode().removesuffix("\n").split("\n")]


def test_the_model_that_made_a_list_gives_the_scores_of_the_list(ask: Asking, run: RunFolder, listed: bytes) -> None:
    """To every translation whose text has the pieces again that were found."""
    translator = Translator.load(run.path, config=beam(run).translate)
    hypotheses = [each for own in translator.hypotheses(LINES) for each in own]
    found = {(number, text): float(score) for number, score, text in ask(run, listed, Ranking((0, 1), ALPHA))}
    checked = set()
    for (number, score, text), each in zip(rows_of(listed), hypotheses, strict=True):
        if tuple(translator.target_segmenter.encode([text])[0]) == each.ids and " ".join(text.split()) == text:
            assert found[number, text] == pytest.approx(float(score), rel=1e-4, abs=1e-5)
            checked.add(each.finished)
    assert checked == {True, False}


def test_the_weight_of_the_list_alone_gives_the_list(ask: Asking, run: RunFolder, listed: bytes) -> None:
    assert ask(run, listed, Ranking((1, 0), ALPHA)) == rows_of(listed)
    doubled = [float(score) for _, score, _ in ask(run, listed, Ranking((2, 0), ALPHA))]
    assert doubled == pytest.approx([2 * float(score) for _, score, _ in rows_of(listed)], abs=2e-6)


@pytest.mark.parametrize("weights", [(0.0, 1.0), (1.0, 1.0), (0.3, 2.0), (1.0, -1.0)])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_translations_are_ranked_by_the_weighted_sum(
    ask: Asking, run: RunFolder, other: RunFolder, listed: bytes, weights: tuple[float, float], alpha: float
) -> None:
    scorer = Scorer.load(other.path)
    rows = rows_of(listed)
    pairs = [SentencePair(LINES[int(number) - 1], text) for number, _, text in rows]
    groups: list[list[tuple[float, str]]] = [[] for _ in LINES]
    for (number, score, text), by_model in zip(rows, scorer.scores(pairs, found=True), strict=True):
        penalty = ((5 + by_model.tokens) / 6) ** alpha
        combined = weights[0] * float(score) + weights[1] * by_model.log_probability / penalty
        groups[int(number) - 1].append((combined, text))
    expected = [
        [str(number), f"{score:.6f}", text]
        for number, group in enumerate(groups, start=1)
        for score, text in sorted(group, key=lambda pair: -pair[0])
    ]
    found = ask(other, listed, Ranking(weights, alpha), chunk_lines=6)
    assert [[row[0], row[2]] for row in found] == [[row[0], row[2]] for row in expected]
    assert [float(row[1]) for row in found] == pytest.approx([float(row[1]) for row in expected], rel=1e-5)
    if weights[0] == 0:
        assert found != rows, "the other model changes its mind about nothing"
    best = ask(other, listed, Ranking(weights, alpha, best=True))
    assert [text for (text,) in best] == [max(group, key=lambda pair: pair[0])[1] for group in groups]
    assert len(best) == len(LINES)


def test_a_score_is_always_a_number_that_the_next_model_can_read() -> None:
    ranking = Ranking((1.0, -1.0), 0.0)
    assert ranking.combined(-math.inf, PairScore(-math.inf, 3)) == -math.inf
    assert ranking.combined(-1.0, PairScore(-3.0, 3)) == 2.0


def test_the_result_is_a_list_for_the_next_model(ask: Asking, run: RunFolder, other: RunFolder, listed: bytes) -> None:
    once = ask(other, listed, Ranking((1, 1), ALPHA))
    again = "".join("\t".join(row) + "\n" for row in once).encode()
    twice = {(number, text): float(score) for number, score, text in ask(run, again, Ranking((1, 1), ALPHA))}
    alone = {(number, text): float(score) for number, score, text in ask(run, listed, Ranking((0, 1), ALPHA))}
    for number, score, text in once:
        assert twice[number, text] == pytest.approx(float(score) + alone[number, text], abs=1e-5)


def test_json_has_all_that_was_summed_up(ask: Asking, run: RunFolder, listed: bytes) -> None:
    *rows, last = [json.loads("\t".join(row)) for row in ask(run, listed, Ranking((0.5, 2), ALPHA, as_json=True))]
    assert len(rows) == len(rows_of(listed)) == last["corpus"]["pairs"]
    for row in rows:
        by_model = row["log_probability"] / ((5 + row["tokens"]) / 6) ** ALPHA
        assert row["score"] == pytest.approx(0.5 * row["listed"] + 2 * by_model)
    assert [row["rank"] for row in rows if row["line"] == 2] == [1, 2, 3, 4, 5]


def test_translations_of_an_over_long_line_stay_in_order(ask: Asking, run: RunFolder) -> None:
    content = b"1\t-1.5\tb\n1\t-2.5\ta\n1\t-2.5\tc\n"
    found = ask(run, content, Ranking((1, 1), ALPHA), b"the small bird finds a baker . " * 9 + b"\n", max_pieces=30)
    assert found == [["1", "-inf", text] for text in "bac"]
    found = ask(run, content, Ranking((1, 0), ALPHA), b"the small bird finds a baker . " * 9 + b"\n", max_pieces=30)
    assert [row[1] for row in found] == ["-1.500000", "-2.500000", "-2.500000"]


def test_list_or_source_may_be_standard_input(
    ask: Asking, run: RunFolder, listed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranking = Ranking((1, 1), ALPHA)
    expected = ask(run, listed, ranking)
    for content, places in (
        (listed, (Path("-"), tmp_path / "source")),
        (TEXT, (tmp_path / "list", None)),
        (TEXT, (tmp_path / "list", Path("-"))),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert ask.files(run, *places, ranking) == expected
    with pytest.raises(DataError, match="list and source text cannot both come from standard input"):
        ask.files(run, Path("-"), None, ranking)


@pytest.mark.parametrize(
    ("content", "source", "message"),
    [
        (b"1\t-1\ta\n3\t-1\tb\n", b"x\ny\nz\n", r"list, line 2: number 3, where 2 is next; give the text that was"),
        (b"2\t-1\ta\n", b"x\ny\n", r"list, line 1: number 2, where 1 is next"),
        (b"1\t-1\ta\n2\t-1\tb\n1\t-1\tc\n", b"x\ny\n", r"list, line 3: number 1, where 3 is next"),
        (b"1\t-1\ta\n2\t-1\tb\n", b"x\n", r"list, line 2: number 2, but .*source ends before"),
        (b"1\t-1\ta\n", b"x\ny\n", r"source goes on behind line 1, where .*list ends"),
        (b"", b"x\n", r"source goes on behind line 0, where .*list ends"),
        (b"-1\ta\n", b"x\n", r"list, line 1: not NUMBER TAB SCORE TAB TEXT; give a list as nmtkit translate --n-best"),
        (b"1\t-1\ta\n1\tfoo\ta\n", b"x\n", r"list, line 2: not NUMBER TAB SCORE TAB TEXT"),
        (b"1\tnan\ta\n", b"x\n", r"list, line 1: not NUMBER"),
        (b"1\t-1\ta\tb\n", b"x\n", r"list, line 1: not NUMBER"),
        (b"1\t-1\t\xff\n", b"x\n", r"list, line 1, byte 6: 0xff is not UTF-8"),
    ],
)
def test_a_list_that_is_not_that_of_the_source_is_refused(
    ask: Asking, run: RunFolder, content: bytes, source: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        ask(run, content, Ranking((1, 1), ALPHA), source)


def test_nothing_is_ranked_as_nothing(ask: Asking, run: RunFolder) -> None:
    assert ask(run, b"", Ranking((1, 1), ALPHA), b"") == []
    assert ask(run, b"1\t0\t\n", Ranking((1, 1), ALPHA), b"\n") == [["1", "0.000000", ""]]
