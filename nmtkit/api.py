"""What `import nmtkit` offers: a run folder opened and its parts put together.

from nmtkit import Translator

translator = Translator.load("runs/x")
translator.translate(["Hello"])
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np  # noqa: F401  before torch, which would swallow a Ctrl-C while it imports this
import torch

from nmtkit.config import Config, exchanged, load_run_config
from nmtkit.corpus.normalizers import CountingChain, build_restorer
from nmtkit.corpus.segmenters import Segmenter, load_segmenter
from nmtkit.corpus.tags import check_tags
from nmtkit.data.manifest import usual_pieces
from nmtkit.errors import ConfigError
from nmtkit.models.base import AutoregressiveModel
from nmtkit.run_folder import RunFolder
from nmtkit.search.base import Hypothesis
from nmtkit.training.checkpoints import load_weights
from nmtkit.training.choice import find_weights
from nmtkit.training.fitting import check_model, check_vocabularies
from nmtkit.translation.scorer import PairScore, PairScorer
from nmtkit.translation.settings import TranslateConfig
from nmtkit.translation.translator import LineTranslator
from nmtkit.workers import processors

__all__ = [
    "Hypothesis",
    "PairScore",
    "Scorer",
    "Segmenters",
    "Translator",
    "load_model",
    "load_run_config",
    "load_segmenters",
    "resolve_device",
    "use_threads",
]

Warn = Callable[[str], None]


class Segmenters(NamedTuple):
    """The segmenters of a run; the same model twice where the vocabulary is joint."""

    source: Segmenter
    target: Segmenter


class Translator(LineTranslator):
    """Translates with a trained run."""

    weights: Path = Path()
    """The file that the weights were read from; no file while the model is in training."""

    @classmethod
    def load(cls, run: str | Path, *, device: str = "auto", config: TranslateConfig | None = None) -> "Translator":
        """Open a run folder; `config` replaces the translation settings that it was trained with.

        `device` is "auto" (a GPU where there is one), "cpu", "cuda" or "cuda:1". Raises CheckpointError where
        `run` is no run folder, has no usable checkpoint, or its vocabularies are not those of the checkpoint;
        ConfigError where the device does not exist, or the vocabularies have no such tag as the settings ask for.
        """
        folder = RunFolder(Path(run))
        return cls.open(folder, _settings(folder, config), resolve_device(device))

    @classmethod
    def open(cls, run: RunFolder, config: Config, device: torch.device, warn: Warn = lambda _: None) -> "Translator":
        """Open a run under these settings; `warn` is told of damaged checkpoints."""
        weights, segmenters, model = _open(run, config, device, warn)
        translator = cls.of(model, segmenters, config, device)
        translator.weights = weights
        translator.usual_pieces = usual_pieces(run)
        return translator

    @classmethod
    def of(
        cls, model: AutoregressiveModel, segmenters: Segmenters, config: Config, device: torch.device
    ) -> "Translator":
        """Put the parts of a run together under these settings: in training, and after it."""
        normalizers, languages = config.prepare.normalizers, config.languages
        normalize = CountingChain(normalizers, languages.source)
        restore = build_restorer(normalizers, languages.target)
        return cls(model, segmenters.source, segmenters.target, normalize, config.translate, device, restore)


class Scorer(PairScorer):
    """Scores translations that are there already with a trained run."""

    weights: Path = Path()
    """The file that the weights were read from."""

    @classmethod
    def load(cls, run: str | Path, *, device: str = "auto", config: TranslateConfig | None = None) -> "Scorer":
        """Open a run folder as `Translator.load` does."""
        folder = RunFolder(Path(run))
        return cls.open(folder, _settings(folder, config), resolve_device(device))

    @classmethod
    def open(cls, run: RunFolder, config: Config, device: torch.device, warn: Warn = lambda _: None) -> "Scorer":
        """Open a run under these settings; `warn` is told of damaged checkpoints."""
        weights, segmenters, model = _open(run, config, device, warn)
        languages = config.languages
        source, target = (
            CountingChain(config.prepare.normalizers, each) for each in (languages.source, languages.target)
        )
        scorer = cls(model, segmenters, (source, target), config.translate, device)
        scorer.weights = weights
        return scorer


def _settings(run: RunFolder, translate: TranslateConfig | None) -> Config:
    """Return the settings of a run, those of translation replaced where others are given."""
    settings = load_run_config(run)
    return settings if translate is None else exchanged(settings, {"translate": translate})


def _open(
    run: RunFolder, config: Config, device: torch.device, warn: Warn
) -> tuple[Path, Segmenters, AutoregressiveModel]:
    """Return the file of weights that these settings ask for, and what it was trained with."""
    weights = find_weights(run, config.translate.checkpoint, warn)
    segmenters = load_segmenters(run)
    check_tags({"translate.tag": config.translate.tag}, segmenters.source.tags)
    return weights, segmenters, load_model(config, weights, segmenters, device)


def load_segmenters(run: RunFolder) -> Segmenters:
    """Open the segmenters of a run. Raises CheckpointError where one is missing or damaged."""
    return Segmenters(load_segmenter(run.source_segmenter), load_segmenter(run.target_segmenter))


def load_model(config: Config, weights: Path, segmenters: Segmenters, device: torch.device) -> AutoregressiveModel:
    """Return the model of these settings with the weights of a file (see `find_weights`), ready to translate.

    Raises CheckpointError where the weights are damaged or were trained with other vocabularies or as another model.
    """
    check_vocabularies(weights, segmenters.source.fingerprint, segmenters.target.fingerprint)
    check_model(weights, config.model)
    model = config.model.build(segmenters.source.size, segmenters.target.size)
    load_weights(model, weights)
    return model.to(device).eval()


def use_threads(sharing: int = 1) -> None:
    """Compute on as many threads as this process has cores, a container's share counted, unless told otherwise.

    Cores that several processes use, so many of them `sharing`, are shared out: threads beyond that wait for each other
    at every operation. OMP_NUM_THREADS has the last word.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(torch.get_num_threads(), max(1, processors() // sharing)))


def check_device_name(name: str) -> None:
    """Raise ConfigError where no device has such a name, here or elsewhere."""
    kind, _, number = name.partition(":")
    if name not in ("auto", "cpu", "cuda") and not (kind == "cuda" and number.isdecimal()):
        raise ConfigError(f'device: {name!r} is none; choose "auto", "cpu", "cuda" or "cuda:N", N counted from 0')


def resolve_device(name: str) -> torch.device:
    """Return the device meant by "auto", "cpu", "cuda" or "cuda:N". Raises ConfigError where there is none."""
    check_device_name(name)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError(f"device: {name!r} was asked for, but torch finds no GPU; choose cpu, or see pytorch.org")
        count = torch.cuda.device_count()
        if number and int(number) >= count:
            raise ConfigError(f"device: {name!r} was asked for, but there are {count} GPUs, counted from cuda:0")
    return torch.device(name)
