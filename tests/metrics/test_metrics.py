"""What every metric of the union promises, and what each adds."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import sacrebleu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from toy import comet
from toy.union import members

from nmtkit.errors import ConfigError, DataError
from nmtkit.metrics import bleu
from nmtkit.metrics.base import Metric
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.comet import CometConfig
from nmtkit.metrics.languages import UNSPACED, primary_language
from nmtkit.metrics.settings import MetricConfig, ScoreConfig, build_metrics
from nmtkit.metrics.ter import TerConfig
from nmtkit.metrics.tokenized_bleu import CompoundSplitBleuConfig, TokenizedBleuConfig

SOURCES = ["A man in an orange hat.", "A Boston Terrier runs.", "Five people in the snow.", "People repair it.", ""]
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

OF_SACREBLEU = (BleuConfig, ChrfConfig, TerConfig)
every_metric = pytest.mark.parametrize("kind", members(MetricConfig), ids=lambda kind: kind.__name__)
every_fast_metric = pytest.mark.parametrize(
    "kind", [kind for kind in members(MetricConfig) if kind is not CometConfig], ids=lambda kind: kind.__name__
)


@pytest.fixture
def metric(kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Metric:
    """The metric of a kind, for German."""
    if kind is not CometConfig:
        return kind().build("de")
    comet.install(tmp_path, monkeypatch)
    return comet.model(tmp_path).build("de")


@every_metric
def test_no_worse_than_perfect(metric):
    perfect = metric(REFERENCES[:4], REFERENCES[:4], sources=SOURCES[:4])
    real = metric(HYPOTHESES, REFERENCES, sources=SOURCES)
    assert perfect.value == pytest.approx(100 if perfect.higher_is_better else 0, abs=1)
    assert real.value < perfect.value if perfect.higher_is_better else real.value > perfect.value


@every_metric
def test_order_of_lines_does_not_matter(metric):
    order = [3, 0, 4, 2, 1]
    hypotheses, references, sources = ([lines[n] for n in order] for lines in (HYPOTHESES, REFERENCES, SOURCES))
    shuffled = metric(hypotheses, references, sources=sources)
    assert shuffled.value == pytest.approx(metric(HYPOTHESES, REFERENCES, sources=SOURCES).value, abs=1e-9)


@every_metric
def test_score_carries_name_and_signature(kind, metric):
    score = metric(HYPOTHESES, REFERENCES, sources=SOURCES)
    assert score.name == metric.name
    assert score.higher_is_better == metric.higher_is_better
    assert "version:" in score.signature
    assert ("version:" + sacrebleu.__version__ in score.signature) == (kind is not CometConfig)
    assert score.signature.startswith("nrefs:1|")
    assert metric(HYPOTHESES, REFERENCES, REFERENCES, sources=SOURCES).signature.startswith("nrefs:2|")


def test_names_are_all_different(tmp_path, monkeypatch):
    comet.install(tmp_path, monkeypatch)
    asked = ScoreConfig(metrics=(*ScoreConfig().metrics, comet.model(tmp_path)))
    metrics = build_metrics(asked, "de").metrics
    assert [metric.name for metric in metrics] == ["BLEU", "BLEU-tok", "BLEU-split", "chrF2", "chrF2++", "TER", "COMET"]


@every_metric
def test_one_metric_scores_many_sets(metric):
    first = metric(HYPOTHESES, REFERENCES, sources=SOURCES)
    metric(["etwas anderes"], ["etwas ganz anderes"], ["und noch etwas"], sources=["something"])
    assert metric(HYPOTHESES, REFERENCES, sources=SOURCES) == first


@every_metric
@pytest.mark.parametrize(("hypotheses", "references"), [(4, 5), (5, 4), (0, 5), (5, 0)])
def test_unequal_counts_are_refused_with_both_counts(metric, hypotheses, references):
    with pytest.raises(DataError, match=f"{hypotheses} hypotheses but {references} references"):
        metric(HYPOTHESES[:hypotheses], REFERENCES[:references])
    if hypotheses:
        with pytest.raises(DataError, match=f"{hypotheses} hypotheses but {references} references"):
            metric(HYPOTHESES[:hypotheses], REFERENCES[:hypotheses], REFERENCES[:references])


@every_metric
def test_sources_are_counted_too(metric):
    with pytest.raises(DataError, match="5 hypotheses but 4 sources"):
        metric(HYPOTHESES, REFERENCES, sources=SOURCES[:4])


@every_metric
def test_an_empty_set_is_refused(metric):
    with pytest.raises(DataError, match="no lines to score"):
        metric([], [])


@every_metric
def test_blank_hypotheses_count_as_lines(metric):
    more = ([*HYPOTHESES, ""], [*REFERENCES, "Hier fehlt die Übersetzung."])
    with_blank = metric(*more, sources=[*SOURCES, "The translation is missing here."])
    without = metric(HYPOTHESES, REFERENCES, sources=SOURCES)
    assert with_blank.value < without.value if without.higher_is_better else with_blank.value > without.value


@every_metric
def test_a_blank_hypothesis_has_the_worst_score_of_its_line(metric):
    statistics = metric.measure(HYPOTHESES, REFERENCES, sources=SOURCES)
    value = metric.sentence_values(statistics)[2]
    assert value == (0 if metric.higher_is_better else 100)


@every_metric
def test_the_score_of_any_lines_is_that_of_the_sum_of_their_rows(metric):
    """Resampling, labels and tables all stand on that."""
    for references in ([REFERENCES], [REFERENCES, list(reversed(REFERENCES))]):
        statistics = metric.measure(HYPOTHESES, *references, sources=SOURCES)
        assert statistics.shape[0] == len(HYPOTHESES)
        for lines in ([0, 1, 2, 3, 4], [1, 3], [2], [0, 0, 1]):
            chosen = [[texts[n] for n in lines] for texts in (HYPOTHESES, *references)]
            whole = metric(*chosen, sources=[SOURCES[n] for n in lines])
            assert metric.score(statistics[lines], len(references)) == whole
            assert metric.values(statistics[lines].sum(axis=0)) == pytest.approx(whole.value, abs=1e-9)
        many = np.stack([statistics.sum(axis=0), statistics[:1].sum(axis=0)])
        assert metric.values(many).shape == (2,)


@every_metric
def test_more_references_do_not_harm(metric):
    one = metric(HYPOTHESES, REFERENCES, sources=SOURCES)
    both = metric(HYPOTHESES, REFERENCES, HYPOTHESES, sources=SOURCES)
    assert both.value > one.value if one.higher_is_better else both.value < one.value


@every_metric
def test_lines_by_themselves(metric):
    statistics = metric.measure(HYPOTHESES, REFERENCES, sources=SOURCES)
    values = metric.sentence_values(statistics)
    assert values.shape == (len(HYPOTHESES),)
    assert np.isfinite(values).all()
    signature = metric.score(statistics, 1).signature
    assert metric.sentence_signature(signature).startswith("nrefs:1|")


@every_fast_metric
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.text(alphabet="abcd .,ß中-'\"&", max_size=12), min_size=1, max_size=4))
def test_any_lines_can_be_scored(metric, lines):
    assert metric(lines, list(reversed(lines))).value >= 0
    assert (metric.sentence_values(metric.measure(lines, list(reversed(lines)))) >= 0).all()


EQUALITIES = [
    (BleuConfig(), BLEU()),
    (BleuConfig(lowercase=True), BLEU(lowercase=True)),
    (BleuConfig(tokenize="intl"), BLEU(tokenize="intl")),
    (BleuConfig(tokenize="char", smoothing="floor"), BLEU(tokenize="char", smooth_method="floor")),
    (BleuConfig(smoothing="add-k"), BLEU(smooth_method="add-k")),
    (ChrfConfig(), CHRF()),
    (ChrfConfig(word_order=2), CHRF(word_order=2)),
    (ChrfConfig(character_order=4, beta=3, lowercase=True), CHRF(char_order=4, beta=3, lowercase=True)),
    (TerConfig(), TER()),
    (TerConfig(case_sensitive=True), TER(case_sensitive=True)),
    (TerConfig(normalized=True, punctuation=False), TER(normalized=True, no_punct=True)),
    (TerConfig(asian_support="on"), TER(normalized=True, asian_support=True)),
]


@pytest.mark.parametrize(("config", "peer"), EQUALITIES, ids=lambda value: str(value)[:60].split(" at 0x")[0])
def test_equals_sacrebleu(config, peer):
    expected = peer.corpus_score(HYPOTHESES, [REFERENCES])
    score = config.build("de")(HYPOTHESES, REFERENCES)
    assert (score.name, score.value, score.signature) == (
        expected.name,
        expected.score,
        str(peer.get_signature()),
    )


def test_every_metric_of_sacrebleu_is_compared_with_it():
    assert {type(config) for config, _ in EQUALITIES} == set(OF_SACREBLEU)
    own = {TokenizedBleuConfig, CompoundSplitBleuConfig, CometConfig}
    assert own | set(OF_SACREBLEU) == set(members(MetricConfig)), "one that neither this nor a test of its own holds"


@pytest.mark.parametrize(
    ("kind", "peer"),
    [(BleuConfig, BLEU(effective_order=True)), (ChrfConfig, CHRF()), (TerConfig, TER())],
    ids=["bleu", "chrf", "ter"],
)
def test_lines_by_themselves_equal_sacrebleu(kind, peer):
    metric = kind().build("de")
    statistics = metric.measure(HYPOTHESES, REFERENCES)
    expected = [peer.sentence_score(ours, [theirs]) for ours, theirs in zip(HYPOTHESES, REFERENCES, strict=True)]
    assert metric.sentence_values(statistics) == pytest.approx([score.score for score in expected])
    assert metric.sentence_signature(metric.score(statistics, 1).signature) == str(peer.get_signature())


# The language decides


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [("de", "13a"), ("fr-CA", "13a"), ("zh", "zh"), ("zh-Hans-CN", "zh"), ("zh_TW", "zh"), ("cmn", "zh"),
     ("th", "char"), ("tha_Thai", "char"), ("my", "char"), ("und", "13a")],
)  # fmt: skip
def test_bleu_tokenizes_by_target_language(language, tokenizer):
    metric = BleuConfig().build(language)
    score = metric(["我有一只狗。"], ["我有一只猫。"])
    assert f"|tok:{tokenizer}|" in score.signature
    assert ("compares characters" in metric.notice) == (tokenizer == "char")


def test_a_tokenizer_that_was_asked_for_needs_no_notice():
    assert BleuConfig(tokenize="char").build("th").notice == ""


def test_chinese_is_not_scored_as_one_word():
    hypotheses, references = ["我有一只黑色的狗。"], ["我有一只白色的狗。"]
    assert BleuConfig().build("zh")(hypotheses, references).value > 20
    assert 0 < TerConfig().build("zh")(hypotheses, references).value < 20
    assert TerConfig().build("de")(hypotheses, references).value == 100


@pytest.mark.parametrize("language", sorted(UNSPACED))
def test_no_language_without_spaces_is_split_at_spaces(language):
    unfit = [kind for kind in (TokenizedBleuConfig, CompoundSplitBleuConfig, TerConfig) if kind().unfit(language)]
    split_by_sacrebleu = language == "zh"
    assert (TerConfig in unfit) != split_by_sacrebleu
    assert len(unfit) == 3 - split_by_sacrebleu
    for kind in unfit:
        with pytest.raises(ConfigError, match=f'score.metrics: kind = "{kind().kind}": .*"{language}"'):
            kind().build(language)
    assert bleu.TOKENIZERS[language] != "13a"


def test_metrics_that_do_not_serve_a_language_are_left_out_with_a_notice():
    metrics, notices = build_metrics(ScoreConfig(), "th")
    assert [metric.name for metric in metrics] == ["BLEU", "chrF2", "chrF2++"]
    assert notices[0].startswith("no tokenized_bleu, compound_split_bleu: Moses's rules find no words in target ")
    assert notices[1].startswith('no ter: it counts words, and target language "th"')
    assert notices[2].startswith("BLEU compares characters")
    assert build_metrics(ScoreConfig(), "de").notices == []


def test_tokens_of_an_unknown_language_are_no_guess():
    metrics, (notice,) = build_metrics(ScoreConfig(), "und")
    assert [metric.name for metric in metrics] == ["BLEU", "chrF2", "chrF2++", "TER"]
    assert "give --set languages.target=CODE" in notice


def test_the_first_metric_is_never_left_out():
    with pytest.raises(ConfigError, match='kind = "tokenized_bleu": Moses'):
        build_metrics(ScoreConfig(metrics=(TokenizedBleuConfig(), BleuConfig())), "zh")


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


def test_a_model_of_pieces_that_cannot_be_downloaded_is_named(monkeypatch, tmp_path):
    from urllib.error import URLError

    from sacrebleu.tokenizers import tokenizer_spm

    def no_network(*_):
        raise URLError("no network")

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "download_file", no_network)
    with pytest.raises(ConfigError, match=r"flores200, which could not be downloaded .*no network.*where the network"):
        BleuConfig(tokenize="flores200").build("th")


def test_the_tokenizers_of_languages_are_valid_settings():
    allowed = get_args(BleuConfig.model_fields["tokenize"].annotation)
    assert set(bleu.TOKENIZERS.values()) <= set(allowed)


@pytest.mark.parametrize(
    ("code", "language"),
    [("de-AT", "de"), ("CMN_Hans", "zh"), ("jpn", "ja"), ("en", "en"), ("deu_Latn", "de"), ("tha", "th"), ("gsw",) * 2],
)
def test_primary_language(code, language):
    assert primary_language(code) == language


def test_details_say_what_a_score_is_made_of():
    metrics = build_metrics(ScoreConfig(), "de").metrics
    details = {metric.name: metric(HYPOTHESES, REFERENCES).details for metric in metrics}
    assert "brevity penalty" in details["BLEU"]
    assert "brevity penalty" in details["BLEU-split"]
    assert "edits" in details["TER"]
