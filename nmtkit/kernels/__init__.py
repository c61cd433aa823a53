"""Fused operations for training on a processor: C++, compiled where a compiler is at hand, and how to call it."""
