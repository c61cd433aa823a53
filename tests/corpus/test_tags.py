import pytest

from nmtkit.corpus.tags import check_tags, tag_conflicts, untagged
from nmtkit.errors import ConfigError
from nmtkit.section import Conflict


@pytest.mark.parametrize("tag", ["", "bt", "de-AT", "<2de>", "日本"])
def test_a_tag_is_a_word(tag: str) -> None:
    assert list(tag_conflicts(tag)) == []


@pytest.mark.parametrize("tag", [" ", "a b", " a", "a\u00a0b", "a\u200bb", "a\x07"])
def test_what_is_not_one_word_that_can_be_seen_is_no_tag(tag: str) -> None:
    assert list(tag_conflicts(tag)) == [Conflict("tag", "holds white space or what cannot be seen; give one word")]


def test_tags_that_training_had_not_are_all_named_with_those_there_are() -> None:
    check_tags({"a.tag": "", "b.tag": "wire", "c.tag": "bt"}, {"bt": 5, "wire": 4})
    check_tags({"a.tag": ""}, ())
    with pytest.raises(ConfigError) as raised:
        check_tags({"a.tag": "nws", "b.tag": "wire", "c.tag": "BT"}, {"bt": 5, "wire": 4})
    assert raised.value.problems == [
        'a.tag = "nws": no such tag; choose "bt" or "wire", or remove it',
        'c.tag = "BT": no such tag; choose "bt" or "wire", or remove it',
    ]
    none = (
        'a.tag = "bt": the vocabulary has no tags, which are those of training corpora; remove it, or train with tags'
    )
    with pytest.raises(ConfigError) as raised:
        check_tags({"a.tag": "bt"}, ())
    assert raised.value.problems == [none]


def test_text_without_a_tag_is_amiss_where_all_training_had_one() -> None:
    assert untagged("", ["bt", "wire", "bt"]) == (
        'has no tag, though every training corpus has one, so the model knows nothing like it; give "bt" or "wire"'
    )
    for asked, trained in (("bt", ["bt", "wire"]), ("", ["bt", ""]), ("", [""]), ("", [])):
        assert untagged(asked, trained) == ""
