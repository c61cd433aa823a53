"""The options of the command `score` that go with --model, and what they ask for."""

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from nmtkit.cli_options import as_log, as_settings
from nmtkit.errors import ConfigError


def _option(*names: str, **more: Any) -> Any:
    """Return an option of the group that these options form in the help."""
    return typer.Option(*names, rich_help_panel="With a model", **more)


Pairs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="With --model: source and target; or SOURCE TAB TARGET in one file.  [default: that, from stdin]",
    ),
]
ModelRun = Annotated[
    Path | None,
    _option(
        "--model",
        metavar="RUN",
        help="Score pairs by the model of a run folder: for each LOG_PROBABILITY TAB TOKENS TAB PERPLEXITY.",
    ),
]
Tokens = Annotated[bool, _option("--tokens", help="Write pieces and their log-probabilities too, two columns.")]
Text = Annotated[bool, _option("--text", help="Write source and target too, the last two columns.")]
Above = Annotated[
    float | None,
    _option(metavar="T", help="Write only pairs of at least T nats a piece, themselves: SOURCE TAB TARGET."),
]
Below = Annotated[float | None, _option(metavar="T", help="Write only the others, likewise.")]
NBest = Annotated[
    Path | None,
    _option(
        metavar="LIST",
        help="Rank anew what translate --n-best wrote of the one FILE (default: stdin), as a list again.",
    ),
]
Weights = Annotated[
    tuple[float, float] | None,
    _option(
        metavar="LIST MODEL",
        help="With --n-best: what the scores of list and model count in the sum.  [default: 1 1]",
    ),
]
LengthPenalty = Annotated[
    float | None,
    _option(
        metavar="ALPHA",
        help="With --n-best: that of the model's scores, 0 for none.  [default: that of the search]",
    ),
]
Best = Annotated[bool, _option("--best", help="With --n-best: write the best text of each line alone.")]
Tag = Annotated[str | None, _option(metavar="NAME", help="Put before each source; one of the tags of training.")]


class ByModel(NamedTuple):
    """What was given of these options."""

    files: Sequence[Path]
    tokens: bool
    text: bool
    above: float | None
    below: float | None
    n_best: Path | None
    weights: tuple[float, float] | None
    length_penalty: float | None
    best: bool
    tag: str | None

    def check_none(self) -> None:
        """Raise ConfigError where one of them was given without --model."""
        if self.files:
            raise ConfigError(
                f"{self.files[0]}: pairs to be scored by a model need --model RUN; translations to be compared with a "
                "reference are given with --system and --reference"
            )
        self._refuse("goes with --model RUN", self._fields[1:])

    def check(self) -> None:
        """Raise ConfigError for what does not go together."""
        if self.n_best is None:
            self._refuse("goes with --n-best LIST", ("weights", "length_penalty", "best"))
        else:
            self._refuse("is of pairs, not of an n-best list; leave it away", ("tokens", "text", "above", "below"))
        most = 2 if self.n_best is None else 1
        if len(self.files) > most:
            taken = "source and target, or one of both" if most == 2 else "the source text of the list"
            raise ConfigError(f"{self.files[most]}: a file too many; give {taken}")
        for name, numbers in (("above", (self.above,)), ("below", (self.below,)), ("weights", self.weights or ())):
            if any(number is not None and isnan(number) for number in numbers):
                raise ConfigError(f"--{name}: nan is no number; give one")
        if self.weights == (0, 0):
            raise ConfigError("--weights 0 0: nothing would count; give at least one of them another value")
        if self.length_penalty is not None and not self.length_penalty >= 0:
            raise ConfigError(f"--length-penalty {self.length_penalty:g}: out of range; give at least 0")

    def _refuse(self, why: str, names: Sequence[str]) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and value is not False:
                raise ConfigError(f"--{name.replace('_', '-')}: {why}")


def check_alone(others: Mapping[str, object]) -> None:
    """Raise ConfigError where an option was given that does not go with --model; `others` has them by name."""
    for name, value in others.items():
        if value:
            raise ConfigError(f"{name}: goes without --model, which scores pairs; leave one of them away")


def score_by_model(
    model: Path,
    given: ByModel,
    config: Path | None,
    settings: Sequence[str],
    *,
    as_json: bool,
    device: str,
    quiet: bool | None,
) -> None:
    """Score pairs, or rank an n-best list anew, by the model of a run folder."""
    from nmtkit.config import to_use

    given.check()
    place = to_use(config, model, [*settings, *as_settings(translate__tag=given.tag)])
    if given.n_best is None:
        from nmtkit.commands.score_pairs import score_pairs
        from nmtkit.commands.score_pairs_output import Wanted

        wanted = Wanted(given.tokens, given.text, given.above, given.below, as_json)
        score_pairs(place.run, place.config, as_log(quiet), given.files, wanted, device=device)
        return
    from nmtkit.commands.rerank import Ranking, rerank

    usual = getattr(place.config.translate.search, "length_penalty", 0.0)
    alpha = usual if given.length_penalty is None else given.length_penalty
    ranking = Ranking(given.weights or (1.0, 1.0), alpha, given.best, as_json)
    source = given.files[0] if given.files else None
    rerank(place.run, place.config, as_log(quiet), given.n_best, source, ranking, device=device)
