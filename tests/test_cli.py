import errno
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_core import SchemaError, SchemaValidator, core_schema

import nmtkit
from nmtkit.cli import app
from nmtkit.commands.score_reading import Given
from nmtkit.ending import report
from nmtkit.errors import CheckpointError, ConfigError, DataError, Terminated

LANGUAGES = '[languages]\nsource = "en"\ntarget = "de"\n'


@pytest.fixture
def nmt(capfd, monkeypatch):
    """Run a command line in this process; return exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            app([str(argument) for argument in arguments], prog_name="nmtkit")
        said = capfd.readouterr()
        return end.value.code, said.out, said.err

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a config file and a trained run's config."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for name in ("nmtkit.toml", "run/config.toml"):
        (tmp_path / name).write_text(LANGUAGES)
    return tmp_path


@pytest.fixture
def called(monkeypatch):
    """Put a recorder in place of a command's function; it takes only what the real one takes."""

    def replace(module, function, raising=None):
        module = importlib.import_module(f"nmtkit.commands.{module}")
        signature = inspect.signature(getattr(module, function))
        calls = []

        def record(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            calls.append(bound.arguments)
            if raising is not None:
                raise raising

        monkeypatch.setattr(module, function, record)
        return calls

    return replace


# Help and usage


def test_alone_it_prints_the_help(nmt):
    code, out, err = nmt()
    assert (code, err) == (0, "")
    for name in ("init", "prepare", "inspect", "train", "translate", "score", "average", "options", "doctor"):
        assert f"\n  {name} " in out
    assert "..." not in out.partition("Commands:")[2]  # no sentence is cut
    assert nmt("-h")[:2] == nmt("--help")[:2] == (0, out)


@pytest.mark.parametrize(
    "name", ["init", "prepare", "inspect", "train", "translate", "score", "average", "options", "doctor"]
)
def test_help_of_each_command(nmt, name):
    code, out, err = nmt(name, "-h")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: nmtkit {name}")
    if name not in ("init", "options"):
        assert out.index("\nOptions:\n") < out.index("\nSettings:\n") < out.index("--config FILE")


def test_version(nmt):
    assert nmt("--version") == (0, f"nmtkit {nmtkit.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tran"], "No such command 'tran'"),
        (["train", "--nonsense"], "No such option: --nonsense"),
        (["train", "--max-minutes", "soon"], "Invalid value for '--max-minutes'"),
        (["translate", "--beam", "x"], "Invalid value for '--beam'"),
        (["init", "x"], "Missing option '--source'"),
        (["init", "--source", "en", "--target", "de"], "Missing argument 'DIR'"),
    ],
)
def test_usage_errors(nmt, arguments, message):
    code, out, err = nmt(*arguments)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["average"], "--last N or --best N: give one of them"),
        (["average", "--last", "2", "--best", "2"], "--last N or --best N: give one of them"),
        (["score", "--format", "xml"], "--format xml: no such form; choose table, tsv, json, markdown, latex"),
        (["score", "--json", "--format", "tsv"], "--json and --format tsv: one output has one form; give one of them"),
        (["score", "--labels", "x"], "--labels: goes with --reference; for a test set give corpus.test.labels"),
        (["score", "--source", "x", "--system", "y"],
         "--source: goes with --reference; for a test set give corpus.test.source"),
        (["score", "--system", "x", "--checkpoint", "best"],
         "--checkpoint: goes without --system, whose translations exist already"),
        (
            ["init", "x", "--sample", "--source", "fr"],
            "--source fr: --sample has languages and size of its own; leave one of them away",
        ),
        (
            ["init", "x", "--sample", "--preset", "big"],
            "--preset big: --sample has languages and size of its own; leave one of them away",
        ),
        (["score", "--reference", "x"], "--reference: goes with --system FILE, which is compared with it"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(nmt, arguments, message):
    assert nmt(*arguments) == (2, "", f"nmtkit: error: {message}\n")


# What each command is called with


def test_prepare(nmt, folder, called):
    calls = called("prepare", "prepare")
    assert nmt("prepare", "--set", "train.seed=3", "--set", "prepare.max_pieces=9", "-q") == (0, "", "")
    (call,) = calls
    assert (call["config"].train.seed, call["config"].prepare.max_pieces) == (3, 9)
    assert (call["base"], call["run"].path) == (Path(), Path("run"))
    assert call["log"].verbosity == "quiet"


def test_train(nmt, folder, called):
    calls = called("train", "train")
    assert nmt("train", "--config", folder / "nmtkit.toml", "--run", "elsewhere", "--device", "cpu", "-v")[0] == 0
    assert nmt("train")[0] == 0
    assert nmt("train", "--max-minutes", "20", "--set", "train.stop.minutes=5")[0] == 0
    first, second, third = calls
    assert (first["base"], first["run"].path, first["device"]) == (folder, Path("elsewhere"), "cpu")
    assert (second["config"].train.stop.minutes, third["config"].train.stop.minutes) == (0.0, 20.0)
    assert third["config"].train.schedule.kind == "wsd"
    assert (first["log"].verbosity, second["log"].verbosity) == ("verbose", "normal")
    assert second["device"] == "auto"


def test_translate(nmt, folder, called):
    calls = called("translate", "translate")
    assert nmt("translate")[0] == 0
    options = "--beam 7 --n-best 3 --length-penalty 1 --batch-tokens 99 --checkpoint 500 --tag bt --scores --strict"
    given = ["in.txt", "-o", "out.txt", *options.split(), "--device", "cpu", "--set", "translate.search.beam=9"]
    assert nmt("translate", *given)[0] == 0
    assert nmt("translate", "-", "--output", "-", "--scores")[0] == 0
    plain, full, dashes = calls
    assert (plain["source"], plain["output"], plain["form"], plain["strict"]) == (None, None, "text", False)
    assert plain["config"].translate.search.beam == 4
    assert (full["source"], full["output"], full["device"]) == (Path("in.txt"), Path("out.txt"), "cpu")
    assert (full["form"], full["strict"]) == ("list", True)
    translate = full["config"].translate
    assert (translate.search.beam, translate.search.n_best, translate.search.length_penalty) == (7, 3, 1.0)
    assert (translate.batch_tokens, translate.checkpoint, translate.tag) == (99, "500", "bt")
    assert (dashes["source"], dashes["output"], dashes["form"]) == (None, None, "scores")


def test_aliases_are_checked_like_settings(nmt, folder):
    line = (
        "nmtkit: error: --set translate.search.beam=0: out of range; give an integer of at least 1 and at most 1000\n"
    )
    assert nmt("translate", "--beam", "0") == (2, "", line)


def test_score_of_the_test_sets(nmt, folder, called):
    calls = called("score", "score_run")
    assert nmt("score", "--json", "--checkpoint", "best", "--device", "cpu", "--per-sentence", "lines.tsv")[0] == 0
    (call,) = calls
    assert (call["output"].form, call["output"].per_sentence) == ("json", Path("lines.tsv"))
    assert (call["device"], call["base"], call["run"].path) == ("cpu", Path(), Path("run"))
    assert call["config"].translate.checkpoint == "best"


def test_score_of_files(nmt, folder, called):
    calls = called("score", "score_files")
    assert nmt("score", "--system", "h", "--reference", "r")[0] == 0
    (folder / "nmtkit.toml").unlink()
    systems, references = ("--system", "a=h", "--system", "g"), ("--reference", "r", "--reference", "s")
    files = (*systems, *references, "--source", "t", "--labels", "l")
    assert nmt("score", *files, "--set", "languages.target=ja", "--format", "latex")[0] == 0
    first, second = calls
    assert first["given"] == Given(("h",), (Path("r"),))
    assert second["given"] == Given(("a=h", "g"), (Path("r"), Path("s")), Path("t"), Path("l"))
    assert (first["output"].form, second["output"].form) == ("auto", "latex")
    assert (first["target_language"], second["target_language"]) == ("de", "ja")
    assert first["config"].metrics[0].kind == "bleu"


def test_score_of_files_against_the_test_sets(nmt, folder, called):
    calls = called("score", "score_test_sets")
    assert nmt("score", "--system", "a={set}.de", "--system", "b={set}.txt", "--json")[0] == 0
    assert nmt("score", "--system", "a", "--config", folder / "nmtkit.toml")[0] == 0
    assert nmt("score", "--system", "a", "--run", "run")[0] == 0
    first, second, third = calls
    assert (first["systems"], first["output"].form, first["base"]) == (["a={set}.de", "b={set}.txt"], "json", Path())
    assert (second["base"], third["base"]) == (folder, Path("run"))
    assert first["config"].languages.target == "de"


def test_average(nmt, folder, called):
    calls = called("average", "average")
    assert nmt("average", "--last", "3")[0] == 0
    (folder / "a").mkdir()
    (folder / "a" / "b.toml").write_text(LANGUAGES)
    assert nmt("average", "--best", "2", "--config", "a/b.toml")[0] == 0
    first, second = calls
    assert (first["run"].path, first["last"], first["best"]) == (Path("run"), 3, 0)
    assert (second["run"].path, second["last"], second["best"]) == (Path("a/run"), 0, 2)


def test_doctor(nmt, folder, called):
    calls = called("doctor", "doctor")
    assert nmt("doctor")[0] == 0
    assert nmt("doctor", "--run", "elsewhere", "--device", "cpu", "--json")[0] == 0
    assert [(str(call["run"]), call["device"]) for call in calls] == [("run", "auto"), ("elsewhere", "cpu")]
    assert [call["as_json"] for call in calls] == [False, True]


def test_init_sample(nmt, folder, called):
    calls = called("init", "init_sample")
    assert nmt("init", "new", "--sample", "-q") == (0, "", "")
    assert calls[0]["folder"] == Path("new")


def test_init_and_options(nmt, tmp_path):
    assert nmt("init", tmp_path / "new", "--source", "en", "--target", "de", "--preset", "tiny", "-q") == (0, "", "")
    assert 'preset = "tiny"' in (tmp_path / "new" / "nmtkit.toml").read_text()
    code, out, err = nmt("options")
    assert (code, err) == (0, "")
    assert out.startswith("# Options\n")


# How a command ends


def test_each_problem_has_its_line(nmt, folder):
    (folder / "nmtkit.toml").write_text(LANGUAGES + "[train]\nsed = 1\nseed = -1\n")
    assert nmt("train", "--set", "x") == (
        2,
        "",
        "nmtkit: error: --set x: not of the form KEY=VALUE; write for example --set train.seed=3\n"
        "nmtkit: error: nmtkit.toml: train.seed = -1: out of range; give an integer of at least 0\n"
        "nmtkit: error: nmtkit.toml: train.sed = 1: no such key in [train]; did you mean train.seed?\n",
    )


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (DataError("a.txt: 3 lines"), 1, "nmtkit: error: a.txt: 3 lines\n"),
        (CheckpointError("run: damaged"), 1, "nmtkit: error: run: damaged\n"),
        (ConfigError(["one", "two"]), 2, "nmtkit: error: one\nnmtkit: error: two\n"),
        (KeyboardInterrupt(), 130, "nmtkit: interrupted\n"),
        (OSError(errno.ENOSPC, "No space left on device", "x.bin"), 1,
         "nmtkit: error: x.bin: No space left on device; free some space\n"),
        (PermissionError(errno.EACCES, "Permission denied", "run"), 1,
         "nmtkit: error: run: Permission denied; check the permissions of file and folder\n"),
        (OSError(errno.EIO, "Input/output error"), 1, "nmtkit: error: Input/output error; check the file system\n"),
    ],
    ids=["data", "checkpoint", "config", "interrupted", "disk full", "not allowed", "no file known"],
)  # fmt: skip
def test_expected_ends(nmt, folder, called, error, code, said):
    called("prepare", "prepare", raising=error)
    assert nmt("prepare") == (code, "", said)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("oops"), EOFError("oops"), OSError("oops"), AssertionError("oops")]
)
def test_only_a_bug_shows_a_traceback(nmt, folder, called, error):
    called("prepare", "prepare", raising=error)
    code, out, err = nmt("prepare")
    assert (code, out) == (70, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert f"{type(error).__name__}: oops\nnmtkit: internal error: a bug in nmtkit {nmtkit.__version__}; please" in err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce] DefaultCPUAllocator: can't allocate memory: you tried …"),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    ],
)
@pytest.mark.usefixtures("folder")
def test_too_little_memory_is_no_bug(nmt, called, error):
    called("prepare", "prepare", raising=error)
    code, out, err = nmt("prepare")
    assert (code, out) == (1, "")
    assert err.startswith("nmtkit: error: the memory is too small; lower train.batch.tokens_per_tensor, ")
    assert err.count("\n") == 1


def start(*arguments, **options):
    command = [sys.executable, "-m", "nmtkit", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_reader_that_goes_away_ends_it_quietly():
    process = start("options")
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), said) == (141, b"")


@pytest.mark.parametrize("arguments", [["options"], ["--help"]])
def test_a_full_disk_under_stdout(arguments):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    with full.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "nmtkit", *arguments], stdout=output, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr == b"nmtkit: error: No space left on device; free some space\n"
    assert done.returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_results_hold_any_text_and_any_file_name(tmp_path, encoding):
    (tmp_path / os.fsdecode("é".encode() + b"\xff")).write_bytes(b"a b c d\n")
    command = ["score", "--system", os.fsdecode("é".encode() + b"\xff")]
    command += ["--reference", os.fsdecode("é".encode() + b"\xff"), "--json"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [sys.executable, "-m", "nmtkit", *command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=True
    )
    assert json.loads(done.stdout.decode("utf-8"))["sets"][0]["name"] == "é\udcff"


def test_scores_for_a_closed_stdout(tmp_path):
    (tmp_path / "a").write_bytes(b"a\n")
    command = f'exec "{sys.executable}" -m nmtkit score --system {tmp_path}/a --reference {tmp_path}/a >&-'
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"nmtkit: error: standard output is closed; ")


def test_stdout_may_be_closed(tmp_path):
    command = f'exec "{sys.executable}" -m nmtkit init "{tmp_path}/x" --source en --target de >&-'
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith(b"Wrote ")


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [(KeyboardInterrupt, 130, "nmtkit: interrupted\n"), (Terminated, 143, "nmtkit: terminated\n")],
)
def test_a_signal_that_pydantic_makes_an_error_of_is_still_a_signal(raised, code, said, capsys):
    """As Ctrl-C does while the classes of settings are built, in the first second of a command."""

    class Value:
        def __repr__(self):
            raise raised

    with pytest.raises(SchemaError) as caught:
        SchemaValidator(core_schema.literal_schema([Value()]))
    assert report(caught.value) == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, b"nmtkit: interrupted\n"), (signal.SIGTERM, 143, b"nmtkit: terminated\n")],
)
def test_a_signal_ends_a_command(tmp_path, number, code, said):
    """A real one while the command waits for its input: here a config file that is a named pipe."""
    os.mkfifo(tmp_path / "x.toml")
    process = start("train", "--config", str(tmp_path / "x.toml"))
    # Opening succeeds once the command reads, so it is inside by then.
    with (tmp_path / "x.toml").open("wb"):
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", said)
