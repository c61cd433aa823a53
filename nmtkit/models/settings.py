"""The union of all architectures: one name here adds one."""

from nmtkit.models.transformer.settings import TransformerConfig

ModelConfig = TransformerConfig
