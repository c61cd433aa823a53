import tomllib

import pytest

from nmtkit.config import Config, resolve
from nmtkit.errors import ConfigError
from nmtkit.schema import options

LANGUAGES = '[languages]\nsource = "en"\ntarget = "de"\n'
TRAIN = '[[corpus.train]]\nname = "t"\nsource = "a"\ntarget = "b"\n'


def problems(text, settings=()):
    with pytest.raises(ConfigError) as caught:
        resolve(tomllib.loads(text), "x.toml", settings)
    assert caught.value.exit_code == 2
    return caught.value.problems


def resolved(settings, text=LANGUAGES):
    return resolve(tomllib.loads(text), "x.toml", settings)


OVERRIDE_MISTAKES = {
    "no equals sign": (
        ["train.seed"],
        "--set train.seed: not of the form KEY=VALUE; write for example --set train.seed=3",
    ),
    "no key": (["=3"], "--set =3: not of the form KEY=VALUE; write for example --set train.seed=3"),
    "no dotted key": (
        ["train..seed=3"],
        "--set train..seed=3: not of the form KEY=VALUE; write for example --set train.seed=3",
    ),
    "unknown key": (["train.sed=3"], "--set train.sed=3: no such key in [train]; did you mean train.seed?"),
    "out of range": (["train.seed=-1"], "--set train.seed=-1: out of range; give an integer of at least 0"),
    "the last of two": (
        ["train.seed=-1", "train.seed=-2"],
        "--set train.seed=-2: out of range; give an integer of at least 0",
    ),
    "inside its value": (
        ["corpus.train=[{name='a', tsv='b', x=1}]"],
        "--set corpus.train=[{name='a', tsv='b', x=1}]: corpus.train[0].x = 1: no such key in [[corpus.train]]; "
        "the keys are name, source, target, tsv, columns, tmx, codes, tag, weight, filters",
    ),
    "in a table of its own": (
        ["trian.seed=1"],
        "--set trian.seed=1: trian: no such key; did you mean train?",
    ),
    "not a string": (
        ["corpus.folder=2024"],
        '--set corpus.folder=2024: not a string; put it in quotes: folder = "2024"',
    ),
    "no valid TOML": (
        ["corpus.train=[{name=a}]"],
        "--set corpus.train=[{name=a}]: not a list but text that is not valid TOML; "
        "check its brackets and quotes (a shell needs quotes around it all)",
    ),
    "through a value": (
        ["languages.source.x=3"],
        '--set languages.source.x=3: languages.source = "en" is not a table; set languages.source as a whole',
    ),
    "element of a table": (
        ["languages[0]=3"],
        '--set languages[0]=3: languages = { source = "en", target = "de" } is not a list; set languages as a whole',
    ),
    "element that is not there": (
        ["corpus.test=[]", "corpus.test[0].tsv=a"],
        "--set corpus.test[0].tsv=a: corpus.test has 0 elements, so there is no [0]; counting begins at 0",
    ),
    "element of a list that is not there": (
        ["corpus.test[0].tsv=a"],
        "--set corpus.test[0].tsv=a: there is no list corpus.test yet; set corpus.test as a whole",
    ),
    "conflict": (
        ["translate.search.n_best=9"],
        "--set translate.search.n_best=9: 9 is more than beam = 4; raise beam or lower n_best",
    ),
    "conflict inside its value": (
        ["translate.search={n_best=9}"],
        "--set translate.search={n_best=9}: translate.search.n_best = 9: 9 is more than beam = 4; "
        "raise beam or lower n_best",
    ),
    "long": (
        ["train.colour=" + "x" * 100],
        "--set train.colour=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: no such key in [train]; the keys are "
        + ", ".join(options(Config)["train"].sections[0].model_fields),
    ),
}


@pytest.mark.parametrize(("settings", "line"), OVERRIDE_MISTAKES.values(), ids=OVERRIDE_MISTAKES.keys())
def test_mistake_in_override(settings, line):
    assert problems(LANGUAGES, settings) == [line]


def test_values_are_toml_or_else_text():
    assert resolved(["languages.target=no"]).languages.target == "no"
    assert resolved(['languages.target="no"']).languages.target == "no"
    assert resolved(["languages.target=a=b"]).languages.target == "a=b"
    assert resolved(["corpus.folder="]).corpus.folder == ""
    assert resolved(["corpus.folder=1\nx = 2"]).corpus.folder == "1\nx = 2"
    assert resolved(["model.dropout=0"]).model.dropout == 0.0
    assert resolved(["train.tensorboard=true"]).train.tensorboard is True
    assert resolved([" train.seed = 5 "]).train.seed == 5


def test_overrides_reach_lists():
    config = resolved(["corpus.train=[{name='a', tsv='a'}, {name='b', tsv='b'}]", "corpus.train[1].tsv=c"])
    assert [files.tsv for files in config.corpus.train] == ["a", "c"]
    config = resolved(["prepare.filters=[]"])
    assert config.prepare.filters == ()


def test_overrides_leave_the_tables_alone():
    tables = tomllib.loads(LANGUAGES + TRAIN)
    before = repr(tables)
    resolve(tables, "x.toml", ["corpus.train[0].name=b", "languages.source=fr"])
    assert repr(tables) == before
