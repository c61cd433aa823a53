"""The settings of `nmtkit translate`, also used for every translation made in training."""

from collections.abc import Iterator

from pydantic import Field

from nmtkit.corpus.tags import tag_conflicts
from nmtkit.search.settings import BeamConfig, SearchConfig
from nmtkit.section import Conflict, Section

CHECKPOINTS = ("auto", "average", "best", "last")
CHECKPOINT_CHOICES = '"auto", "average", "best", "last" or an update\'s number'


class TranslateConfig(Section):
    """From lines to translations."""

    search: SearchConfig = Field(BeamConfig(), description="How translations are searched for.")
    checkpoint: str = Field(
        "auto",
        description="Weights to use: average, best, last, or the number of an update; auto takes the first of "
        "average, best, last that exists; an average older than the last checkpoint, or worse than the best one on the "
        "development set, does not count.",
    )
    batch_tokens: int = Field(
        4_096,
        ge=1,
        description="Source tokens × beam computed at once; changes speed and memory, not the result.",
    )
    chunk_lines: int = Field(
        2_000,
        ge=1,
        description="Lines read and sorted by length together, fewer where they have four million characters; output "
        "follows.",
    )
    max_pieces: int = Field(
        256,
        ge=1,
        description="A longer source line is cut at sentence ends (or words), its parts are translated and joined, "
        "and it is counted.",
    )
    tag: str = Field(
        "",
        description="A tag of the training corpora, put before each source that `translate` reads; empty: none. "
        "Development and test sets have their own, `corpus.dev.tag` and `corpus.test.tag`.",
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report a checkpoint that nothing can be meant by, and a tag of two words."""
        yield from checkpoint_conflicts(self.checkpoint)
        yield from tag_conflicts(self.tag)


def checkpoint_conflicts(checkpoint: str) -> Iterator[Conflict]:
    """Report a checkpoint that nothing can be meant by."""
    if checkpoint not in CHECKPOINTS and not checkpoint.isdecimal():
        yield Conflict("checkpoint", f"no such choice; choose {CHECKPOINT_CHOICES}")
