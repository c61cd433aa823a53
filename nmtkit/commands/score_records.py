"""Scores that stay in a run: beside the translation of a test set what it scored, and on the run card."""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from nmtkit import __version__
from nmtkit.commands.run_page import page
from nmtkit.commands.score_results import Evaluated, plain
from nmtkit.config import Config
from nmtkit.errors import CheckpointError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.run_lock import RunLock
from nmtkit.training.card_files import card_text, now, read_card, write_card


class ScoreKeeper:
    """Keeps the scores of a run under some weights. What fails here is no more than a warning: the scores are shown."""

    def __init__(self, run: RunFolder, config: Config, log: Log, *, checkpoint: str, updates: Sequence[int]) -> None:
        self._run, self._config, self._log = run, config, log
        self._checkpoint, self._updates = checkpoint, list(updates)
        """The name of the weights, and the updates behind which they are, or of which they are the mean."""

    def keep(self, evaluated: Evaluated) -> None:
        """Write what a test set scored, and of what."""
        test_set, material = evaluated.found, evaluated.material
        (system,) = test_set.systems
        content: dict[str, Any] = {
            "name": test_set.name,
            "checkpoint": self._checkpoint,
            "updates": self._updates,
            "tag": test_set.tag,
            "lines": test_set.lines,
            "scores": plain(system.scores),
            "parts": plain(system.parts),
            "hypotheses_sha256": lines_digest(material.systems[0].hypotheses),
            "references_sha256": lines_digest([line for lines in material.references for line in lines]),
            "translate": self._config.translate.model_dump(
                mode="json", exclude={"checkpoint", "tag"}, exclude_none=True
            ),
            "nmtkit": __version__,
            "scored": now(),
        }
        file = self._run.scores(test_set.name, self._checkpoint)
        try:
            write_text(file, card_text(content))
        except (OSError, ValueError) as error:  # a name with half a character, a score that is no number
            self._log.warn(f"{file} could not be written: {error}")

    def finish(self) -> None:
        """Put the scores on the card of the run, if it has one; a training that is at work in it does so itself."""
        if not self._run.card.exists():
            return
        with ExitStack() as stack:
            try:
                stack.enter_context(RunLock(self._run.lock))
            except CheckpointError:
                return
            try:
                write_card(self._run, read_card(self._run.path), page)
            except (CheckpointError, OSError) as error:
                self._log.warn(f"the scores are not on the run card: {error}")


def lines_digest(lines: Sequence[str]) -> str:
    """Return the SHA-256 of lines: that of their file, where it is UTF-8 and each line ends in a line feed alone."""
    total = hashlib.sha256()
    for line in lines:
        total.update(f"{line}\n".encode())
    return total.hexdigest()
