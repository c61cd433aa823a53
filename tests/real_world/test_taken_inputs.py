"""Odd input that is no error: the command succeeds, says what it met, and no line gets out of step."""

import gzip
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

import pytest
from toy.projects import same

from real_world.scene import (
    Break,
    Nmt,
    Scene,
    appended,
    changed,
    check_message,
    halved,
    holding,
    missing,
    together,
    whole,
)

SEPARATED = "the dog\u2028sees\u2029a\x85bird\x0bto\x0cday\rhere\x1c.\n".encode()
CONTROLS = b"the do\x00g se\x07es a\x1b bird .\n"
MARKS = "<s> the dog </s> sees <unk> <pad> a \u2581 bird <0x0A> .\n".encode()
BOM = b"\xef\xbb\xbf"
BIG = b"the green bird sees a dog . " * 37_500 + b"\n"
ONE_WORD = b"x" * 1_050_000 + b"\n"
TEXTS = ("train.en", "train.de", "dev.en", "dev.de", "test.en", "test.de")
TRAIN = ("train.en", "train.de")
BYTES = "prepare --set prepare.segmenter.byte_fallback=true --set prepare.segmenter.vocabulary_size=340"


def led_by(content: bytes, *names: str) -> Break:
    """Put bytes before everything that files hold."""
    return lambda here: [here.path(name).write_bytes(content + here.path(name).read_bytes()) for name in names]


def without_last_line_feed(*names: str) -> Break:
    """Remove the last byte of files."""
    return lambda here: [here.path(name).write_bytes(here.path(name).read_bytes()[:-1]) for name in names]


def packed(name: str) -> Break:
    """Compress a file and leave it its name."""
    return lambda here: here.path(name).write_bytes(gzip.compress(here.path(name).read_bytes()))


# Prepared: the packed pairs are those of the sound project, or what is said of those that are not.

SAME_DATA: dict[str, Break] = {
    "CRLF": changed(b"\n", b"\r\n", *TEXTS),
    "byte order mark": led_by(BOM, *TEXTS),
    "no last line feed": without_last_line_feed(*TEXTS),
    "gzip by content": packed("train.en"),
    "controls": changed(b"e", b"\x00e\x1b", *TEXTS),
    "separators for spaces": changed(b" ", "\u2028".encode(), "train.en", "dev.de"),
    "left under temporary names": together(
        lambda here: here.run.data.mkdir(parents=True), holding(b"half", "run/data/.train.source.ids.bin.9.tmp")
    ),
}


@pytest.mark.parametrize("name", SAME_DATA)
def test_what_changes_no_pair(name: str, scene: Callable[[str], Scene], nmt: Nmt, prepared) -> None:
    here = scene("raw")
    SAME_DATA[name](here)
    code, out, err = nmt("prepare")
    assert (code, out) == (0, ""), err
    made, expected = ({path.name for path in run.data.iterdir()} for run in (here.run, prepared.run))
    assert made == expected
    for file in [name for name in expected if name.endswith((".bin", ".model"))]:
        assert (here.run.data / file).read_bytes() == (prepared.run.data / file).read_bytes(), file


class Met(NamedTuple):
    """What the training corpus holds beside its 200 pairs, and what is said of it."""

    broken: Break
    says: tuple[str, ...]
    kept: int = 200
    command: str = "prepare"


MET = {
    "separators": Met(
        appended(SEPARATED, *TRAIN),
        ("toy, source: tabs and other separators inside lines turned into spaces: 7 (first in line 201)",),
        kept=201,
    ),
    "controls": Met(
        appended(CONTROLS, *TRAIN), ("toy, target: control characters removed: 3 (first in line 201)",), kept=201
    ),
    "blank source": Met(together(appended(b" \n", "train.en"), appended(b"x\n", "train.de")), ("1 │ dropped: blank ",)),
    "blank target": Met(together(appended(b"x\n", "train.en"), appended(b"\n", "train.de")), ("1 │ dropped: blank ",)),
    "a line of a megabyte": Met(appended(BIG, *TRAIN), ("1 │ dropped: length ",)),
    "a word of a megabyte": Met(appended(ONE_WORD, *TRAIN), ("1 │ dropped: max_pieces ", "2 lines too long to learn")),
    "not UTF-8, dropped": Met(
        appended(b"caf\xe9\n", *TRAIN),
        (
            "1 │ dropped: invalid_utf8 ",
            "toy, source: bytes that are not UTF-8, their pairs dropped: 1 (first in line 201",
        ),
        command="prepare --set prepare.invalid_utf8=drop",
    ),
    "control marks": Met(
        together(appended(MARKS, *TRAIN), appended(b"<s> the \xe2\x96\x81 dog </s>\n", "dev.en", "dev.de")),
        ("dev: every line survives segmenting", "0 unknown"),
        kept=201,
        command=BYTES,
    ),
    "blank lines in the development set": Met(
        together(appended(b"\n", "dev.en"), appended(b"x\n", "dev.de")),
        ("dev: left out of perplexity: blank 1 (lines 21)",),
    ),
    "in lower case": Met(whole, ("toy, source: 0 of 200 lines have a capital letter, so the model will not know cap",)),
}


@pytest.mark.parametrize("name", MET)
def test_what_is_met_in_a_corpus_is_counted_and_said(
    name: str, scene: Callable[[str], Scene], nmt: Nmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    here, met = scene("raw"), MET[name]
    met.broken(here)
    code, out, err = nmt(met.command)
    assert (code, out) == (0, ""), err
    for words in met.says:
        assert words in err
    assert f"train: {met.kept:,} pairs packed" in err


# Translated and scored: as many lines out as in.

SHORT = """--set translate.search={kind="greedy",max_length_ratio=0.0,max_length_extra=3} --batch-tokens 400000"""
LINES = {
    "separators": (SEPARATED * 2, 2, "tabs and other separators inside lines turned into spaces: 14"),
    "CR": (b"the dog\ra bird\r\ra fox\n" * 2, 2, "turned into spaces: 6"),
    "CRLF": (b"the dog .\r\n" * 3, 3, "3 lines (0 blank"),
    "byte order mark": (BOM + b"the dog .\na bird .\n", 2, "2 lines (0 blank"),
    "not UTF-8": (b"the \xff dog\na bird\n\xfe\xfe\n", 3, "turned into U+FFFD: 3 in 2 lines (first in line 1)"),
    "UTF-16": ("the dog .\n".encode("utf-16"), 2, "bytes that are not UTF-8, turned into U+FFFD: 2"),
    "blank": (b"\n \t \n\xe3\x80\x80\nthe dog .\n", 4, "4 lines (3 blank"),
    "controls": (CONTROLS, 1, "control characters removed: 3"),
    "only controls": (b"\x00\x00\n\x07\n", 2, "2 lines (2 blank"),
    "control marks": (MARKS * 2, 2, "2 lines (0 blank"),
    "a line of a megabyte": (b"a fox .\n" + BIG + b"a dog .\n", 3, "translated in parts: 1 line (first line 2)"),
    "a word of a megabyte": (ONE_WORD + b"a dog .\n", 2, "translated in parts: 1 line (first line 1)"),
    "several sentences": (
        b"the old dog sees a green bird here . " * 5 + b"\n",
        1,
        "put one sentence on a line, or set ",
    ),
    "nothing": (b"", 0, "0 lines"),
    "no last line feed": (b"the dog .\na bird .", 2, "2 lines (0 blank"),
    "gzip": (gzip.compress(b"the dog .\na bird .\n"), 2, "2 lines (0 blank"),
}


BIG_LINES = ("a line of a megabyte", "a word of a megabyte")


def some(names: Iterable[str], slow: Container[str]) -> list[Any]:
    """Return names as parameters, some of them for the slower tier."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in names]


@pytest.mark.parametrize("name", some(LINES, BIG_LINES))
@pytest.mark.parametrize("command", ["translate in -o out", "translate < in"])
def test_as_many_lines_out_as_in(name: str, command: str, scene: Callable[[str], Scene], nmt: Nmt) -> None:
    here = scene("trained")
    content, lines, says = LINES[name]
    here.path("in").write_bytes(content)
    code, out, err = nmt(command.replace("translate", f"translate {SHORT}", 1))
    check_message(code, out, err)
    assert code == 0
    answer = out if "<" in command else here.path("out").read_text("utf-8")
    assert answer.count("\n") == lines
    assert says in err


@pytest.mark.parametrize("name", some(sorted(LINES.keys() - {"not UTF-8", "UTF-16", "nothing"}), BIG_LINES))
def test_as_many_lines_are_scored_as_there_are(name: str, scene: Callable[[str], Scene], nmt: Nmt) -> None:
    here = scene("trained")
    content, lines, _ = LINES[name]
    here.path("h").write_bytes(content)
    here.path("r").write_bytes(content)
    code, out, err = nmt("score --system h --reference r --json --set score.metrics=[{kind='chrf'}]")
    assert code == 0, err
    assert f'"lines": {lines},' in out


# A run that was damaged goes on from what is whole, and comes to the same end.

HARM: dict[str, tuple[Break, str]] = {
    f"{file} {harm.__name__}": (harm(f"newest/{file}") if harm is not holding else holding(b"", f"newest/{file}"), file)
    for file in ("weights.safetensors", "optimizer.safetensors", "state.json")
    for harm in (missing, halved, holding)
}
LEFT_BEHIND: dict[str, tuple[Break, str]] = {
    "temporary folders and files": (
        together(
            lambda here: here.path("run/checkpoints/.00000012.9.tmp").mkdir(),
            holding(b"half", "run/checkpoints/.00000012.9.tmp/weights.safetensors", "run/.config.toml.9.tmp"),
            missing("newest/state.json"),
        ),
        "state.json",
    ),
    "half a record": (
        together(appended(b'{"kind": "train", "upd', "run/metrics.jsonl"), missing("newest/state.json")),
        "state.json",
    ),
}
FAST = {"weights.safetensors halved", "state.json holding"}


@pytest.mark.parametrize("name", [*some(HARM, HARM.keys() - FAST), *LEFT_BEHIND])
def test_a_damaged_run_comes_to_the_same_end(name: str, scene: Callable[[str], Scene], nmt: Nmt, trained) -> None:
    here = scene("trained")
    broken, file = {**HARM, **LEFT_BEHIND}[name]
    broken(here)
    code, out, err = nmt("train")
    assert (code, out) == (0, ""), err
    assert f"00000008/{file}: missing or damaged (" in err
    assert "; trying the checkpoint before it" in err
    for checkpoint in (8, "average"):
        assert same(here.project.weights(checkpoint), trained.weights(checkpoint))
    assert [record["update"] for record in here.project.records("train")] == [2, 4, 6, 8]
    assert not list(here.run.path.rglob("*.tmp"))


@pytest.mark.parametrize("command", ["translate in -o out", "score", "average --last 2"])
@pytest.mark.parametrize("name", sorted(FAST))
def test_a_damaged_checkpoint_is_named_and_left_out(
    name: str, command: str, scene: Callable[[str], Scene], nmt: Nmt
) -> None:
    here = scene("trained")
    broken, file = HARM[name]
    together(broken, missing("run/checkpoints/average/state.json"))(here)
    code, _, err = nmt(command)
    assert code == 0, err
    assert f"run/checkpoints/00000008/{file}: missing or damaged (" in err
    assert "this checkpoint is left out" in err
