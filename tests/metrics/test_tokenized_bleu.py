"""BLEU of Moses's tokens, worked through by hand, and with compound splitting."""

from math import exp

import pytest

import nmtkit
from nmtkit.errors import ConfigError
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.tokenized_bleu import CompoundSplitBleuConfig, TokenizedBleuConfig, split_compounds


def tokenized(hypotheses, *references, language="de"):
    return TokenizedBleuConfig().build(language)(hypotheses, *references).value


def compound_split(hypotheses, *references, language="de"):
    return CompoundSplitBleuConfig().build(language)(hypotheses, *references).value


def root(*precisions):
    """The geometric mean of four precisions, in percent."""
    product = 1.0
    for precision in precisions:
        product *= precision
    return 100 * product**0.25


def test_brevity_penalty_and_no_smoothing():
    # Der kleine Hund bellt laut .            6 tokens
    # Der kleine Hund bellt sehr laut .       7 tokens: the penalty is exp(1 - 7/6)
    # 1-grams: all 6 of 6
    # 2-grams: Der kleine, kleine Hund, Hund bellt, laut .       4 of 5 (not: bellt laut)
    # 3-grams: Der kleine Hund, kleine Hund bellt                2 of 4
    # 4-grams: Der kleine Hund bellt                             1 of 3
    found = tokenized(["Der kleine Hund bellt laut."], ["Der kleine Hund bellt sehr laut."])
    assert found == pytest.approx(exp(1 - 7 / 6) * root(6 / 6, 4 / 5, 2 / 4, 1 / 3))
    assert round(found, 2) == 51.15


def test_counts_add_up_over_lines_before_they_are_divided():
    # The line above, and
    # Es regnet .        3 tokens
    # Es schneit .       3 tokens; together 9 of 10 tokens: the penalty is exp(1 - 10/9)
    # 1-grams: Es, .     2 of 3, together 8 of 9
    # 2-grams: 0 of 2, together 4 of 7;  3-grams: 0 of 1, together 2 of 5;  4-grams: none, together 1 of 3
    found = tokenized(
        ["Der kleine Hund bellt laut.", "Es regnet."], ["Der kleine Hund bellt sehr laut.", "Es schneit."]
    )
    assert found == pytest.approx(exp(1 - 10 / 9) * root(8 / 9, 4 / 7, 2 / 5, 1 / 3))
    assert round(found, 2) == 45.65


def test_without_a_matching_4_gram_there_is_nothing():
    # Der E-Mail-Server ist alt .    5 tokens
    # Der E-Mail-Dienst ist alt .    1-grams 4 of 5, 2-grams 2 of 4, 3-grams 1 of 3, 4-grams 0 of 2
    hypotheses, references = ["Der E-Mail-Server ist alt."], ["Der E-Mail-Dienst ist alt."]
    assert tokenized(hypotheses, references) == 0
    assert BleuConfig(smoothing="exp").build("de")(hypotheses, references).value > 0, "sacreBLEU smooths"


def test_compounds_are_compared_part_by_part():
    # Der E @ Mail @ Server ist alt .     9 tokens, @ for ##AT##-##AT##
    # Der E @ Mail @ Dienst ist alt .     9 tokens
    # 1-grams: all but Server                                                       8 of 9
    # 2-grams: Der E, E @, @ Mail, Mail @, ist alt, alt .                           6 of 8
    # 3-grams: Der E @, E @ Mail, @ Mail @, ist alt .                               4 of 7
    # 4-grams: Der E @ Mail, E @ Mail @                                             2 of 6
    found = compound_split(["Der E-Mail-Server ist alt."], ["Der E-Mail-Dienst ist alt."])
    assert found == pytest.approx(root(8 / 9, 6 / 8, 4 / 7, 2 / 6))
    assert round(found, 2) == 59.69


def test_n_grams_are_clipped_by_the_reference_that_has_most():
    # das das das Haus hier    1-grams: das is 2 times in the one, 1 time in the other: 2 of 3, Haus 1, hier 1: 4 of 5
    # das das Haus dort        2-grams: das das 1 of 2, das Haus 1, Haus hier 1 (in the second): 3 of 4
    # das Haus hier            3-grams: das das Haus 1, das Haus hier 1, das das das 0: 2 of 3; 4-grams: 0 of 2
    hypothesis, one, other = ["das das das Haus hier"], ["das das Haus dort"], ["das Haus hier"]
    metric = TokenizedBleuConfig().build("de")
    # lengths, matches by order, n-grams by order; 4 is nearer to 5 than 3 is
    assert metric.measure(hypothesis, one, other).tolist() == [[5, 4, 4, 3, 2, 0, 5, 4, 3, 2]]
    assert metric(hypothesis, one, other).value == 0


def test_of_references_as_near_in_length_the_shorter_one_counts():
    # eins zwei drei vier           4 tokens, references of 3 and 5: the shorter one, so there is no penalty
    one, other = ["eins zwei drei"], ["eins zwei drei vier fünf"]
    assert tokenized(["eins zwei drei vier"], one, other) == tokenized(["eins zwei drei vier"], other, one)
    assert tokenized(["eins zwei drei vier"], one, other) == pytest.approx(100)
    # eins zwei drei vier, references of 5 and 9: the nearer one
    longer = ["eins zwei drei vier fünf sechs sieben acht neun"]
    assert tokenized(["eins zwei drei vier"], other, longer) == pytest.approx(100 * exp(1 - 5 / 4))


def test_a_blank_line_is_a_line_without_tokens():
    # 4 of 8 tokens of the references, all n-grams right
    found = tokenized(["eins zwei drei vier", ""], ["eins zwei drei vier", "fünf sechs sieben acht"])
    assert found == pytest.approx(100 * exp(1 - 8 / 4))
    assert tokenized([""], ["eins"]) == tokenized([""], [""]) == 0


@pytest.mark.parametrize(
    ("tokens", "split"),
    [
        ("a-b", "a ##AT##-##AT## b"),
        ("a-b-c", "a ##AT##-##AT## b-c"),  # b is taken by the first match
        ("ab-cd-ef", "ab ##AT##-##AT## cd ##AT##-##AT## ef"),
        ("a-b-c-d", "a ##AT##-##AT## b-c ##AT##-##AT## d"),
        ("B-2-C , E-Mail", "B ##AT##-##AT## 2-C , E ##AT##-##AT## Mail"),
        ("2014-2015 - nicht- -los", "2014 ##AT##-##AT## 2015 - nicht- -los"),
        ("--", "--"),
        ("---", "- ##AT##-##AT## -"),
        ("grün-weiß", "grün ##AT##-##AT## weiß"),
        ("a–b", "a–b"),
        ("", ""),
    ],
)
def test_hyphens_between_two_characters_are_marked(tokens, split):
    assert split_compounds(tokens) == split


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("de", 'Er sagte: "Etwa 3,5 % sind z. B. unter 20."', 'Er sagte : " Etwa 3,5 % sind z. B. unter 20. "'),
        ("fr", "« L'été, c'est demain ! » dit-il à 10 h 30.", "« L' été , c' est demain ! » dit-il à 10 h 30 ."),
        ("en", "The dog's 5 < 6 & more [sic].", "The dog 's 5 < 6 & more [ sic ] ."),
        ("deu_Latn", "Nr. 5 und Nr. fünf", "Nr. 5 und Nr. fünf"),
    ],
)
def test_tokens_are_those_of_moses(language, line, tokens):
    """Seen from outside: a text scores as its tokens do, of which there are so many."""
    n = len(tokens.split())
    counts = [n - order for order in range(4)]
    metric = TokenizedBleuConfig().build(language)
    assert metric.measure([line], [line]).tolist() == [[n, n, *counts, *counts]]
    assert metric._reading.read(line) == tokens


def test_the_last_word_loses_its_full_stop():
    """As in tokenizer.perl since 2017, also behind abbreviations and numbers, which keep theirs elsewhere."""
    read = TokenizedBleuConfig().build("de")._reading.read
    assert read("Es sind 20.") == "Es sind 20 ."
    assert read("Brot, Milch usw.") == "Brot , Milch usw ."
    assert read("in den U.S.A.") == "in den U.S.A ."
    assert read("Am 20. Mai usw. war er da ...") == "Am 20. Mai usw. war er da ..."
    assert tokenized(["Es sind 20 ."], ["Es sind 20."]) == pytest.approx(tokenized(["Es sind 20 ."], ["Es sind 20 ."]))


@pytest.mark.parametrize("language", ["fi", "sv-SE", "cat", "gle", "so", "tdt"])
def test_rules_that_sacremoses_lacks_are_no_scores(language):
    with pytest.raises(ConfigError, match=f'Moses has rules of its own for target language "{language}"'):
        TokenizedBleuConfig().build(language)


def test_escapes_are_one_token_with_and_without():
    """tokenizer.perl writes " as &quot; on both sides, which makes no difference; in text that has it, it does."""
    assert tokenized(['Er sagt " ja & nein " .'], ['Er sagt "ja & nein".']) == pytest.approx(100)
    assert tokenized(["Er sagt &quot; ja &amp; nein &quot; ."], ['Er sagt "ja & nein".']) < 100


def test_case_counts_unless_it_is_ignored():
    hypotheses, references = ["DER HUND BELLT LAUT"], ["der Hund bellt laut"]
    assert tokenized(hypotheses, references) == 0
    for kind in (TokenizedBleuConfig, CompoundSplitBleuConfig):
        score = kind(lowercase=True).build("de")(hypotheses, references)
        assert (score.value, "|case:lc|" in score.signature) == (pytest.approx(100), True)


def test_punctuation_may_be_written_in_ascii_first():
    hypotheses, references = ["Er sagt “so geht’s” …"], ['Er sagt "so geht\'s" ...']
    assert tokenized(hypotheses, references) < 100
    score = TokenizedBleuConfig(replace_punctuation=True).build("de")(hypotheses, references)
    assert (score.value, "|punct:replaced|" in score.signature) == (pytest.approx(100), True)


@pytest.mark.parametrize(("kind", "compounds"), [(TokenizedBleuConfig, "kept"), (CompoundSplitBleuConfig, "split")])
def test_the_signature_names_all_that_the_score_depends_on(kind, compounds):
    import sacrebleu
    import sacremoses

    signature = kind().build("tr-TR")(["a"], ["a"], ["b"]).signature
    parts = dict(part.split(":") for part in signature.split("|"))
    assert parts == {
        "nrefs": "2", "case": "mixed", "eff": "no", "tok": "moses", "smooth": "none", "lang": "tr", "rules": "en",
        "dash": "no", "escape": "no", "punct": "kept", "compounds": compounds, "sacremoses": sacremoses.__version__,
        "nmtkit": nmtkit.__version__, "version": sacrebleu.__version__,
    }  # fmt: skip
    assert "|lang:de|" in kind().build("de")(["a"], ["a"]).signature
    assert "|rules:de|" in kind().build("de")(["a"], ["a"]).signature
