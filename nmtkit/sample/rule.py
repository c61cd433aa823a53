"""A rule of the grammar: one construction, and the phenomenon that it belongs to."""

from collections.abc import Callable
from typing import NamedTuple

from nmtkit.sample.draw import Draw
from nmtkit.sample.sentences import Sentence


class Rule(NamedTuple):
    """Draws sentences of one construction, `weight` times as often as others."""

    phenomenon: str
    name: str
    draw: Callable[[Draw], Sentence]
    weight: float = 1.0


def rules(phenomenon: str, *functions: Callable[[Draw], Sentence], weight: float = 1.0) -> tuple[Rule, ...]:
    """Name rules after their functions; `weight` is shared out among them."""
    return tuple(Rule(phenomenon, function.__name__, function, weight / len(functions)) for function in functions)
