"""COMET (Rei et al. 2020, 2022), computed by the interpreter of another environment.

What COMET needs cannot be installed beside nmtkit (it pins older releases of the same packages), so nmtkit calls the
interpreter of an environment that has it, and talks with it through a pipe.
"""

import hashlib
import json
import math
import os
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from nmtkit import __version__
from nmtkit.errors import ConfigError, DataError
from nmtkit.metrics import comet_worker
from nmtkit.metrics.base import Array, Metric, MetricSection, Score

SCALE = 100
"""COMET's own scores are near 0 to 1; here, as in most tables, they are near 0 to 100."""

INSTALL = "python3 -m venv DIR && DIR/bin/pip install unbabel-comet"


class CometConfig(MetricSection):
    """COMET, by a program of another environment; it compares with the sources too."""

    kind: Literal["comet"] = "comet"
    python: str = Field(
        min_length=1,
        description=f"Interpreter of an environment that has COMET (`{INSTALL}`; then DIR/bin/python), with its full "
        "path.",
    )
    model: str = Field(
        min_length=1,
        description="Checkpoint of a COMET model that lies on this machine (`…/checkpoints/model.ckpt`), with its full "
        "path.",
    )
    batch_size: int = Field(16, ge=1, description="Segments computed at once.")
    gpus: int = Field(0, ge=0, le=1, description="1: compute on a GPU; 0: on the processor.")

    def build(self, target_language: str) -> Metric:  # noqa: ARG002  every metric may depend on the language
        """Return the metric. Raises ConfigError where interpreter, package or model is not there."""
        python, model = _there("python", self.python), _there("model", self.model)
        answer = _ask(python, ["--check"], b"")
        if isinstance(answer, str):
            raise ConfigError(f"score.metrics: COMET: python = {str(python)!r} cannot be run: {answer}; {_remedy()}")
        if not answer.get("package"):
            raise ConfigError(
                f"score.metrics: COMET: {python} has no package comet; run: {python} -m pip install unbabel-comet"
            )
        return CometMetric(python, model, self.batch_size, self.gpus)


class CometMetric(Metric):
    """Asks COMET. Of several references each is compared with, and a line has the mean.

    A blank hypothesis scores at most 0, whatever the model makes of it: COMET was not trained on blanks, and gives
    some of them more than bad translations.
    """

    name = "COMET"
    needs_sources = True

    def __init__(self, python: Path, model: Path, batch_size: int, gpus: int) -> None:
        self._python, self._model, self._options = python, model, [str(batch_size), str(gpus)]
        self._version = "unknown"

    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str] | None
    ) -> Array:
        """Return the score of each line and 1, (N, 2). Raises DataError where COMET fails."""
        import numpy as np

        if sources is None:
            raise ConfigError("COMET compares with the sources too; give them with --source FILE")
        segments = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for lines in references
            for source, hypothesis, reference in zip(sources, hypotheses, lines, strict=True)
        ]
        scores = np.array(self._scores(segments)).reshape(len(references), len(hypotheses)).mean(axis=0)
        blank = np.array([not line.strip() for line in hypotheses])
        scores = np.where(blank, np.minimum(scores, 0.0), scores)
        return np.stack([SCALE * scores, np.ones_like(scores)], axis=-1)

    def score(self, statistics: Array, references: int) -> Score:
        """Return the mean score of lines."""
        parts = {
            "nrefs": str(references),
            "model": _name(self._model),
            "sha256": self._digest[:16],
            "blank": "0",
            "scale": str(SCALE),
            "comet": self._version,
            "version": f"nmtkit-{__version__}",
        }
        signature = "|".join(f"{part}:{value}" for part, value in parts.items())
        return Score(self.name, float(self.values(statistics.sum(axis=0))), signature, higher_is_better=True)

    def values(self, sums: Array) -> Array:
        """Return the score of each of many sums: (…, 2) → (…)."""
        from nmtkit.metrics import formulas

        return formulas.mean(sums)

    def _scores(self, segments: Sequence[dict[str, str]]) -> list[float]:
        lines = "".join(json.dumps(segment) + "\n" for segment in segments)
        answer = _ask(self._python, [str(self._model), *self._options], lines.encode())
        if isinstance(answer, str):
            raise DataError(
                f"COMET failed ({answer}); call `{self._python} -c 'import comet'` to see whether its environment "
                f"works, and check that {self._model} is a whole checkpoint of COMET"
            )
        scores = answer.get("scores")
        if not isinstance(scores, list) or len(scores) != len(segments):
            count = len(scores) if isinstance(scores, list) else "no"
            raise DataError(
                f"COMET answered with {count} scores for {len(segments):,} segments; nothing was scored with it. "
                f"Check the release of unbabel-comet that {self._python} has"
            )
        if not all(type(score) in (int, float) and math.isfinite(score) for score in scores):
            raise DataError(f"COMET answered with scores that are no numbers; check that {self._model} is whole")
        self._version = str(answer.get("version"))
        return [float(score) for score in scores]

    @cached_property
    def _digest(self) -> str:
        with self._model.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def _there(key: str, name: str) -> Path:
    """Return the path of a file. Raises ConfigError where it is not there, or does not say where it lies."""
    try:
        path = Path(name).expanduser()
    except RuntimeError:
        path = Path(name)
    if not path.is_absolute():
        raise ConfigError(f"score.metrics: COMET: {key} = {name!r}: begin it with / or ~, so that it means one file")
    if not path.is_file():
        raise ConfigError(f"score.metrics: COMET: {key} = {name!r}: no such file; {_remedy()}")
    return path


def _remedy() -> str:
    return (
        f"COMET lives in an environment of its own: {INSTALL}, then give DIR/bin/python as python, and as model the "
        "checkpoint that its download_model leaves"
    )


def _ask(python: Path, arguments: Sequence[str], content: bytes) -> dict[str, Any] | str:
    """Return what the worker answered, or what went wrong, in a few words."""
    command = [str(python), str(Path(comet_worker.__file__)), *arguments]
    # Where COMET's environment keeps its packages is for that interpreter to say.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(command, input=content, capture_output=True, env=surroundings, check=False)
    except OSError as error:
        return error.strerror or str(error)
    said = done.stderr.decode(errors="replace").strip().split("\n")[-1].strip()
    if done.returncode:
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        return f"{ended}: {said}" if said else ended
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else f"no answer{': ' if said else ''}{said}"


def _name(model: Path) -> str:
    """Return the name of a model: that of its repository, as its download has it, or of its folder, or of its file."""
    repositories = [parent.name.split("--")[-1] for parent in model.parents if parent.name.startswith("models--")]
    folder = model.parent.parent.name if model.parent.name == "checkpoints" else ""
    named = next(filter(None, [*repositories, folder]), model.stem)
    return "".join("_" if character in "|:" or character.isspace() else character for character in named)
