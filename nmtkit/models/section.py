"""ModelSection: what the settings of every architecture have, since training and vocabularies depend on it."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from nmtkit.models.activations import Activations, Shape, Way
from nmtkit.section import Section

if TYPE_CHECKING:
    from nmtkit.models.base import AutoregressiveModel


class ModelSection(Section):
    """The base of an architecture's settings. A preset fills every size that is not given."""

    apart_from_weights: ClassVar[frozenset[str]] = frozenset({"preset", "dropout"})
    """The keys that weights do not depend on: they may differ between a training and what is done with its weights."""

    width: int = Field(512, ge=2, le=65_536, description="Width of embeddings and layers (d_model).")
    share_embeddings: Literal["all", "target", "none"] = Field(
        "all",
        description="One matrix for source, target and output (all, the paper; needs a joint vocabulary), "
        "for target and output (target), or three (none).",
    )

    @property
    def of_weights(self) -> dict[str, Any]:
        """The settings with which the same weights are the same function, as JSON holds them."""
        return self.model_dump(mode="json", exclude=set(self.apart_from_weights))

    @property
    def longest(self) -> int | None:
        """Positions of a sentence, its end mark included, that the model tells apart; None: any number."""
        return None

    @abstractmethod
    def build(self, source_vocabulary: int, target_vocabulary: int) -> "AutoregressiveModel":
        """Return the network for vocabularies of these sizes, with freshly drawn weights."""

    @abstractmethod
    def activations(self, shape: Shape, way: Way) -> Activations:
        """Return the bytes that a tensor of sentence pairs takes on its way through the network and back."""

    @abstractmethod
    def rounded(self, target_vocabulary: int) -> int:
        """Return the elements of all matrices of which a copy in the format of products is held."""

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "preset" not in cls.model_fields:
            return values
        preset = values.get("preset", cls.model_fields["preset"].default)
        return {**cls.presets.get(str(preset), {}), **values}
