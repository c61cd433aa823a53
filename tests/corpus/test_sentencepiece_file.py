"""Models that SentencePiece made elsewhere: taken in with their ids moved, or refused with a reason."""

import io
from pathlib import Path

import pytest
import sentencepiece
from toy.segmenters import LINES, config_of, foreign, learn

from nmtkit.corpus.segmenters import Segmenter, learn_segmenter, open_segmenter
from nmtkit.corpus.sentencepiece_file import BYTE, CONTROL, NORMAL, UNKNOWN, Piece, read, with_pieces
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.errors import CheckpointError, ConfigError


def adopted(folder: Path, model: bytes, **values: object) -> Segmenter:
    tags = values.pop("tags", ())
    (folder / "foreign.model").write_bytes(model)
    learned = learn_segmenter(config_of("file", path="foreign.model", **values), (), tags=tags, base=folder)
    return open_segmenter(learned.model, "adopted")


def theirs(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_a_foreign_model_segments_as_it_did(tmp_path: Path, model_type: str, byte_fallback: bool) -> None:
    size = {"vocab_size": 310 if byte_fallback else 60, "hard_vocab_limit": False}
    model = foreign(model_type=model_type, byte_fallback=byte_fallback, **size)
    ours, original = adopted(tmp_path, model), theirs(model)
    lines = [*LINES, "", "  two  spaces ", "日本 x"]
    assert [ours.pieces(ids) for ids in ours.encode(lines)] == original.encode(lines, out_type=str) or not byte_fallback
    assert [len(ids) for ids in ours.encode(lines)] == [len(ids) for ids in original.encode(lines)]
    assert ours.decode(ours.encode(LINES)) == [
        text.replace(" ⁇ ", "⁇") for text in original.decode(original.encode(LINES))
    ]
    assert ours.size == original.get_piece_size() + 1
    assert ours.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize(
    "settings",
    [
        {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
        {"treat_whitespace_as_suffix": True},
        {"split_by_whitespace": False, "vocab_size": 400},
        {"add_dummy_prefix": False},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_one_that_does_not_go_word_by_word_sees_whole_lines(
    tmp_path: Path, model_type: str, settings: dict[str, object]
) -> None:
    model = foreign(model_type=model_type, **settings)
    ours, original = adopted(tmp_path, model), theirs(model)
    lines = [*LINES, "", " ﬁne  text ", "the <s> dog"]
    assert [ours.pieces(ids) for ids in ours.encode(lines)] == original.encode(lines, out_type=str)
    assert ours.decode(ours.encode(lines)) == original.decode(original.encode(lines))
    with pytest.raises(ConfigError, match=r"train\.sampling: "):
        ours.sampler(dropout=0.1, alpha=0.1)


def test_what_a_foreign_model_lacks_is_added(tmp_path: Path) -> None:
    model = foreign(bos_id=-1, eos_id=-1)
    segmenter = adopted(tmp_path, model, tags=("old",), symbols=("<2de>",))
    assert segmenter.size == theirs(model).get_piece_size() + 5
    assert segmenter.tag("old") == segmenter.size - 2
    assert segmenter.pieces(segmenter.encode(["a <2de>b"])[0]).count("<2de>") == 1
    assert theirs(learn("file", tags=("old",))).get_piece_size() == theirs(foreign()).get_piece_size() + 2


def test_our_own_model_is_taken_as_it_is(tmp_path: Path) -> None:
    model = learn("unigram", tags=("news",), symbols=("ard",))
    (tmp_path / "own.model").write_bytes(model)
    config = config_of("file", path="own.model", symbols=("ard",))
    assert learn_segmenter(config, (), base=tmp_path).model == model
    assert open_segmenter(model, "x").tag("news") == 4


def test_tags_of_our_own_model_stay_and_others_are_added(tmp_path: Path) -> None:
    segmenter = adopted(tmp_path, learn("bpe", tags=("news", "bt")), tags=("bt", "wire"))
    assert segmenter.tags == {"news": 4, "bt": 5, "wire": segmenter.size - 1}


def test_files_that_cannot_be_used_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = r"prepare\.segmenter\.path = '.*foreign\.model': "
    with pytest.raises(ConfigError, match=key + r"cannot be read \(No such file or directory\); give a SentencePiece"):
        learn_segmenter(config_of("file", path="foreign.model"), (), base=tmp_path)
    for damaged in (b"", b"text", foreign()[:300]):
        with pytest.raises(ConfigError, match=key + "is no SentencePiece model or damaged; give the file named .model"):
            adopted(tmp_path, damaged)
    with pytest.raises(ConfigError, match=key + r"has an ordinary piece 'e', which is needed as a symbol; .*take away"):
        adopted(tmp_path, foreign(), symbols=("e",))
    named = with_pieces(foreign(), [Piece("<pad>", 0.0, NORMAL)])
    with pytest.raises(
        ConfigError, match=key + "has an ordinary piece '<pad>', which is needed as a control piece; gi"
    ):
        adopted(tmp_path, named)
    assert capfd.readouterr() == ("", "")


def test_a_model_in_a_run_without_our_control_ids_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"foreign\.model is damaged or not made by nmtkit"):
        open_segmenter(foreign(), "foreign.model")


def test_pieces_are_read_and_added_as_sentencepiece_has_them() -> None:
    model = foreign()
    content, processor = read(model), theirs(model)
    assert [piece.text for piece in content.pieces] == [
        processor.id_to_piece(id_) for id_ in range(processor.get_piece_size())
    ]
    assert [piece.score for piece in content.pieces] == [
        processor.get_score(id_) for id_ in range(processor.get_piece_size())
    ]
    assert [piece.type for piece in content.pieces[:4]] == [UNKNOWN, CONTROL, CONTROL, BYTE]
    more = with_pieces(model, [Piece("ü" * 70, -2.5, NORMAL)])
    assert read(more).pieces == [*content.pieces, Piece("ü" * 70, -2.5, NORMAL)]
    assert theirs(more).get_score(theirs(more).piece_to_id("ü" * 70)) == -2.5


@pytest.mark.parametrize("broken", [b"", b"\x0a", b"\x0a\x05ab", b"\x0f", b"\xff" * 20, b"\x15ab"])
def test_what_is_no_protocol_buffer_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match=r"no pieces|cut short|wire type"):
        read(broken)


def test_a_longer_piece_is_known_for_its_length(tmp_path: Path) -> None:
    assert io.BytesIO(foreign()).read()
    segmenter = adopted(tmp_path, with_pieces(foreign(), [Piece("▁" + "x" * 40, -1.0, NORMAL)]))
    assert segmenter.longest_piece == 41
