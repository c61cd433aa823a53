"""Position: where training stands in its data, in terms that outlive a change of batches, windows and weights."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from nmtkit.corpus.settings import LARGEST_WEIGHT
from nmtkit.data.batching import Budget


class PositionError(ValueError):
    """A position that was not reached over the data at hand: another version counted it, or it is damaged."""


class Leg(NamedTuple):
    """A stretch of a window under one budget: its first updates, which are behind."""

    budget: Budget
    updates: int


@dataclass(frozen=True)
class Position:
    """What of an epoch is behind.

    Of the epoch's order, all pairs before `begin`; of the window from there on those in the legs. The first leg was
    planned over the whole window, each other one over what the leg before it left over.
    """

    epoch: int = 0
    """Passes over the corpora that are behind."""
    weights: tuple[float, ...] = ()
    """Of the corpora, as the epoch began with; empty where none of its pairs is behind. Others wait for the next."""
    begin: int = 0
    size: int = 0
    """Pairs of the window; 0 where none of them is behind."""
    used: int = 0
    """Pairs of the window that are behind."""
    checksum: int = 0
    """CRC-32 of those, in their order, so that a plan which comes out otherwise is noticed."""
    legs: tuple[Leg, ...] = ()

    def __post_init__(self) -> None:
        """Raise TypeError where a file gave what is no position."""
        numbers = [value for value in vars(self).values() if not isinstance(value, tuple)]
        numbers += [number for leg in self.legs for number in (*leg.budget, leg.updates)]
        if any(type(number) is not int or number < 0 for number in numbers):
            raise TypeError(f"not the numbers of a position: {numbers!r}")
        if any(not all(leg.budget) for leg in self.legs):
            raise TypeError(f"not the budgets of a position: {self.legs!r}")
        if any(type(weight) is not float or not 0 <= weight <= LARGEST_WEIGHT for weight in self.weights):
            raise TypeError(f"not the weights of a position: {self.weights!r}")

    @property
    def seen(self) -> int:
        """Pairs of the epoch that are behind."""
        return self.begin + self.used

    def to_json(self) -> dict[str, Any]:
        """Return the position as JSON holds it."""
        legs = [{**leg.budget._asdict(), "updates": leg.updates} for leg in self.legs]
        return {**vars(self), "weights": list(self.weights), "legs": legs}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `to_json` wrote. Raises TypeError or KeyError on anything else."""
        legs = tuple(
            Leg(Budget(leg["tokens_per_update"], leg["tokens_per_tensor"]), leg["updates"]) for leg in content["legs"]
        )
        return cls(**{**content, "weights": tuple(content["weights"]), "legs": legs})
