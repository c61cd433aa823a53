"""The root of all settings: one frozen tree, read from nmtkit.toml and `--set`, for all commands."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from pydantic import Field, ValidationError

from nmtkit.corpus.settings import CorpusConfig, LanguagesConfig, PrepareConfig
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.explain import explain, unfit
from nmtkit.metrics.settings import ScoreConfig
from nmtkit.models.settings import DEFAULT_MODEL, ModelConfig
from nmtkit.overrides import Layers, find, path_of
from nmtkit.run_folder import RunFolder
from nmtkit.section import Conflict, Section, all_conflicts
from nmtkit.toml import inline, is_text, read, shorten
from nmtkit.training.schedules import LinearConfig
from nmtkit.training.settings import TrainConfig
from nmtkit.translation.settings import TranslateConfig

FILE_NAME = "nmtkit.toml"
"""The config file that commands look for in the working directory."""

FIXED_BY_TRAINING = ("languages", "prepare", "model")
"""The sections that a trained model was made with: translate and score read them from the run folder only."""


class Config(Section):
    """Everything that makes an experiment."""

    languages: LanguagesConfig = Field(description="The direction of translation.")
    corpus: CorpusConfig = Field(CorpusConfig(), description="Where the parallel texts lie.")
    prepare: PrepareConfig = Field(PrepareConfig(), description="From raw text to packed ids.")
    model: ModelConfig = Field(DEFAULT_MODEL, description="The architecture and its sizes.")
    train: TrainConfig = Field(TrainConfig(), description="How the model is trained.")
    translate: TranslateConfig = Field(TranslateConfig(), description="How lines are translated.")
    score: ScoreConfig = Field(ScoreConfig(), description="Which scores are reported.")

    @property
    def tags(self) -> dict[str, str]:
        """The tags that development and test sets and translations ask for, by their keys; empty where they do not."""
        dev, test = self.corpus.dev, self.corpus.test
        asked = {"corpus.dev.tag": dev.tag} if dev else {}
        asked |= {f"corpus.test[{place}].tag": files.tag for place, files in enumerate(test)}
        return {**asked, "translate.tag": self.translate.tag}

    def conflicts(self) -> Iterator[Conflict]:
        """Report sections that do not fit each other."""
        if self.model.share_embeddings == "all" and not self.prepare.segmenter.joint:
            yield Conflict(
                "model.share_embeddings",
                '"all" needs a joint vocabulary; set prepare.segmenter.joint = true or share_embeddings = "target"',
            )
        if self.train.sampling.is_on and self.prepare.segmenter.kind in ("characters", "bytes"):
            yield Conflict(
                "train.sampling",
                f'prepare.segmenter.kind = "{self.prepare.segmenter.kind}" segments a text in one way only; '
                'remove train.sampling, or choose "bpe", "unigram" or "wordpiece"',
            )
        longest, tensor = self.prepare.max_pieces, self.train.batch.tokens_per_tensor
        tagged = any(corpus.tag for corpus in self.corpus.train)
        if longest + 1 + tagged > tensor:
            yield Conflict(
                "train.batch.tokens_per_tensor",
                f"a sentence of prepare.max_pieces = {longest} and its end mark {'and tag ' if tagged else ''}do not "
                f"fit; give at least {longest + 1 + tagged}, or lower prepare.max_pieces",
            )
        for key, most in (("prepare.max_pieces", longest), ("translate.max_pieces", self.translate.max_pieces)):
            if self.model.longest is not None and most + 1 + tagged > self.model.longest:
                yield Conflict(
                    key,
                    f"with an end mark {'and a tag ' if tagged else ''}that is more than the {self.model.longest} "
                    "positions of model.max_positions; lower it, or raise model.max_positions",
                )
        schedule, stop = self.train.schedule, self.train.stop
        if isinstance(schedule, LinearConfig) and schedule.decay_to < stop.updates:
            yield Conflict(
                "train.schedule.decay_to",
                f"the learning rate would be zero from there to train.stop.updates = {stop.updates}; make them equal",
            )
        if stop.patience and self.corpus.dev is None:
            yield Conflict("train.stop.patience", "needs a development set; add [corpus.dev], or set patience = 0")
        elif stop.patience and not self.train.validation.every:
            yield Conflict("train.stop.patience", "needs validations; set train.validation.every, or patience = 0")


def load(path: Path, settings: Sequence[str] = ()) -> Config:
    """Read a config file and lay `--set` settings (KEY=VALUE) over it.

    Raises ConfigError with one line for each mistake, naming the file or the `--set`: first all mistakes in single
    keys; where there is none, all settings that cannot go together.
    """
    return resolve(read(path), str(path), settings)


def resolve(tables: dict[str, Any], source: str, settings: Sequence[str] = ()) -> Config:
    """Return the settings in TOML tables with `--set` settings over them; `source` names the tables in messages.

    Raises ConfigError as `load` does.
    """
    layers = Layers(tables, source, settings)
    problems = list(unfit(layers.merged))
    config = None
    try:
        config = Config.model_validate(layers.merged)
    except ValidationError as error:
        seen = {problem.path for problem in problems}
        problems += [problem for problem in explain(error, Config) if problem.path not in seen]
    lines = layers.problems + [layers.line(*problem) for problem in problems]
    if config is None or lines:
        raise ConfigError(lines)
    if lines := [_conflict_line(conflict, config, layers) for conflict in all_conflicts(config)]:
        raise ConfigError(lines)
    return config


def _conflict_line(conflict: Conflict, config: Config, layers: Layers) -> str:
    path = path_of(conflict.key)
    value = find(config.model_dump(exclude_none=True), path)
    shown = "" if value is None or isinstance(value, dict) else shorten(inline(value))
    if shown and find(layers.merged, path) is None:
        shown += " (the default)"
    return layers.line(path, shown, conflict.message)


def dump(config: Config) -> str:
    """Return the settings as TOML in which every key is explicit; `load` reads them back as an equal Config."""
    return tomli_w.dumps(_kind_first(config.model_dump(exclude_none=True)))


def _kind_first(value: Any) -> Any:
    """Bring `kind` to the front of each table: it says how to read the rest."""
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: name != "kind")
        return {name: _kind_first(value[name]) for name in names}
    if isinstance(value, (tuple, list)):
        return [_kind_first(element) for element in value]
    return value


class Place(NamedTuple):
    """Settings with the folder their paths start from and the run folder that belongs to them."""

    config: Config
    base: Path
    run: RunFolder


def run_of(file: Path | None, run: Path | None) -> RunFolder:
    """Return the run folder: `run` where given, else the folder "run" beside the config file.

    Raises ConfigError where there is no such file, and where the name is no text: logs and settings could not hold it.
    """
    if file is not None and not file.exists():
        read(file)  # which says so
    path = run if run is not None else (file or Path(FILE_NAME)).parent / "run"
    _check_name(path)
    return RunFolder(path)


def _check_name(path: Path) -> None:
    if not is_text(str(path)):
        raise ConfigError(f"{shorten(str(path), 200)}: holds bytes that are not UTF-8; rename the folder")


def to_train(file: Path | None, run: Path | None, settings: Sequence[str] = ()) -> Place:
    """Return what prepare and train use: the settings in `file`, else in ./nmtkit.toml. Raises ConfigError."""
    file = file or Path(FILE_NAME)
    config = load(file, settings)
    _check_name(file.resolve())
    return Place(config, file.parent, run_of(file, run))


def to_use(file: Path | None, run: Path | None, settings: Sequence[str] = ()) -> Place:
    """Return what translate and score use.

    The settings in `file` where given; else, where a run folder is given, those in it, RUN/config.toml; else those
    in ./nmtkit.toml. But languages, prepare and model are always those that the run was trained with.

    Raises ConfigError, also for a `--set` that would change what training fixed; CheckpointError where nothing was
    trained in the run folder.
    """
    folder = run_of(file, run)
    problems = [
        f"{given.place}: fixed by the training of {folder}; remove it, or train another run with it"
        for given in Layers({}, "", settings).overrides
        if given.path[0] in FIXED_BY_TRAINING
    ]
    if problems:
        raise ConfigError(problems)
    source = file or (Path(FILE_NAME) if run is None else folder.config)
    if source == folder.config:
        config = load_run_config(folder, settings)
        trained = config
    else:
        config = load(source, settings)
        trained = load_run_config(folder)
    fixed = {name: getattr(trained, name) for name in FIXED_BY_TRAINING}
    return Place(exchanged(config, fixed), source.parent, folder)


def exchanged(config: Config, sections: Mapping[str, Section]) -> Config:
    """Return settings with other sections. Raises ConfigError where these do not go together with the rest."""
    merged = config.model_copy(update=dict(sections))
    if lines := [f"{conflict.key}: {conflict.message}" for conflict in all_conflicts(merged)]:
        raise ConfigError(lines)
    return merged


def load_run_config(run: RunFolder, settings: Sequence[str] = ()) -> Config:
    """Return the settings that a run was trained with. Raises CheckpointError where nothing was trained in `run`."""
    if not run.path.is_dir():
        raise CheckpointError(f"{run}: no such folder; give the folder that nmtkit train wrote (usually named run)")
    if not run.config.is_file():
        raise CheckpointError(f"{run}: no run folder, it has no {run.config.name}; give the folder nmtkit train wrote")
    return load(run.config, settings)


def to_score(file: Path | None, run: Path | None, settings: Sequence[str] = ()) -> tuple[Config, Path]:
    """Return what scoring files against the test sets uses, no model: the settings and the folder paths start from.

    They are those in `file`, else in the run folder, else in ./nmtkit.toml. Raises ConfigError.
    """
    source = file or (Path(FILE_NAME) if run is None else RunFolder(run).config)
    return load(source, settings), source.parent


def to_compare(file: Path | None, run: Path | None, settings: Sequence[str] = ()) -> Config:
    """Return what scoring two files uses: no model, and where there is no config file either, the defaults.

    Raises ConfigError.
    """
    if file is None and run is not None:
        file = RunFolder(run).config
    if file is None and not Path(FILE_NAME).exists():
        return resolve({"languages": {"source": "und", "target": "und"}}, "defaults", settings)
    return load(file or Path(FILE_NAME), settings)
