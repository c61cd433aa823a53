"""Faults: each kind is found where it is, and not where source or references have it too."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.texts import LINES

from nmtkit.analysis.faults import KINDS, faults, ratio
from nmtkit.analysis.items import mails, placeholders, unbalanced
from nmtkit.analysis.repeats import repeated
from nmtkit.analysis.texts import Line, Texts
from nmtkit.analysis.tokens import tokens

SOURCE, REFERENCE = "A dog runs over the big meadow.", "Ein Hund läuft über die große Wiese."


def found(hypothesis, reference=REFERENCE, source=SOURCE, target="de"):
    texts = Texts([source], [[reference]], [[hypothesis]], target_language=target)
    return {fault.kind: fault.detail for fault in faults(texts, 0)[0]}


def test_nothing_is_wrong_with_a_good_translation():
    assert found("Ein Hund rennt über die große Wiese.") == {}
    assert found(REFERENCE) == {}


@pytest.mark.parametrize(
    ("kind", "detail", "hypothesis"),
    [
        ("blank", "", " "),
        ("short", "0.43 times as long as the reference", "Der Hund rennt."),
        ("unended", "ends with Wiese", "Ein Hund läuft über die große Wiese"),
        ("repeats", "große", "Ein Hund läuft über die große große Wiese."),
        ("repeats", "über die große Wiese", "Ein Hund läuft über die große Wiese und über die große Wiese."),
        ("copied", "5 of 7 words", "Ein dog runs over the big Wiese."),
        ("numbers", "invented: 17", "Ein Hund läuft 17 über die große Wiese."),
        ("URLs", "invented: www.example.org/a", "Ein Hund läuft über www.example.org/a."),
        ("mails", "invented: hund@example.org", "Ein Hund läuft über hund@example.org."),
        ("placeholders", "invented: {name}", "Ein {name} läuft über die große Wiese."),
        ("unbalanced", "lone (", "Ein Hund (läuft über die große Wiese."),
        ("unbalanced", 'lone "', 'Ein "Hund läuft über die große Wiese.'),
        ("script", "Cyrillic соба", "Ein соба läuft über die große Wiese."),
        ("unknown", "⁇", "Ein ⁇ läuft über die große Wiese."),
    ],
)
def test_a_fault_is_found_alone(kind, detail, hypothesis):
    assert found(hypothesis) == {kind: detail}


def test_a_translation_that_is_much_too_long():
    assert found("Ein Hund läuft über eine Wiese, auf der noch viele andere Tiere sind, und bellt laut alle an.") == {
        "long": "2.53 times as long as the reference"
    }
    assert found("Hier steht etwas.", reference="", source="") == {"long": "the reference is blank"}
    assert found("Ja!", reference="Nein, gar nicht!") == {"short": "0.21 times as long as the reference"}
    assert found("Ja!", reference="Nein!") == {}  # short sentences vary


def test_what_the_source_has_as_well_is_no_fault():
    assert found("sehr sehr sehr sehr gut", "äußerst gut", "very very very very good") == {}
    assert found("Nein (doch", "Nein (nicht", "No (not") == {}
    assert found("Ja", "Doch", "Yes") == {}
    assert found("", "", "Something.") == {}
    assert found("⁇", "⁇", "⁇") == {}


@pytest.mark.parametrize(
    ("hypothesis", "detail"),
    [
        ("Er zahlte 1.234,50 am 6.", None),
        ("Er zahlte 1234 50 am sechsten.", None),
        ("Er zahlte 1.334,50 am 6.", "missing: 1234; invented: 1334"),
        ("Er zahlte 1.234,50 am 7.", "missing: 6; invented: 7"),
        ("Er zahlte am 6.", "missing: 1234, 50"),
        ("Er zahlte 1.234,50 am 6. und 30.", "invented: 30"),
    ],
)
def test_numbers(hypothesis, detail):
    assert found(hypothesis, "Er zahlte 1.234,50 am 6.", "He paid 1,234.50 on the 6th.").get("numbers") == detail


def test_what_only_one_reference_has_may_be_there_or_not():
    def of(hypothesis):
        texts = Texts(["from 10 to 20"], [["von 10 bis 20"], ["von zehn bis 20"]], [[hypothesis]])
        return [str(fault.detail) for fault in faults(texts, 0)[0] if fault.kind == "numbers"]

    assert of("von zehn bis 20") == of("von 10 bis 20") == []
    assert of("von 10 bis") == ["missing: 20"]


def test_items_are_found():
    assert mails("write to A.B@x-y.example, not to @me or a@b") == ["a.b@x-y.example"]
    text = "{0} {{name}} ${x} %s %(n)s %1$s 100% der <b>x</b> a<b &amp; &#39; 5%d"
    assert placeholders(text) == [
        "{0}", "{{name}}", "${x}", "%s", "%(n)s", "%1$s", "<b>", "</b>", "&amp;", "&#39;"
    ]  # fmt: skip
    assert [unbalanced(text) for text in ("(a [b])", "a)", "(a]", "„a“ «b»", "„a", "日「本」", "日「本")] == [
        "", ")", "]", "", "„", "", "「"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("im Park im Park", "im Park"),
        ("Leute, die die Arme heben", ""),
        ("die die die die", "die"),
        ("10 10 10", ""),
        ("!!!! ... ...", ""),
        ("Ein, Hund, Hund, läuft", "Hund"),
        ("im Park und im Park und im Haus", "im Park und"),
        ("auf der Straße hier und auf der Straße da", ""),
        ("er geht in den Wald, sie geht in den Wald", "geht in den Wald"),
        ("いろいろな", ""),
        ("ますますますますます", "ます"),
        ("犬が好き犬が好き", "犬が好き"),
        ("", ""),
    ],
)
def test_repeats(text, phrase):
    assert repeated([token for token in tokens(text) if not token.isspace()]) == phrase


def test_one_translation_for_different_sources():
    sources = ["a cat sleeps", "two men talk", "it rains", "it rains", "a dog"]
    same = "Das ist ein schöner Satz"
    texts = Texts(sources, [["x y z", "u v w", "Regen", "Regen", "Hund"]], [[same, same, same, same.upper(), "Hund"]])
    kinds = [[fault.kind for fault in some] for some in faults(texts, 0)]
    assert [("same" in some) for some in kinds] == [True, True, True, True, False]
    assert "for 3 different sources" in [fault.detail for fault in faults(texts, 0)[0]]
    unsourced = faults(Texts([], [["x y z", "u v w", "a", "b", "c"]], [[same] * 5]), 0)
    assert "same" not in {fault.kind for some in unsourced for fault in some}


def test_scripts_that_references_use_belong_to_them():
    sources, references = ["DVD", "x"], ["その DVD です", "犬がいる家です"]
    texts = Texts(sources, [references], [["その CD です", "犬 дом です"]], target_language="ja")
    assert [[fault.kind for fault in some] for some in faults(texts, 0)] == [[], ["script"]]


def test_the_length_ratio_is_that_of_the_nearest_reference():
    assert ratio(Line("abcd"), [Line("a b c d e f g h"), Line("ab c")]) == pytest.approx(4 / 3)
    assert ratio(Line(""), [Line(" ")]) == 1
    assert ratio(Line("a"), [Line("")]) == float("inf")


@settings(max_examples=50)
@given(st.lists(st.tuples(LINES, LINES, LINES), min_size=1, max_size=4), st.booleans())
def test_any_text_has_faults_of_known_kinds_in_their_order(rows, with_sources):
    sources, references, hypotheses = (list(side) for side in zip(*rows, strict=True))
    order = [kind.key for kind in KINDS]
    for some in faults(Texts(sources if with_sources else [], [references], [hypotheses]), 0):
        places = [order.index(fault.kind) for fault in some]
        assert places == sorted(set(places))
