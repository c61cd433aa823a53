import random
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy.corpora import count_sentences, sentence_pair
from toy.union import members

from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import (
    LONGEST_PIECE,
    BpeConfig,
    Segmenter,
    SegmenterConfig,
    UnigramConfig,
    learn_segmenter,
    load_segmenter,
    open_segmenter,
)
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.errors import CheckpointError, DataError

MEMBERS = members(SegmenterConfig)
NAMES = ["<s>", "</s>", "<unk>", "<pad>", "<0x41>", "<0x00>", "▁", "\u2047", "\u2585"]
LINES = [side for number in random.Random(0).sample(range(count_sentences()), 150) for side in sentence_pair(number)]
SIZE = 300
over_members = pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member().kind)


@pytest.fixture(scope="module")
def segmenters() -> dict[str, Segmenter]:
    """With byte fallback, one of each kind, learned from text that names the control ids again and again."""
    learned = {}
    for member in MEMBERS:
        config = member(vocabulary_size=SIZE)
        learned[config.kind] = open_segmenter(learn_segmenter(config, [*LINES, *NAMES * 20]).model, "test")
    return learned


@pytest.fixture(scope="module")
def without_bytes() -> dict[str, Segmenter]:
    learned = {}
    for member in MEMBERS:
        config = member(vocabulary_size=80, byte_fallback=False)
        learned[config.kind] = open_segmenter(
            learn_segmenter(config, [*LINES, *["<s></s><unk><pad>"] * 20]).model, "test"
        )
    return learned


def normalized(text: str) -> str:
    return " ".join(clean(unicodedata.normalize("NFC", text)).split())


TEXT = st.lists(st.sampled_from([*NAMES, " ", "the", "hund", "ß", "日本", "\U0001f600"]) | st.text(max_size=8)).map(
    "".join
)


@over_members
@given(line=TEXT.map(normalized))
def test_any_text_survives_the_way_to_ids_and_back(member: type, segmenters: dict[str, Segmenter], line: str) -> None:
    segmenter = segmenters[member().kind]
    (ids,) = segmenter.encode([line])
    assert segmenter.decode([ids]) == [line]
    assert not {PAD, UNK, BOS, EOS} & set(ids)
    assert all(0 <= id_ < segmenter.size for id_ in ids)


@over_members
@given(line=st.text(max_size=30).map(clean))
def test_spaces_survive_too(member: type, segmenters: dict[str, Segmenter], line: str) -> None:
    segmenter = segmenters[member().kind]
    assert segmenter.decode(segmenter.encode([line])) == [line]


@over_members
@given(ids=st.lists(st.integers(0, SIZE - 1), max_size=30))
def test_whatever_a_model_says_is_one_clean_line(
    member: type, segmenters: dict[str, Segmenter], ids: list[int]
) -> None:
    (text,) = segmenters[member().kind].decode([ids])
    assert clean(text) == text


@over_members
def test_the_names_of_control_ids_are_ordinary_text(
    member: type, segmenters: dict[str, Segmenter], without_bytes: dict[str, Segmenter]
) -> None:
    names = NAMES[:4]
    for segmenter in (segmenters[member().kind], without_bytes[member().kind]):
        encoded = segmenter.encode(names)
        assert not {PAD, UNK, BOS, EOS} & {id_ for ids in encoded for id_ in ids}
        assert segmenter.decode(encoded) == names
        assert segmenter.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
        others = segmenter.pieces(range(4, segmenter.size))
        assert len(set(others)) == segmenter.size - 4
        assert not set(names) & set(others)


@over_members
def test_control_ids_vanish_from_text(member: type, segmenters: dict[str, Segmenter]) -> None:
    segmenter = segmenters[member().kind]
    (ids,) = segmenter.encode(["the dog"])
    assert segmenter.decode([[BOS, *ids, EOS, PAD, PAD], [], [EOS]]) == ["the dog", "", ""]


@over_members
def test_without_byte_fallback_unknown_characters_are_one_id(member: type, without_bytes: dict[str, Segmenter]) -> None:
    segmenter = without_bytes[member().kind]
    assert segmenter.size == 80
    encoded = segmenter.encode(["the 犬 sees", "▁ the"])
    assert [ids.count(UNK) for ids in encoded] == [1, 1]
    assert segmenter.decode(encoded) == ["the ⁇ sees", "⁇ the"]


@over_members
def test_many_lines_are_encoded_as_each_alone(member: type, segmenters: dict[str, Segmenter]) -> None:
    segmenter = segmenters[member().kind]
    lines = [*LINES, "", "a▁b"] * 3
    assert segmenter.encode(lines) == [segmenter.encode([line])[0] for line in lines]
    assert segmenter.encode([]) == []


@pytest.mark.parametrize("config", [BpeConfig(vocabulary_size=42), UnigramConfig(vocabulary_size=25)])
def test_no_piece_is_longer_than_promised(config: SegmenterConfig) -> None:
    lines = ["Donaudampfschifffahrtsgesellschaft " * 3] * 50
    config = config.model_copy(update={"byte_fallback": False})
    segmenter = open_segmenter(learn_segmenter(config, lines).model, "test")
    assert max(map(len, segmenter.pieces(range(4, segmenter.size)))) <= LONGEST_PIECE


@over_members
def test_same_lines_same_file_in_another_process_and_folder(member: type, tmp_path: Path) -> None:
    config = member(vocabulary_size=SIZE)
    script = (
        "import sys; from nmtkit.corpus.segmenters import *\n"
        f"config = {type(config).__name__}(vocabulary_size={SIZE})\n"
        "learned = learn_segmenter(config, sys.stdin.buffer.read().decode().split('\\n'))\n"
        "sys.stdout.buffer.write(learned.model)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        input="\n".join(LINES).encode(),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert done.stdout == learn_segmenter(config, LINES).model
    assert list(tmp_path.iterdir()) == []


@over_members
def test_too_large_a_vocabulary_names_the_largest_that_works(
    member: Callable[..., SegmenterConfig], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError) as raised:
        learn_segmenter(member(vocabulary_size=5_000), LINES)
    found = re.fullmatch(
        r"prepare\.segmenter\.vocabulary_size = 5000 is too large: the text yields at most (\d+) pieces; "
        r"set it to \1 or less, or give more text",
        str(raised.value),
    )
    assert found
    largest = int(found[1])
    assert open_segmenter(learn_segmenter(member(vocabulary_size=largest), LINES).model, "x").size == largest
    with pytest.raises(DataError, match="too large"):
        learn_segmenter(member(vocabulary_size=largest + 1), LINES)
    assert capfd.readouterr() == ("", "")


@over_members
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_too_small_a_vocabulary_names_what_it_must_hold(
    member: Callable[..., SegmenterConfig], byte_fallback: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    characters = len(set("".join(LINES)))
    special = 4 + (256 if byte_fallback else 0)
    with pytest.raises(DataError) as raised:
        learn_segmenter(member(vocabulary_size=20, byte_fallback=byte_fallback), LINES)
    assert str(raised.value).startswith(
        f"prepare.segmenter.vocabulary_size = 20 is too small: the text has {characters} different characters"
    )
    assert f"need {characters + special}; set it well above {characters + special}" in str(raised.value)
    assert capfd.readouterr() == ("", "")


@over_members
def test_lines_too_long_to_learn_from_are_counted(member: Callable[..., SegmenterConfig]) -> None:
    config = member(vocabulary_size=SIZE)
    learned = learn_segmenter(config, [*LINES, "q" * 20_000, "", " "])
    assert (learned.lines, learned.too_long) == (len(LINES), 1)
    assert learned.model == learn_segmenter(config, LINES).model
    with pytest.raises(DataError, match=r"the text: no line is left to learn a vocabulary from \(1 are too long\)"):
        learn_segmenter(config, ["q" * 20_000])


def test_a_missing_or_damaged_model_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "source.model"
    with pytest.raises(CheckpointError, match=r"source.model cannot be read .*; run `nmtkit prepare`"):
        load_segmenter(path)
    model = learn_segmenter(BpeConfig(vocabulary_size=SIZE), LINES).model
    for damaged in (b"", b"no model", model[:200], model[200:], model[:-10]):
        path.write_bytes(damaged)
        with pytest.raises(
            CheckpointError, match=r"source.model is damaged or not made by nmtkit; run `nmtkit prepare`"
        ):
            load_segmenter(path)
    assert capfd.readouterr() == ("", "")


def test_a_model_of_other_control_ids_is_refused() -> None:
    import io

    import sentencepiece

    foreign = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=foreign, vocab_size=60, minloglevel=3
    )
    with pytest.raises(CheckpointError, match="not made by nmtkit"):
        open_segmenter(foreign.getvalue(), "foreign.model")


def test_settings_import_no_sentencepiece() -> None:
    script = "import sys, nmtkit.corpus.settings; print({'sentencepiece', 'torch', 'sacremoses'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"set()\n"


def test_separate_members_differ() -> None:
    kinds = {learn_segmenter(config(vocabulary_size=SIZE), LINES).model for config in (BpeConfig, UnigramConfig)}
    assert len(kinds) == 2
