"""What every segmenter promises, whatever its kind."""

import hashlib
import pickle
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.segmenters import KINDS, LINES, NAMES, SIZE, SIZED_KINDS, SYMBOLS, TAGS, learn, segmenter, without_bytes

from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import load_segmenter, open_segmenter
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.errors import CheckpointError

CONTROLS = {PAD, UNK, BOS, EOS}
over_kinds = pytest.mark.parametrize("kind", KINDS)
TEXT = st.lists(
    st.sampled_from([*NAMES, *SYMBOLS, *TAGS, " ", "the", "hund", "ß", "日本", "\U0001f600"]) | st.text(max_size=8)
).map("".join)


def normalized(text: str) -> str:
    return " ".join(clean(unicodedata.normalize("NFC", text)).split())


@over_kinds
@given(line=TEXT.map(normalized))
def test_any_text_survives_the_way_to_ids_and_back(kind: str, line: str) -> None:
    assert_survives(kind, line)


@pytest.mark.full
@over_kinds
@settings(max_examples=10_000)
@given(line=TEXT.map(clean))
def test_much_text_survives_the_way_to_ids_and_back(kind: str, line: str) -> None:
    assert_survives(kind, line)


def assert_survives(kind: str, line: str) -> None:
    own = segmenter(kind)
    (ids,) = own.encode([line])
    assert own.decode([ids]) == [line]
    assert not {*CONTROLS, *own.tags.values()} & set(ids)
    assert all(0 <= id_ < own.size for id_ in ids)
    assert len(ids) * own.longest_piece >= len(line)


@over_kinds
@given(line=st.text(max_size=30).map(clean))
def test_spaces_survive_too(kind: str, line: str) -> None:
    own = segmenter(kind)
    assert own.decode(own.encode([line])) == [line]


@over_kinds
@pytest.mark.parametrize("line", [" ", "  ", " a", "a ", "a  b", "  a   b  ", "▁ ▁", " ▁▁ a"])
def test_so_do_runs_of_them_and_their_stand_in(kind: str, line: str) -> None:
    own = segmenter(kind)
    assert own.decode(own.encode([line])) == [line]


@over_kinds
@given(sentences=st.lists(st.lists(st.integers(0, 259), max_size=30), max_size=3))
def test_whatever_a_model_says_is_one_clean_line(kind: str, sentences: list[list[int]]) -> None:
    texts = segmenter(kind).decode(sentences)
    assert len(texts) == len(sentences)
    assert [clean(text) for text in texts] == texts


@over_kinds
def test_the_names_of_control_ids_are_ordinary_text(kind: str) -> None:
    names = [*NAMES[:4], *(f"<tag:{tag}>" for tag in TAGS)]
    own = segmenter(kind)
    encoded = own.encode(names)
    assert not {*CONTROLS, *own.tags.values()} & {id_ for ids in encoded for id_ in ids}
    assert own.decode(encoded) == names
    assert own.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    others = own.pieces(range(4, own.size))
    assert len(set(others)) == own.size - 4
    assert not set(NAMES[:4]) & set(others)


@over_kinds
def test_control_ids_and_tags_vanish_from_text(kind: str) -> None:
    own = segmenter(kind)
    (ids,) = own.encode(["the dog"])
    tag = own.tag("news")
    assert own.decode([[BOS, *ids, EOS, PAD, PAD], [], [EOS], [tag, *ids]]) == ["the dog", "", "", "the dog"]


@over_kinds
def test_tags_are_pieces_that_nothing_else_is(kind: str) -> None:
    own = segmenter(kind)
    assert list(own.tags) == list(TAGS)
    assert len({own.tag(name) for name in TAGS} - CONTROLS) == len(TAGS)
    assert own.pieces([own.tag("news")]) == ["<tag:news>"]
    with pytest.raises(CheckpointError, match=r"has no tag 'old' \(news, the\); run `nmtkit prepare` again"):
        own.tag("old")
    with pytest.raises(CheckpointError, match=r"has no tag 'news' \(none at all\)"):
        open_segmenter(learn(kind), "plain").tag("news")


@over_kinds
@given(before=st.text("ab <2dreh", max_size=4), after=st.text("de>a ", max_size=4))
def test_a_symbol_is_one_piece_wherever_it_stands(kind: str, before: str, after: str) -> None:
    own = segmenter(kind)
    for symbol in SYMBOLS:
        line = f"{before}{symbol}{after}"
        (ids,) = own.encode([line])
        assert own.pieces(ids).count(symbol) == line.count(symbol)
        assert own.decode([ids]) == [line]


@over_kinds
def test_pieces_put_together_are_the_text(kind: str) -> None:
    own = segmenter(kind)
    for line, ids in zip(LINES, own.encode(LINES), strict=True):
        spelled = "".join(own.pieces(ids)).replace("▁", " ").removeprefix(" ")
        if "<0x" not in spelled:
            assert spelled == line
    assert own.pieces([]) == []


@over_kinds
def test_each_line_is_encoded_as_if_alone(kind: str) -> None:
    own = segmenter(kind)
    lines = [*LINES, "", "a▁b", *LINES[:9], ""] * 2
    encoded, alone = own.encode(lines), open_segmenter(model_of(kind), "alone")
    assert encoded == [alone.encode([line])[0] for line in lines]
    assert own.encode([]) == []
    assert encoded[len(LINES)] == []


def model_of(kind: str) -> bytes:
    return learn(kind, NAMES * 20, tags=TAGS, symbols=SYMBOLS)


@over_kinds
def test_ids_of_any_integer_type_are_read(kind: str) -> None:
    import numpy as np

    own = segmenter(kind)
    (ids,) = own.encode(["the old dog"])
    for type_ in (np.uint16, np.int32, np.int64):
        assert own.decode([np.array(ids, type_)]) == ["the old dog"]
        assert own.pieces(np.array(ids, type_)) == own.pieces(ids)


@over_kinds
def test_what_is_loaded_is_what_was_learned(kind: str, tmp_path: Path) -> None:
    model = model_of(kind)
    (tmp_path / "source.model").write_bytes(model)
    loaded = load_segmenter(tmp_path / "source.model")
    sent = pickle.loads(pickle.dumps(loaded))
    for other in (loaded, sent):
        assert other.fingerprint == hashlib.sha256(model).hexdigest() == segmenter(kind).fingerprint
        assert (other.size, other.tags) == (segmenter(kind).size, segmenter(kind).tags)
        assert other.encode([*LINES, *NAMES]) == segmenter(kind).encode([*LINES, *NAMES])


def test_same_lines_same_file_in_another_process_and_folder(tmp_path: Path) -> None:
    script = (
        "import sys; from toy.segmenters import learn\n"
        "for kind in sys.argv[1:]: print(kind, learn(kind, tags=('a', 'b'), symbols=('xy',)).hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *reversed(KINDS)],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    made = dict(row.split(" ") for row in done.stdout.decode().split("\n")[:-1])
    assert made == {kind: learn(kind, tags=("a", "b"), symbols=("xy",)).hex() for kind in KINDS}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [*SIZED_KINDS, "characters"])
def test_without_byte_fallback_unknown_characters_are_one_id(kind: str) -> None:
    own = without_bytes(kind)
    encoded = own.encode(["the 犬犬 sees", "▁ the", "犬"])
    assert [ids.count(UNK) for ids in encoded] == [1, 1, 1]
    assert own.decode(encoded) == ["the ⁇ sees", "⁇ the", "⁇"]
    names = own.encode(NAMES[:4])
    assert not CONTROLS & {id_ for ids in names for id_ in ids}
    assert own.decode(names) == NAMES[:4]


@pytest.mark.parametrize("kind", SIZED_KINDS)
def test_the_size_is_what_was_asked_for(kind: str) -> None:
    assert segmenter(kind).size == SIZE
    assert without_bytes(kind).size == 80
