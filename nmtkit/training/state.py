"""TrainingState: where training stands. With the weights and the optimizer it is all that a resume needs."""

import math
import platform
import sys
from dataclasses import dataclass, field, fields
from typing import Any, Self, get_args

from nmtkit import __version__
from nmtkit.data.batching import PlanSummary
from nmtkit.data.position import Position
from nmtkit.metrics.base import Score
from nmtkit.training.precision import FIRST_LOSS_SCALE, Precision


@dataclass
class TrainingState:
    """Position, counters and scores. Dropout and order need nothing: both follow from seed, update and epoch."""

    update: int = 0
    """Updates done in all; a skipped one counts, since its pairs are past."""
    position: Position = field(default_factory=Position)
    """The pairs of the epoch that are behind."""
    pairs: int = 0
    """Sentence pairs seen in all."""
    source_tokens: int = 0
    target_tokens: int = 0
    """Their pieces and end marks."""
    passes: float = 0.0
    """Passes over the corpora, the one at hand counted by its pairs."""
    seconds: float = 0.0
    """Time since the first update, validations and the time before a resume included."""
    update_seconds: float = 0.0
    """What an update takes: a mean that forgets, over some 10 of them, and counts none as more than twice itself."""
    validation_seconds: float = 0.0
    """What the latest validation took, its reports included; not one that was made because training ends."""
    validated_update_seconds: float = 0.0
    """`update_seconds` at that time: how busy the machine was."""
    validated_seconds: float = 0.0
    """`seconds` at its end."""
    checkpoint_seconds: float = 0.0
    """What the latest checkpoint took until it was on the disk, while training went on or not."""
    skipped: int = 0
    """Updates whose loss or gradient was not finite."""
    skipped_in_a_row: int = 0
    """How many of them were the latest ones."""
    watched: int = 0
    """The others. What follows is the memory of `guard`."""
    recent_nll: float = 0.0
    recent_tokens: float = 0.0
    """Their plain losses, in nats, and target tokens: sums that forget."""
    lowest_loss: float = 0.0
    """The lowest mean of a token by these sums, from the first on that reaches over enough updates."""
    steady: int = 0
    """The last update at which the mean lay near that, or 0."""
    returns: int = 0
    """How often training diverged and went back to a checkpoint."""
    passed_from: int = 0
    passed_to: int = 0
    """The first and the last update that it passes over since."""
    loss_scale: float = FIRST_LOSS_SCALE
    calm: int = 0
    """fp16 alone: what the loss is multiplied by, and the updates since that changed."""
    validated: int = 0
    """The last update that was validated."""
    score: Score | None = None
    """What the development set said at that update."""
    best: Score | None = None
    best_update: int = 0
    validations_without_gain: int = 0

    @property
    def epoch(self) -> int:
        """Passes over the corpora completed."""
        return self.position.epoch

    @property
    def current_score(self) -> Score | None:
        """The score of the weights as they are, or None where this update was not validated."""
        return self.score if self.validated == self.update else None

    def count(self, cost: PlanSummary) -> None:
        """Take in the pairs and tokens of an update."""
        self.pairs += cost.pairs
        self.source_tokens += cost.source_tokens
        self.target_tokens += cost.target_tokens

    def record_score(self, score: Score, *, counts: bool) -> bool:
        """Take in a validation of this update; return whether it is the best so far.

        With `counts` it counts towards patience. A score measured in another way than before begins a new ranking.
        """
        self.validated, self.score = self.update, score
        if self.best is None or not comparable(score, self.best) or beats(score, self.best):
            self.best, self.best_update, self.validations_without_gain = score, self.update, 0
            return True
        self.validations_without_gain += counts
        return False

    def forget_scores(self) -> None:
        """Begin a new ranking, as where scores will be measured on other pairs."""
        self.best, self.best_update, self.validations_without_gain = None, 0, 0

    def become(self, other: "TrainingState") -> None:
        """Take over all that another state holds."""
        vars(self).update(vars(other))

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON holds it."""
        scores = {name: score and score._asdict() for name, score in (("score", self.score), ("best", self.best))}
        return {**vars(self), **scores, "position": self.position.to_json()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `to_json` wrote. Raises TypeError or KeyError on anything else."""
        scores = {name: Score(**content[name]) if content[name] else None for name in ("score", "best")}
        position = Position.from_json(content["position"])
        state = cls(**{**content, **scores, "position": position})
        types: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float)}
        for name, type_ in ((each.name, each.type) for each in fields(cls)):
            value = getattr(state, name)
            if type_ in types and not (type(value) in types[type_] and 0 <= value < math.inf):
                raise TypeError(f"{name} = {value!r}")
        for name, score in scores.items():
            if score is not None and not (type(score.value) in (int, float) and abs(score.value) <= sys.float_info.max):
                raise TypeError(f"the value of {name} is no finite number")
        return state


@dataclass(frozen=True)
class Origin:
    """What a checkpoint was made from and with; it fits nothing else."""

    precision: Precision
    """Kept by every resume."""
    source_vocabulary: str
    target_vocabulary: str
    """Fingerprints of the segmenters."""
    data: str
    """Fingerprint of the packed training pairs."""
    model: dict[str, Any]
    """The settings of the model that its weights belong to, `ModelSection.of_weights`."""
    dev: str
    """Fingerprint of the development pairs that its score was measured on; empty: none."""
    versions: dict[str, str] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    """The weights that it began with: run, checkpoint, update and the SHA-256 of their file; empty: drawn ones."""

    def __post_init__(self) -> None:
        """Raise ValueError where a file gave what no training has."""
        if self.precision not in get_args(Precision):
            raise ValueError(f"precision = {self.precision!r}")
        if not isinstance(self.model, dict):
            raise ValueError(f"model = {self.model!r}")
        if not isinstance(self.initial, dict) or not all(isinstance(fact, str) for fact in self.initial.values()):
            raise ValueError(f"initial = {self.initial!r}")


def versions() -> dict[str, str]:
    """Return the versions of what weights depend on."""
    import torch

    return {"nmtkit": __version__, "torch": torch.__version__, "python": platform.python_version()}


def beats(score: Score, other: Score) -> bool:
    """Tell whether a score is strictly better than another of the same metric."""
    return score.value > other.value if score.higher_is_better else score.value < other.value


def comparable(score: Score, other: Score) -> bool:
    """Tell whether two scores were measured in the same way."""
    return (score.name, score.signature) == (other.name, other.signature)
