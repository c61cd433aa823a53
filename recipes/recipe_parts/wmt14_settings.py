"""What the WMT14 recipes tell nmtkit: the settings of a config, those of a smaller scale, and those asked for."""

import math
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from recipe_parts.manifest import Manifest
from recipe_parts.sampling import Pair
from recipe_parts.saying import RecipeError
from recipe_parts.wmt14_options import SIZES, Options

LEAST_UPDATES = 20
LEAST_VOCABULARY = 500
LEAST_TOKENS = 2_048
LEAST_WARMUP = 200
LEAST_PAIRS = 1_000
"""Training pairs of each corpus in the smallest sample."""
LEAST_DEV_PAIRS = 200


class Experiment(NamedTuple):
    """A config of the recipe and the files that it names."""

    config: Path
    tables: dict[str, Any]
    train: tuple[Pair, ...]
    dev: Pair
    test: Pair

    @property
    def pairs(self) -> int:
        """Pairs of all training corpora."""
        return sum(pair.lines for pair in self.train)

    @property
    def test_name(self) -> str:
        """The name of the test set."""
        return str(self.tables["corpus"]["test"][0]["name"])

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.tables["languages"]["source"], self.tables["languages"]["target"]

    @property
    def updates(self) -> int:
        """Updates of a training at full scale."""
        return int(self.tables["train"]["stop"]["updates"])

    @property
    def averaged(self) -> int:
        """How many checkpoints are averaged."""
        return int(self.tables["train"]["checkpoints"]["average"])


def read_experiment(options: Options) -> Experiment:
    """Read the config of the size asked for. Raises RecipeError where the manifest lacks a file that it names."""
    path = options.recipe / SIZES[options.size]
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    corpus = tables["corpus"]
    train = tuple(_pair(each, options.manifest) for each in corpus["train"])
    return Experiment(
        path, tables, train, *(_pair(each, options.manifest) for each in (corpus["dev"], corpus["test"][0]))
    )


def _pair(table: dict[str, Any], manifest: Manifest) -> Pair:
    source, target = str(table["source"]), str(table["target"])
    for name in (source, target):
        if name not in manifest.texts:
            raise RecipeError(f"{manifest.path} has no text {name}, which the config of the recipe names; add it", 2)
    lines = manifest.texts[source].lines, manifest.texts[target].lines
    if lines[0] != lines[1]:
        raise RecipeError(
            f"{manifest.path}: {source} has {lines[0]:,} lines but {target} has {lines[1]:,}; repair it", 2
        )
    return Pair(source, target, lines[0])


def training_arguments(options: Options, experiment: Experiment, texts: Path) -> list[str]:
    """Return what `nmtkit prepare` and `nmtkit train` are given; the later settings win over the earlier."""
    settings = [f"corpus.folder={inline(str(texts.resolve()))}"]
    if options.scale < 1:
        settings += scaled(experiment.tables, options.scale)
    if options.clean:
        settings.append(f"prepare.filters={inline([*experiment.tables['prepare']['filters'], *CLEANING])}")
    return ["--config", str(experiment.config), "--run", str(options.run), *_set([*settings, *options.settings])]


def using_arguments(options: Options, experiment: Experiment, section: str) -> list[str]:
    """Return what a command that uses a trained run is given: how it translates and scores, the config says now."""
    return ["--config", str(experiment.config), "--run", str(options.run), *_set(options.settings_of(section))]


def averaged_in(run: Path) -> int:
    """Return how many checkpoints the training of a run averages. Raises RecipeError where it averages none."""
    config = tomllib.loads((run / "config.toml").read_text(encoding="utf-8"))
    count = int(config["train"]["checkpoints"]["average"])
    if not count:
        raise RecipeError(
            "train.checkpoints.average = 0: the recipe scores the average of the last checkpoints, as the paper does; "
            "set how many",
            2,
        )
    return count


def _set(settings: list[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


CLEANING: list[dict[str, Any]] = [{"kind": "same", "minimum_words": 4}, {"kind": "language"}]
"""Filters beyond what the paper says: untranslated lines, and lines in another language."""


def scaled(tables: dict[str, Any], scale: float) -> list[str]:
    """Return settings that make a training small: updates by the scale, sizes by its root, the model tiny."""
    root, train = math.sqrt(scale), tables["train"]
    updates = max(LEAST_UPDATES, round(train["stop"]["updates"] * scale))
    tokens = max(LEAST_TOKENS, round(train["batch"]["tokens_per_update"] * root))
    found: dict[str, Any] = {
        "prepare.segmenter.vocabulary_size": scaled_vocabulary(tables, scale),
        "model.preset": "tiny",
        "train.batch.tokens_per_update": tokens,
        "train.batch.tokens_per_tensor": min(tokens, train["batch"]["tokens_per_tensor"]),
        "train.schedule.warmup": max(LEAST_WARMUP, round(train["schedule"]["warmup"] * scale)),
        "train.stop.updates": updates,
        "train.validation.every": math.ceil(updates / 2),
        "train.checkpoints.every": max(1, round(train["checkpoints"]["every"] * scale)),
        "train.log_every": math.ceil(updates / 10),
    }
    return [f"{key}={inline(value)}" for key, value in found.items()]


def scaled_vocabulary(tables: dict[str, Any], scale: float) -> int:
    """Return how many pieces the vocabulary of a scaled training has."""
    whole = int(tables["prepare"]["segmenter"]["vocabulary_size"])
    return max(LEAST_VOCABULARY, round(whole * math.sqrt(scale)))


def inline(value: Any) -> str:
    """Return a value as TOML has it on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {inline(each)}' for key, each in value.items())}}}"
    return str(value)
