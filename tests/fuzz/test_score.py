"""`nmtkit score` scores as many lines as there are, or says why it cannot."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from toy.corpora import config_toml
from toy.runs import write_run

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.command import call
from fuzz.text import as_utf8, documents, numbered, plain
from nmtkit.corpus.archives import archive_of_files

ALWAYS, OF_TOKENS = ["BLEU", "chrF2", "chrF2++", "TER"], ["BLEU", "BLEU-tok", "BLEU-split", "chrF2", "chrF2++", "TER"]
SHORT = ["--set", "translate.search.max_length_extra=4", "--set", "translate.search.max_length_ratio=0.5"]
FEW_DRAWS = ["--set", "score.significance.draws=20"]


def equal_counts(most: int) -> st.SearchStrategy[tuple[bytes, bytes]]:
    """Return two files of equally many lines, seldom with bytes that are not UTF-8."""
    return st.tuples(st.integers(0, most), st.integers(0, 5)).flatmap(
        lambda drawn: st.tuples(*[lines_to_score(drawn[0], valid=drawn[1] > 0)] * 2)
    )


def lines_to_score(count: int, *, valid: bool) -> st.SearchStrategy[bytes]:
    """Return files of this many lines."""
    return as_utf8(numbered(count, 60)) if valid else numbered(count, 60)


def same_twice(most: int) -> st.SearchStrategy[tuple[bytes, bytes]]:
    """Return a file twice."""
    return as_utf8(documents(most, 60)).map(lambda content: (content, content))


Labelled = tuple[bytes, bytes, bytes]


def with_labels(sides: tuple[bytes, bytes]) -> st.SearchStrategy[Labelled]:
    """Return two files with a file of labels, mostly none (empty) or as many as there are lines."""
    count = oracle.count(sides[1])
    few = st.lists(st.sampled_from([b"a", b"b\tc", b"", b"[red]", "ä\u2028".encode()]), min_size=count, max_size=count)
    labels = st.one_of(
        st.just(b""), few.map(lambda found: b"".join(label + b"\n" for label in found)), documents(4, 20)
    )
    return labels.map(lambda labels: (*sides, labels))


def first_problem(path: Path, content: bytes) -> str:
    """Return how the message of the first line that is not UTF-8 begins; empty where there is none."""
    for number, raw in enumerate(oracle.raw_lines(content), start=1):
        place = oracle.first_bad_byte(raw)
        if place is not None:
            return f"{path}, line {number}, byte {place + 1}:"
    return ""


def check_scores(scores: list[dict[str, Any]], metrics: list[str], *, perfect: bool) -> None:
    """See that each score is a number on its scale, its interval is one, and it has its signature."""
    assert [score["name"] for score in scores] == metrics
    for score in scores:
        assert math.isfinite(score["value"])
        assert score["value"] >= 0
        assert score["value"] <= 100 + 1e-9 or score["name"] == "TER"
        assert score["low"] <= score["high"]
        assert "version:" in score["signature"]
    assert not perfect or scores[-1]["value"] == 0


COLUMNS = ["set", "label", "system", "metric", "score", "low", "high", "p_bootstrap", "p_randomization", "signature"]


def check_lines(out: bytes, names: list[tuple[str, str, str]], metrics: list[str], *, perfect: bool) -> None:
    """See that the tab-separated output holds the scores of these test sets, labels and systems, in this order."""
    head, *rows = [line.split("\t") for line in out.decode().removesuffix("\n").split("\n")]
    assert head == COLUMNS
    assert all(len(row) == len(COLUMNS) for row in rows), rows
    assert [tuple(row[:3]) for row in rows] == [name for name in names for _ in metrics]
    scores = [
        {"name": metric, "value": float(value), "low": float(low), "high": float(high), "signature": sign}
        for *_, metric, value, low, high, _, _, sign in rows
    ]
    for begin in range(0, len(scores), len(metrics)):
        check_scores(scores[begin : begin + len(metrics)], metrics, perfect=perfect)


def parts_of(labels: bytes) -> dict[str, int]:
    """Return how many lines carry each label, in the order of the alphabet."""
    found = [oracle.mended(raw).strip() for raw in oracle.raw_lines(labels)]
    return {label: found.count(label) for label in sorted(set(found)) if label}


def refusal(sides: dict[Path, bytes], labelled: dict[Path, bytes]) -> str:
    """Return what the first problem must be told as; empty where there is none."""
    (hypotheses, ours), (references, theirs) = ((path, oracle.count(side)) for path, side in sides.items())
    problems = [first_problem(path, sides[path]) for path in (references, hypotheses)]  # as they are read
    problems.append(f"{hypotheses} has {ours} lines but {references} has {theirs};" if ours != theirs else "")
    problems.append(f"{hypotheses} and {references} are empty" if not ours else "")
    for path, labels in labelled.items():
        count = oracle.count(labels)
        problems.append(first_problem(path, labels))
        problems.append(f"{path} has {count} lines but {references} has {theirs};" if count != theirs else "")
    return next(filter(None, problems), "")


@each_tier
def test_score_of_two_files(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    either = st.one_of(equal_counts(6), equal_counts(6), same_twice(5), st.tuples(documents(4), documents(4)))
    hypotheses, references, labelled = tmp_path / "h", tmp_path / "references.gz", tmp_path / "labels"
    lines = tmp_path / "lines.tsv"

    @given(
        files=either.flatmap(with_labels),
        form=st.sampled_from(["tsv", "json", "table", "markdown", "latex"]),
        language=st.sampled_from(["und", "de", "zh"]),
    )
    @example(files=(b"", b"", b""), form="tsv", language="de")
    @example(files=(b"\n \n", b"\n\xe2\x80\xa8\n", b"\n[red]\n"), form="table", language="de")
    @example(files=(b"one\n", b"one\ntwo\n", b""), form="json", language="zh")
    @example(files=(b"a " * 500, b"b " * 500, b"a\tb"), form="tsv", language="de")
    def check(files: Labelled, form: str, language: str) -> None:
        *sides, labels = files
        assume(plain(sides[0]) and plain(labels) and not archive_of_files(sides[1]))
        for path, content in ((hypotheses, sides[0]), (references, gzip.compress(sides[1], 1)), (labelled, labels)):
            path.write_bytes(content)
        options: list[Any] = ["--system", hypotheses, "--reference", references, "--format", form]
        options += ["--labels", labelled] if labels else []
        options += ["--per-sentence", lines, "--set", f"languages.target={language}", *FEW_DRAWS]
        ended = call("score", *options)
        problem = refusal({hypotheses: sides[0], references: sides[1]}, {labelled: labels} if labels else {})
        if problem:
            assert (ended.code, ended.out) == (1, b"")
            assert problem in ended.problems[0]
            return
        if ended.code == 2:  # Chinese, say, of which nobody said that it is
            assert (language, ended.out) == ("und", b"")
            assert "no target language is named" in ended.problems[0]
            return
        assert ended.code == 0, ended.err
        parts, perfect, metrics = parts_of(labels), sides[0] == sides[1], OF_TOKENS if language == "de" else ALWAYS
        if form == "json":
            (found,) = json.loads(ended.out)["sets"]
            (system,) = found["systems"]
            assert found["lines"] == oracle.count(sides[0])
            assert {part["label"]: part["lines"] for part in system["parts"]} == parts
            for scores in (system["scores"], *(part["scores"] for part in system["parts"])):
                check_scores(scores, metrics, perfect=perfect)
        elif form == "tsv":
            names = [("references.gz", label, "h") for label in ("", *parts)]
            check_lines(ended.out, names, metrics, perfect=perfect)
        else:
            assert ended.out.count(b"version:") == len(metrics)
        rows = lines.read_bytes().decode().removesuffix("\n").split("\n")
        assert len(rows) == oracle.count(sides[0]) + 1
        assert {row.count("\t") for row in rows} == {len(metrics) + 2}

    try_cases(check, tier)


@pytest.mark.parametrize(
    ("name", "shown"), [("a\tb\nc\u2028d", "a b c d"), ("[red]x\x1b[31m", "[red]x[31m"), ("a\udcff", "a\ufffd")]
)
def test_the_name_of_a_file_does_not_break_the_output(tmp_path: Path, name: str, shown: str) -> None:
    (tmp_path / name).write_bytes(b"one\n")
    options = ["--system", tmp_path / name, "--reference", tmp_path / name]
    check_lines(call("score", *options).out, [(shown, "", shown)], ALWAYS, perfect=True)
    table = call("score", *options, "--format", "table").out.decode()
    assert f"\n {shown} " in table


@each_tier
def test_score_of_a_run(tier: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    test_sets = [
        {"name": "two/files", "source": "two.en", "target": "two.de"},
        {"name": "one [file]", "tsv": "one.tsv"},
    ]
    config = tmp_path / "nmtkit.toml"
    config.write_bytes(config_toml({"corpus.test": test_sets}).encode())
    columns = st.integers(1, 4).flatmap(lambda count: st.tuples(*[lines_to_score(count, valid=True)] * 2))

    @given(sides=st.one_of(equal_counts(5), equal_counts(5), st.tuples(documents(3), documents(3))), pairs=columns)
    @example(sides=(b"\n", b"\n"), pairs=(b"\n", b"\n"))
    def check(sides: tuple[bytes, bytes], pairs: tuple[bytes, bytes]) -> None:
        both = zip(*(side.replace(b"\t", b" ").split(b"\n")[:-1] for side in pairs), strict=True)
        content = "".join(f"{one}\t{other}\n" for one, other in map(decoded, both)).encode()
        assume(all(plain(side) for side in (*sides, content)))
        for name, side in (("two.en", sides[0]), ("two.de", sides[1]), ("one.tsv", content)):
            (tmp_path / name).write_bytes(side)
        ended = call("score", "--config", config, "--run", run.path, "--json", "--quiet", *SHORT, *FEW_DRAWS)
        counts = [oracle.count(side) for side in sides]
        broken = first_problem(tmp_path / "two.en", sides[0]) or first_problem(tmp_path / "two.de", sides[1])
        if broken or counts[0] != counts[1] or not counts[0]:
            assert (ended.code, ended.out) == (1, b"")
            return
        assert ended.code == 0, ended.err
        found = json.loads(ended.out)["sets"]
        assert [each["lines"] for each in found] == [counts[0], oracle.count(content)]
        for each in found:
            (system,) = each["systems"]
            check_scores(system["scores"], OF_TOKENS, perfect=False)
            output = Path(system["hypotheses"]).read_bytes()
            assert output.count(b"\n") == each["lines"]
            assert all(map(oracle.is_one_line, output.decode().split("\n")))

    try_cases(check, tier)


def decoded(pair: tuple[bytes, bytes]) -> list[str]:
    """Return the sides of a pair as text in which a file of columns can hold them."""
    return ["".join(oracle.mended(side).split("\t")) for side in pair]
