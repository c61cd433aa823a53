"""The rows of the paper's Table 3: what each changes, by factors of the base, and what the paper has found.

Vaswani et al. 2017, "Attention Is All You Need", table 3: newstest2013 English-German, beam 4, no checkpoint averaging,
perplexity per piece. Where a base has other sizes than the paper's, a row changes them in the same proportion: "16
heads" is twice the heads of the base. With the paper's base the values are the paper's.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from nmtkit.config import Config
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.toml import inline
from nmtkit.training.schedules import LinearConfig
from recipe_parts.saying import RecipeError

MOST_SHARE = 0.5
"""No factor brings a share beyond this."""


class Paper(NamedTuple):
    """What the paper says of a row; parameters in millions, where it says how many."""

    perplexity: float
    bleu: float
    parameters: int | None = None


class Row(NamedTuple):
    """A row of the table."""

    name: str
    """What it is called, by the paper's value."""
    change: str
    """What it changes, with the paper's value."""
    factors: tuple[tuple[str, Fraction | str], ...]
    """Keys of the settings, and what the value of the base is multiplied by, or what takes its place."""
    paper: Paper


BASE = Row("base", "", (), Paper(4.92, 25.8, 65))

KEY_SIZE, LAYERS, UPDATES = "model.key_size", ("model.encoder_layers", "model.decoder_layers"), "train.stop.updates"
_BIG = (
    ("model.width", Fraction(2)),
    ("model.feed_forward", Fraction(2)),
    ("model.heads", Fraction(2)),
    ("model.dropout", Fraction(3)),
    (UPDATES, Fraction(3)),
)


def _row(name: str, change: str, keys: str | tuple[str, ...], factor: Fraction | str, paper: Paper) -> Row:
    return Row(name, change, tuple((key, factor) for key in ((keys,) if isinstance(keys, str) else keys)), paper)


ROWS = (
    BASE,
    _row("A1", "1 head", "model.heads", Fraction(1, 8), Paper(5.29, 24.9)),
    _row("A4", "4 heads", "model.heads", Fraction(1, 2), Paper(5.00, 25.5)),
    _row("A16", "16 heads", "model.heads", Fraction(2), Paper(4.91, 25.8)),
    _row("A32", "32 heads", "model.heads", Fraction(4), Paper(5.01, 25.4)),
    _row("B16", "keys of 16", KEY_SIZE, Fraction(1, 4), Paper(5.16, 25.1, 58)),
    _row("B32", "keys of 32", KEY_SIZE, Fraction(1, 2), Paper(5.01, 25.4, 60)),
    _row("C-2-layers", "2 layers", LAYERS, Fraction(1, 3), Paper(6.11, 23.7, 36)),
    _row("C-4-layers", "4 layers", LAYERS, Fraction(2, 3), Paper(5.19, 25.3, 50)),
    _row("C-8-layers", "8 layers", LAYERS, Fraction(4, 3), Paper(4.88, 25.5, 80)),
    _row("C-width-256", "width 256", "model.width", Fraction(1, 2), Paper(5.75, 24.5, 28)),
    _row("C-width-1024", "width 1024", "model.width", Fraction(2), Paper(4.66, 26.0, 168)),
    _row("C-ff-1024", "feed-forward 1024", "model.feed_forward", Fraction(1, 2), Paper(5.12, 25.4, 53)),
    _row("C-ff-4096", "feed-forward 4096", "model.feed_forward", Fraction(2), Paper(4.75, 26.2, 90)),
    _row("D-dropout-0", "dropout 0", "model.dropout", Fraction(0), Paper(5.77, 24.6)),
    _row("D-dropout-0.2", "dropout 0.2", "model.dropout", Fraction(2), Paper(4.95, 25.5)),
    _row("D-smoothing-0", "smoothing 0", "train.label_smoothing", Fraction(0), Paper(4.67, 25.3)),
    _row("D-smoothing-0.2", "smoothing 0.2", "train.label_smoothing", Fraction(2), Paper(5.47, 25.7)),
    _row("E", "learned positions", "model.positions", "learned", Paper(4.92, 25.7)),
    Row("big", "width, heads, feed-forward × 2, dropout 0.3, 300k updates", _BIG, Paper(4.33, 26.4, 213)),
)
"""All rows, the base first, in the paper's order."""


class Variation(NamedTuple):
    """A row for a certain base."""

    row: Row
    settings: dict[str, Any]
    """The keys that differ from the base, and their values."""

    @property
    def overrides(self) -> list[str]:
        """The same as `--set` has it."""
        return [f"{key}={inline(value)}" for key, value in self.settings.items()]


class LeftOut(NamedTuple):
    """A row that a base has nothing to change for."""

    row: Row
    why: str


def chosen(names: list[str]) -> list[Row]:
    """Return the rows of these names, the base with them, in the table's order. Raises RecipeError for unknown ones."""
    known = [row.name for row in ROWS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RecipeError(f"--rows: {', '.join(unknown)} is none; there are: {', '.join(known)}", 2)
    return [row for row in ROWS if row is BASE or row.name in names or not names]


def variations(config: Config, rows: list[Row]) -> tuple[list[Variation], list[LeftOut]]:
    """Return what the rows are for a base, and which of them are none; two that would be equal count once.

    Raises RecipeError where the base is none that the paper's table is about.
    """
    model = config.model
    if not isinstance(model, TransformerConfig):
        raise RecipeError(f'model.kind = "{model.kind}": the table is about the Transformer; give such a base', 2)
    found: list[Variation] = []
    left_out: list[LeftOut] = []
    for row in rows:
        settings = _settings(config, model, row)
        same = next((other for other in found if other.settings == settings), None)
        why = f"the same as {same.row.name} for this base" if same else _obstacle(model, settings)
        if why:
            left_out.append(LeftOut(row, why))
        else:
            found.append(Variation(row, settings))
    return found, left_out


def _settings(config: Config, model: TransformerConfig, row: Row) -> dict[str, Any]:
    """Return the settings of a row that differ from the base."""
    after: dict[str, Any] = {
        key: factor if isinstance(factor, str) else scaled(_value(config, model, key), factor)
        for key, factor in row.factors
    }
    if model.key_size is not None and "model.width" in after:  # else keys follow width and heads by themselves
        heads = after.get("model.heads", model.heads)
        after[KEY_SIZE] = scaled(model.key_size, Fraction(after["model.width"] * model.heads, model.width * heads))
    schedule = config.train.schedule
    if UPDATES in after and isinstance(schedule, LinearConfig):
        longer = Fraction(after[UPDATES], config.train.stop.updates)
        after["train.schedule.decay_to"] = scaled(schedule.decay_to, longer)
    return {key: value for key, value in after.items() if value != _value(config, model, key)}


def _value(config: Config, model: TransformerConfig, key: str) -> Any:
    """Return the value of the base; the size of keys is that of heads where none is given."""
    found: Any = config
    for name in key.split("."):
        found = getattr(found, name)
    return model.width // model.heads if key == KEY_SIZE and found is None else found


def scaled(value: Any, factor: Fraction) -> Any:
    """Return a value times a factor: whole numbers rounded, halves up, and 1 at least; shares at most MOST_SHARE."""
    if isinstance(value, int):
        return max(1, math.floor(value * factor + Fraction(1, 2)))
    return min(round(value * float(factor), 6), max(value, MOST_SHARE))


def _obstacle(model: TransformerConfig, settings: Mapping[str, Any]) -> str:
    """Return why a row cannot be trained; empty: it can."""
    of_model = {key.removeprefix("model."): value for key, value in settings.items() if key.startswith("model.")}
    conflicts = model.model_copy(update=of_model).conflicts()
    return next((conflict.message for conflict in conflicts), "")


def in_words(config: Config, variation: Variation) -> str:
    """Return what a row changes here: `heads 4 → 1`; empty for the base."""
    model = config.model
    assert isinstance(model, TransformerConfig)
    parts: dict[str, None] = {}  # encoder and decoder change alike, mostly
    for key, value in variation.settings.items():
        name = "layers" if key in LAYERS else key.rpartition(".")[2].replace("_", " ")
        parts[f"{name} {_shown(_value(config, model, key))} → {_shown(value)}"] = None
    return ", ".join(parts)


def _shown(value: Any) -> str:
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
