import re
import tomllib

import pytest

from nmtkit.config import Config, resolve
from nmtkit.errors import ConfigError
from nmtkit.schema import options

LANGUAGES = '[languages]\nsource = "en"\ntarget = "de"\n'
TRAIN = '[[corpus.train]]\nname = "t"\nsource = "a"\ntarget = "b"\n'
ROOT_KEYS = "languages, corpus, prepare, model, train, translate, score"


def problems(text, settings=()):
    with pytest.raises(ConfigError) as caught:
        resolve(tomllib.loads(text), "x.toml", settings)
    assert caught.value.exit_code == 2
    return caught.value.problems


# Each mistake in a file, with the one line that it gives. LANGUAGES stands before the text.

FILE_MISTAKES = {
    "unknown key, one near": (
        "[train]\nsed = 3",
        "x.toml: train.sed = 3: no such key in [train]; did you mean train.seed?",
    ),
    "unknown key, none near": (
        "[train.validation]\ncolour = 'red'",
        'x.toml: train.validation.colour = "red": no such key in [train.validation]; the keys are every, translate',
    ),
    "unknown key, in another table": (
        "[model]\nlabel_smoothing = 0.1",
        "x.toml: model.label_smoothing = 0.1: no such key in [model]; did you mean train.label_smoothing?",
    ),
    "unknown key, one near and one in other tables": (
        "[translate]\nbeam = 4\nbatch_token = 1",
        "x.toml: translate.beam = 4: no such key in [translate]; did you mean translate.search.beam?",
        "x.toml: translate.batch_token = 1: no such key in [translate]; did you mean translate.batch_tokens?",
    ),
    "unknown key, near here and the same elsewhere": (
        "[train.batch]\nwidth = 1\n[train.checkpoints]\nkeep_last = 5\nbeta1 = 0.9\nepochs = 1\navarage = 1",
        "x.toml: train.batch.width = 1: no such key in [train.batch]; did you mean model.width?",
        "x.toml: train.checkpoints.beta1 = 0.9: no such key in [train.checkpoints]; "
        "did you mean train.optimizer.beta1?",
        "x.toml: train.checkpoints.epochs = 1: no such key in [train.checkpoints]; did you mean train.stop.epochs?",
        "x.toml: train.checkpoints.avarage = 1: no such key in [train.checkpoints]; "
        "did you mean train.checkpoints.average?",
    ),
    "unknown key, of another kind": (
        '[translate.search]\nkind = "greedy"\nbeam = 4',
        'x.toml: translate.search.beam = 4: no such key for kind "greedy", only for "beam"; change kind, '
        "remove it, or set translate.search as a whole",
    ),
    "unknown key, in a list": (
        TRAIN + 'sauce = "c"',
        'x.toml: corpus.train[0].sauce = "c": no such key in [[corpus.train]]; did you mean corpus.train[0].source?',
    ),
    "unknown table": (
        "[trian]\nseed = 1",
        "x.toml: trian: no such key; did you mean train?",
    ),
    "unknown table, none near": (
        "[colour]",
        f"x.toml: colour: no such key; the keys are {ROOT_KEYS}",
    ),
    "unknown kind": (
        '[train.schedule]\nkind = "noan"',
        'x.toml: train.schedule.kind = "noan": no such kind; did you mean "noam"? '
        'Or "inverse_sqrt", "constant", "linear" or "wsd"',
    ),
    "unknown kind, none near, in a list": (
        "[[prepare.normalizers]]\nkind = 3",
        'x.toml: prepare.normalizers[0].kind = 3: no such kind; choose "unicode", "invisible", "spaces", "whitespace", '
        '"moses_punctuation" or "moses_tokens"',
    ),
    "unknown kind, of one": (
        '[train.optimizer]\nkind = "sgd"',
        'x.toml: train.optimizer.kind = "sgd": no such kind; choose "adam"',
    ),
    "missing kind": (
        "[[prepare.filters]]\nmaximum = 3",
        'x.toml: prepare.filters[0].kind: missing; choose "blank", "length", "characters", "ratio", "same", "numbers", '
        '"urls", "script", "language", "overlap" or "duplicate"',
    ),
    "missing key": (
        '[train.schedule]\nkind = "linear"',
        "x.toml: train.schedule.decay_to: missing; add it to [train.schedule], an integer of at least 2",
    ),
    "missing key, in a list": (
        '[[corpus.test]]\nname = "a"\ntsv = "a"\n[[corpus.test]]\ntsv = "b"',
        "x.toml: corpus.test[1].name: missing; add it to [[corpus.test]], a string that is not empty",
    ),
    "not among the choices": (
        '[model]\npreset = "hug"\nnorm = "pots"',
        'x.toml: model.preset = "hug": not one of the choices; choose "tiny", "small", "base" or "big"',
        'x.toml: model.norm = "pots": not one of the choices; did you mean "post"? Or "pre"',
    ),
    "not an integer": (
        "[train]\nseed = true",
        "x.toml: train.seed = true: not an integer; give an integer of at least 0",
    ),
    "not an integer but a date": (
        "[train]\nseed = 2020-01-31",
        "x.toml: train.seed = 2020-01-31: not an integer; give an integer of at least 0",
    ),
    "not an integer but a string of one": (
        '[train]\nseed = "7"',
        'x.toml: train.seed = "7": not an integer but a string; give an integer of at least 0, without quotes',
    ),
    "not an integer but a round number": (
        "[train.stop]\nupdates = 1e5",
        "x.toml: train.stop.updates = 100000.0: not an integer; give an integer of at least 0, "
        "without point or exponent: updates = 100000",
    ),
    "not a number": (
        "[model]\ndropout = 'none'",
        'x.toml: model.dropout = "none": not a number; give a number of at least 0 and below 1',
    ),
    "not a finite number": (
        "[model]\ndropout = nan\n[train]\nclip_norm = inf",
        "x.toml: model.dropout = nan: not a finite number; give a number of at least 0 and below 1",
        "x.toml: train.clip_norm = inf: not a finite number; give a number of at least 0",
    ),
    "not a string": (
        "[corpus]\nfolder = 2024",
        'x.toml: corpus.folder = 2024: not a string; put it in quotes: folder = "2024"',
    ),
    "not a string but a date": (
        "[corpus]\nfolder = 2020-01-31",
        'x.toml: corpus.folder = 2020-01-31: not a string; put it in quotes: folder = "2020-01-31"',
    ),
    "not a string but a list": (
        "[corpus]\nfolder = ['a']",
        'x.toml: corpus.folder = ["a"]: not a string; give a string',
    ),
    "not true or false": (
        "[train]\ntensorboard = 1",
        "x.toml: train.tensorboard = 1: not true or false; give true or false",
    ),
    "not true or false but a string of it": (
        "[train]\ntensorboard = 'True'",
        'x.toml: train.tensorboard = "True": not true or false but a string; give true or false, without quotes',
    ),
    "not a table": (
        "model = 'tiny'",
        'x.toml: model = "tiny": not a table; begin it with [model]',
    ),
    "not a table of a kind": (
        "[translate]\nsearch = 'beam'",
        'x.toml: translate.search = "beam": not a table; begin it with [translate.search]',
    ),
    "not a table but a list": (
        '[[corpus.dev]]\nname = "d"\ntsv = "d"',
        'x.toml: corpus.dev = [{ name = "d", tsv = "d" }]: not a table but a list; '
        "begin it with [corpus.dev], in single brackets",
    ),
    "not a table, in a list": (
        "[corpus]\ntrain = ['a', 3]",
        'x.toml: corpus.train[0] = "a": not a table; give a table',
        "x.toml: corpus.train[1] = 3: not a table; give a table",
    ),
    "not a list": (
        "[prepare]\nfilters = 'blank'",
        'x.toml: prepare.filters = "blank": not a list; give a list of tables',
    ),
    "not a list but a table": (
        '[corpus.train]\nname = "t"\ntsv = "t"',
        'x.toml: corpus.train = { name = "t", tsv = "t" }: not a list; begin it with [[corpus.train]], in double '
        "brackets",
    ),
    "out of range": (
        "[train]\nlabel_smoothing = 1\ntimeout = 1e12\n[prepare.segmenter]\ncharacter_coverage = 0.5",
        "x.toml: prepare.segmenter.character_coverage = 0.5: out of range; give a number above 0.98 and at most 1",
        "x.toml: train.label_smoothing = 1: out of range; give a number of at least 0 and below 1",
        "x.toml: train.timeout = 1000000000000.0: out of range; give a number of at least 1 and at most 31536000",
    ),
    "out of range, in a kind in a list": (
        '[[prepare.filters]]\nkind = "blank"\n[[prepare.filters]]\nkind = "length"\nmaximum = 0',
        "x.toml: prepare.filters[1].maximum = 0: out of range; give an integer of at least 1",
    ),
    "out of range, where a key is named like the kind": (
        "[translate.search]\nkind = 'beam'\nbeam = 0",
        "x.toml: translate.search.beam = 0: out of range; give an integer of at least 1 and at most 1000",
    ),
    "empty string": (
        TRAIN.replace('"t"', '""'),
        'x.toml: corpus.train[0].name = "": empty; give a string that is not empty',
    ),
    "empty list": (
        "[score]\nmetrics = []",
        "x.toml: score.metrics = []: empty; give a list of tables of at least 1 element",
    ),
    "more than 64 bits": (
        "[train]\nseed = 9223372036854775808",
        "x.toml: train.seed = 9223372036854775808: does not fit in 64 bits; give a smaller number",
    ),
    "NUL": (
        '[[corpus.test]]\nname = "a"\ntsv = "b\\u0000"',
        'x.toml: corpus.test[0].tsv = "b\\u0000": holds a NUL character; remove it',
    ),
    "more pieces than any vocabulary has": (
        f"[prepare.segmenter]\nvocabulary_size = {2**40}",
        f"x.toml: prepare.segmenter.vocabulary_size = {2**40}: out of range; "
        "give an integer of at least 8 and at most 1000000",
    ),
    "more hexadecimal digits than Python writes as decimal ones": (
        f"[train]\nseed = 0x{'f' * 5_000}",
        f"x.toml: train.seed = 0x{'f' * 57}…: does not fit in 64 bits; give a smaller number",
    ),
    "long value of several lines": (
        "[model]\nnorm = 'post\\n' ".replace("'post\\n'", '"""post\n' + "x" * 100 + '"""'),
        'x.toml: model.norm = "post\\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: not one of the choices; '
        'choose "post" or "pre"',
    ),
}


@pytest.mark.parametrize("text_and_lines", FILE_MISTAKES.values(), ids=FILE_MISTAKES.keys())
def test_mistake_in_file(text_and_lines):
    text, *lines = text_and_lines
    # A bare key must stand before the first table.
    whole = f"{text}\n{LANGUAGES}" if text.startswith("model =") else LANGUAGES + text
    assert problems(whole) == lines


def test_no_words_of_pydantic():
    everything_wrong = {name: {inner: {"x": 1} for inner in options(option.sections[0])} | {"zz": 1}
                        for name, option in options(Config).items()}  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        resolve(everything_wrong, "x.toml")
    assert len(caught.value.problems) > 30
    for line in caught.value.problems:
        assert not re.search(
            r"pydantic|https?:|input|should be|tagged|discriminator|dict|tuple|validation error", line, re.I
        ), line
        assert "\n" not in line
