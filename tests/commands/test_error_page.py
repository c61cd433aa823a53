"""The error report: well-formed, self-contained, harmless whatever the text holds, and true to what was found."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.reports import report
from toy.texts import LINES

from nmtkit.analysis.faults import KINDS
from nmtkit.analysis.findings import Frequencies
from nmtkit.commands import error_choice
from nmtkit.commands.error_choice import LONGEST, choose
from nmtkit.commands.error_page import page
from nmtkit.commands.error_script import SCRIPT

SOURCES = [
    "<script>alert(1)</script> </style></bdi> a dog .",
    "a \u202ebird\u2066 sees the fish .",
    "word " * 2_500,
    "Z\u0324\u030d\u0341a\u033f\u0302lgo 17 .",
    "",
    "{name} & <b>x</b> ]]> <!-- .",
]
REFERENCES = [
    "<img src=x onerror=alert(1)> & \"der\" 'hund' .",
    "ein \u202evogel\u2066 sieht den fisch .",
    "wort " * 2_500,
    "Z\u0324\u030d\u0341a\u033f\u0302lgo 17 .",
    "",
    "{name} & <b>x</b> ]]> <!-- .",
]
SYSTEMS = {
    "<b>one</b>\u202e": ["<script>alert(2)</script> hund .", "", "w" * 10_000, "Zlgo 18 дом", "neu", "{nam} & <b>x ."],
    'two" onload="x': ["&lt;der&gt; katze hund .", "fisch den sieht .", "wort " * 2_000, "⁇", "", "x </script> ."],
}  # fmt: skip
VOID = {"meta", "input"}


def tree_of(markup):
    return ElementTree.fromstring(markup.encode())


def text_of(element):
    return "".join(element.itertext())


def cards(tree):
    return [element for element in tree.iter("article")]


@pytest.fixture(scope="module")
def hostile():
    return report(SYSTEMS, [REFERENCES], SOURCES, name='<u>set\u202e"', labels=["<i>a", '"b', "", "", "", "<i>a"])


@pytest.fixture(scope="module")
def markup(hostile):
    return page(hostile)


@pytest.fixture(scope="module")
def tree(markup):
    return tree_of(markup)


def test_html_sees_the_same_elements_as_xml(markup, tree):
    class Tags(HTMLParser):
        def __init__(self):
            super().__init__(convert_charrefs=True)
            self.opened, self.stack = [], []

        def handle_starttag(self, tag, attrs):
            self.opened.append(tag)
            self.stack.append(tag)

        def handle_startendtag(self, tag, attrs):
            self.opened.append(tag)

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    parser = Tags()
    parser.feed(markup)
    assert parser.stack == []
    assert parser.opened == [element.tag.lower() for element in tree.iter()]


def test_nothing_is_loaded_and_only_our_script_runs(tree):
    (script,) = tree.iter("script")
    assert script.text == SCRIPT
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = next(element.get("content", "") for element in tree.iter("meta") if element.get("http-equiv"))
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    for element in tree.iter():
        assert element.tag not in ("img", "link", "iframe", "object", "embed", "i"), element.tag
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action", "formaction")
            assert name != "href" or value.startswith("#")
    assert "http" not in text_of(tree).lower()


def test_hostile_text_is_shown_as_text(tree):
    shown = [text_of(element) for element in tree.iter("bdi")]
    assert SOURCES[0] in shown
    assert REFERENCES[0] in shown
    assert "ein U+202EvogelU+2066 sieht den fisch ." in shown
    assert "&lt;der&gt; katze hund ." in shown
    text = text_of(tree).replace(SCRIPT, "")
    style = next(tree.iter("style")).text or ""
    assert not [character for character in text.replace(style, "") if not character.isprintable() and character != "\n"]
    assert text_of(next(tree.iter("title"))) == 'Error report, <u>setU+202E"'


def test_links_lead_somewhere(tree):
    anchors = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(anchors) == len(set(anchors))
    assert {element.get("href", "")[1:] for element in tree.iter("a")} <= set(anchors)
    sections = [element.get("id") for element in tree.iter("section")]
    assert sections == ["scores", "faults", "groups", "lengths", "words", "lines", "made"]


@pytest.mark.parametrize("systems", [1, 4, 7])
def test_links_lead_somewhere_where_lines_are_left_out(systems, monkeypatch):
    """Of many systems fewer examples of each fault are shown."""
    monkeypatch.setattr(error_choice, "LARGEST", 0)
    lines = [f"satz {number} mit drei wörtern ." for number in range(200)]
    copies = {f"system {place}": [line.removesuffix(" .") for line in lines] for place in range(systems)}
    page_ = page(report(copies, [lines], [f"sentence {number} ." for number in range(200)]))
    tree = tree_of(page_)
    anchors = {element.get("id") for element in tree.iter() if element.get("id")}
    assert len(cards(tree)) < 200
    assert {element.get("href", "")[1:] for element in tree.iter("a")} <= anchors


def test_the_script_finds_what_it_looks_for(tree):
    (form,) = [element for element in tree.iter("form") if element.get("id") == "find"]
    assert form.get("hidden") == "hidden"  # until the script shows it
    fields = {element.get("name") for element in form.iter() if element.get("name")}
    used = set(re.findall(r"field\.(\w+)", SCRIPT))
    assert used <= fields
    values = {option.get("value") for option in form.iter("option")}
    for link in tree.iter("a"):
        if show := link.get("data-show"):
            assert show in values
            assert link.get("data-of") in values
    ranks = {rank.split(":")[0] for card in cards(tree) for rank in card.get("data-ranks", "").split()}
    assert ranks == {"worst-0", "worst-1", "apart"} <= values
    assert not {"<", "&"} & set(SCRIPT)


def test_every_fault_is_counted_and_shown(hostile, tree):
    findings = hostile.findings
    shown = {(card.get("data-line"), fault) for card in cards(tree) for fault in card.get("data-faults", "").split()}
    expected = {
        (str(line + 1), f"{place}.{fault.kind}")
        for place, some in enumerate(findings.faults)
        for line, faults in enumerate(some)
        for fault in faults
    }
    assert shown == expected
    assert len(expected) > 8
    counts = {(link.get("data-show"), link.get("data-of")): link.text for link in tree.iter("a") if link.get("data-of")}
    for kind in KINDS:
        for place in findings.places:
            count = len(findings.with_fault(kind.key, place))
            assert counts.get((f"fault {kind.key}", str(place)), "0") == str(count)
    section = next(text_of(element) for element in tree.iter("section") if element.get("id") == "faults")
    assert all(kind.title in section or kind.title.lower() in section for kind in KINDS)


def test_cards_tell_scores_lengths_and_numbers(hostile, tree):
    findings = hostile.findings
    assert sorted(int(card.attrib["data-line"]) for card in cards(tree)) == [1, 2, 3, 4, 5, 6]
    for card in cards(tree):
        line = int(card.attrib["data-line"]) - 1
        assert card.get("id") == f"line-{line + 1}"
        assert card.get("data-scores") == " ".join(f"{system.lines[line]:.1f}" for system in findings.systems)
        assert card.get("data-length") == str(len(findings.texts.sources[line].words))


def test_scores_stand_with_their_signatures(hostile, tree):
    section = next(text_of(element) for element in tree.iter("section") if element.get("id") == "scores")
    for system in hostile.scores.systems:
        for result in system.scores:
            assert f"{result.score.value:.2f}" in section
            assert f"{result.score.name} {result.score.signature}" in section
    assert "p-values against" in section
    assert '"b (1)' in section
    made = next(text_of(element) for element in tree.iter("section") if element.get("id") == "made")
    assert hashlib.sha256("".join(f"{line}\n" for line in REFERENCES).encode()).hexdigest() in made
    assert hostile.line_signature in made


def test_long_lines_are_cut_and_what_is_missing_is_said(tree):
    sentences = [text_of(element) for element in tree.iter("bdi") if element.get("class") == "sentence"]
    assert max(map(len, sentences)) < LONGEST + 60
    assert f"{'w' * LONGEST} … and 8,800 characters more" in sentences


def marked(card, tag, kind=None):
    return [text_of(element) for element in card.iter(tag) if kind is None or element.get("class") == kind]


def test_differences_are_marked():
    some = report(
        {"one": ["heute kommt der kleine Hunde ."], "two": ["heute geht der kleine Kater ."]},
        [["morgen kommt der kleine Hund heute ."]],
    )
    (card,) = cards(tree_of(page(some)))
    (one, two) = (row for row in card.iter("div") if "system" in row.get("class", ""))
    assert marked(one, "mark", "m") == marked(two, "mark", "m") == ["heute"]
    assert marked(one, "mark", "n") == ["Hunde"]
    assert marked(one, "b") == ["e"]
    assert [text for text in marked(two, "mark") if text != "heute"] == ["geht", "Kater"]
    assert marked(one, "u") == ["kommt", "Hunde"]
    assert marked(two, "u") == ["geht", "Kater"]
    (reference,) = (row for row in card.iter("div") if "reference" in row.get("class", ""))
    assert marked(reference, "del", "all") == ["morgen"]
    assert [text_of(each) for each in reference.iter("del") if not each.get("class")] == ["kommt", "Hund"]


def test_neighbours_are_marked_as_one_and_three_systems_are_not_underlined():
    some = report({name: [f"ein sehr großes Haus {name}"] for name in "abc"}, [["ein kleiner Hund"]])
    (card,) = cards(tree_of(page(some)))
    rows = [row for row in card.iter("div") if "system" in row.get("class", "")]
    assert [marked(row, "mark") for row in rows] == [[f"sehr großes Haus {name}"] for name in "abc"]
    assert marked(card, "u") == []


def test_text_without_spaces_is_compared_by_characters():
    some = report({"one": ["犬が好きです"]}, [["猫が好きだ"]], ["I like cats"], languages=("en", "th"))
    (card,) = cards(tree_of(page(some)))
    assert marked(card, "mark") == ["犬", "です"]
    assert "characters of the references" in page(some)


def test_each_translation_is_compared_with_its_closest_reference():
    some = report({"one": ["b c d"]}, [["x y z"], ["b c d"]])
    (card,) = cards(tree_of(page(some)))
    assert marked(card, "mark") == marked(card, "del") == []
    assert [text_of(who) for who in card.iter("span") if who.get("class") == "who"][:2] == [
        "reference 1",
        "reference 2",
    ]


def test_right_to_left_languages_are_told():
    some = report({"one": ["مرحبا"]}, [["مرحبا بالعالم"]], ["hello world"], languages=("en", "ar"))
    directions = {(each.get("lang"), each.get("dir")) for each in tree_of(page(some)).iter("bdi") if each.get("dir")}
    assert directions == {("en", "ltr"), ("ar", "rtl")}


def many(lines, systems=2):
    references = [f"der Hund Nummer {line} läuft über die Wiese ." for line in range(lines)]
    translations = {
        f"system {place}": [
            text.replace("läuft", "rennt" if (line + place) % 3 else "läuft") if line % 20 else ""
            for line, text in enumerate(references)
        ]
        for place in range(systems)
    }
    return report(translations, [references], [f"dog number {line} runs over the meadow ." for line in range(lines)])


def test_a_large_test_set_is_shown_in_part_and_that_is_said(monkeypatch):
    some = many(240)
    whole = page(some)
    assert "Here are all 240 lines." in whole
    monkeypatch.setattr(error_choice, "LARGEST", 50_000)
    part, everything = page(some), page(some, every_line=True)
    choice = choose(some.findings)
    shown = [line for each in choice.parts for line in each.lines]
    assert len(shown) == len(set(shown)) == 240 - choice.left_out
    assert {*some.findings.worst[0], *some.findings.worst[1], *some.findings.apart} <= set(shown)
    assert len(set(some.findings.with_fault("blank", 0)) & set(shown)) == 10
    assert f"Here are {len(shown)} of 240 lines" in part
    assert "<code>--report-all</code>" in part
    assert len(cards(tree_of(part))) == len(shown)
    assert len(cards(tree_of(everything))) == 240
    assert everything == whole


def test_the_size_of_a_page_is_foreseen():
    few, more = many(60, 3), many(120, 3)
    grown = len(page(more)) - len(page(few))
    assert grown == pytest.approx(error_choice._size(more.findings) - error_choice._size(few.findings), rel=0.4)


def test_the_worst_are_named_and_linked_where_there_is_no_script():
    tree = tree_of(page(many(120)))
    heads = [text_of(head) for head in tree.iter("h3") if head.get("class") == "of-list"]
    assert heads[:3] == ["The worst of system 0", "The worst of system 1", "Where systems differ most"]
    assert heads[3:] == ["With faults", "All others"]
    above = next(group for group in tree.iter("div") if group.get("class") == "group worst-1")
    assert "Shown above: " in text_of(above)
    groups = [group for group in tree.iter("div") if "group" in group.get("class", "").split()]
    assert sum(len(cards(group)) for group in groups) == 120
    assert len(cards(groups[0])) == 50


def test_training_text_is_named_where_words_were_counted_in_it():
    frequencies = Frequencies({"hund": 3}, {"hund": 3}, "29,000 training pairs")
    known = page(report({"one": ["der Hund"]}, [["ein Hund"]], ["a dog"], frequencies=frequencies))
    assert "in 29,000 training pairs" in known
    assert "as there is no prepared run at hand (--run)" in page(
        report({"one": ["der Hund"]}, [["ein Hund"]], ["a dog"])
    )


def test_many_labels_are_a_table_instead_of_a_chart():
    lines = [f"Satz {number} ." for number in range(24)]
    for count, charts in ((4, 7), (12, 6)):
        some = report({"one": lines}, [lines], lines, labels=[f"label {number % count}" for number in range(24)])
        tree = tree_of(page(some))
        figures = [each for each in tree.iter("svg") if "figure" in each.get("class", "")]
        assert len(figures) == charts
        assert "label 3" in text_of(next(each for each in tree.iter("section") if each.get("id") == "groups"))


def test_the_same_report_gives_the_same_page(hostile, markup):
    again = report(SYSTEMS, [REFERENCES], SOURCES, name='<u>set\u202e"', labels=["<i>a", '"b', "", "", "", "<i>a"])
    assert page(again) == markup


@settings(max_examples=15)
@given(
    st.lists(st.tuples(LINES, LINES, LINES, LINES), min_size=1, max_size=3), st.sampled_from(["de", "th", "ar", "und"])
)
def test_any_text_makes_a_page(rows, language):
    sources, references, first, second = zip(*rows, strict=True)
    some = report({"one": first, "two": second}, [references], sources, languages=("en", language))
    tree = tree_of(page(some))
    assert len(cards(tree)) == len(rows)
    for card in cards(tree):
        line = int(card.attrib["data-line"]) - 1
        who = [text_of(each) for each in card.iter("bdi") if each.get("class") == "sentence"]
        printable = re.sub(r"U\+[0-9A-F]{4,6}", "", "\n".join(who))
        for text in (sources[line], references[line], first[line], second[line]):
            if text.strip() and text.isprintable() and "U+" not in text:
                assert text in printable


def test_one_perfect_line_is_told_of_in_one_piece():
    text = page(report({"one": ["ein Hund"]}, [["ein Hund"]], ["a dog"]))
    assert "en → de, 1 line, 1 system; " in text
    assert "of 1 line with faults" in text
    assert "Here is the one line." in text
    assert ">100</text>" in text
    assert ">101</text>" not in text, "no score and no share is better than perfect"
