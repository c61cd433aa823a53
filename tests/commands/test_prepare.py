import gzip
import json
import random
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from toy.corpora import config_toml, count_sentences, sentence_pair, write_lines, write_project

from nmtkit.commands.batches import open_batches
from nmtkit.commands.prepare import prepare
from nmtkit.commands.prepare_inputs import check_settings
from nmtkit.config import Config, load
from nmtkit.corpus.segmenters import load_segmenter
from nmtkit.data.manifest import load_manifest, prepared
from nmtkit.data.store import PairStore
from nmtkit.errors import CheckpointError, ConfigError, DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.run_lock import RunLock

ALL = ("text", "vocabulary", "train", "dev", "plan")


class Project:
    """A toy corpus, its configuration and a run folder."""

    def __init__(self, folder: Path, overrides: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.overrides = dict(overrides or {})
        self.run = RunFolder(folder / "run")
        write_project(folder, self.overrides)

    def config(self, **changes: Any) -> Config:
        """Load the configuration with some keys changed from now on; a double underscore stands for a dot."""
        self.overrides.update({key.replace("__", "."): value for key, value in changes.items()})
        return load(self._write_config())

    def _write_config(self) -> Path:
        path = self.folder / "nmtkit.toml"
        path.write_bytes(config_toml(self.overrides).encode())
        return path

    def prepare(self, **changes: Any) -> tuple[str, ...]:
        return prepare(self.config(**changes), self.folder, self.run, Log())

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.run.report.read_bytes())
        return report

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.run.data.iterdir())}

    def append(self, source: bytes, target: bytes, name: str = "train") -> None:
        for suffix, content in (("en", source), ("de", target)):
            with (self.folder / f"{name}.{suffix}").open("ab") as stream:
                stream.write(content)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def add_checkpoint(run: RunFolder) -> None:
    folder = run.checkpoints / "00000008"
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").write_bytes(b"weights")


def test_from_raw_text_to_ids_and_back(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert project.prepare() == ALL
    segmenter = load_segmenter(project.run.source_segmenter)
    assert segmenter.size == 120
    assert project.run.target_segmenter.read_bytes() == project.run.source_segmenter.read_bytes()
    for split, size in (("train", 200), ("dev", 20)):
        store = PairStore.open(project.run.data, split)
        assert len(store) == size
        for side, sentences in (("en", store.source), ("de", store.target)):
            lines = (project.folder / f"{split}.{side}").read_text(encoding="utf-8").split("\n")[:-1]
            assert segmenter.decode([sentences[place] for place in range(size)]) == lines
    out, err = capfd.readouterr()
    assert out == ""
    assert "200 │ read" in err
    assert "200 │ kept" in err
    assert "vocabulary: joint, bpe, 120 pieces, fingerprint" in err
    assert "dev: every line survives segmenting" in err


def test_again_with_nothing_changed_does_nothing_and_says_so(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    project.prepare()
    times = {path: path.stat().st_mtime_ns for path in project.run.data.iterdir()}
    capfd.readouterr()
    assert project.prepare() == ()
    assert {path: path.stat().st_mtime_ns for path in project.run.data.iterdir()} == times
    assert capfd.readouterr() == ("", f"{project.run.data} is up to date: nothing to prepare\n")


def test_same_input_same_bytes_wherever_it_lies(tmp_path: Path) -> None:
    first, second = Project(tmp_path / "a"), Project(tmp_path / "elsewhere" / "b")
    first.prepare()
    second.prepare()
    assert first.files() == second.files()


def test_gzip_and_tsv_give_the_same_ids_as_two_plain_files(tmp_path: Path) -> None:
    plain = Project(tmp_path / "plain")
    plain.prepare()
    packed = Project(tmp_path / "packed")
    for path in [*packed.folder.glob("*.en"), *packed.folder.glob("*.de")]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    columns = [(packed.folder / f"train.{side}").read_bytes().split(b"\n")[:-1] for side in ("en", "de")]
    rows = [b"\t".join(row) + b"\r\n" for row in zip(*columns, strict=True)]
    (packed.folder / "train.tsv").write_bytes(b"\xef\xbb\xbf" + b"".join(rows))
    packed.prepare(
        corpus__train=[{"name": "toy", "tsv": "train.tsv"}],
        corpus__dev={"name": "dev", "source": "dev.en.gz", "target": "dev.de.gz"},
    )
    for name, content in plain.files().items():
        if name.endswith((".bin", ".model")):
            assert packed.files()[name] == content, name


def test_separate_vocabularies(project: Project) -> None:
    assert project.prepare(
        prepare__segmenter={"joint": False, "vocabulary_size": 70, "byte_fallback": False},
        model__share_embeddings="target",
    )
    source, target = load_segmenter(project.run.source_segmenter), load_segmenter(project.run.target_segmenter)
    assert source.fingerprint != target.fingerprint
    store = PairStore.open(project.run.data, "train")
    assert source.decode([store.source[0]])[0] == (project.folder / "train.en").read_text().split("\n")[0]
    assert target.decode([store.target[0]])[0] == (project.folder / "train.de").read_text("utf-8").split("\n")[0]
    assert project.report()["vocabulary"]["target"]["fingerprint"] == target.fingerprint


def test_the_vocabulary_is_learned_from_a_sample(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    segmenter = {"vocabulary_size": 100, "byte_fallback": False, "sample_size": 120}
    project.prepare(prepare__segmenter=segmenter)
    assert project.report()["vocabulary"]["source"]["lines"] == 120
    assert "learning a vocabulary of 100 pieces from 120 lines" in capfd.readouterr().err


# Only what changed is done again, and is named.


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "batch": ({"train__batch": {"tokens_per_update": 500, "tokens_per_tensor": 100}}, ("plan",), "train.batch."),
    "seed": ({"train__seed": 2}, ("plan",), "train.seed: 1 -> 2"),
    "max_pieces": ({"prepare__max_pieces": 20}, ("train", "dev", "plan"), "prepare.max_pieces: 64 -> 20"),
    "segmenter": (
        {"prepare__segmenter": {"vocabulary_size": 110, "byte_fallback": False}},
        ("vocabulary", "train", "dev", "plan"),
        "prepare.segmenter.vocabulary_size: 120 -> 110",
    ),
    "filter without effect": (
        {"prepare__filters": [{"kind": "blank"}, {"kind": "length", "maximum": 99}]},
        ("text", "train", "plan"),
        "prepare.filters: blank, length, ratio, overlap, duplicate -> blank, length",
    ),
    "filter with effect": (
        {"prepare__filters": [{"kind": "length", "maximum": 7}]},
        ("text", "vocabulary", "train", "dev", "plan"),
        "prepare.filters.length.maximum: 250 -> 7",
    ),
    "no dev": ({"corpus__dev": None, "prepare__filters": []}, ("text", "train", "plan"), "corpus dev, source: gone"),
    "model": ({"model__dropout": 0.3}, (), "up to date"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_only_what_depends_on_a_change_is_done(project: Project, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    change, done, said = CHANGES[name]
    project.prepare()
    before = project.files()
    capfd.readouterr()
    assert project.prepare(**change) == done
    assert said in capfd.readouterr().err
    after = project.files()
    unchanged = {"vocabulary": "source.model", "train": "train.source.ids.bin", "plan": "manifest.json"}
    for stage, file in unchanged.items():
        if stage not in done:
            assert after[file] == before[file]
    assert project.prepare() == ()


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_leads_to_the_same_files_as_starting_with_it(tmp_path: Path, name: str) -> None:
    changed, fresh = Project(tmp_path / "changed"), Project(tmp_path / "fresh")
    changed.prepare()
    changed.prepare(**CHANGES[name][0])
    fresh.prepare(**CHANGES[name][0])
    assert changed.files() == fresh.files()


def test_a_changed_file_is_named_with_its_sizes(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.prepare()
    size = (project.folder / "train.en").stat().st_size
    project.append(b"the green bird sings .\n", "der gr\u00fcne vogel singt .\n".encode())
    capfd.readouterr()
    assert project.prepare() == ALL
    said = capfd.readouterr().err
    assert "changed since the last preparation:" in said
    assert f"corpus toy, source: train.en, {size} bytes, sha256 " in said
    assert f"-> train.en, {size + 23} bytes, sha256 " in said
    assert len(PairStore.open(project.run.data, "train")) == 201


def test_a_new_test_set_alone_keeps_the_vocabulary(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.prepare(corpus__test=None)
    assert project.prepare(corpus__test=[{"name": "test", "source": "test.en", "target": "test.de"}]) == (
        "text",
        "train",
        "plan",
    )
    assert "corpus test, source: new, test.en" in capfd.readouterr().err


def test_further_references_of_a_test_set_are_kept_out_of_training(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    def dropped() -> int:
        (corpus,) = project.report()["corpora"]
        count: int = corpus["drops"]["overlap"]["count"]
        return count

    two = [{"name": "test", "source": "test.en", "target": "test.de", "more_references": ["other.de"]}]
    with pytest.raises(DataError, match=r"corpus 'test': .*other\.de does not exist"):
        project.prepare(corpus__test=two)
    references = (project.folder / "test.de").read_text().splitlines()
    write_lines(project.folder / "other.de", references)
    project.prepare()
    before = dropped()
    known = (project.folder / "train.de").read_text().splitlines()[7]
    write_lines(project.folder / "other.de", [known, *references[1:]])
    assert project.prepare()[0] == "text"
    assert "corpus test, more_references 1: other.de, " in capfd.readouterr().err
    assert dropped() > before
    write_lines(project.folder / "other.de", references[1:])
    with pytest.raises(DataError, match=r"other\.de has \d+ lines but test has \d+ pairs"):
        project.prepare()


def test_a_renamed_corpus_changes_nothing_but_its_name(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.prepare()
    before, fingerprint = project.files(), prepared(project.run).fingerprint
    file = project.folder / "nmtkit.toml"
    renamed = file.read_text().replace('name = "toy"', 'name = "captions"')
    assert renamed != file.read_text()
    file.write_text(renamed)
    capfd.readouterr()
    assert prepare(load(file), project.folder, project.run, Log()) == ()
    assert "corpus captions, source: new" in capfd.readouterr().err
    assert prepared(project.run).fingerprint == fingerprint
    assert {name: content for name, content in project.files().items() if name != "manifest.json"} == {
        name: content for name, content in before.items() if name != "manifest.json"
    }
    assert [corpus["name"] for corpus in project.report()["corpora"]] == ["captions"]
    assert prepare(load(file, ["train.seed=9"]), project.folder, project.run, Log()) == ("plan",)


def test_one_vocabulary_given_for_both_sides(project: Project) -> None:
    project.prepare()
    given = {"kind": "file", "path": "given.model", "target_path": "given.model"}
    other = Project(project.folder / "other", {"prepare.segmenter": given, "model.share_embeddings": "none"})
    (other.folder / "given.model").write_bytes(project.run.source_segmenter.read_bytes())
    assert other.prepare() == ALL
    assert len(other.report()["train"]["coverage"]) == 2


def test_settings_of_single_corpora_are_named_where_they_changed(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    project.prepare()
    files = {"name": "train", "source": "train.en", "target": "train.de"}
    filtered = {**files, "filters": [{"kind": "length", "maximum": 9}], "weight": 2.0}
    config = project.config(corpus__train=[filtered])
    with pytest.raises(DataError, match=r"prepared with other settings:\n  corpus\.train\[0\]\.filters: new, length"):
        check_settings(config, project.run, prepared(project.run))
    capfd.readouterr()
    assert "text" in project.prepare()
    said = capfd.readouterr().err
    assert "corpus.train[0].filters.length.maximum: new, 9" in said
    assert "weight of corpus.train[0]: new, 2.0" in said
    check_settings(project.config(corpus__train=[{**filtered, "weight": 3.0}]), project.run, prepared(project.run))


def test_where_corpora_end_is_part_of_the_fingerprint(project: Project) -> None:
    lines = [(project.folder / f"train.{side}").read_text().split("\n")[:-1] for side in ("en", "de")]
    fingerprints = []
    for border in (10, 20):
        for side, own in zip(("en", "de"), lines, strict=True):
            write_lines(project.folder / f"one.{side}", own[:border])
            write_lines(project.folder / f"two.{side}", own[border:])
        corpora = [{"name": name, "source": f"{name}.en", "target": f"{name}.de"} for name in ("one", "two")]
        project.prepare(corpus__train=corpora)
        fingerprints.append(prepared(project.run).stages["train"].digest)
    assert fingerprints[0] != fingerprints[1]


def test_a_renamed_file_changes_nothing_but_its_name(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.prepare()
    fingerprint = load_manifest(project.run.manifest).fingerprint
    (project.folder / "train.en").rename(project.folder / "new.en")
    capfd.readouterr()
    assert project.prepare(corpus__train=[{"name": "toy", "source": "new.en", "target": "train.de"}]) == ()
    said = capfd.readouterr().err
    assert "train.en, " in said
    assert "-> new.en, " in said
    assert "nothing to prepare" in said
    assert prepared(project.run).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("file", "done"),
    [
        ("source.model", ("vocabulary", "train", "dev", "plan")),
        ("train.target.ids.bin", ("train", "plan")),
        ("dev.source.offsets.bin", ("dev",)),
        ("manifest.json", ALL),
    ],
)
@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_lost_or_damaged_files_are_made_again(project: Project, file: str, done: tuple[str, ...], damage: str) -> None:
    project.prepare()
    before = project.files()
    path = project.run.data / file
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5])
    redone = project.prepare()
    assert set(redone) <= set(done)
    assert redone[:1] == done[:1]
    assert project.files() == before


def test_a_lost_report_is_written_again(project: Project) -> None:
    project.prepare()
    before = project.files()
    project.run.report.unlink()
    assert project.prepare() == ()
    assert project.files() == before
    assert project.prepare() == ()


# Interrupted at any moment, the next call just works.


class Killed(BaseException):
    """The process ends here, whatever it still wanted to do."""


def kill_at_rename(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """End the process before (even) or after (odd) a file gets its name; from then on nothing is cleaned up."""
    renames = [0]
    dead = []
    replace, unlink = Path.replace, Path.unlink

    def counted(self: Path, target: Path) -> Path:
        renames[0] += 1
        if renames[0] != number // 2 + 1:
            return replace(self, target)
        if number % 2:
            replace(self, target)
        dead.append(True)
        raise Killed

    monkeypatch.setattr(Path, "replace", counted)
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: dead or unlink(self, missing_ok=missing_ok))


CHANGE: dict[str, Any] = {
    "prepare__filters": [{"kind": "length", "maximum": 8}],
    "prepare__segmenter": {"vocabulary_size": 90, "byte_fallback": False},
    "prepare__max_pieces": 40,
}
"""Touches every stage."""


@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.full)])
def test_interrupted_anywhere_equals_not_interrupted(
    tmp_path: Path, anew: bool, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, straight = Project(tmp_path / "before"), Project(tmp_path / "straight")
    before.prepare()
    straight.prepare(**CHANGE)
    interrupted = 0
    for number in range(0, 200, step):
        on, back = Project(tmp_path / f"{number}"), Project(tmp_path / f"{number}-back")
        for project in (on, back):
            if not anew:
                project.prepare()
            with monkeypatch.context() as patch:
                kill_at_rename(patch, number)
                try:
                    project.prepare(**CHANGE)
                except Killed:
                    interrupted += 1
                else:
                    assert interrupted > 40 // step
                    return
        on.prepare()
        assert on.files() == straight.files()
        back.overrides = {}
        back.prepare()
        assert {name: content for name, content in back.files().items() if ".tmp" not in name} == before.files()


def test_a_failure_leaves_what_the_next_call_goes_on_with(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="too large"):
        project.prepare(prepare__segmenter={"vocabulary_size": 5_000, "byte_fallback": False})
    assert sorted(path.name for path in project.run.data.iterdir()) == [".unfinished", "manifest.json"]
    assert not load_manifest(project.run.manifest).fingerprint
    monkeypatch.setattr("nmtkit.corpus.cleaning.append_block", lambda *_: pytest.fail("cleaned again"))
    project.overrides = {}
    project.prepare()
    assert not (project.run.data / ".unfinished").exists()


def test_two_at_once_are_kept_apart(project: Project) -> None:
    project.run.path.mkdir()
    with RunLock(project.run.lock), pytest.raises(CheckpointError, match="is at work in this folder"):
        project.prepare()


# Trained weights keep their vocabulary.


def test_a_vocabulary_that_weights_were_trained_with_is_not_changed_by_settings(project: Project) -> None:
    project.prepare()
    add_checkpoint(project.run)
    before = project.files()
    with pytest.raises(CheckpointError) as raised:
        project.prepare(prepare__segmenter={"vocabulary_size": 110, "byte_fallback": False})
    assert str(raised.value) == (
        f"{project.run.checkpoints} holds weights trained with the vocabulary in {project.run.data}, which would "
        "change (prepare.segmenter.vocabulary_size: 120 -> 110); choose another folder with --run, "
        f"or delete {project.run.checkpoints}"
    )
    assert project.files() == before


def test_a_vocabulary_that_weights_were_trained_with_is_not_changed_by_text(project: Project) -> None:
    project.prepare()
    add_checkpoint(project.run)
    models = project.run.source_segmenter.read_bytes()
    project.append(b"quite different words\n" * 3, b"ganz andere worte\n" * 3)
    for _ in range(2):
        with pytest.raises(CheckpointError, match="the text it is learned from has changed"):
            project.prepare()
        assert project.run.source_segmenter.read_bytes() == models


def test_what_was_prepared_stays_usable_where_new_text_is_refused(project: Project) -> None:
    project.prepare()
    add_checkpoint(project.run)
    before = prepared(project.run)
    project.append(b"quite different words\n" * 3, b"ganz andere worte\n" * 3)
    with pytest.raises(CheckpointError, match="the text it is learned from has changed"):
        project.prepare()
    assert prepared(project.run) == before


def test_what_keeps_the_vocabulary_is_allowed_beside_weights(project: Project) -> None:
    project.prepare()
    add_checkpoint(project.run)
    models = project.run.source_segmenter.read_bytes()
    assert project.prepare(prepare__max_pieces=30) == ("train", "dev", "plan")
    project.run.source_segmenter.write_bytes(b"lost")
    assert "vocabulary" in project.prepare()
    assert project.run.source_segmenter.read_bytes() == models


# The report.


def test_the_report_accounts_for_every_pair(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    dev_source = (project.folder / "dev.en").read_bytes().split(b"\n")[0]
    first = [(project.folder / f"train.{side}").read_bytes().split(b"\n")[0] for side in ("en", "de")]
    write_lines(project.folder / "more.en", ["", "w " * 30, "a b c", "x", "fox\tdog", "\x07the bird", "e\u0301 x"])
    write_lines(project.folder / "more.de", ["leer", "v " * 30, "zu lang" * 9, "y", "fuchs hund", "vogel  v", "e x"])
    project.append(dev_source + b"\n" + first[0] + b"\n", b"x x x\n" + first[1] + b"\n")
    with (project.folder / "more.en").open("ab") as stream:
        stream.write(b"bad \xff\xfe\n")
    with (project.folder / "more.de").open("ab") as stream:
        stream.write(b"good\n")
    project.prepare(
        corpus__train=[
            {"name": "toy", "source": "train.en", "target": "train.de"},
            {"name": "more", "source": "more.en", "target": "more.de"},
        ],
        prepare__filters=[
            {"kind": "blank"},
            {"kind": "length", "maximum": 40},
            {"kind": "ratio", "maximum": 9.0},
            {"kind": "duplicate"},
            {"kind": "overlap"},
        ],
        prepare__invalid_utf8="drop",
        prepare__max_pieces=40,
    )
    report = project.report()
    toy, more = report["corpora"]
    counts = {reason: (drops["count"], drops["first_lines"]) for reason, drops in toy["drops"].items()}
    assert counts == {
        "invalid_utf8": (0, []),
        "blank": (0, []),
        "length": (0, []),
        "ratio": (0, []),
        "duplicate": (1, [202]),
        "overlap": (1, [201]),
    }
    dropped = {reason: drops["first_lines"] for reason, drops in more["drops"].items() if drops["count"]}
    assert dropped == {"invalid_utf8": [8], "blank": [1], "ratio": [3], "max_pieces": [2]}
    for corpus in report["corpora"]:
        assert corpus["read"] == corpus["kept"] + sum(drops["count"] for drops in corpus["drops"].values())
    assert len(PairStore.open(project.run.data, "train")) == toy["kept"] + more["kept"] == report["train"]["pairs"]
    assert more["characters"]["source"]["separators_replaced"] == 1
    assert more["characters"]["source"]["controls_removed"] == 1
    assert more["characters"]["source"]["invalid_bytes"] == 2
    unicode, whitespace = report["normalizers"]
    assert (unicode["kind"], round(unicode["source_changed"] * 209)) == ("unicode", 1)
    assert whitespace["kind"] == "whitespace"
    assert round(whitespace["target_changed"] * 209) == 2
    said = capfd.readouterr().err
    assert "more, source: tabs and other separators inside lines turned into spaces: 1 (first in line 5)" in said
    assert "more, source: control characters removed: 1 (first in line 6)" in said
    assert "more, source: bytes that are not UTF-8, their pairs dropped: 2 (first in line 8)" in said
    assert "dropped: max_pieces" in said
    assert "warning: 50.00% of the pairs of more" not in said


def test_a_name_in_brackets_is_shown_as_it_is(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.prepare(corpus__train=[{"name": "[red]", "source": "train.en", "target": "train.de"}])
    assert "│ [red] " in capfd.readouterr().err


def test_a_corpus_that_mostly_vanishes_is_warned_of(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.append(b"again and again .\n" * 300, b"immer wieder .\n" * 300)
    project.prepare()
    assert "warning: 59.80% of the pairs of toy were dropped; see the table" in capfd.readouterr().err


def test_the_plan_is_that_of_the_first_epoch(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    config = project.config()
    project.prepare()
    store = PairStore.open(project.run.data, "train")
    cost = open_batches(config, store, {"toy": 200}).summary()
    reported = project.report()["plan"]
    assert reported == {**cost._asdict(), "padding": cost.padding}
    assert (reported["pairs"], reported["source_tokens"]) == (200, store.source.lengths.sum() + 200)
    assert f"first epoch: {cost.updates} updates of {cost.tensors} tensors" in capfd.readouterr().err


def test_the_report_says_how_long_nearly_all_lines_are(project: Project) -> None:
    project.prepare()
    lengths = sorted(PairStore.open(project.run.data, "train").source.lengths)
    assert project.report()["train"]["usual_pieces"] == lengths[-1]


def test_text_in_lower_case_is_warned_of(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.append(b"".join(b"Bird %d\n" % number for number in range(3)), b"vogel\n" * 3)
    project.prepare()
    said = capfd.readouterr().err
    assert "3 of 203 lines" not in said  # which is more than one in a hundred
    assert "warning: toy, target: 0 of 203 lines have a capital letter, so the model will not know capitals; " in said
    assert project.report()["corpora"][0]["source_case"] == {"cased": 203, "capital": 3}


def test_the_dev_report_tells_what_is_lost_and_left_out(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.append("a 犬 bird\n\n".encode() + b"the " * 80 + b"\n", b"ein vogel\nx\nder\n", name="dev")
    project.prepare()
    dev = project.report()["dev"]
    assert (dev["lines"], dev["pairs"]) == (23, 21)
    assert {reason: drops["first_lines"] for reason, drops in dev["left_out"].items()} == {
        "blank": [22],
        "max_pieces": [23],
    }
    assert dev["source"]["unknown"] == 1
    lost = dev["lost_in_segmenting"]["source"]
    assert (lost["count"], lost["first_lines"]) == (1, [21])
    assert lost["share"] == pytest.approx(1 / 22)
    said = capfd.readouterr().err
    assert "dev: left out of perplexity: blank 1 (lines 22), max_pieces 1 (lines 23)" in said
    assert "dev source: 4.55% of lines do not survive segmenting (lines 21)" in said


# What cannot be prepared.


def test_no_training_corpus(project: Project) -> None:
    with pytest.raises(
        ConfigError, match=r"^corpus.train: no training corpus is given; add a table \[\[corpus.train\]\]"
    ):
        project.prepare(corpus__train=None)
    assert not project.run.path.exists()


def test_all_missing_files_are_told_before_any_work(project: Project) -> None:
    for name in ("train.de", "dev.en", "test.de"):
        (project.folder / name).unlink()
    with pytest.raises(DataError) as raised:
        project.prepare()
    lines = str(raised.value).split("\n")
    assert [line.split(" does not exist; ")[0].rsplit("/", 1)[1] for line in lines] == ["train.de", "dev.en", "test.de"]
    assert not project.run.path.exists()


@pytest.mark.parametrize("name", ["train", "dev", "test"])
def test_unequal_files_stop_at_once_with_both_names_and_counts(project: Project, name: str) -> None:
    project.append(b"", b"eins mehr\n", name=name)
    lines = 200 if name == "train" else 20
    with pytest.raises(DataError, match=rf"{name}.en has {lines} lines but .*{name}.de has {lines + 1}"):
        project.prepare()


@pytest.mark.parametrize("name", ["train", "dev", "test"])
def test_bytes_that_are_not_utf8_stop_with_their_place(project: Project, name: str) -> None:
    project.append(b"caf\xe9\n", b"x\n", name=name)
    lines = 201 if name == "train" else 21
    with pytest.raises(DataError, match=rf"{name}.en, line {lines}, byte 4: 0xe9 is not UTF-8"):
        project.prepare()


def test_nothing_left_after_filters(project: Project) -> None:
    with pytest.raises(DataError) as raised:
        project.prepare(prepare__filters=[{"kind": "length", "minimum": 99}])
    assert str(raised.value) == (
        "nothing is left to train on: all 200 pairs were dropped (length 200 (100.00%)); "
        "check files and prepare.filters"
    )


def test_nothing_left_after_packing(project: Project) -> None:
    with pytest.raises(
        DataError, match=r"all 200 pairs .* more than prepare.max_pieces = 2 pieces on a side; raise it"
    ):
        project.prepare(prepare__max_pieces=2)


def test_a_dev_set_without_a_whole_pair(project: Project) -> None:
    write_lines(project.folder / "dev.en", ["", "a bird"])
    write_lines(project.folder / "dev.de", ["leer", ""])
    with pytest.raises(DataError, match=r"dev.en: no pair of corpus.dev has text on both sides"):
        project.prepare()


def test_a_run_folder_that_cannot_be_written(project: Project) -> None:
    project.run.path.write_bytes(b"a file stands here")
    with pytest.raises(DataError, match=r"run: File exists; make room or set permissions, or choose another folder"):
        project.prepare()


@pytest.mark.slow
def test_random_corpora_keep_the_accounts(tmp_path: Path) -> None:
    """Text full of traps: every pair is kept or dropped, and what is packed is what a plain reading keeps."""
    generator = random.Random(7)
    traps = ["\u2028", "\x85", "\x0c", "\r", "\t", "\x00", "▁", "<s>", "  ", "\u00a0", "e\u0301", "\U0001f600", ""]
    for number in range(30):
        project = Project(tmp_path / str(number))
        pairs = [sentence_pair(generator.randrange(count_sentences())) for _ in range(80)]
        broken = [[_trapped(side, traps, generator) for side in pair] for pair in pairs]
        for side, name in enumerate(("train.en", "train.de")):
            write_lines(project.folder / name, [pair[side] for pair in broken])
        project.prepare(prepare__segmenter={"vocabulary_size": 320}, prepare__max_pieces=190)
        (corpus,) = project.report()["corpora"]
        assert corpus["read"] == 80 == corpus["kept"] + sum(drops["count"] for drops in corpus["drops"].values())
        store = PairStore.open(project.run.data, "train")
        segmenter = load_segmenter(project.run.source_segmenter)
        decoded = segmenter.decode([store.source[place] for place in range(len(store))])
        possible = {" ".join(_plain(source).split()) for source, _ in broken}
        assert set(decoded) <= possible


def _trapped(text: str, traps: list[str], generator: random.Random) -> str:
    words = text.split(" ")
    for _ in range(generator.randrange(3)):
        words.insert(generator.randrange(len(words) + 1), generator.choice(traps))
    return generator.choice(["", " ".join(words), " ".join(words), "".join(words)])


def _plain(text: str) -> str:
    for separator in "\u2028\x85\x0c\t":
        text = text.replace(separator, " ")
    return unicodedata.normalize("NFC", text.removesuffix("\r").replace("\r", " ").replace("\x00", ""))
