from dataclasses import replace

import pytest

from nmtkit.sample import readers
from nmtkit.sample.lexicon import check, lexicon
from nmtkit.sample.tables import Row, packaged, read_rows

TABLES = ("nouns.txt", "verbs.txt", "adjectives.txt", "words.txt")


def row(section, text, columns):
    (made,) = read_rows("table", f"[{section}]\n{text}\n", columns)
    return made


def test_how_many_words():
    words = lexicon()
    assert len(words.nouns) == 391
    assert len(words.verbs) == 232
    assert len(words.adjectives) == 88
    assert len(words) == 893


def test_every_class_of_word_is_there():
    words = lexicon()
    assert {noun.gender for noun in words.nouns} == {"m", "f", "n"}
    assert sum(noun.oblique != noun.german for noun in words.nouns) >= 19  # weak
    assert sum(verb.german.prefix != "" for verb in words.verbs) >= 35  # separable
    assert sum(verb.german.reflexive != "" for verb in words.verbs) >= 25
    assert sum(verb.german.with_sein for verb in words.verbs) >= 25
    assert sum(verb.german.preterite[-2:] != "te" for verb in words.verbs) >= 70  # strong


def test_one_english_word_has_one_translation():
    words = lexicon()
    for entries in (words.cities, words.countries, words.frequency, words.conjunctions):
        assert len({entry.english for entry in entries}) == len(entries)
    assert len({determiner.english or determiner.english_plural for determiner in words.determiners}) == 16


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_plain_lines(name):
    text = packaged(name)
    assert text.endswith("\n")
    assert not any(line != line.strip() for line in text.split("\n"))


@pytest.mark.parametrize(
    ("read", "section", "text", "columns", "message"),
    [
        (readers.noun, "person", "baker | Bäcker | Bäcker", 4, "not of the form"),
        (readers.noun, "person", "baker | der Bäcker | ", 4, "not of the form"),
        (readers.noun, "person", "baker | der Bäcker | Bäcker | wek", 4, "unknown flag wek"),
        (readers.verb, "transitive", "buy | kaufen", 5, "no such frame: transitive"),
        (readers.verb, "accusative", "see saw seen | sehen sieht sah", 5, "not an infinitive alone or with"),
        (readers.verb, "accusative", "buy | kaufen | person | food | quick", 5, "unknown flag quick"),
        (readers.verb, "preposition", "wait | warten | person | bus", 5, "a preposition belongs to the frame"),
        (readers.verb, "preposition", "wait | warten | person | bus | to=for:auf", 5, "not of the form to="),
        (readers.adjective, "adjectives", "good better | gut | food", 3, "one degree of comparison is missing"),
        (readers.adjective, "adjectives", "good | gut besser | food", 3, "one degree of comparison is missing"),
        (readers.adjective, "adjectives", "good | gut |", 3, "no class of nouns"),
    ],
)
def test_a_row_that_makes_no_sense(read, section, text, columns, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(row(section, text, columns))
    assert str(caught.value).startswith("table, line 2: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("baker | der Bäcker", "line 1: .* stands above the first section"),
        ("[person]\n| der Bäcker", "line 2: .* the first column is empty"),
        ("[person]\na | b | c | d | e", "line 2: .* 5 columns; there are 4"),
    ],
)
def test_a_table_that_makes_no_sense(text, message):
    with pytest.raises(ValueError, match=message):
        list(read_rows("table", text, 4))


def test_comments_and_short_rows():
    assert list(read_rows("table", "# note\n\n[a b]\nx | y\n", 3)) == [Row("table, line 4", "a b", ["x", "y", ""])]


def test_words_that_stand_twice_or_belong_nowhere():
    words = lexicon()
    with pytest.raises(ValueError, match="baker: stands in the lexicon twice"):
        check(replace(words, nouns=(*words.nouns, words.noun("baker"))))
    with pytest.raises(ValueError, match="no noun is, or belongs to, this"):
        check(replace(words, nouns=words.nouns[1:100]))


def test_looking_up():
    words = lexicon()
    assert words.noun("baker").german == "Bäcker"
    assert words.verb("laugh", "preposition").government == ("at", "über", "acc")
    with pytest.raises(KeyError):
        words.verb("laugh")
    with pytest.raises(KeyError):
        words.noun("unicorn")
