"""What every metric of the union promises, and what each adds."""

from typing import get_args

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from toy.union import members

from nmtkit.errors import ConfigError, DataError
from nmtkit.metrics import bleu
from nmtkit.metrics.base import primary_language
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.settings import MetricConfig, ScoreConfig
from nmtkit.metrics.ter import TerConfig

REFERENCES = [
    "Ein Mann mit einem orangefarbenen Hut, der etwas anstarrt.",
    "Ein Boston Terrier läuft über saftig-grünes Gras vor einem weißen Zaun.",
    "Fünf Leute in Winterjacken und mit Helmen stehen im Schnee.",
    "Leute Reparieren das Dach eines Hauses.",
    "",
]
HYPOTHESES = [
    "Ein Mann mit einem orangenen Hut starrt etwas an.",
    "Ein Boston Terrier rennt über grünes Gras vor einem weißen Zaun .",
    "",
    "Leute reparieren das Dach eines Hauses.",
    "Zu viel.",
]

every_metric = pytest.mark.parametrize("kind", members(MetricConfig), ids=lambda kind: kind.__name__)


@every_metric
def test_no_worse_than_perfect(kind):
    metric = kind().build("de")
    perfect, real = metric(REFERENCES, REFERENCES), metric(HYPOTHESES, REFERENCES)
    assert perfect.value == pytest.approx(100 if perfect.higher_is_better else 0)
    assert real.value < perfect.value if perfect.higher_is_better else real.value > perfect.value


@every_metric
def test_order_of_lines_does_not_matter(kind):
    metric = kind().build("de")
    order = [3, 0, 4, 2, 1]
    shuffled = metric([HYPOTHESES[n] for n in order], [REFERENCES[n] for n in order])
    assert shuffled.value == pytest.approx(metric(HYPOTHESES, REFERENCES).value, abs=1e-9)


@every_metric
def test_score_carries_name_and_signature(kind):
    score = kind().build("de")(HYPOTHESES, REFERENCES)
    assert score.name
    assert f"version:{sacrebleu.__version__}" in score.signature
    assert "nrefs:1" in score.signature


@every_metric
def test_one_metric_scores_many_sets(kind):
    metric = kind().build("de")
    first = metric(HYPOTHESES, REFERENCES)
    metric(["etwas anderes"], ["etwas ganz anderes"])
    assert metric(HYPOTHESES, REFERENCES) == first


@every_metric
@pytest.mark.parametrize(("hypotheses", "references"), [(4, 5), (5, 4), (0, 5), (5, 0)])
def test_unequal_counts_are_refused_with_both_counts(kind, hypotheses, references):
    with pytest.raises(DataError, match=f"{hypotheses} hypotheses but {references} references"):
        kind().build("de")(HYPOTHESES[:hypotheses], REFERENCES[:references])


@every_metric
def test_an_empty_set_is_refused(kind):
    with pytest.raises(DataError, match="no lines to score"):
        kind().build("de")([], [])


@every_metric
def test_blank_hypotheses_count_as_lines(kind):
    metric = kind().build("de")
    with_blank = metric([*HYPOTHESES, ""], [*REFERENCES, "Hier fehlt die Übersetzung."])
    without = metric(HYPOTHESES, REFERENCES)
    assert with_blank.value < without.value if without.higher_is_better else with_blank.value > without.value


@every_metric
@settings(max_examples=25, deadline=None)
@given(lines=st.lists(st.text(alphabet="abcd .,ß中", max_size=12), min_size=1, max_size=4))
def test_any_lines_can_be_scored(kind, lines):
    assert kind().build("de")(lines, list(reversed(lines))).value >= 0


EQUALITIES = [
    (BleuConfig(), BLEU()),
    (BleuConfig(lowercase=True), BLEU(lowercase=True)),
    (BleuConfig(tokenize="intl"), BLEU(tokenize="intl")),
    (BleuConfig(tokenize="char", smoothing="floor"), BLEU(tokenize="char", smooth_method="floor")),
    (ChrfConfig(), CHRF()),
    (ChrfConfig(word_order=2), CHRF(word_order=2)),
    (ChrfConfig(character_order=4, beta=3, lowercase=True), CHRF(char_order=4, beta=3, lowercase=True)),
    (TerConfig(), TER()),
    (TerConfig(case_sensitive=True), TER(case_sensitive=True)),
    (TerConfig(normalized=True, punctuation=False), TER(normalized=True, no_punct=True)),
    (TerConfig(asian_support="on"), TER(normalized=True, asian_support=True)),
]


@pytest.mark.parametrize(("config", "peer"), EQUALITIES, ids=lambda value: str(value)[:60])
def test_equals_sacrebleu(config, peer):
    expected = peer.corpus_score(HYPOTHESES, [REFERENCES])
    score = config.build("de")(HYPOTHESES, REFERENCES)
    assert (score.name, score.value, score.signature) == (
        expected.name,
        expected.score,
        str(peer.get_signature()),
    )


def test_every_metric_is_compared_with_sacrebleu():
    assert {type(config) for config, _ in EQUALITIES} == set(members(MetricConfig))


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [("de", "13a"), ("fr-CA", "13a"), ("zh", "zh"), ("zh-Hans-CN", "zh"), ("zh_TW", "zh"), ("cmn", "zh")],
)
def test_bleu_tokenizes_by_target_language(language, tokenizer):
    score = BleuConfig().build(language)(["我有一只狗。"], ["我有一只猫。"])
    assert f"|tok:{tokenizer}|" in score.signature


def test_chinese_is_not_scored_as_one_word():
    hypotheses, references = ["我有一只黑色的狗。"], ["我有一只白色的狗。"]
    assert BleuConfig().build("zh")(hypotheses, references).value > 20
    assert 0 < TerConfig().build("zh")(hypotheses, references).value < 20
    assert TerConfig().build("de")(hypotheses, references).value == 100


@pytest.mark.parametrize(("language", "extra"), [("ja", "ja"), ("jpn", "ja"), ("ko-KR", "ko")])
def test_missing_tokenizer_is_named_with_its_remedy(language, extra, monkeypatch):
    from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_ko_mecab

    for module in (tokenizer_ja_mecab, tokenizer_ko_mecab):
        monkeypatch.setattr(module, "MeCab", None, raising=False)
    with pytest.raises(ConfigError) as caught:
        BleuConfig().build(language)
    (problem,) = caught.value.problems
    assert f"nmtkit[{extra}]" in problem
    assert 'tokenize = "char"' in problem
    assert language in problem


def test_the_tokenizers_of_languages_are_valid_settings():
    allowed = get_args(BleuConfig.model_fields["tokenize"].annotation)
    assert set(bleu.TOKENIZERS.values()) <= set(allowed)


@pytest.mark.parametrize(("code", "language"), [("de-AT", "de"), ("CMN_Hans", "zh"), ("jpn", "ja"), ("en", "en")])
def test_primary_language(code, language):
    assert primary_language(code) == language


def test_details_say_what_a_score_is_made_of():
    details = {type(c).__name__: c.build("de")(HYPOTHESES, REFERENCES).details for c in ScoreConfig().metrics}
    assert "brevity penalty" in details["BleuConfig"]
    assert "edits" in details["TerConfig"]
