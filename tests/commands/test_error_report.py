"""`nmtkit score --report`: pages of files and of the test sets of a run, and words counted in training text."""

import json
import os
from pathlib import Path

import pytest
from toy.corpora import write_corpus, write_lines
from toy.projects import Project
from typer.testing import CliRunner

from nmtkit.cli import app
from nmtkit.commands import error_training
from nmtkit.commands.error_report import wished
from nmtkit.commands.error_training import training_frequencies
from nmtkit.corpus.settings import LanguagesConfig
from nmtkit.errors import ConfigError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder

LANGUAGES = LanguagesConfig(source="en", target="de")
METRICS = "score.metrics=[{kind='bleu'}, {kind='chrf'}]"
REFERENCES = ["ein hund sieht einen vogel .", "eine katze schläft .", "nichts ."]
HYPOTHESES = ["ein hund sieht den vogel .", "", "nichts ."]


def score(*arguments):
    done = CliRunner().invoke(
        app, ["score", *map(str, arguments), "--set", METRICS, "--set", "score.significance.draws=20"]
    )
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "h.txt", HYPOTHESES)
    write_lines(tmp_path / "other.txt", REFERENCES)
    write_lines(tmp_path / "r.txt", REFERENCES)
    write_lines(tmp_path / "s.txt", ["a dog sees a bird .", "a cat sleeps .", "nothing ."])
    return ["--system", "h.txt", "--system", "other.txt", "--reference", "r.txt"]


def test_a_report_of_files(files, tmp_path):
    code, out, err = score(*files, "--source", "s.txt", "--report", "out/report.html")
    assert code == 0
    assert out.startswith("set\t")
    assert "report: out/report.html" in err
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    for text in ("a cat sleeps .", "other.txt", "Here are all 3 lines.", "as there is no prepared run at hand"):
        assert text in page
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


@pytest.mark.parametrize("option", ["--report", "--per-sentence"])
@pytest.mark.parametrize("lost", ["h.txt", "./r.txt", "s.txt", "labels.txt"])
def test_what_is_scored_is_never_written_over(files, tmp_path, option, lost):
    write_lines(tmp_path / "labels.txt", ["a", "b", "a"])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    code, out, err = score(*files, "--source", "s.txt", "--labels", "labels.txt", option, lost)
    assert (code, out) == (2, "")
    assert f"{option} {Path(lost)}: this file is scored, and would be lost; name another one" in " ".join(err.split())
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("report", ["out.r.txt.html", "./nowhere/../out.r.txt.html", "out.{set}.html"])
def test_two_outputs_are_two_files(files, report):
    code, _, err = score(*files, "--report", report, "--per-sentence", "out.r.txt.html")
    assert code == 2
    assert "out.r.txt.html cannot be both; name two files" in " ".join(err.split())


def test_stdout_is_the_same_with_and_without_a_report(files):
    plain, told = (score(*files, "--json", *more)[1] for more in ([], ["--report", "report.html"]))
    assert plain == told
    assert json.loads(told)["sets"][0]["lines"] == 3


def test_a_report_without_sources_says_nothing_of_them(files, tmp_path):
    assert score(*files, "--report", "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "words of reference" in page
    assert 'class="row source"' not in page


def test_all_lines_are_put_on_the_page_where_asked(files, tmp_path, monkeypatch):
    monkeypatch.setattr("nmtkit.commands.error_choice.LARGEST", 0)
    monkeypatch.setattr("nmtkit.analysis.findings.worst", lambda *_: [])
    monkeypatch.setattr("nmtkit.analysis.findings.furthest_apart", lambda *_: [])
    for more, told in (([], "Here are 1 of 3 lines"), (["--report-all"], "Here are all 3 lines.")):
        assert score(*files, "--report", "report.html", *more)[0] == 0
        assert told in (tmp_path / "report.html").read_text("utf-8")


def test_places_where_no_report_can_be_are_refused_first(tmp_path):
    run = RunFolder(tmp_path / "run")
    (tmp_path / "file").write_text("x")
    for file, message in (
        (tmp_path, f"--report {tmp_path}: this is a folder; give the name of a file in it"),
        (Path(os.devnull), f"--report {os.devnull}: this is no file, and would be replaced by one; give another name"),
        (
            tmp_path / "file" / "a" / "r.html",
            f"--report {tmp_path / 'file' / 'a' / 'r.html'}: {tmp_path / 'file'} is no folder",
        ),
    ):
        with pytest.raises(ConfigError) as caught:
            wished(file, False, run, LANGUAGES)
        assert message in str(caught.value)
    assert wished(None, False, run, LANGUAGES) is None
    with pytest.raises(ConfigError) as caught:
        wished(None, True, run, LANGUAGES)
    assert str(caught.value) == "--report-all: goes with --report FILE, the page that shall have all lines"


def test_a_folder_that_cannot_be_written_to_is_told_first(files, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for option in ("--report", "--per-sentence"):
        code, out, err = score(*files, option, "x/y")
        assert (code, out) == (2, "")
        assert f"{option} x/y: {tmp_path} cannot be written to; set its permissions" in err
    assert not (tmp_path / "x").exists()


def test_a_report_of_the_test_sets_of_a_config(tmp_path, monkeypatch):
    write_corpus(tmp_path, 20)
    (tmp_path / "nmtkit.toml").write_text(
        "languages = {source = 'en', target = 'de'}\n"
        "corpus.test = [{name = 'a/b', source = 'test.en', target = 'test.de'}, "
        "{name = 'dev', source = 'dev.en', target = 'dev.de'}]\n"
    )
    for name, side in (("a%2Fb", "test"), ("dev", "dev")):
        (tmp_path / f"system.{name}.txt").write_bytes((tmp_path / f"{side}.de").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert score("--system", "system.{set}.txt", "--report", "report.html")[0] == 0
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["report.a%2Fb.html", "report.dev.html"]
    page = (tmp_path / "report.a%2Fb.html").read_text("utf-8")
    assert "<title>Error report, a/b</title>" in page
    assert "en → de, 20 lines, 1 system;" in page
    assert score("--system", "system.{set}.txt", "--report", "{set}/errors.html")[0] == 0
    assert (tmp_path / "dev" / "errors.html").exists()


def test_a_report_of_a_run_counts_words_in_its_training_text(trained: Project, tmp_path, monkeypatch):
    project = trained.copy(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    code, _, err = score("--report", "report.html", "--device", "cpu")
    assert code == 0, err
    page = (project.folder / "report.html").read_text("utf-8")
    assert "in 200 training pairs" in page
    (translation,) = project.run.translations.glob("test.*.txt")
    assert translation.name.split(".")[1] in page


def test_words_of_training_text_are_those_of_its_lines(prepared: Project):
    found = training_frequencies(prepared.run, Log("quiet"))
    assert found is not None
    lines = (prepared.folder / "train.de").read_text("utf-8").split("\n")
    assert found.text == f"{len(lines) - 1} training pairs"
    assert found.target["hund"] == sum(line.split().count("hund") for line in lines)
    assert "." not in found.target
    assert found.source["dog"] > 0


def test_of_much_training_text_a_part_is_read(prepared: Project, monkeypatch):
    monkeypatch.setattr(error_training, "MOST", 50)
    monkeypatch.setattr(error_training, "AT_ONCE", 7)
    found = training_frequencies(prepared.run, Log("quiet"))
    assert found is not None
    assert found.text == "50 of 200 training pairs"
    lines = (prepared.folder / "train.en").read_text("utf-8").split("\n")[:-1][::4]
    assert found.source["dog"] == sum(line.split().count("dog") for line in lines)


def test_without_training_text_there_is_nothing_to_count(tmp_path, prepared: Project, capsys):
    assert training_frequencies(RunFolder(tmp_path), Log("quiet")) is None
    damaged = prepared.copy(tmp_path / "damaged")
    (damaged.run.data / "train.source.ids.bin").write_bytes(b"")
    assert training_frequencies(damaged.run, Log("quiet")) is None
    assert "the report counts words in the test set instead of the training text" in capsys.readouterr().err
