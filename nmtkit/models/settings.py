"""The union of all architectures: one name here adds one."""

from nmtkit.models.transformer.settings import TransformerConfig

ModelConfig = TransformerConfig

DEFAULT_MODEL = TransformerConfig()
"""The model of a configuration that says nothing of it."""
