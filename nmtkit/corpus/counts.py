"""Counts of what cleaning met: how often, where first; counts of parts add up to those of the whole."""

from dataclasses import dataclass, field

from nmtkit.corpus.drops import FIRST_LINES, Drops
from nmtkit.corpus.examples import INVALID, Examples
from nmtkit.corpus.lines import LineCounts

__all__ = ["FIRST_LINES", "INVALID", "CleanCounts", "Drops"]


@dataclass
class CleanCounts:
    """What became of a stretch of a parallel text: read = kept + all drops.

    `source_changed` and `target_changed` hold, for each normalizer in its order, the lines that it changed.
    """

    read: int = 0
    kept: int = 0
    drops: dict[str, Drops] = field(default_factory=dict)
    source: LineCounts = field(default_factory=LineCounts)
    target: LineCounts = field(default_factory=LineCounts)
    source_changed: list[Drops] = field(default_factory=list)
    target_changed: list[Drops] = field(default_factory=list)
    examples: Examples = field(default_factory=Examples)

    def merge(self, later: "CleanCounts") -> None:
        """Add the counts of the stretch that follows; both were made under the same settings."""
        self.read += later.read
        self.kept += later.kept
        for reason, drops in later.drops.items():
            self.drops.setdefault(reason, Drops()).merge(drops)
        _merge_lines(self.source, later.source)
        _merge_lines(self.target, later.target)
        self.source_changed = _merged(self.source_changed, later.source_changed)
        self.target_changed = _merged(self.target_changed, later.target_changed)
        self.examples.merge(later.examples)


def _merge_lines(counts: LineCounts, later: LineCounts) -> None:
    for name, value in vars(later).items():
        mine = getattr(counts, name)
        setattr(counts, name, mine or value if name.startswith("first_") else mine + value)


def _merged(changed: list[Drops], later: list[Drops]) -> list[Drops]:
    if not changed:
        changed = [Drops() for _ in later]
    for drops, more in zip(changed, later, strict=True):
        drops.merge(more)
    return changed
