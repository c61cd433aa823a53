"""Metrics: scores with their signatures. Imports no torch."""
