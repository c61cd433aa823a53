"""What `prepare` refuses: another vocabulary under weights that were trained with the one that is there."""

import re
from collections.abc import Iterator

from nmtkit.data.manifest import changes
from nmtkit.errors import CheckpointError
from nmtkit.run_folder import RunFolder


def has_checkpoints(run: RunFolder) -> bool:
    """Tell whether something was trained in a run folder."""
    folders = run.checkpoints.glob("*/weights.safetensors")
    return any(not weights.parent.name.startswith(".") for weights in folders)


def refusal(run: RunFolder, why: str) -> CheckpointError:
    """Return what to say where the vocabulary under trained weights would change."""
    return CheckpointError(
        f"{run.checkpoints} holds weights trained with the vocabulary in {run.data}, which would change ({why}); "
        f"choose another folder with --run, or delete {run.checkpoints}"
    )


def vocabulary_changes(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Yield a line for each setting that differs between two sets of facts and, with it, the vocabulary."""
    tags = [list(dict.fromkeys(fact for key, fact in facts.items() if _is_tag(key))) for facts in (before, after)]
    for difference in changes(before, after):
        if difference.startswith("prepare.segmenter.") or (tags[0] != tags[1] and _is_tag(difference)):
            yield difference


def _is_tag(said: str) -> bool:
    """Whether a fact, or a line that begins with its key, is about the tag of a training corpus."""
    return re.match(r"corpus\.train\[\d+\]\.tag\b", said) is not None
