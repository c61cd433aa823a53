"""What is imported when: torch and the like only where the work begins."""

import json
import subprocess
import sys

import pytest

import nmtkit

HEAVY = {"torch", "matplotlib", "sacrebleu", "sacremoses", "sentencepiece"}

PROGRAM = """
import json, sys
for code in sys.argv[1:]:
    try:
        exec(code)
        code = None
    except SystemExit as end:
        code = end.code
    print()
    print("imported", json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def run(folder, *codes):
    """Run codes in a process; return for each its exit code and the packages imported so far, and the stderr of all."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *codes], cwd=folder, capture_output=True, text=True, check=True
    )
    rows = [json.loads(row.removeprefix("imported ")) for row in done.stdout.split("\n") if row.startswith("imported ")]
    assert len(rows) == len(codes)
    return [(exit_code, set(packages)) for exit_code, packages in rows], done.stderr


def command(*arguments):
    return f"from nmtkit.cli import app; app({list(arguments)}, prog_name='nmtkit')"


LIGHT = {
    "nmtkit": "import nmtkit",
    "errors": "from nmtkit import NmtkitError",
    "config": "from nmtkit import Config",
    "prepare": "import nmtkit.commands.prepare",
    "inspect": "import nmtkit.commands.inspect",
    "inspect a run": "import nmtkit.commands.inspect_run",
    "metrics": "import nmtkit.metrics.settings, nmtkit.metrics.base",
    "analysis": "import nmtkit.analysis.findings, nmtkit.commands.error_report",
    "data": "import nmtkit.data.store, nmtkit.data.batching",
    "corpus": "import nmtkit.corpus.reader, nmtkit.corpus.segmenters",
    "forced scoring": "import nmtkit.commands.score_pairs, nmtkit.commands.rerank",
    "options": "import nmtkit.commands.options, nmtkit.commands.init",
    "doctor": "import nmtkit.commands.doctor, nmtkit.commands.doctor_link",
    "processes": "import nmtkit.commands.train_processes, nmtkit.training.membership",
    "help": command("--help"),
    "help of a command": command("train", "--help"),
    "usage error": command("train", "--nonsense"),
    "no config file": command("train"),
    "config error": command("train", "--config", "wrong.toml"),
    "config error of translate": command("translate", "--config", "wrong.toml"),
}


def test_no_torch(tmp_path):
    """One after the other in one process, which is a process for each with a better memory."""
    (tmp_path / "wrong.toml").write_text("x = 1")
    found, _ = run(tmp_path, *LIGHT.values())
    for (name, code), (exit_code, packages) in zip(LIGHT.items(), found, strict=True):
        assert "nmtkit" in packages, name
        assert exit_code in ({None} if code.startswith(("import", "from nmtkit import")) else {0, 2}), name
        assert not packages & HEAVY, name


def test_help_needs_no_settings_either(tmp_path):
    [(exit_code, packages)], _ = run(tmp_path, command("--help"))
    assert exit_code == 0
    assert not packages & {"pydantic", "numpy"}


def test_a_config_error_needs_no_more_than_settings(tmp_path):
    (tmp_path / "wrong.toml").write_text("x = 1")
    [(exit_code, packages)], said = run(tmp_path, command("train", "--config", "wrong.toml"))
    assert exit_code == 2
    assert "wrong.toml: x = 1: no such key" in said
    assert "numpy" not in packages


def test_public_names():
    for name in nmtkit.__all__:
        assert getattr(nmtkit, name) is not None
    assert set(dir(nmtkit)) == set(nmtkit.__all__)
    with pytest.raises(AttributeError, match="module 'nmtkit' has no attribute 'Nonsense'"):
        nmtkit.Nonsense  # noqa: B018
