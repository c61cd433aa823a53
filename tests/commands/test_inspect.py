import json
from pathlib import Path
from typing import Any

import pytest
from toy.corpora import config_toml, write_corpus
from typer.testing import CliRunner

from nmtkit.cli import app
from nmtkit.commands.prepare import prepare
from nmtkit.config import load
from nmtkit.data.batching import padded_sizes
from nmtkit.data.store import PairStore
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder

MORE = [
    ("  a cafe\u0301 dog\x01 .", "ein\thund ."),  # news:1
    ("", "leer"),
    ("x .", "eins zwei drei vier f\u00fcnf sechs sieben acht neun zehn"),
    ("<dev>", "<dev>"),
    ("the old bird sees the fish here .", "hier sieht der alte vogel der fisch ."),  # news:5
    ("The Old bird sees the fish here .", "hier sieht der alte vogel der fisch ."),
    ("<toy>", "<toy>"),
    ("b " * 60, "b " * 60),
    ("the bird \u202e .", "der vogel ."),  # news:9
    ("the old bird sees the fish here .", "hier sieht der alte vogel der fisch ."),
]


class Inspected:
    """A prepared project of two corpora, and `nmtkit inspect` over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_corpus(folder, 60)
        sides = [(folder / f"{name}.{side}").read_text("utf-8") for name in ("dev", "train") for side in ("en", "de")]
        dev, toy = [list(zip(*(side.split("\n") for side in sides[at : at + 2]), strict=True)) for at in (0, 2)]
        self.toy = toy[:-1]
        pairs = [{"<dev>": dev[3], "<toy>": toy[9]}.get(pair[0], pair) for pair in MORE]
        for place, side in enumerate(("en", "de")):
            (folder / f"news.{side}").write_bytes("".join(f"{pair[place]}\n" for pair in pairs).encode())
        news = {"name": "news", "source": "news.en", "target": "news.de", "tag": "wire"}
        news["filters"] = [
            {"kind": "blank"},
            {"kind": "ratio", "maximum": 3.0},
            {"kind": "overlap"},
            {"kind": "duplicate"},
            {"kind": "duplicate", "case": True},
        ]
        overrides = {
            "corpus.train": [{"name": "toy", "source": "train.en", "target": "train.de"}, news],
            "corpus.dev": {"name": "dev", "source": "dev.en", "target": "dev.de", "tag": "wire"},
            "prepare.max_pieces": 50,
            "prepare.segmenter": {"kind": "bpe", "vocabulary_size": 360},
        }
        (folder / "nmtkit.toml").write_bytes(config_toml(overrides).encode())
        self.run = RunFolder(folder / "run")

    def prepare(self) -> None:
        prepare(load(self.folder / "nmtkit.toml"), self.folder, self.run, Log("quiet"))

    def text(self, *arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["inspect", "--config", str(self.folder / "nmtkit.toml"), *arguments])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.text(*arguments, "--json"))
        return found


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    project = Inspected(tmp_path_factory.mktemp("inspected"))
    project.prepare()
    return project


# Pairs


def test_a_pair_is_shown_as_text_pieces_and_ids(inspected: Inspected) -> None:
    (pair,) = inspected.json("--pair", "7")
    store = PairStore.open(inspected.run.data, "train")
    assert (pair["pair"], pair["of"], pair["corpus"], pair["line"]) == (7, len(store), "toy", 7)
    for place, side in enumerate(("source", "target")):
        assert pair[side]["text"] == inspected.toy[6][place]
        assert pair[side]["ids"] == (store.source, store.target)[place][6].tolist()
        assert "".join(pair[side]["pieces"]).replace("\u2581", " ").strip() == pair[side]["text"]


def test_pairs_are_given_as_numbers_lists_and_ranges(inspected: Inspected) -> None:
    assert [pair["pair"] for pair in inspected.json("--pair", "3,5-7", "--pair", "1")] == [3, 5, 6, 7, 1]


def test_a_pair_of_a_later_corpus_has_its_line_and_tag(inspected: Inspected) -> None:
    pairs = inspected.json("--pair", "61-63")
    assert [(pair["corpus"], pair["line"]) for pair in pairs] == [("news", 1), ("news", 5), ("news", 9)]
    assert [pair["source"]["pieces"][0] for pair in pairs] == ["<tag:wire>"] * 3
    assert [pair["tag"] for pair in pairs] == ["wire"] * 3
    assert "tag" not in inspected.json("--pair", "60")[0]
    assert pairs[0]["source"]["text"] == "a caf\xe9 dog ."


def test_a_pair_as_text(inspected: Inspected) -> None:
    rows = inspected.text("--pair", "63").split("\n")
    assert rows[0] == "pair 63 of 63: news:9, tag wire"
    assert rows[1] == "  source  the bird <U+202E> ."
    assert rows[2].split()[:2] == ["<tag:wire>", "\u2581the"]
    (pair,) = inspected.json("--pair", "63")
    assert [int(id_) for id_ in rows[3].split()] == pair["source"]["ids"]


def test_pairs_of_the_development_set(inspected: Inspected) -> None:
    (pair,) = inspected.json("--pair", "20", "--dev")
    assert (pair["of"], pair["corpus"], "line" in pair) == (20, "dev", False)
    assert pair["source"]["text"] == (inspected.folder / "dev.en").read_text().split("\n")[19]
    assert (pair["source"]["pieces"][0], pair["tag"]) == ("<tag:wire>", "wire")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pair", "0"], "--pair 0: there are 63 pairs; give 1 to 63"),
        (["--pair", "64"], "--pair 64: there are 63 pairs; give 1 to 63"),
        (["--pair", "9-3"], "--pair 9-3: there are 63 pairs; give 1 to 63"),
        (["--pair", "x"], "--pair 'x': no number of a pair; give such as 3, or 3,5 or 3-8"),
        (["--pair", "21", "--dev"], "--pair 21: there are 20 pairs; give 1 to 20"),
        ([], "--pair N, --batch N or --line CORPUS:LINE: give one of them"),
        (["--pair", "1", "--batch", "1"], "--pair N, --batch N or --line CORPUS:LINE: give one of them"),
        (["--batch", "1", "--dev"], "--dev: goes with --pair only"),
        (["--batch", "999"], "--batch 999: epoch 1 has 4 updates; give 1 to 4"),
        (["--line", "toy"], "--line 'toy': no line of a corpus; give its name and a number, such as train:17"),
        (["--line", "toy:0"], "--line 'toy:0': no line of a corpus; give its name and a number, such as train:17"),
        (["--line", "x:1"], "no training corpus or development set is named 'x'; there are toy, news, dev"),
    ],
)
def test_what_cannot_be_shown(inspected: Inspected, arguments: list[str], message: str) -> None:
    assert message in inspected.text(*arguments, code=2)


def test_a_line_beyond_the_end(inspected: Inspected) -> None:
    message = "--line: corpus 'toy' has 60 lines, so there is no line 61"
    assert message in inspected.text("--line", "toy:61", code=1)


# Batches


def test_the_batches_of_an_epoch_hold_each_pair_once(inspected: Inspected) -> None:
    store = PairStore.open(inspected.run.data, "train")
    for epoch in ("1", "2"):
        said = inspected.text("--batch", "999", "--epoch", epoch, code=2)
        updates = int(said.split()[-1])
        batches = [inspected.json(f"--batch={update + 1}", "--epoch", epoch)[0] for update in range(updates)]
        tensors = [tensor for batch in batches for tensor in batch["tensors"]]
        shown = [sentence for tensor in tensors for sentence in tensor["sentences"]]
        assert sorted(sentence["pair"] for sentence in shown) == list(range(1, 64))
        for tensor in tensors:
            places = [sentence["pair"] - 1 for sentence in tensor["sentences"]]
            assert tensor["source_length"] == store.source.lengths[places].max() + 1
            sizes = padded_sizes([places], store.source.lengths, store.target.lengths)  # type: ignore[list-item]
            tokens = int(store.source.lengths[places].sum() + store.target.lengths[places].sum()) + 2 * len(places)
            assert tensor["padding"] == pytest.approx(1 - tokens / sizes.sum())
        assert sum(batch["pairs"] for batch in batches) == 63
        by_pair = {sentence["pair"]: sentence for sentence in shown}
        assert by_pair[7] == {"pair": 7, "corpus": "toy", "line": 7, **_texts(inspected.toy[6])}
        assert (by_pair[62]["line"], by_pair[62]["tag"]) == (5, "wire")


def _texts(pair: tuple[str, str]) -> dict[str, str]:
    return {"source": pair[0], "target": pair[1]}


def test_a_batch_as_text(inspected: Inspected) -> None:
    (batch,) = inspected.json("--batch", "2")
    rows = inspected.text("--batch", "2").split("\n")
    assert rows[0].startswith(f"update 2 of epoch 1: {len(batch['tensors'])} tensors, {batch['pairs']} pairs, ")
    first = batch["tensors"][0]
    assert rows[2].startswith(f"tensor 1: source {first['pairs']} \xd7 {first['source_length']}, target")
    assert rows[4] == f"    {first['sentences'][0]['source']}"


# Lines


LINES: dict[str, tuple[bool, str, str]] = {
    "toy:7": (True, "", "kept: pair 7 of the training data"),
    "news:1": (True, "", "kept: pair 61 of the training data"),
    "news:2": (False, "blank", "dropped by blank: the source is blank"),
    "news:3": (False, "ratio", "dropped by ratio: 3 characters against 52: a ratio of more than maximum = 3"),
    "news:4": (
        False,
        "overlap",
        "dropped by overlap: the source is one of the 40 of the development and test sets (dev:4)",
    ),
    "news:6": (False, "duplicate_2", "dropped by duplicate_2: it repeats news:5"),
    "news:7": (False, "duplicate_1", "dropped by duplicate_1: it repeats toy:10"),
    "news:8": (
        False,
        "max_pieces",
        "dropped by max_pieces: the source has 60 pieces, more than prepare.max_pieces = 50",
    ),
    "news:10": (False, "duplicate_1", "dropped by duplicate_1: it repeats news:5"),
    "dev:4": (True, "", "kept: a pair of the development set"),
}


@pytest.mark.parametrize("line", LINES)
def test_what_became_of_a_line(inspected: Inspected, line: str) -> None:
    (found,) = inspected.json("--line", line)
    assert (found["kept"], found["reason"], found["result"]) == LINES[line]
    assert f"{found['corpus']}:{found['line']}" == line
    assert LINES[line][2] in inspected.text("--line", line)


def test_every_line_is_explained_as_it_was_prepared(inspected: Inspected) -> None:
    report = json.loads(inspected.run.report.read_bytes())
    for corpus in report["corpora"]:
        lines = [f"--line={corpus['name']}:{number}" for number in range(1, corpus["read"] + 1)]
        found = inspected.json(*lines)
        assert sum(each["kept"] for each in found) == corpus["kept"]
        for reason, drops in corpus["drops"].items():
            assert [each["line"] for each in found if each["reason"] == reason] == drops["first_lines"]
        pairs = inspected.json(*(f"--pair={each['pair']}" for each in found if each["kept"]))
        assert [pair["line"] for pair in pairs] == [each["line"] for each in found if each["kept"]]


def test_the_steps_of_a_line(inspected: Inspected) -> None:
    (found,) = inspected.json("--line", "news:1")
    assert [(step["step"], step["source"], step["target"]) for step in found["steps"]] == [
        ("raw", "  a cafe\u0301 dog\x01 .", "ein\thund ."),
        ("controls and separators", "  a cafe\u0301 dog .", "ein hund ."),
        ("unicode", "  a caf\xe9 dog .", "ein hund ."),
        ("whitespace", "a caf\xe9 dog .", "ein hund ."),
    ]
    shown = inspected.text("--line", "news:1")
    assert "    source    a cafe\u0301 dog<U+0001> .\n    target  ein<U+0009>hund .\n" in shown
    assert "  unicode\n    source    a caf\xe9 dog .\n    target  unchanged\n" in shown


def test_a_line_is_shown_with_its_tag_which_is_none_of_its_pieces(inspected: Inspected) -> None:
    tagged, dev, plain = inspected.json("--line", "news:9", "--line", "dev:4", "--line", "toy:7")
    assert (tagged["tag"], dev["tag"], "tag" in plain) == ("wire", "wire", False)
    (pair,) = inspected.json("--pair", str(tagged["pair"]))
    assert ["<tag:wire>", *tagged["pieces"]["source"]] == pair["source"]["pieces"]
    assert "  pieces, with the tag wire before the source\n" in inspected.text("--line", "dev:4")
    assert "  pieces\n" in inspected.text("--line", "toy:7")


def test_the_repeated_pair_is_found_in_the_text_where_ids_do_not_tell(
    inspected: Inspected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmtkit.commands.inspect_repeated.Repeated._among_ids", lambda *_: "")
    for line in ("news:7", "news:10"):
        assert inspected.json("--line", line)[0]["result"] == LINES[line][2]


# Before, and beside what is prepared


def test_lines_are_explained_before_anything_is_prepared(tmp_path: Path) -> None:
    project = Inspected(tmp_path)
    blank, kept = project.json("--line", "news:2", "--line", "news:10")
    assert blank["result"] == LINES["news:2"][2]
    assert kept["kept"] is False
    assert kept["result"].startswith("kept by all filters of single pairs; pieces and duplicates are not known, as ")
    assert "holds no data prepared to the end" in kept["result"]
    message = "holds no data prepared to the end; run `nmtkit prepare` for this run folder"
    assert message in project.text("--pair", "1", code=1)
    assert message in project.text("--batch", "1", code=1)


def test_other_settings_are_tried_on_a_line_but_not_on_pairs(inspected: Inspected) -> None:
    stricter = ("--set", "prepare.max_pieces=10")
    (found,) = inspected.json("--line", "toy:7", *stricter)
    assert "was prepared with other settings" in found["result"]
    shown = inspected.text("--pair", "7", *stricter, code=1)
    assert "prepare.max_pieces: 50 -> 10" in shown


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    project = Inspected(tmp_path)
    with (tmp_path / "news.en").open("ab") as stream:
        stream.write(b"a \xff dog\n")
    with (tmp_path / "news.de").open("ab") as stream:
        stream.write(b"ein hund\n")
    (found,) = project.json("--line", "news:11")
    assert found["result"].startswith("prepare stops here: ")
    assert "line 11, byte 3: 0xff is not UTF-8" in found["result"]
    (found,) = project.json("--line", "news:11", "--set", "prepare.invalid_utf8=drop")
    assert (found["reason"], found["result"]) == ("invalid_utf8", "dropped by invalid_utf8: a side is not UTF-8")
    assert found["steps"] == [{"step": "raw", "source": "a \ufffd dog", "target": "ein hund"}]


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    project = Inspected(tmp_path)
    project.prepare()
    for side in ("en", "de"):
        with (tmp_path / f"news.{side}").open("ab") as stream:
            stream.write(b"new and new\n")
    (found,) = project.json("--line", "news:11")
    assert "not among the prepared pairs, though nothing speaks against it: has a file changed?" in found["result"]


def test_units_of_a_memory_without_a_language(tmp_path: Path) -> None:
    project = Inspected(tmp_path)
    units = [
        "".join(["<tu>", *(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in unit), "</tu>"])
        for unit in ([("en", "a dog"), ("de", "ein hund")], [("en", "a bird")], [("de", "vogel"), ("en", "bird")])
    ]
    memory = f'<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>{"".join(units)}</body></tmx>'
    (tmp_path / "memory.tmx").write_text(memory)
    given = ("--set", 'corpus.train=[{name = "memory", tmx = "memory.tmx"}]')
    first, second, third = project.json(*(f"--line=memory:{number}" for number in (1, 2, 3)), *given)
    assert second["result"] == "dropped: it lacks one of the languages"
    assert [each["steps"][0]["source"] for each in (first, third)] == ["a dog", "bird"]


def test_standard_input_is_gone(tmp_path: Path) -> None:
    project = Inspected(tmp_path)
    given = ("--set", 'corpus.train=[{name = "piped", tsv = "-"}]')
    assert "corpus 'piped' came from standard input, now gone" in project.text("--line", "piped:1", *given, code=2)
