"""One line in, one line out, whatever the lines hold."""

from collections.abc import Iterator, Sequence

import pytest
import torch
from toy.corpora import count_sentences, sentence_pair
from toy.models import VARIANTS, build
from toy.tables import TableModel

from nmtkit.corpus.normalizers import CountingChain, UnicodeConfig, WhitespaceConfig
from nmtkit.corpus.segmenters import BpeConfig, Segmenter, learn_segmenter, open_segmenter
from nmtkit.corpus.vocabulary import BOS, EOS, PAD
from nmtkit.data.batch import Padded
from nmtkit.errors import ConfigError
from nmtkit.models.base import Memory
from nmtkit.search.base import Hypothesis
from nmtkit.search.settings import BeamConfig, GreedyConfig, SamplingConfig
from nmtkit.translation.settings import TranslateConfig
from nmtkit.translation.translator import LineTranslator

CHUNK = 7
SHORT = {"max_length_ratio": 0.0, "max_length_extra": 6}
BLANKS = ["", " ", "\t", "\u00a0\u2003", "\u3000", "\r", "\v\f", "\u2028", "\x00\x07", "\x85 \x1e"]
ODD = [
    "the dog sees a bird .",
    "",
    "tabs\tand\vother\fthings\u2028in\u2029one\x85line\rhere",
    "<s> </s> <pad> <unk> <0x0A> ▁ ▁▁",
    "\x00\x01nul and bell\x07",
    "   ",
    "bad bytes \ufffd\ufffd",
    "lone \udcff surrogate",
    "a line break\nwithin",
    "x" * 300,
    "the old fox hears every fish today . " * 12,
    "שלום 你好。再见。 🙂",
    "\ufeffbom",
]


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    lines = [side for number in range(0, count_sentences(), 97) for side in sentence_pair(number)]
    return open_segmenter(learn_segmenter(BpeConfig(vocabulary_size=400), lines).model, "toy.model")


class Recording(TableModel):
    """Remembers what it was asked."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__(vocabulary, end=1.0)
        self.asked: list[Padded] = []

    def encode(self, source: Padded) -> Memory:
        self.asked.append(source)
        return super().encode(source)


def translator(segmenter: Segmenter, **settings: object) -> LineTranslator:
    config = TranslateConfig.model_validate(
        {"search": BeamConfig(beam=3, n_best=2, **SHORT), "batch_tokens": 200, "chunk_lines": CHUNK, "max_pieces": 60}
        | settings
    )
    normalize = CountingChain((UnicodeConfig(), WhitespaceConfig()), "en")
    return LineTranslator(Recording(segmenter.size), segmenter, segmenter, normalize, config)


def test_the_text_of_every_hypothesis_is_restored(segmenter: Segmenter) -> None:
    plain = translator(segmenter)
    restored = translator(segmenter)
    restored.restore = lambda text: f"<{text}>\tx"
    lines = ["the dog sees a bird .", "", "the old fox hears every fish today . " * 12]
    expected = [[f"<{best.text}> x" for best in hypotheses] for hypotheses in plain.hypotheses(lines)]
    assert [[best.text for best in hypotheses] for hypotheses in restored.hypotheses(lines)] == expected


def check_text(text: str) -> None:
    assert len(f"{text}\n".splitlines()) == 1
    assert "\t" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 1])
def test_each_line_is_answered_as_if_it_were_alone(segmenter: Segmenter, count: int) -> None:
    lines = (ODD * 3)[:count]
    together = translator(segmenter)
    answers = list(together.hypotheses(lines))
    assert len(answers) == together.counts.lines == count
    alone = translator(segmenter)
    for line, answer in zip(lines, answers, strict=True):
        assert list(alone.hypotheses([line])) == [answer]
        for hypothesis in answer:
            check_text(hypothesis.text)
    assert together.counts == alone.counts
    assert translator(segmenter).translate(lines) == [answer[0].text for answer in answers]


def test_settings_of_speed_change_no_answer(segmenter: Segmenter) -> None:
    usual = list(translator(segmenter).hypotheses(ODD))
    for batch_tokens, chunk_lines in ((1, 100), (100_000, 1), (100_000, 100)):
        assert list(translator(segmenter, batch_tokens=batch_tokens, chunk_lines=chunk_lines).hypotheses(ODD)) == usual


def test_a_network_answers_a_line_the_same_in_any_company(segmenter: Segmenter) -> None:
    model = build(VARIANTS["transformer"], segmenter.size)
    config = TranslateConfig(search=BeamConfig(beam=3, **SHORT), batch_tokens=300, chunk_lines=5)
    together = LineTranslator(model, segmenter, segmenter, str, config)
    lines = [sentence_pair(number * 613)[0] for number in range(12)]
    for line, (answer,) in zip(lines, together.hypotheses(lines), strict=True):
        ((alone,),) = together.hypotheses([line])
        assert alone.score == pytest.approx(answer.score, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("blank", BLANKS)
def test_blank_in_blank_out_without_the_model(segmenter: Segmenter, blank: str) -> None:
    asked = translator(segmenter)
    assert list(asked.hypotheses([blank])) == [[Hypothesis((), 0.0, 0.0, finished=True, text="")]]
    assert asked.model.asked == []
    assert asked.counts.blank == 1
    # also where no normalizer strips
    bare = LineTranslator(asked.model, segmenter, segmenter, str, asked.config)
    assert bare.translate([blank, blank]) == ["", ""]
    assert asked.model.asked == []


def test_the_model_sees_normalised_text(segmenter: Segmenter) -> None:
    asked = translator(segmenter)
    for messy, tidy in ((" the  dog\tsees\u00a0a bird ", "the dog sees a bird"), ("a ba\u0308cker", "a b\u00e4cker")):
        assert asked.translate([messy]) == asked.translate([tidy])
        seen, expected = (source.ids.tolist() for source in asked.model.asked[-2:])
        assert seen == expected == [[*segmenter.encode([tidy])[0], EOS]]


def test_the_model_sees_no_control_id_within_a_sentence(segmenter: Segmenter) -> None:
    asked = translator(segmenter)
    asked.translate(ODD)
    for source in asked.model.asked:
        for ids, length in zip(source.ids.tolist(), source.lengths.tolist(), strict=True):
            assert not {PAD, BOS, EOS} & set(ids[: length - 1])
            assert ids[length - 1] == EOS


@pytest.fixture(scope="module")
def tagged() -> Segmenter:
    lines = [side for number in range(0, count_sentences(), 97) for side in sentence_pair(number)]
    return open_segmenter(
        learn_segmenter(BpeConfig(vocabulary_size=400), lines, tags=["news", "bt"]).model, "toy.model"
    )


def seen(asked: LineTranslator) -> list[list[int]]:
    """Return the sources that the model was given, in the order of their batches, end marks left off."""
    sources = [zip(each.ids.tolist(), each.lengths.tolist(), strict=True) for each in asked.model.asked]
    return [ids[: length - 1] for each in sources for ids, length in each]


@pytest.mark.parametrize(
    ("setting", "asked", "before"),
    [("", None, ""), ("bt", None, "bt"), ("bt", "news", "news"), ("bt", "", ""), ("", "news", "news")],
)
def test_a_tag_comes_before_what_the_model_sees(
    tagged: Segmenter, setting: str, asked: str | None, before: str
) -> None:
    tagging = translator(tagged, tag=setting, chunk_lines=2)
    lines = ["the dog sees a bird .", " ", "the <tag:bt> fox", "the dog"]
    answers = tagging.translate(lines, tag=asked)
    assert answers[1] == ""
    expected = [[*([tagged.tag(before)] if before else []), *ids] for ids in tagged.encode([*lines[:1], *lines[2:]])]
    assert sorted(seen(tagging)) == sorted(expected)
    assert tagging.counts.pieces == sum(map(len, expected)) - (3 if before else 0)
    assert [best.text for best, *_ in tagging.hypotheses(lines, tag=asked)] == answers


def test_each_part_of_an_over_long_line_has_the_tag(tagged: Segmenter) -> None:
    sentences = ["the dog sees a bird today .", "every old fox hears the small neighbour ."]
    encoded = tagged.encode(sentences)
    longest = max(map(len, encoded))
    cutting = translator(tagged, tag="news", max_pieces=longest)
    (together,) = cutting.hypotheses([" ".join(sentences)])
    assert sorted(seen(cutting)) == sorted([tagged.tag("news"), *ids] for ids in encoded)
    alone = [found[0].text for found in cutting.hypotheses(sentences)]
    assert together[0].text == " ".join(alone)
    assert cutting.counts.cut == 1


def test_a_tag_that_was_not_trained_is_refused_before_a_line_is_read(segmenter: Segmenter, tagged: Segmenter) -> None:
    def lines() -> Iterator[str]:
        pytest.fail("a line was read")
        yield ""

    with pytest.raises(
        ConfigError, match=r'^translate\.tag = "old": no such tag; choose "news" or "bt", or remove it$'
    ):
        translator(tagged, tag="old").hypotheses(lines())
    with pytest.raises(ConfigError, match=r'^tag = "old": no such tag; choose "news" or "bt"'):
        translator(tagged).hypotheses(lines(), tag="old")
    with pytest.raises(ConfigError, match=r'^tag = "bt": the vocabulary has no tags'):
        translator(segmenter).translate(lines(), tag="bt")


def test_an_over_long_line_is_the_sum_of_its_sentences(segmenter: Segmenter) -> None:
    sentences = ["the dog sees a bird today .", "every old fox hears the small neighbour ."]
    longest = max(len(ids) for ids in segmenter.encode(sentences))
    cutting = translator(segmenter, max_pieces=longest)
    first, second, joined, again = cutting.hypotheses([*sentences, *[" ".join(sentences)] * 2])
    assert again == joined
    assert len(joined) == 2
    for one, other, both in zip(first, second, joined, strict=True):
        assert both.text == f"{one.text} {other.text}"
        assert both.ids == one.ids + other.ids
        assert both.score == pytest.approx(one.score + other.score)
        assert both.log_probability == pytest.approx(one.log_probability + other.log_probability)
        assert both.finished == (one.finished and other.finished)
    assert (cutting.counts.cut, cutting.counts.first_cut) == (2, 3)


def test_a_line_of_a_megabyte(segmenter: Segmenter) -> None:
    greedy = GreedyConfig(max_length_ratio=0.0, max_length_extra=1)
    patient = translator(segmenter, search=greedy, max_pieces=1000, batch_tokens=50_000)
    sentence = "the small green bird finds a clever baker today . "
    line = sentence * (1_000_000 // len(sentence))
    before, answer, after = patient.translate(["the dog .", line, "the dog ."])
    assert before == after
    check_text(answer)
    assert patient.counts.cut == 1
    assert max(source.ids.size(1) for source in patient.model.asked) <= 1001


def test_batches_keep_to_the_budget_longest_first(segmenter: Segmenter) -> None:
    asked = translator(segmenter, batch_tokens=150, chunk_lines=100)
    asked.translate([sentence_pair(number * 613)[0] for number in range(30)] + ["x" * 59])
    sizes = [source.ids.shape for source in asked.model.asked]
    assert all(rows * width * 3 <= 150 or rows == 1 for rows, width in sizes)
    assert [width for _, width in sizes] == sorted((width for _, width in sizes), reverse=True)
    assert len(sizes) < 31


def test_reads_no_more_than_a_chunk_ahead(segmenter: Segmenter) -> None:
    taken = []

    def lines() -> Iterator[str]:
        for number in range(100):
            taken.append(number)
            yield "a dog"

    answers = translator(segmenter).hypotheses(lines())
    assert taken == []
    next(answers)
    assert len(taken) == CHUNK


class Breaking(Segmenter):
    """Emits what would break lines, and finds nothing in some texts that are not blank."""

    size = 9
    fingerprint = "none"

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[] if line == "nothing" else [4, 1, 5] for line in lines]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        return ["a\nb\r\nc\td\u2028e\x85f\vg\x00" for _ in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return ["▁x" for _ in ids]


def test_no_segmenter_can_break_a_line() -> None:
    breaking = LineTranslator(TableModel(9).eval(), Breaking(), Breaking(), str, TranslateConfig())
    assert breaking.translate(["x", "nothing", "y"]) == ["a b  c d e f g", "", "a b  c d e f g"]
    counts = breaking.counts
    assert (counts.lines, counts.blank, counts.cut, counts.pieces, counts.unknown) == (3, 1, 0, 6, 2)


def test_the_model_is_left_as_it_was(segmenter: Segmenter) -> None:
    asked = translator(segmenter)
    modes = []
    asked.search = lambda model, source, places: (
        modes.append((model.training, torch.is_inference_mode_enabled())),
        [[Hypothesis((), 0.0, 0.0, finished=True)] for _ in source.lengths],
    )[1]
    for training in (True, False):
        asked.model.train(training)
        answers = asked.hypotheses(["a dog", "a bird"])
        next(answers)
        assert asked.model.training == training
        assert not torch.is_inference_mode_enabled()
    assert modes == [(False, True)] * 2


def test_what_is_drawn_depends_on_the_number_of_a_line_and_on_the_part(segmenter: Segmenter) -> None:
    drawing = {"search": SamplingConfig(n_best=3, **SHORT)}
    lines = ["the dog sees a bird .", "", "the dog sees a bird .", "the old fox hears every fish today . " * 12]
    usual = list(translator(segmenter, **drawing).hypotheses(lines))
    assert usual[0] != usual[2]
    for chunk_lines, batch_tokens in ((1, 200), (2, 1), (100, 100_000)):
        speed = {"chunk_lines": chunk_lines, "batch_tokens": batch_tokens}
        assert list(translator(segmenter, **drawing, **speed).hypotheses(lines)) == usual
    again = translator(segmenter, **drawing)
    assert list(again.hypotheses(lines)) == list(again.hypotheses(lines)) == usual
    assert list(again.hypotheses(lines[2:], numbers=[3, 4])) == usual[2:]
    assert list(again.hypotheses(lines[2:])) != usual[2:]


def test_each_part_of_a_line_draws_by_itself(segmenter: Segmenter) -> None:
    sentence = "the dog sees a bird today ."
    (pieces,) = segmenter.encode([sentence])
    drawing = translator(segmenter, search=SamplingConfig(**SHORT), max_pieces=len(pieces))
    ((line,),) = drawing.hypotheses([f"{sentence} {sentence}"])
    assert drawing.counts.cut == 1
    ((first,),) = drawing.hypotheses([sentence])
    assert line.ids[: len(first.ids)] == first.ids
    assert line.ids != first.ids * 2


def test_a_failing_search_leaves_the_model_as_it_was(segmenter: Segmenter) -> None:
    asked = translator(segmenter)
    asked.model.train()

    def fail(model: object, source: object, places: object) -> list[list[Hypothesis]]:
        raise RuntimeError("no memory")

    asked.search = fail
    with pytest.raises(RuntimeError, match="no memory"):
        asked.translate(["a dog"])
    assert asked.model.training


def test_lines_of_several_sentences_longer_than_what_was_trained_on_are_counted(segmenter: Segmenter) -> None:
    lines = ["the dog . a bird .", "the old dog sees a green bird today", "", "the dog . a bird sees a fox . the fox ."]
    asked = translator(segmenter)
    asked.translate(lines)
    assert asked.counts.paragraphs == 0  # nothing is known of the training
    lengths = [len(ids) for ids in segmenter.encode(lines)]
    asked.usual_pieces = lengths[0]
    asked.translate(lines)
    assert (asked.counts.paragraphs, asked.counts.first_paragraph) == (1, 8)
    cut = translator(segmenter, max_pieces=lengths[0])
    cut.usual_pieces = lengths[0]
    cut.translate(lines)
    assert cut.counts.paragraphs == 0


def test_one_string_instead_of_a_list_is_refused(segmenter: Segmenter) -> None:
    with pytest.raises(TypeError, match=r"write \[line\]"):
        translator(segmenter).translate("a dog")
