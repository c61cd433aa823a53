"""The union of all architectures: one name here adds one."""

from typing import Annotated

from pydantic import Field

from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.transformer.settings import TransformerConfig

ModelConfig = Annotated[TransformerConfig | RnnConfig, Field(discriminator="kind")]

DEFAULT_MODEL = TransformerConfig()
"""The model of a configuration that says nothing of it."""
