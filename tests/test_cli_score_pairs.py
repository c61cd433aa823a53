"""The options of `nmtkit score --model`, and `nmtkit translate --sample`, with a recorder in place of the work."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmtkit.cli import app
from nmtkit.commands import rerank as reranking
from nmtkit.commands import score_pairs as scoring
from nmtkit.commands import translate as translating
from nmtkit.commands.rerank import Ranking
from nmtkit.commands.score_pairs_output import Wanted

LANGUAGES = '[languages]\nsource = "en"\ntarget = "de"\n'


@pytest.fixture
def nmt(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run a command line in this process, beside a run folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ("run", "model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(LANGUAGES)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app(list(arguments), prog_name="nmtkit")
        said = capfd.readouterr()
        return end.value.code, said.out, said.err

    return run


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[dict[str, Any]]]:
    """Put a recorder in place of a command's function; it takes only what the real one takes."""

    def replace(module: Any, function: str) -> list[dict[str, Any]]:
        signature = inspect.signature(getattr(module, function))
        calls: list[dict[str, Any]] = []

        def record(*args: Any, **kwargs: Any) -> None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            calls.append(bound.arguments)

        monkeypatch.setattr(module, function, record)
        return calls

    return replace


def test_score_pairs(nmt: Any, called: Any) -> None:
    calls = called(scoring, "score_pairs")
    assert nmt("score", "--model", "model") == (0, "", "")
    wanted = ["--tokens", "--text", "--above=-3.5", "--below", "-1", "--json", "--tag", "bt", "--checkpoint", "best"]
    assert nmt("score", "--model", "model", "a.en", "a.de", *wanted, "--device", "cpu", "-q") == (0, "", "")
    assert nmt("score", "--model", "model", "a.tsv", "--above", "0", "--set", "translate.max_pieces=9")[0] == 0
    plain, full, last = calls
    assert (plain["run"].path, plain["files"], plain["wanted"]) == (Path("model"), (), Wanted())
    assert (plain["device"], plain["log"].verbosity) == ("auto", "normal")
    assert full["files"] == (Path("a.en"), Path("a.de"))
    assert full["wanted"] == Wanted(tokens=True, text=True, above=-3.5, below=-1.0, as_json=True)
    translate = full["config"].translate
    assert (translate.tag, translate.checkpoint, full["device"], full["log"].verbosity) == (
        "bt",
        "best",
        "cpu",
        "quiet",
    )
    assert (last["wanted"].above, last["config"].translate.max_pieces) == (0.0, 9)


def test_rank_a_list_anew(nmt: Any, called: Any) -> None:
    calls = called(reranking, "rerank")
    assert nmt("score", "--model", "model", "--n-best", "list.tsv") == (0, "", "")
    options = ["--weights", "0.5", "-2", "--length-penalty", "0", "--best", "--format", "json"]
    assert nmt("score", "--model", "model", "--n-best", "-", "in.txt", *options) == (0, "", "")
    greedy = ["--set", "translate.search={kind='greedy'}"]
    assert nmt("score", "--model", "model", "--n-best", "-", "in.txt", *greedy) == (0, "", "")
    plain, full, last = calls
    assert (plain["run"].path, plain["n_best"], plain["source"]) == (Path("model"), Path("list.tsv"), None)
    assert plain["ranking"] == Ranking((1.0, 1.0), 0.6, best=False, as_json=False)
    assert (full["n_best"], full["source"]) == (Path("-"), Path("in.txt"))
    assert full["ranking"] == Ranking((0.5, -2.0), 0.0, best=True, as_json=True)
    assert last["ranking"].length_penalty == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "a.tsv",
            "a.tsv: pairs to be scored by a model need --model RUN; translations to be compared with a reference",
        ),
        ("--above 0", "--above: goes with --model RUN"),
        ("--tokens", "--tokens: goes with --model RUN"),
        ("--n-best list", "--n-best: goes with --model RUN"),
        ("--model model --weights 1 1", "--weights: goes with --n-best LIST"),
        ("--model model --length-penalty 0", "--length-penalty: goes with --n-best LIST"),
        ("--model model --best", "--best: goes with --n-best LIST"),
        ("--model model --n-best l --text", "--text: is of pairs, not of an n-best list; leave it away"),
        ("--model model --n-best l --below 0", "--below: is of pairs, not of an n-best list; leave it away"),
        ("--model model a b c", "c: a file too many; give source and target, or one of both"),
        ("--model model --n-best l a b", "b: a file too many; give the source text of the list"),
        ("--model model --n-best l --weights 0 0", "--weights 0 0: nothing would count"),
        ("--model model --n-best l --length-penalty -1", "--length-penalty -1: out of range; give at least 0"),
        ("--model model --n-best l --length-penalty nan", "--length-penalty nan: out of range; give at least 0"),
        ("--model model --above nan", "--above: nan is no number; give one"),
        ("--model model --n-best l --weights nan 1", "--weights: nan is no number; give one"),
        ("--model model --report-all", "--report-all: goes without --model"),
        ("--model model --format xml", "--format xml: no such form; choose table, tsv, json, markdown, latex"),
        ("--model model --json --format tsv", "--json and --format tsv: one output has one form; give one of them"),
        ("--model model --system a.de", "--system: goes without --model, which scores pairs; leave one of them away"),
        ("--model model --run run", "--run: goes without --model"),
        ("--model model --format latex", "--format latex: goes without --model"),
    ],
)
def test_what_does_not_go_together(nmt: Any, options: str, message: str) -> None:
    code, out, err = nmt("score", *options.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"nmtkit: error: {message}")
    assert err.count("\n") == 1


def test_no_such_model(nmt: Any) -> None:
    code, _, err = nmt("score", "--model", "absent", "a.tsv")
    assert (code, err) == (
        1,
        "nmtkit: error: absent: no such folder; give the folder that nmtkit train wrote (usually named run)\n",
    )


def test_sample(nmt: Any, called: Any) -> None:
    calls = called(translating, "translate")
    assert nmt("translate", "--run", "run", "--sample") == (0, "", "")
    more = ["--seed", "7", "--n-best", "3", "--set", "translate.search.temperature=0.5"]
    assert nmt("translate", "--run", "run", "--sample", *more) == (0, "", "")
    Path("own.toml").write_text(
        f"{LANGUAGES}[translate.search]\nmax_length_extra = 9\nmax_length_ratio = 2.0\nbeam = 8\n"
    )
    assert nmt("translate", "--run", "run", "--config", "own.toml", "--sample") == (0, "", "")
    Path("own.toml").write_text(f"{LANGUAGES}[translate.search]\nkind = 'sampling'\ntop_k = 10\n")
    assert nmt("translate", "--run", "run", "--config", "own.toml", "--sample") == (0, "", "")
    plain, full, limited, sampling = (call["config"].translate.search for call in calls)
    assert (plain.kind, plain.seed, plain.n_best, plain.temperature) == ("sampling", 1, 1, 1.0)
    assert (full.seed, full.n_best, full.temperature) == (7, 3, 0.5)
    assert (limited.kind, limited.max_length_extra, limited.max_length_ratio) == ("sampling", 9, 2.0)
    assert (sampling.kind, sampling.top_k) == ("sampling", 10)
    for options in ("--sample --beam 5", "--seed 3"):
        code, _, err = nmt("translate", "--run", "run", *options.split())
        assert code == 2
        assert "no such key for kind" in err
