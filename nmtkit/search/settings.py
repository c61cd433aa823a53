"""The settings of the searches and their union: one name there adds one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from nmtkit.section import Conflict, Section

if TYPE_CHECKING:
    from nmtkit.models.base import AutoregressiveModel
    from nmtkit.search.base import Search


class LimitedSection(Section):
    """What every search needs: a limit to the length of a translation."""

    max_length_ratio: float = Field(
        1.0,
        ge=0,
        description="A translation has at most max_length_ratio × source pieces + max_length_extra pieces.",
    )
    max_length_extra: int = Field(50, ge=1, description="See max_length_ratio; the paper's limit is source + 50.")

    @property
    def rows_per_sentence(self) -> int:
        """Most hypotheses of a sentence computed at once; sets the size of batches."""
        return 1


class GreedyConfig(LimitedSection):
    """Take the most probable token at each step."""

    kind: Literal["greedy"] = "greedy"

    def build(self) -> "Search[AutoregressiveModel]":
        """Return the search."""
        from nmtkit.search.base import LengthLimit
        from nmtkit.search.greedy import GreedySearch

        return GreedySearch(LengthLimit(self.max_length_ratio, self.max_length_extra))


class BeamConfig(LimitedSection):
    """Keep the most probable partial translations at each step."""

    kind: Literal["beam"] = "beam"
    beam: int = Field(4, ge=1, le=1_000, description="Hypotheses kept for each sentence.")
    length_penalty: float = Field(
        0.6,
        ge=0,
        description="Exponent α of the GNMT length penalty ((5 + length) / 6)^α; 0 prefers short ones.",
    )
    n_best: int = Field(1, ge=1, le=1_000, description="Hypotheses returned for each sentence; at most `beam`.")

    @property
    def rows_per_sentence(self) -> int:
        """Most hypotheses of a sentence computed at once."""
        return self.beam

    def conflicts(self) -> Iterator[Conflict]:
        """Report an n-best list longer than the beam."""
        if self.n_best > self.beam:
            yield Conflict("n_best", f"{self.n_best} is more than beam = {self.beam}; raise beam or lower n_best")

    def build(self) -> "Search[AutoregressiveModel]":
        """Return the search."""
        from nmtkit.search.base import LengthLimit
        from nmtkit.search.beam import BeamSearch

        limit = LengthLimit(self.max_length_ratio, self.max_length_extra)
        return BeamSearch(self.beam, self.length_penalty, self.n_best, limit)


class SamplingConfig(LimitedSection):
    """Draw each token at random, as probable as the model finds it: for back-translation.

    What is drawn for a line depends on the seed and on the number of the line, never on the lines beside it.
    """

    kind: Literal["sampling"] = "sampling"
    n_best: int = Field(
        1, ge=1, le=1_000, description="Samples drawn for each sentence; those that are the same are returned once."
    )
    temperature: float = Field(
        1.0,
        gt=0,
        description="Probabilities are raised to the power of 1 / temperature; below 1 draws the likely more.",
    )
    top_k: int = Field(0, ge=0, description="Draw from the top_k most probable tokens only; 0: from all.")
    top_p: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Draw from the most probable tokens only that together have at least this share; 1: from all.",
    )
    seed: int = Field(1, ge=0, description="Another seed draws other translations.")

    @property
    def rows_per_sentence(self) -> int:
        """Most hypotheses of a sentence computed at once."""
        return self.n_best

    def build(self) -> "Search[AutoregressiveModel]":
        """Return the search."""
        from nmtkit.search.base import LengthLimit
        from nmtkit.search.sampling import Chances, SamplingSearch

        chances = Chances(self.temperature, self.top_k, self.top_p)
        return SamplingSearch(
            self.n_best, chances, self.seed, LengthLimit(self.max_length_ratio, self.max_length_extra)
        )


SearchConfig = Annotated[BeamConfig | GreedyConfig | SamplingConfig, Field(discriminator="kind")]
