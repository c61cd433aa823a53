"""Changes: what differs between the settings a run was trained with and those it is asked to go on with."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

FREE = (
    "corpus",
    "train.batch",
    "train.stop",
    "train.validation",
    "train.checkpoints",
    "train.kernels",
    "train.log_every",
    "train.tensorboard",
    "translate",
    "score",
)
"""Sections and keys that may change within a run. All others shape the weights; packed data has its own fingerprint."""


class Change(NamedTuple):
    """A setting with its value in the run and the new one; None where it is not there."""

    key: str
    old: Any
    new: Any

    @property
    def allowed(self) -> bool:
        """True where a run may go on with the new value."""
        return any(self.key == free or self.key.startswith(f"{free}.") for free in FREE)

    def __str__(self) -> str:
        return f"{self.key}: {_shown(self.old)} in the run, now {_shown(self.new)}"


def changes(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[Change]:
    """Yield the settings that differ between two nested tables, in the order of the new one; lists count as a whole."""
    for key in [*new, *(key for key in old if key not in new)]:
        before, after, path = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from changes(before, after, f"{path}.")
        elif before != after:
            yield Change(path, before, after)


def _shown(value: Any) -> str:
    return "not set" if value is None else repr(value)
