"""Changes: what differs between the settings a run was trained with and those it is asked to go on with."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

FREE = (
    "corpus",
    "model.activation_dropout",
    "model.attention_dropout",
    "model.dropout",
    "train.batch",
    "train.checkpoints",
    "train.clip_norm",
    "train.compile",
    "train.guard",
    "train.kernels",
    "train.label_smoothing",
    "train.log_every",
    "train.optimizer",
    "train.parallel",
    "train.precision",
    "train.recompute",
    "train.sampling",
    "train.schedule",
    "train.stop",
    "train.tensorboard",
    "train.timeout",
    "train.validation",
    "translate",
    "score",
)
"""Sections and keys that may change within a run. All others would make it another model or vocabulary, or lose the
order of pairs; packed data has its own fingerprint."""

FIXED = ("train.optimizer.kind",)
"""Keys of these that may not: what one kind of optimizer remembers, another cannot go on with."""


class Change(NamedTuple):
    """A setting with its value in the run and the new one; None where it is not there."""

    key: str
    old: Any
    new: Any

    @property
    def allowed(self) -> bool:
        """True where a run may go on with the new value."""
        free = any(self.key == free or self.key.startswith(f"{free}.") for free in FREE)
        return free and self.key not in FIXED

    def __str__(self) -> str:
        return f"{self.key}: {shown(self.old)} in the run, now {shown(self.new)}"


def changes(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[Change]:
    """Yield the settings that differ between two nested tables, in the order of the new one; lists count as a whole."""
    for key in [*new, *(key for key in old if key not in new)]:
        before, after, path = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from changes(before, after, f"{path}.")
        elif before != after:
            yield Change(path, before, after)


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings of nested tables by their full keys; lists count as a whole."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def shown(value: Any) -> str:
    """Return the value of a setting as messages have it."""
    return "not set" if value is None else repr(list(value) if isinstance(value, tuple) else value)
