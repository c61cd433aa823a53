import tomllib
from typing import Any

import pytest
from toy.corpora import config_values

from nmtkit.config import Config, dump, resolve
from nmtkit.corpus.settings import CorpusConfig
from nmtkit.errors import ConfigError


def corpus(**changes: Any) -> Config:
    """Load a configuration with another corpus; `train` and `dev` are named and made two files where they are not."""
    return resolve(config_values({f"corpus.{key}": value for key, value in changes.items()}), "test.toml")


def train(**files: Any) -> Config:
    return corpus(train=[{"name": "toy", **files}])


TWO = {"source": "a.en", "target": "a.de"}


def test_all_there_is_to_say_of_a_corpus_survives_being_written() -> None:
    config = corpus(
        temperature=5.0,
        train=[
            {"name": "a", "source": ["a*.en", "b.en.zst"], "target": ["a*.de", "b.de.zst"], "tag": "news"},
            {"name": "b", "tsv": "b.tsv", "columns": ["en", "de"], "filters": [{"kind": "blank"}]},
            {"name": "c", "tsv": ["c.tsv"], "columns": [3, 1], "filters": []},
            {"name": "d", "tmx": "d.tmx", "codes": ["en-GB", "de"]},
            {"name": "e", "tmx": "-"},
        ],
    )
    assert resolve(tomllib.loads(dump(config)), "again") == config
    assert config.corpus.train[0].source == ("a*.en", "b.en.zst")
    assert config.corpus.train[1].source == ""
    assert [files.standard_inputs for files in config.corpus.train] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"source": 3, "target": "a"}, "source = 3: not a file name, nor a list of file names; give names in quotes"),
        ({"source": ["a", 3], "target": "a"}, r'source = \["a", 3\]: not a file name, nor a list'),
        ({"source": [""], "target": "a"}, r'source = \[""\]: not a file name'),
        ({"source": [], "target": "a"}, "source.*: source and target are needed both"),
        ({"source": "a"}, 'source = "a": source and target are needed both'),
        ({}, "source.*: source and target are needed both"),
        ({"tsv": "a", "tmx": "b"}, 'tsv = "a": given beside tmx; give either tsv, or tmx, or both'),
        ({"tmx": "a", **TWO}, 'tmx = "a": given beside source or target; give either'),
        ({"columns": [1, 2], **TWO}, r"columns = \[1, 2\]: goes with tsv only; remove it, or give the text as tsv"),
        ({"codes": ["en", "de"], "tsv": "a"}, "codes = .*: goes with tmx only; remove it"),
        ({"tmx": "a", "codes": ["en", "EN"]}, "codes = .*: source and target are the same language"),
        ({"tmx": "a", "codes": ["en"]}, r'codes = \["en"\]: not two language codes; give those of source and target'),
        ({"tmx": "a", "codes": "en"}, 'codes = "en": not two language codes'),
        *(
            (
                {"tsv": "a", "columns": columns},
                "columns = .*: not two columns; give two numbers, counted from 1, or two",
            )
            for columns in ([0, 1], [1], [1, 2, 3], [1, "de"], ["", "de"], "en", [True, 2], 2)
        ),
        ({"weight": 0, **TWO}, "weight = 0: out of range; give a number above 0"),
        ({"tag": "two words", **TWO}, 'tag = "two words": holds white space'),
        ({"filters": [{"kind": "nosuch"}], **TWO}, 'filters.*kind = "nosuch": no such kind'),
        ({"filters": {"kind": "blank"}, **TWO}, "filters.*: not a list"),
    ],
)
def test_mistakes_in_a_corpus_are_named(files: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=rf"corpus\.train\[0\]\.{said}"):
        train(**files)


def test_each_text_may_have_a_tag() -> None:
    tagged = [{"name": name, "tag": tag, **TWO} for name, tag in (("a", "news"), ("b", ""), ("c", "bt"), ("d", "news"))]
    held_out = {"dev": {"name": "dev", "tag": "bt", **TWO}, "test": [{"name": "test", "tag": "news", **TWO}]}
    config = corpus(train=tagged, **held_out)
    assert config.corpus.trained_tags == ("news", "bt")
    assert config.tags == {"corpus.dev.tag": "bt", "corpus.test[0].tag": "news", "translate.tag": ""}
    assert corpus(train=[{"name": "a", **TWO}], dev=None, test=None).tags == {"translate.tag": ""}
    for key, texts in (("dev", {"name": "x", **TWO}), ("test", [{"name": "x", **TWO}])):
        (texts if key == "dev" else texts[0])["tag"] = "b t"
        with pytest.raises(ConfigError, match=rf'corpus\.{key}.*\.tag = "b t": holds white space or .*; give one word'):
            corpus(**{key: texts})


def test_temperature_and_weights_are_two_ways_of_the_same() -> None:
    two = [{"name": "a", **TWO}, {"name": "b", "weight": 0.5, **TWO}]
    assert corpus(train=two).corpus.train[1].weight == 0.5
    with pytest.raises(
        ConfigError, match=r"corpus.temperature = 2.0: given beside train\[1\].weight; give one of them"
    ):
        corpus(train=two, temperature=2.0)
    with pytest.raises(ConfigError, match=r"corpus.temperature = 0.5: out of range; give a number of at least 1"):
        corpus(temperature=0.5)


def test_standard_input_can_be_one_training_corpus_alone() -> None:
    with pytest.raises(
        ConfigError, match=r"corpus.dev.*: standard input \(`-`\) can be read only once, this is read again"
    ):
        corpus(dev={"name": "dev", "tsv": "-"})
    with pytest.raises(ConfigError, match=r"corpus.test\[0\].*: standard input"):
        corpus(test=[{"name": "test", "source": "a", "target": ["-"]}])
    with pytest.raises(ConfigError, match=r"corpus.train\[1\].*: standard input \(`-`\) is named twice"):
        corpus(train=[{"name": "a", "tsv": "-"}, {"name": "b", "tmx": "-"}])
    with pytest.raises(ConfigError, match=r"corpus.train\[0\].*: standard input \(`-`\) is named twice"):
        train(source="-", target="-")
    assert CorpusConfig().temperature is None
