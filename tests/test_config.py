import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.config import Config, dump, load, load_run_config, resolve, run_of, to_compare, to_train, to_use
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.run_folder import RunFolder
from nmtkit.schema import options

LANGUAGES = '[languages]\nsource = "en"\ntarget = "de"\n'
TRAIN = '[[corpus.train]]\nname = "t"\nsource = "a"\ntarget = "b"\n'


def problems(text, settings=()):
    with pytest.raises(ConfigError) as caught:
        resolve(tomllib.loads(text), "x.toml", settings)
    assert caught.value.exit_code == 2
    return caught.value.problems


CONFLICTS = {
    "joint embeddings of separate vocabularies": (
        "[prepare.segmenter]\njoint = false",
        'x.toml: model.share_embeddings = "all" (the default): "all" needs a joint vocabulary; '
        'set prepare.segmenter.joint = true or share_embeddings = "target"',
    ),
    "one way to segment": (
        "[prepare.segmenter]\nkind = 'bytes'\n[train.sampling]\nsource = true",
        'x.toml: train.sampling: prepare.segmenter.kind = "bytes" segments a text in one way only; '
        'remove train.sampling, or choose "bpe", "unigram" or "wordpiece"',
    ),
    "symbols": (
        "[prepare.segmenter]\nkind = 'characters'\nsymbols = ['ab', 'a b']",
        'x.toml: prepare.segmenter.symbols = ["ab", "a b"]: \'a b\' is not 1 to 16 characters without a space; '
        "give another",
    ),
    "heads": (
        "[model]\nwidth = 10\nheads = 4",
        "x.toml: model.heads = 4: 4 heads do not divide width 10; choose a divisor",
    ),
    "pair longer than a tensor": (
        "[prepare]\nmax_pieces = 100\n[train.batch]\ntokens_per_tensor = 100",
        "x.toml: train.batch.tokens_per_tensor = 100: a sentence of prepare.max_pieces = 100 and its end mark do not "
        "fit; give at least 101, or lower prepare.max_pieces",
    ),
    "decay before the end": (
        "[train.schedule]\nkind = 'linear'\ndecay_to = 5000\n[train.stop]\nupdates = 6000",
        "x.toml: train.schedule.decay_to = 5000: the learning rate would be zero from there to "
        "train.stop.updates = 6000; make them equal",
    ),
    "decay before the peak": (
        "[train.schedule]\nkind = 'linear'\nwarmup = 5000\ndecay_to = 5000\n[train.stop]\nupdates = 5000",
        "x.toml: train.schedule.warmup = 5000: 5000 is not below decay_to = 5000; lower warmup",
    ),
    "more than the whole training": (
        "[train.schedule]\nkind = 'wsd'\nwarmup = 0.9",
        "x.toml: train.schedule.warmup = 0.9: with decay = 0.2 that is more than the whole training; lower one of them",
    ),
    "fitted to an end that nobody foresees": (
        "[corpus.dev]\nname = 'd'\ntsv = 'd'\n[train]\nschedule.kind = 'wsd'\nstop = {updates = 0, patience = 3}",
        'x.toml: train.schedule.kind = "wsd": is fitted to the end of training, which train.stop.patience alone does '
        "not foresee; set updates, epochs or minutes in train.stop too, or choose another schedule",
    ),
    "patience without development set": (
        "[train.stop]\npatience = 3",
        "x.toml: train.stop.patience = 3: needs a development set; add [corpus.dev], or set patience = 0",
    ),
    "patience without validation": (
        "[corpus.dev]\nname = 'd'\ntsv = 'd'\n[train.stop]\npatience = 3\n[train.validation]\nevery = 0",
        "x.toml: train.stop.patience = 3: needs validations; set train.validation.every, or patience = 0",
    ),
    "no limit": (
        "[train.stop]\nupdates = 0",
        "x.toml: train.stop.updates = 0: no limit is set, so training would never end; "
        "set one of the keys of train.stop",
    ),
    "tensor larger than an update": (
        "[train.batch]\ntokens_per_tensor = 5000\ntokens_per_update = 4000",
        "x.toml: train.batch.tokens_per_tensor = 5000: 5000 is more than tokens_per_update = 4000; "
        "lower the one or raise the other",
    ),
    "odd width": (
        "[model]\nwidth = 9\nheads = 3",
        "x.toml: model.width = 9: 9 is odd, but sinusoidal positions need pairs; choose an even width",
    ),
    "more than the learned positions": (
        "[model]\npositions = 'learned'\nmax_positions = 256\n[translate]\nmax_pieces = 255",
        "x.toml: prepare.max_pieces = 256 (the default): with an end mark that is more than the 256 positions of "
        "model.max_positions; lower it, or raise model.max_positions",
    ),
    "more than the learned positions, with a tag": (
        "[[corpus.train]]\nname = 'd'\ntsv = 'd'\ntag = 'x'\n[prepare]\nmax_pieces = 254\n"
        "[model]\npositions = 'learned'\nmax_positions = 256\n[translate]\nmax_pieces = 255",
        "x.toml: translate.max_pieces = 255: with an end mark and a tag that is more than the 256 positions of "
        "model.max_positions; lower it, or raise model.max_positions",
    ),
    "a text given twice": (
        "[corpus.dev]\nname = 'd'\ntsv = 'd'\nsource = 'e'",
        'x.toml: corpus.dev.tsv = "d": given beside source or target; give either tsv, or tmx, or both source '
        "and target",
    ),
    "names given twice": (
        "[corpus.dev]\nname = 'd'\ntsv = 'd'\n[[corpus.test]]\nname = 't'\ntsv = 't'\n"
        "[[corpus.test]]\nname = 'd'\ntsv = 'e'\n[[corpus.test]]\nname = 't'\ntsv = 'f'",
        'x.toml: corpus.test[1].name = "d": corpus.dev has this name already; names must differ',
        'x.toml: corpus.test[2].name = "t": corpus.test[0] has this name already; names must differ',
    ),
    "no checkpoint of this name": (
        "[translate]\ncheckpoint = 'newest'",
        'x.toml: translate.checkpoint = "newest": no such choice; '
        'choose "auto", "average", "best", "last" or an update\'s number',
    ),
    "in a list": (
        "[[corpus.test]]\nname = 'a'\ntsv = 'a'\n[[corpus.test]]\nname = 'b'\nsource = 'b'",
        'x.toml: corpus.test[1].source = "b": source and target are needed both (or tsv or tmx alone)',
    ),
    "several": (
        "[train.checkpoints]\nkeep_last = 3\n[translate.search]\nn_best = 5",
        "x.toml: train.checkpoints.average = 5 (the default): 5 is more than keep_last = 3; raise keep_last",
        "x.toml: translate.search.n_best = 5: 5 is more than beam = 4; raise beam or lower n_best",
    ),
}


@pytest.mark.parametrize("text_and_lines", CONFLICTS.values(), ids=CONFLICTS.keys())
def test_settings_that_cannot_go_together(text_and_lines):
    text, *lines = text_and_lines
    assert problems(LANGUAGES + text) == lines


def test_limits_that_just_fit():
    text = "[prepare]\nmax_pieces = 100\n[train.batch]\ntokens_per_tensor = 101\n"
    text += "[train.schedule]\nkind = 'linear'\nwarmup = 5999\ndecay_to = 6000\n[train.stop]\nupdates = 6000\n"
    resolve(tomllib.loads(LANGUAGES + text), "x.toml")


def test_all_mistakes_at_once_before_all_conflicts():
    text = LANGUAGES + "[train]\nsed = 1\n[train.checkpoints]\nkeep_last = 3\n[model]\npreset = 'x'"
    lines = problems(text, ["nothing", "model.heads=0", "languages.source.x=1"])
    assert [line.split(":")[0] for line in lines] == [
        "--set nothing",
        "--set languages.source.x=1",
        "x.toml",
        "--set model.heads=0",
        "x.toml",
    ]
    assert not any("keep_last" in line for line in lines)


# Precedence and overrides


def resolved(settings, text=LANGUAGES):
    return resolve(tomllib.loads(text), "x.toml", settings)


def test_defaults_then_file_then_overrides():
    text = LANGUAGES + "[train]\nseed = 2\nlog_every = 7\n"
    config = resolved(["train.seed=3", "train.seed=4"], text)
    assert (config.train.seed, config.train.log_every, config.train.clip_norm) == (4, 7, 0.0)


def test_a_table_without_kind_is_of_the_default_kind():
    config = resolved(["translate.search.beam=7", "train.schedule.warmup=9", "prepare.segmenter.vocabulary_size=99"])
    assert (config.translate.search.kind, config.translate.search.beam) == ("beam", 7)
    assert (config.train.schedule.kind, config.train.schedule.warmup) == ("noam", 9)
    assert (config.prepare.segmenter.kind, config.prepare.segmenter.vocabulary_size) == ("bpe", 99)


@pytest.mark.parametrize(
    ("text", "settings", "kind"),
    [
        ("", [], "noam"),
        ("", ["train.stop.minutes=20"], "wsd"),
        ("[train.stop]\nminutes = 20.5", [], "wsd"),
        ("", ["train.stop.minutes=0"], "noam"),
        ("[train]\nschedule.kind = 'constant'", ["train.stop.minutes=20"], "constant"),
        ("", ["train.stop.minutes=20", "train.schedule.warmup=9"], "noam"),
    ],
)
def test_training_by_the_clock_follows_the_schedule_fitted_to_it_where_none_is_named(text, settings, kind):
    config = resolved(settings, LANGUAGES + text)
    assert config.train.schedule.kind == kind
    assert resolve(tomllib.loads(dump(config)), "x.toml") == config


def test_an_integer_is_a_number():
    assert resolved(["train.clip_norm=1"]).train.clip_norm == 1.0


# Writing


RICH = """
[corpus]
folder = "/data/größe \\u0001 \\"x\\""
train = [{name = "a", source = "a.en", target = "a.de"}, {name = "b", tsv = "b.tsv.gz"}]
dev = {name = "dev", tsv = "dev"}
[prepare]
normalizers = [{kind = "moses_punctuation"}, {kind = "unicode", form = "NFKC"}]
filters = []
segmenter = {kind = "unigram", joint = false}
[model]
preset = "tiny"
width = 64
share_embeddings = "none"
[train]
schedule = {kind = "linear", decay_to = 100000, peak = 1e-7}
stop = {patience = 3, minutes = 0.1}
[translate]
search = {kind = "greedy"}
[score]
metrics = [{kind = "chrf"}]
"""


@pytest.mark.parametrize("text", ["", RICH, TRAIN], ids=["defaults", "rich", "train"])
def test_dump_loads_back(tmp_path, text):
    config = resolved([], LANGUAGES + text)
    path = tmp_path / "config.toml"
    path.write_text(dump(config), encoding="utf-8")
    assert load(path) == config


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    lambda text: text != "-"  # standard input, which no test set can be
)


@given(
    texts=st.lists(texts, min_size=4, max_size=4),
    counts=st.lists(st.integers(1, 2**63 - 1), min_size=3, max_size=3),
    number=st.floats(0, allow_nan=False, allow_infinity=False),
    share=st.floats(0, 1, exclude_max=True),
    flag=st.booleans(),
)
def test_dump_loads_back_whatever_the_values(texts, counts, number, share, flag):
    tables = {
        "languages": {"source": texts[0], "target": texts[1]},
        "corpus": {"folder": texts[2], "test": [{"name": texts[3], "tsv": texts[3]}]},
        "model": {"dropout": share},
        "train": {"seed": counts[0], "clip_norm": number, "tensorboard": flag, "stop": {"updates": counts[1]}},
        "translate": {"checkpoint": str(counts[0]), "batch_tokens": counts[2]},
    }
    config = resolve(tables, "x")
    assert resolve(tomllib.loads(dump(config)), "x") == config


def test_dump_names_every_key_and_kind_first():
    written = tomllib.loads(dump(resolved([], LANGUAGES + RICH)))
    config = resolved([], LANGUAGES + RICH)
    assert list(written["train"]["schedule"]) == list(options(type(config.train.schedule)))
    assert next(iter(written["train"]["schedule"])) == "kind"
    tables = [(written, Config)]
    while tables:
        table, section = tables.pop()
        for name, option in options(section).items():
            assert name in table or option.default is None
            if option.type == "table" and len(option.sections) == 1 and name in table:
                tables.append((table[name], option.sections[0]))


# Which settings a command uses


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a config file, a run beside it and a run elsewhere, of different seeds and widths."""
    monkeypatch.chdir(tmp_path)
    for path, seed, width in (
        ("nmtkit.toml", 1, 16),
        ("run/config.toml", 2, 32),
        ("elsewhere/config.toml", 3, 64),
        ("other/x.toml", 4, 128),
        ("other/run/config.toml", 5, 256),
    ):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{LANGUAGES}[train]\nseed = {seed}\n[model]\nwidth = {width}\nheads = 2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "run", "seed", "width", "base", "used"),
    [
        (None, None, 1, 32, ".", "run"),
        (None, "elsewhere", 3, 64, "elsewhere", "elsewhere"),
        ("other/x.toml", None, 4, 256, "other", "other/run"),
        ("other/x.toml", "elsewhere", 4, 64, "other", "elsewhere"),
        ("run/config.toml", "run", 2, 32, "run", "run"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_translate_and_score_take_their_settings(file, run, seed, width, base, used):
    place = to_use(file and Path(file), run and Path(run))
    assert (place.config.train.seed, place.config.model.width) == (seed, width)
    assert (place.base, place.run.path) == (Path(base), Path(used))
    place = to_use(file and Path(file), run and Path(run), ["train.seed=9"])
    assert (place.config.train.seed, place.config.model.width) == (9, width)


def test_prepare_and_train_take_their_settings(folder):
    place = to_train(None, None, ["train.seed=9"])
    assert (place.config.train.seed, place.config.model.width) == (9, 16)
    assert (place.base, place.run.path) == (Path(), Path("run"))
    place = to_train(folder / "other" / "x.toml", folder / "elsewhere")
    assert (place.config.train.seed, place.base, place.run.path) == (4, folder / "other", folder / "elsewhere")
    assert to_train(folder / "other" / "x.toml", None).run.path == folder / "other" / "run"


def test_what_no_log_and_no_settings_could_hold_is_refused(folder):
    strange = os.fsdecode(b"r\xff")
    for command in (to_train, to_use):
        with pytest.raises(ConfigError, match=r"^r\\udcff: holds bytes that are not UTF-8; rename the folder$"):
            command(None, Path(strange))
    (folder / strange).mkdir()
    (folder / "nmtkit.toml").rename(folder / strange / "nmtkit.toml")
    with pytest.raises(ConfigError, match=r"r\\udcff/nmtkit.toml: holds bytes that are not UTF-8; rename the folder$"):
        to_train(Path(strange, "nmtkit.toml"), Path("run"))
    assert problems(LANGUAGES, [f"corpus.folder={strange}"]) == [
        r"--set corpus.folder=r\udcff: holds bytes that are not UTF-8; write it, or name the file, anew"
    ]


@pytest.mark.usefixtures("folder")
def test_a_config_file_that_is_not_there_names_no_run():
    with pytest.raises(ConfigError, match=r"^absent.toml: no such file; write one with `nmtkit init` or name yours"):
        run_of(Path("absent.toml"), None)


def test_what_training_fixed_cannot_be_set(folder):
    with pytest.raises(ConfigError) as caught:
        to_use(None, None, ["model.width=8", "train.seed=3", "languages.source=fr"])
    assert caught.value.problems == [
        "--set model.width=8: fixed by the training of run; remove it, or train another run with it",
        "--set languages.source=fr: fixed by the training of run; remove it, or train another run with it",
    ]


def test_settings_of_now_have_to_fit_what_was_trained(folder):
    learned = "positions = 'learned'\nmax_positions = 128\n[prepare]\nmax_pieces = 100\n[translate]\nmax_pieces = 100\n"
    (folder / "run" / "config.toml").write_text(f"{LANGUAGES}[model]\nwidth = 32\nheads = 2\n{learned}")
    with pytest.raises(ConfigError) as caught:
        to_use(None, None)
    (problem,) = caught.value.problems
    assert problem.startswith("translate.max_pieces: with an end mark that is more than the 128 positions of model.")
    assert to_use(None, None, ["translate.max_pieces=90"]).config.translate.max_pieces == 90


def test_where_nothing_was_trained(folder):
    (folder / "run" / "config.toml").unlink()
    with pytest.raises(
        CheckpointError, match=r"^run: no run folder, it has no config\.toml; give the folder nmtkit train"
    ):
        to_use(None, None)
    with pytest.raises(CheckpointError, match=r"^absent: no such folder; give the folder that nmtkit train wrote"):
        to_use(None, Path("absent"))
    assert load_run_config(RunFolder(folder / "elsewhere")).train.seed == 3


def test_scoring_files_needs_no_config(folder):
    assert to_compare(None, None).train.seed == 1
    assert to_compare(None, folder / "elsewhere").train.seed == 3
    assert to_compare(folder / "other" / "x.toml", None).train.seed == 4
    (folder / "nmtkit.toml").unlink()
    config = to_compare(None, None, ["languages.target=ja"])
    assert (config.languages.target, config.score.metrics[0].kind) == ("ja", "bleu")
    with pytest.raises(ConfigError, match=r"^--set score.metrics=\[\]: empty; give a list of tables"):
        to_compare(None, None, ["score.metrics=[]"])
