import math
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations

import pytest
import sacrebleu

from nmtkit.corpus.filters import FilterContext, Filters
from nmtkit.corpus.settings import PrepareConfig
from nmtkit.sample import LABELS, PHENOMENA, Sample, files_of, generate
from nmtkit.sample.corpus import HELD_OUT, RULES, held_out, tokens
from nmtkit.sample.draw import Draw, NoWordError
from nmtkit.sample.lexicon import lexicon


def test_how_many_rules():
    assert len(RULES) == 114
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert len(PHENOMENA) == 33


def test_sizes(sample):
    assert [len(part) for part in sample] == [26_000, 500, 1_000]


def test_no_sentence_stands_twice_on_either_side(sample):
    pairs = [one.pair for part in sample for one in part]
    assert len({pair.source for pair in pairs}) == len({pair.target for pair in pairs}) == 27_500
    for one, other in combinations(sample, 2):
        assert {labelled.pair.source for labelled in one}.isdisjoint(labelled.pair.source for labelled in other)
        assert {labelled.pair.target for labelled in one}.isdisjoint(labelled.pair.target for labelled in other)


def test_dev_and_test_hold_combinations_that_training_never_sees(sample):
    seen = {(word, one.phenomenon) for one in sample.train for word in one.words}
    for part in (sample.dev, sample.test):
        for one in part:
            assert any((word, one.phenomenon) not in seen for word in one.words)
    assert len({(word, one.phenomenon) for one in sample.test for word in one.words} - seen) > 300


def test_every_word_and_every_form_of_the_test_occurs_in_training(sample):
    words = {word for one in sample.train for word in one.words}
    forms = {token for one in sample.train for token in tokens(one)}
    for one in sample.test:
        assert one.words <= words
        assert forms.issuperset(tokens(one))


def test_every_phenomenon_is_tested_about_as_often(sample):
    counts = Counter(one.phenomenon for one in sample.test)
    assert set(counts) == set(PHENOMENA)
    assert min(counts.values()) >= 15
    assert max(counts.values()) <= 40
    assert set(Counter(one.phenomenon for one in sample.train)) == set(PHENOMENA)


def test_every_noun_verb_and_adjective_is_trained_several_times(sample):
    counts = Counter(word for one in sample.train for word in one.words)
    words = lexicon()
    assert len(counts) == len(words.nouns) + len(words.verbs) + len(words.adjectives)
    assert min(counts.values()) >= 5


def test_the_share_held_out():
    held = sum(held_out(1, f"word {number}", "passive") for number in range(20_000)) / 20_000
    assert held == pytest.approx(HELD_OUT, rel=0.1)
    assert [held_out(2, f"word {number}", "passive") for number in range(100)] != [
        held_out(1, f"word {number}", "passive") for number in range(100)
    ]


def skeletons(part):
    """English sentences with each word of the lexicon replaced by its class."""
    words = lexicon()
    classes = {noun.english: "N" for noun in words.nouns} | {noun.english_plural: "Ns" for noun in words.nouns}
    classes |= {adjective.english.positive: "A" for adjective in words.adjectives}
    for verb in words.verbs:
        classes |= {verb.english.base: "V", verb.english.past: "Ved", verb.english.participle: "Ven"}
    classes |= {name.name: "P" for name in words.first_names}
    return Counter(" ".join(classes.get(word, word) for word in one.pair.source.rstrip(".?!").split()) for one in part)


def test_not_a_few_templates(sample):
    assert len(skeletons(sample.test)) > 700
    (_, commonest), *_ = skeletons(sample.train).most_common(1)
    assert commonest < 0.01 * len(sample.train)


def test_every_sentence_is_well_written(sample):
    for part in sample:
        for one in part:
            for text in one.pair:
                assert text[0].isupper() or text[0] == "€"
                assert text[-1] in ".?!"
                assert not {"  ", " ,", ",,", ",.", ",?", " ."} & {
                    text[place : place + 2] for place in range(len(text))
                }
            assert (one.pair.source[-1] == "?") == (one.pair.target[-1] == "?")


def test_the_usual_filters_drop_next_to_nothing(sample):
    held_out = [one.pair for one in (*sample.dev, *sample.test)]
    filters = Filters(PrepareConfig().filters, FilterContext("en", "de", held_out))
    pairs = [one.pair for one in sample.train]
    for keep in filters.alone.values():
        assert sum(not keep(pair) for pair in pairs) <= 30
    for duplicates in filters.duplicates.values():
        assert len(pairs) - len({duplicates.key(pair) for pair in pairs}) <= 30


def test_one_english_sentence_has_one_german():
    """Whatever the rules draw: else there would be nothing certain to learn."""
    drawn = Draw(lexicon(), random.Random(7))
    germans = defaultdict(set)
    for rule in RULES:
        for _ in range(150):
            try:
                english, german = rule.draw(drawn)
            except NoWordError:
                continue
            germans[english].add(german)
    assert len(germans) > 15_000
    assert [english for english, several in germans.items() if len(several) > 1] == []


def test_same_seed_same_bytes_whatever_the_hash_seed():
    program = (
        "import hashlib; from nmtkit.sample import *\n"
        "for name, text in files_of(generate(3, train=400, dev=10, test=20)).items():\n"
        "    print(name, hashlib.sha256(text.encode()).hexdigest())"
    )
    printed = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        printed.append(done.stdout)
    assert [line.split()[0] for line in printed[0].split("\n")[:-1]] == [
        *("train.en", "train.de", "dev.en", "dev.de", "test.en", "test.de"),
        LABELS,
    ]
    assert printed[0] == printed[1]


def test_another_seed_another_corpus():
    one, other = generate(1, train=50, dev=2, test=5), generate(2, train=50, dev=2, test=5)
    assert [labelled.pair for labelled in one.train] != [labelled.pair for labelled in other.train]


def test_files():
    small = generate(1, train=100, dev=5, test=10)
    files = files_of(small)
    for name, part in zip(Sample._fields, small, strict=True):
        for side, ending in ((0, "en"), (1, "de")):
            lines = files[f"{name}.{ending}"].split("\n")
            assert lines == [*(one.pair[side] for one in part), ""]
    assert files[LABELS].split("\n") == [*(one.phenomenon for one in small.test), ""]


def nearest(train, test):
    """The target of the training pair whose source is most like each test source (cosine of TF-IDF)."""
    documents = [Counter(word for word in tokens(one) if word.startswith("en ")) for one in train]
    frequencies = Counter(word for document in documents for word in document)
    weights = {word: math.log(len(train) / count) for word, count in frequencies.items()}
    places = defaultdict(list)
    for place, document in enumerate(documents):
        length = math.sqrt(sum((count * weights[word]) ** 2 for word, count in document.items()))
        for word, count in document.items():
            places[word].append((place, count * weights[word] / length))
    for one in test:
        likeness = defaultdict(float)
        for word in tokens(one):
            for place, weight in places.get(word, ()) if word.startswith("en ") else ():
                likeness[place] += weight * weights[word]
        yield train[max(likeness, key=lambda place: (likeness[place], -place))].pair.target


@pytest.mark.full
def test_looking_up_the_nearest_sentence_does_not_do(sample):
    hypotheses = list(nearest(sample.train, sample.test))
    score = sacrebleu.corpus_bleu(hypotheses, [[one.pair.target for one in sample.test]]).score
    assert 5 < score < 40
