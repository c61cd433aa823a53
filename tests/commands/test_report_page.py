"""The report page: well-formed, self-contained, harmless whatever the text holds, and true to prepare.json."""

import json
import re
from functools import reduce
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from toy.corpora import config_values, write_corpus

from nmtkit.commands.prepare import prepare
from nmtkit.commands.report_page import page
from nmtkit.config import resolve
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder

HOSTILE = [
    ("<script>alert(1)</script> </style></bdi> a dog .", "<img src=x onerror=alert(1)> & \"der\" 'hund' ."),
    ("a \u202ebird\u2066 sees\x00 the \x9bfish .", "ein\tvogel \u2028 sieht \ufdd0 den \ue000 fisch \u200b."),
    ("]]> <!-- <svg/onload=alert(1)> -->", "Z\u0324\u030d\u0341a\u033f\u0302lgo \U000e0041 \U0010ffff"),
    ("one .", "<b>eins</b> " * 60),
    ("", "<i>leer</i>"),
    ("a dog sees a dog .", "ein hund sieht einen hund ."),
    ("a dog sees a dog .", "ein hund sieht einen hund ."),
]
VOID = ("meta",)


def prepared(folder: Path, pairs: list[tuple[str, str]], overrides: dict[str, Any] | None = None) -> RunFolder:
    """Prepare the toy corpus with more pairs at its end."""
    write_corpus(folder, 40)
    for place, side in enumerate(("en", "de")):
        with (folder / f"train.{side}").open("ab") as stream:
            stream.write("".join(f"{pair[place]}\n" for pair in pairs).encode())
    segmenter = {"kind": "bpe", "vocabulary_size": 360, "byte_fallback": True}
    config = resolve(config_values({"prepare.segmenter": segmenter, **(overrides or {})}), "toy")
    run = RunFolder(folder / "run")
    prepare(config, folder, run, Log("quiet"))
    return run


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    overrides = {"corpus.train": [{"name": "<u>toy\u202e", "source": "train.en", "target": "train.de"}]}
    return prepared(tmp_path_factory.mktemp("hostile"), HOSTILE * 3, overrides)


@pytest.fixture(scope="module")
def tree(hostile: RunFolder) -> ElementTree.Element:
    return ElementTree.fromstring(hostile.report_page.read_bytes())  # fails where it is not well-formed


def content_of(run: RunFolder) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(run.report.read_bytes())
    return content


def test_html_sees_the_same_elements_as_xml(hostile: RunFolder, tree: ElementTree.Element) -> None:
    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__(convert_charrefs=True)
            self.opened: list[str] = []
            self.stack: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.opened.append(tag)
            self.stack.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            self.opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.stack.pop() == tag

    parser = Tags()
    parser.feed(hostile.report_page.read_text("utf-8"))
    assert parser.stack == []
    assert parser.opened == [element.tag.lower() for element in tree.iter()]


def test_nothing_is_loaded_and_nothing_runs(hostile: RunFolder, tree: ElementTree.Element) -> None:
    for element in tree.iter():
        assert element.tag not in ("script", "img", "link", "iframe", "object", "embed", "b" * 2, "u", "i"), element.tag
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action", "data")
            if name == "href":
                assert value.startswith("#")
    style = "".join(element.text or "" for element in tree.iter("style"))
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in hostile.report_page.read_text("utf-8").replace("http-equiv", "")


def test_links_lead_to_sections(tree: ElementTree.Element) -> None:
    anchors = {element.get("id") for element in tree.iter() if element.get("id")}
    links = [element.get("href", "") for element in tree.iter("a")]
    assert len(links) == 8
    assert {link.removeprefix("#") for link in links} == anchors


def test_hostile_text_is_shown_as_text(tree: ElementTree.Element) -> None:
    shown = " ".join("".join(element.itertext()) for element in tree.iter("bdi"))
    assert "<script>alert(1)</script> </style></bdi> a dog ." in shown
    assert "<img src=x onerror=alert(1)> & \"der\" 'hund' ." in shown
    assert "]]> <!-- <svg/onload=alert(1)> -->" in shown
    assert "a U+202EbirdU+2066 seesU+0000 the U+009Bfish ." in shown
    text = "".join(tree.itertext())
    assert not [character for character in text if not character.isprintable() and character != "\n"]


def test_names_keep_to_themselves(tree: ElementTree.Element) -> None:
    names = ["".join(element.itertext()) for element in tree.iter("bdi")]
    assert "<u>toyU+202E" in names


def test_every_number_is_that_of_the_json(hostile: RunFolder, tree: ElementTree.Element) -> None:
    content = content_of(hostile)

    def at(pointer: str) -> Any:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
        return reduce(lambda part, key: part[int(key)] if isinstance(part, list) else part[key], keys, content)

    data = list(tree.iter("data"))
    assert len(data) > 50
    for element in data:
        value = at(element.attrib["data-at"])
        assert element.attrib["value"] == str(value)
        assert element.text in (f"{value:,}", f"{value:.2%}")
    shown = {element.attrib["data-at"] for element in data}
    for place, corpus in enumerate(content["corpora"]):
        assert {f"/corpora/{place}/read", f"/corpora/{place}/kept"} <= shown
        for reason, drops in corpus["drops"].items():
            assert (f"/corpora/{place}/drops/{reason}/count" in shown) == (drops["count"] > 0)
    assert {f"/plan/{name}" for name in content["plan"]} <= shown


def test_the_same_input_gives_the_same_bytes(hostile: RunFolder, tmp_path: Path) -> None:
    overrides = {"corpus.train": [{"name": "<u>toy\u202e", "source": "train.en", "target": "train.de"}]}
    again = prepared(tmp_path, HOSTILE * 3, overrides)
    assert again.report.read_bytes() == hostile.report.read_bytes()
    assert again.report_page.read_bytes() == hostile.report_page.read_bytes()
    assert page(content_of(hostile)) == hostile.report_page.read_text("utf-8")


def test_pairs_are_shown_after_every_step(hostile: RunFolder, tree: ElementTree.Element) -> None:
    (corpus,) = content_of(hostile)["corpora"]
    assert len(corpus["examples"]) == 10
    lines = [example["line"] for example in corpus["examples"]]
    assert lines == sorted(set(lines))
    raw = [(hostile.path.parent / f"train.{side}").read_bytes().split(b"\n") for side in ("en", "de")]
    for example in corpus["examples"]:
        for place, side in enumerate(("source", "target")):
            assert example[side]["raw"] == raw[place][example["line"] - 1].decode()
            assert len(example[side]["pieces"]) == len(example[side]["ids"])
    sections = {element.get("id"): element for element in tree.iter("section")}
    chips = ["".join(chip.itertext()) for chip in sections["pairs"].iter("span") if chip.find("small") is not None]
    assert len(chips) == sum(len(one[side]["ids"]) for one in corpus["examples"] for side in ("source", "target"))


def test_dropped_pairs_are_shown_with_what_spoke_against_them(hostile: RunFolder, tree: ElementTree.Element) -> None:
    (corpus,) = content_of(hostile)["corpora"]
    dropped = {reason: [one["line"] for one in some] for reason, some in corpus["dropped_examples"].items()}
    assert dropped["ratio"] == [44, 51, 58]
    assert dropped["blank"] == [45, 52, 59]
    assert dropped["duplicate"][:1] == [47]
    assert corpus["dropped_examples"]["duplicate"][0]["objection"] == "repeats line 46"
    assert re.search(r"ratio of more than maximum = 9", corpus["dropped_examples"]["ratio"][0]["objection"])
    text = " ".join("".join(element.itertext()) for element in tree.iter("h4"))
    assert "line 44, ratio: 5 characters against" in text
    assert "line 47, duplicate: repeats line 46" in text


@pytest.mark.parametrize(("language", "direction"), [("ar", "rtl"), ("he", "rtl"), ("sr-Arab", "rtl"), ("de", "ltr")])
def test_sentences_have_their_language_and_direction(hostile: RunFolder, language: str, direction: str) -> None:
    content = content_of(hostile)
    content["languages"]["target"] = language
    tree = ElementTree.fromstring(page(content).encode())
    marked = {(element.get("lang"), element.get("dir")) for element in tree.iter() if element.get("dir")}
    assert marked == {("en", "ltr"), (language, direction)}


def test_a_language_that_is_no_code_is_not_claimed(hostile: RunFolder) -> None:
    content = content_of(hostile)
    content["languages"]["target"] = 'x" onload="alert(1)'
    tree = ElementTree.fromstring(page(content).encode())
    assert not [element for element in tree.iter() if element.get("onload")]
    assert {element.get("lang") for element in tree.iter("bdi")} - {None} == {"en"}


def test_nothing_suspicious_is_said_so(hostile: RunFolder) -> None:
    assert "Nothing looks like a mistake." in page({**content_of(hostile), "suspicions": []})
