"""Fitting: whether weights were trained with the vocabularies and the settings that they are to be used with."""

from pathlib import Path
from typing import Any

from nmtkit.errors import CheckpointError
from nmtkit.models.section import ModelSection
from nmtkit.toml import shorten
from nmtkit.training.changes import changes, shown
from nmtkit.training.tensor_folder import STATE, read_json


def check_vocabularies(weights: Path, source: str, target: str) -> None:
    """See that the weights were trained with segmenters of these fingerprints. Raises CheckpointError naming both."""
    origin = origin_of(weights)
    for side, fingerprint in (("source", source), ("target", target)):
        trained = origin.get(f"{side}_vocabulary")
        if trained != fingerprint:
            raise CheckpointError(
                f"{weights}: trained with the {side} vocabulary {shorten(str(trained)[:12])}, but the run folder's "
                f"{side}.model is {fingerprint[:12]}; bring back the {side}.model it was trained with, or train anew"
            )


def check_model(weights: Path, model: ModelSection) -> None:
    """See that the weights belong to a model of these settings. Raises CheckpointError naming those that differ."""
    trained = origin_of(weights).get("model")
    if not isinstance(trained, dict):
        raise CheckpointError(
            f"{weights.parent / STATE}: damaged, or of another version of nmtkit (it does not say which settings of "
            "the model the weights belong to); train anew"
        )
    differing = [
        f"  model.{shorten(change.key)}: {shorten(shown(change.old))} in training, {shown(change.new)} now"
        for change in changes(trained, model.of_weights)
    ]
    if differing:
        raise CheckpointError(
            "\n".join([f"{weights}: trained with other settings of the model:", *differing])
            + "\nset them back in the run folder's config.toml, or train anew"
        )


def origin_of(weights: Path) -> dict[str, Any]:
    """Return what state.json beside weights says that they were made from. Raises CheckpointError where it does not."""
    origin = read_json(weights.parent).get("origin")
    if not isinstance(origin, dict):
        raise CheckpointError(f"{weights.parent / STATE}: damaged (it does not say what the weights come from)")
    return origin
