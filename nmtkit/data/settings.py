"""The settings of batches and of what they are made from."""

from collections.abc import Iterator

from pydantic import Field

from nmtkit.section import Conflict, Section


class BatchConfig(Section):
    """How many tokens make an update, and how they are cut into tensors. Padding counts."""

    tokens_per_update: int = Field(
        25_000,
        ge=1,
        description="At most this many source and as many target tokens feed one update, whatever the hardware.",
    )
    tokens_per_tensor: int = Field(
        4_096,
        ge=1,
        description="At most this many source and as many target tokens, of sentences alike in length, are computed "
        "at once; gradients are accumulated over tensors until an update is full.",
    )
    window: int = Field(
        200_000, ge=1, description="Pairs shuffled together and sorted by length within before they are cut."
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report a tensor that does not fit into an update."""
        if self.tokens_per_tensor > self.tokens_per_update:
            yield Conflict(
                "tokens_per_tensor",
                f"{self.tokens_per_tensor} is more than tokens_per_update = {self.tokens_per_update}; "
                "lower the one or raise the other",
            )


class SamplingConfig(Section):
    """Training text cut into pieces anew for each epoch, drawn from (seed, epoch, pair): off unless a side is named.

    Batches are planned by the lengths of the stored pieces; what is drawn is longer, by a fifth to a third as a rule.
    """

    source: bool = Field(False, description="Draw the pieces of sources.")
    target: bool = Field(False, description="Draw the pieces of targets.")
    dropout: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="BPE: probability that a merge is passed over (Provilkov et al. 2020); WordPiece: that a longest "
        "match is (Hiraoka 2022).",
    )
    alpha: float = Field(
        0.2,
        ge=0,
        description="Unigram: power to which probabilities are raised (Kudo 2018); 0 makes all ways alike, above 1 the "
        "likeliest likelier.",
    )

    @property
    def is_on(self) -> bool:
        """Whether a side is drawn."""
        return self.source or self.target
