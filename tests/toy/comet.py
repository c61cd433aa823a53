"""A stand-in for COMET: a package of that name in a folder of its own, which an interpreter finds by PYTHONPATH."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nmtkit.metrics.comet import CometConfig

PACKAGE = '''\
import json
import os
import sys

__version__ = "9.8.7"


class Prediction(dict):
    @property
    def scores(self):
        return self["scores"]


class Model:
    def __init__(self, manner):
        self.manner = manner

    def predict(self, samples, batch_size=8, gpus=1, progress_bar=True):
        manner = self.manner
        print("as chatty as the real one")
        os.write(1, b"also past Python's own stdout\\n")
        if manner.get("raises"):
            raise RuntimeError(manner["raises"])
        if manner.get("signal"):
            os.kill(os.getpid(), manner["signal"])
        if manner.get("leaves"):
            os._exit(0)
        scores = [manner.get("blank", 0.5) if not each["mt"].strip() else score(each) for each in samples]
        scores = manner.get("scores", scores)
        with open(manner["log"], "w") as file:
            json.dump({"samples": samples, "batch_size": batch_size, "gpus": gpus, "path": sys.path}, file)
        return (scores, 0.0) if manner.get("old") else Prediction(scores=scores)


def score(each):
    """The share of words of the translation that are in the reference, less a bit for each word of the source."""
    words = each["mt"].split()
    return sum(word in each["ref"].split() for word in words) / len(words) - len(each["src"].split()) / 1000


def load_from_checkpoint(path):
    with open(path) as file:
        return Model(json.load(file))
'''


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let interpreters find the package."""
    package = folder / "site" / "comet"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))


def model(folder: Path, **manner: Any) -> CometConfig:
    """Write a checkpoint that behaves in this manner; return the settings of a metric that uses it."""
    checkpoint = folder / "toy-model" / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.write_text(json.dumps({"log": str(folder / "asked.json"), **manner}), encoding="utf-8")
    return CometConfig(python=sys.executable, model=str(checkpoint))


def asked(folder: Path) -> dict[str, Any]:
    """Return what the model was asked last."""
    found: dict[str, Any] = json.loads((folder / "asked.json").read_bytes())
    return found
