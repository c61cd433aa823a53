"""The settings of batches."""

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
