"""Learning vocabularies, and what is said where that fails; what all kinds promise stands in contracts/."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from toy.segmenters import KINDS, LINES, SIZED_KINDS, config_of, learn

from nmtkit.corpus.segmenters import (
    LONGEST_PIECE,
    BpeConfig,
    learn_segmenter,
    load_segmenter,
    open_segmenter,
)
from nmtkit.errors import CheckpointError, ConfigError, DataError
from nmtkit.section import all_conflicts

over_sizes = pytest.mark.parametrize("kind", SIZED_KINDS)


@over_sizes
def test_no_piece_is_longer_than_promised(kind: str) -> None:
    lines = ["Donaudampfschifffahrtsgesellschaft " * 3] * 50
    size = {"bpe": 42, "unigram": 25, "wordpiece": 30}[kind]
    config = config_of(kind, vocabulary_size=size, byte_fallback=False)
    segmenter = open_segmenter(learn_segmenter(config, lines).model, "test")
    assert max(map(len, segmenter.pieces(range(4, segmenter.size)))) <= LONGEST_PIECE == segmenter.longest_piece


@over_sizes
def test_too_large_a_vocabulary_names_the_largest_that_works(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError) as raised:
        learn_segmenter(config_of(kind, vocabulary_size=5_000), LINES)
    found = re.fullmatch(
        r"prepare\.segmenter\.vocabulary_size = 5000 is too large: the text yields at most (\d+) pieces; "
        r"set it to \1 or less, or give more text",
        str(raised.value),
    )
    assert found
    largest = int(found[1])
    learned = learn_segmenter(config_of(kind, vocabulary_size=largest), LINES)
    assert open_segmenter(learned.model, "x").size == largest
    with pytest.raises(DataError, match="too large"):
        learn_segmenter(config_of(kind, vocabulary_size=largest + 1), LINES)
    assert capfd.readouterr() == ("", "")


@over_sizes
@pytest.mark.parametrize(
    ("values", "tags", "special", "named"),
    [
        ({}, (), 260, "4 control ids and 256 bytes"),
        ({"byte_fallback": False}, (), 4, "4 control ids"),
        ({"symbols": ("xy",)}, ("a", "b"), 263, "4 control ids and 3 symbols and tags and 256 bytes"),
    ],
)
def test_too_small_a_vocabulary_names_what_it_must_hold(
    kind: str, values: dict[str, object], tags: tuple[str, ...], special: int, named: str, capfd
) -> None:
    characters = len(set("".join(LINES)))
    with pytest.raises(DataError) as raised:
        learn_segmenter(config_of(kind, **{"vocabulary_size": 20, **values}), LINES, tags=tags)
    assert str(raised.value) == (
        f"prepare.segmenter.vocabulary_size = 20 is too small: the text has {characters} different characters, which "
        f"with {named} need {characters + special}; set it well above {characters + special}, or lower "
        "prepare.segmenter.character_coverage"
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [*SIZED_KINDS, "characters"])
def test_lines_too_long_to_learn_from_are_counted(kind: str) -> None:
    config = config_of(kind)
    learned = learn_segmenter(config, [*LINES, "q" * 20_000, "", " ", "犬" * 6_000])
    assert (learned.lines, learned.too_long) == (len(LINES), 2)
    assert learned.model == learn_segmenter(config, LINES).model
    with pytest.raises(DataError, match=r"the text: no line is left to learn a vocabulary from \(1 are too long\)"):
        learn_segmenter(config, ["q" * 20_000])


@pytest.mark.parametrize("kind", ["bytes", "file"])
def test_what_is_not_learned_reads_no_line(kind: str, tmp_path: Path) -> None:
    def lines():
        raise AssertionError("read")
        yield ""

    (tmp_path / "foreign.model").write_bytes(learn("bpe"))
    config = config_of("file", path="foreign.model") if kind == "file" else config_of(kind)
    learned = learn_segmenter(config, lines(), base=tmp_path)
    assert (learned.lines, learned.too_long, config.sample_size, config.joint) == (0, 0, 0, True)


def test_counted_words_teach_bpe_what_lines_do() -> None:
    """Learned from lines as SentencePiece reads them, the pieces and their order are the same."""
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*LINES, *LINES[:50]]),
        model_writer=model,
        model_type="bpe",
        vocab_size=320,
        byte_fallback=True,
        character_coverage=1.0,
        **{"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3},
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=3,
    )
    ours = open_segmenter(learn_segmenter(config_of("bpe"), [*LINES, *LINES[:50]]).model, "ours")
    assert ours.pieces(range(320)) == open_segmenter(model.getvalue(), "theirs").pieces(range(320))


@pytest.mark.parametrize("kind", [*SIZED_KINDS, "characters"])
def test_text_without_spaces_is_learned_from_as_well(kind: str) -> None:
    lines = ["犬は魚を見る", "猫は魚を見る", "犬は猫を見ない", "魚は犬を見ない"] * 9
    learned = learn_segmenter(config_of(kind, **({"vocabulary_size": 271} if kind in SIZED_KINDS else {})), lines)
    segmenter = open_segmenter(learned.model, "ja")
    assert segmenter.decode(segmenter.encode(lines)) == lines
    assert all(id_ >= 260 for ids in segmenter.encode(lines) for id_ in ids)


def test_characters_are_those_that_cover_the_share_asked_for() -> None:
    lines = ["a" * 900 + "b" * 95 + "c" * 5] * 2
    for coverage, expected in ((1.0, "a▁bc"), (0.99, "ab▁")):
        config = config_of("characters", character_coverage=coverage, byte_fallback=False)
        segmenter = open_segmenter(learn_segmenter(config, lines).model, "test")
        assert sorted("".join(segmenter.pieces(range(4, segmenter.size)))) == sorted(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        (("a b",), "'a b' is not 1 to 16 characters without a space; give another"),
        (("",), "'' is not 1 to 16 characters without a space; give another"),
        (("x" * 17,), f"{'x' * 17!r} is not 1 to 16 characters without a space; give another"),
        (("<s>",), "'<s>' has a meaning of its own in every vocabulary; give another"),
        (("<0x0A>",), "'<0x0A>' has a meaning of its own in every vocabulary; give another"),
        (("a▁",), "'a▁' has a meaning of its own in every vocabulary; give another"),
        (("ab", "ab"), "'ab' is given twice; take one away"),
        (("<2de>", "x" * 16, "<", "▂"), None),
    ],
)
def test_symbols_that_cannot_be_are_named(kind: str, symbols: tuple[str, ...], message: str | None) -> None:
    config = config_of(kind, symbols=symbols, **({"path": "x"} if kind == "file" else {}))
    assert [tuple(conflict) for conflict in all_conflicts(config)] == ([("symbols", message)] if message else [])


def test_a_missing_or_damaged_model_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "source.model"
    with pytest.raises(CheckpointError, match=r"source.model cannot be read .*; run `nmtkit prepare`"):
        load_segmenter(path)
    model, own = learn("bpe"), learn("wordpiece")
    broken = [
        own[:-10],
        b"{}",
        b"[]",
        b'{"format": "nmtkit segmenter"}',
        own.replace(b'"version": 1', b'"version": []'),
    ]
    broken += [own.replace(b'"pieces": [', b'"pieces": [3, '), own.replace(b'"tags": []', b'"tags": 3')]
    for damaged in (b"", b"no model", model[:200], model[200:], model[:-10], *broken[:4], *broken[5:]):
        path.write_bytes(damaged)
        with pytest.raises(
            CheckpointError, match=r"source.model is damaged or not made by nmtkit; run `nmtkit prepare`"
        ):
            load_segmenter(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [(b'"wordpiece"', b'"morphemes"', "'morphemes', version 1"), (b'"version": 1', b'"version": 2', "version 2")],
)
def test_a_kind_or_version_of_the_future_is_refused(old: bytes, new: bytes, named: str) -> None:
    with pytest.raises(CheckpointError, match=rf"the vocabulary x.model is of kind .*{named}, which this nmtkit does"):
        open_segmenter(learn("wordpiece").replace(old, new), "x.model")


def test_our_own_model_file_can_be_read_by_people() -> None:
    first, *rest = learn("characters", tags=("news",), symbols=("<2de>",)).decode().split("\n")
    assert (first, rest[0], rest[2]) == ("{", '"format": "nmtkit segmenter",', '"kind": "characters",')
    assert '"news"' in rest
    assert '"ä",' in rest


@pytest.mark.parametrize("kind", ["characters", "bytes"])
def test_one_way_to_segment_is_no_sampling(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"train\.sampling: the vocabulary of this run segments a text in one way"):
        open_segmenter(learn(kind), "x").sampler(dropout=0.1, alpha=0.1)


def test_settings_import_no_sentencepiece() -> None:
    script = "import sys, nmtkit.corpus.settings; print({'sentencepiece', 'torch', 'sacremoses'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"set()\n"


def test_separate_kinds_differ() -> None:
    assert len({learn(kind) for kind in KINDS}) == len(KINDS)
    assert BpeConfig().aim == "a vocabulary of 37,000 pieces"
