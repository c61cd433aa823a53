"""The walk of the README, typed in as it stands there: its commands and its Python, on a corpus of one's own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from toy.corpora import write_corpus

README = Path(__file__).parent.parent / "README.md"

SMALLER = {
    "vocabulary_size = 8000": "vocabulary_size = 400",
    'preset = "tiny"': 'preset = "tiny"\nencoder_layers = 1\ndecoder_layers = 1\nwidth = 16\nfeed_forward = 32',
    "tokens_per_update = 4096": "tokens_per_update = 2048",
    "stop.updates = 8000": "stop.updates = 8",
    "every = 500": "every = 4",
    "[translate.search]": "[translate.search]\nmax_length_extra = 5",
}
"""What makes the file that `init` writes one for a test."""


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language between the headings of the walk and of the next corpus."""
    walk = README.read_text(encoding="utf-8").partition("## Your own text")[2].partition("## A known corpus")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", walk, re.M | re.S)


@pytest.mark.slow
def test_the_walk_of_the_readme_can_be_walked(tmp_path: Path) -> None:
    commands = [line[2:] for block in blocks("console") for line in block.split("\n") if line.startswith("$ ")]
    assert len(commands) >= 9
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    folder = tmp_path
    for command in commands:
        if command.startswith("cd "):
            folder /= command.removeprefix("cd ")
            continue
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if command.startswith("nmtkit init"):
            config = tmp_path / "captions" / "nmtkit.toml"
            text = config.read_text(encoding="utf-8")
            for words, fewer in SMALLER.items():
                assert words in text
                text = text.replace(words, fewer)
            config.write_text(text, encoding="utf-8")
            write_corpus(tmp_path / "captions" / "data")
    lines = [path.read_bytes().count(b"\n") for path in (folder / "test.de", folder / "four-for-each-line.tsv")]
    assert lines[0] == 20
    assert 20 < lines[1] <= 80
    assert '"signature"' in (folder / "scores.json").read_text(encoding="utf-8")
    (snippet,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) >= 2
