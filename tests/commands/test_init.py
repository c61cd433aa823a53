import pytest

from nmtkit.commands.init import SAMPLE_SEED, STARTS, init, init_sample
from nmtkit.config import load
from nmtkit.errors import ConfigError
from nmtkit.log import Log
from nmtkit.models.transformer.settings import PRESETS


@pytest.fixture
def _drawn(sample, monkeypatch):
    """Spare the seconds that it takes to draw the sample corpus."""
    monkeypatch.setattr("nmtkit.commands.init.generate", {SAMPLE_SEED: sample}.__getitem__)


def test_every_preset_has_a_start():
    assert list(STARTS) == list(PRESETS)


@pytest.mark.parametrize("preset", STARTS)
def test_file_loads_and_is_short(tmp_path, preset):
    init(tmp_path / "new" / "folder", Log(), source="en", target="de", preset=preset)
    path = tmp_path / "new" / "folder" / "nmtkit.toml"
    config = load(path)
    assert (config.languages.source, config.languages.target) == ("en", "de")
    assert config.model.preset == preset
    assert config.model.width == PRESETS[preset]["width"]
    assert [config.corpus.train[0].source, config.corpus.dev.target] == ["train.en", "dev.de"]
    assert config.corpus.test[0].source == "test.en"
    assert config.train.checkpoints.keep_last == config.train.checkpoints.average
    assert 30 <= path.read_text(encoding="utf-8").count("\n") <= 45


def test_the_paper_s_numbers(tmp_path):
    for preset, updates, average in (("base", 100_000, 5), ("big", 300_000, 20)):
        init(tmp_path / preset, Log(), source="en", target="de", preset=preset)
        config = load(tmp_path / preset / "nmtkit.toml")
        assert (config.train.stop.updates, config.train.checkpoints.average) == (updates, average)
        assert (config.train.schedule.kind, config.train.schedule.warmup) == ("noam", 4_000)
        assert config.prepare.segmenter.vocabulary_size == 37_000
        assert config.train.batch.tokens_per_update == 25_000


def test_never_overwrites(tmp_path):
    path = tmp_path / "nmtkit.toml"
    path.write_text("mine")
    with pytest.raises(ConfigError, match=r"nmtkit\.toml: exists already, with other content; remove it, or"):
        init(tmp_path, Log(), source="en", target="de", preset="tiny")
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("source", "preset", "message"),
    [
        ("en", "huge", "--preset huge: no such preset; choose tiny, small, base, big"),
        (" ", "tiny", '--source " ": no language; give a code such as en'),
    ],
)
def test_mistakes_write_nothing(tmp_path, source, preset, message):
    with pytest.raises(ConfigError) as caught:
        init(tmp_path / "x", Log(), source=source, target="de", preset=preset)
    assert caught.value.problems == [message]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ('q"\\', "{x}"), ("zh", "größe")])
def test_any_language_code(tmp_path, source, target):
    init(tmp_path, Log(), source=source, target=target, preset="tiny")
    config = load(tmp_path / "nmtkit.toml")
    assert (config.languages.source, config.languages.target) == (source, target)
    assert config.corpus.dev.source != config.corpus.dev.target


@pytest.mark.usefixtures("_drawn")
def test_sample(tmp_path, capsys):
    init_sample(tmp_path / "new", Log())
    config = load(tmp_path / "new" / "nmtkit.toml")
    assert (config.languages.source, config.languages.target) == ("en", "de")
    assert (config.model.preset, config.model.norm) == ("tiny", "pre")
    lines = {path.name: path.read_bytes().count(b"\n") for path in (tmp_path / "new" / "data").iterdir()}
    assert lines == {
        **{"train.en": 26_000, "train.de": 26_000, "dev.en": 500, "dev.de": 500},
        **{"test.en": 1_000, "test.de": 1_000, "test.labels": 1_000},
    }
    for files in (*config.corpus.train, config.corpus.dev, *config.corpus.test):
        assert {files.source, files.target} <= set(lines)
    said = capsys.readouterr()
    assert said.out == ""
    assert "26,000 pairs of train, 500 pairs of dev, 1,000 pairs of test. Then:" in said.err


@pytest.mark.usefixtures("_drawn")
@pytest.mark.parametrize("name", ["nmtkit.toml", "data/dev.de", "data/test.labels"])
def test_sample_never_overwrites(tmp_path, name):
    (tmp_path / "data").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=rf"{name}: exists already, with other content; remove it, or"):
        init_sample(tmp_path, Log())
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [name.rpartition("/")[2]]


@pytest.mark.usefixtures("_drawn")
def test_called_again_writes_only_what_is_missing(tmp_path):
    init_sample(tmp_path, Log())
    (tmp_path / "data" / "train.de").unlink()
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    init_sample(tmp_path, Log())
    assert (tmp_path / "data" / "train.de").exists()
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_says_what_next_on_stderr(tmp_path, capsys):
    init(tmp_path / "a b", Log(), source="en", target="de", preset="tiny")
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.split("\n")
    assert lines[0].startswith(f"Wrote {tmp_path / 'a b' / 'nmtkit.toml'}. Put your files where")
    assert lines[1:4] == [
        f"  nmtkit {command} --config '{tmp_path}/a b/nmtkit.toml'" for command in ("prepare", "train", "score")
    ]


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file: not a folder; choose another one"):
        init(tmp_path / "file", Log(), source="en", target="de", preset="tiny")
