"""Reporting: what training says: lines and a bar on stderr, metrics.jsonl, TensorBoard events, the learning curve."""

import importlib.util
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmtkit.data.batching import PlanSummary
from nmtkit.data.epochs import Progress
from nmtkit.errors import ConfigError
from nmtkit.log import Log, Meter, MetricsWriter, duration
from nmtkit.run_folder import RunFolder
from nmtkit.training.curve import draw_learning_curve
from nmtkit.training.records import drop_later_records
from nmtkit.training.settings import StopConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.stopping import seconds_left
from nmtkit.training.validation import Validation, perplexity

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class UpdateResult(NamedTuple):
    """What an update did. Losses are sums over its target tokens, in nats."""

    total: float
    """What was minimised, smoothed where asked for."""
    nll: float
    cost: PlanSummary
    """Pairs, tokens and padding."""
    gradient_norm: float
    """Before clipping."""
    rate: float
    """The learning rate."""

    @property
    def finite(self) -> bool:
        """False where the update must not be applied."""
        return math.isfinite(self.total) and math.isfinite(self.gradient_norm)


@dataclass
class Sums:
    """Sums over the updates since the last record, divided once."""

    total: float = 0.0
    nll: float = 0.0
    source_tokens: int = 0
    target_tokens: int = 0
    positions: int = 0
    """Places computed, padding included."""
    seconds: float = 0.0

    def add(self, result: UpdateResult) -> None:
        """Take in a finite update."""
        self.total += result.total
        self.nll += result.nll
        self.source_tokens += result.cost.source_tokens
        self.target_tokens += result.cost.target_tokens
        self.positions += result.cost.positions


class Reporter:
    """Tells a person and the files of the run how training goes."""

    def __init__(self, log: Log, run: RunFolder, stop: StopConfig, *, every: int, tensorboard: bool) -> None:
        self._log, self._run, self._stop, self._every = log, run, stop, every
        self._tensorboard = tensorboard
        self._metrics: MetricsWriter | None = None
        self._events: SummaryWriter | None = None
        self._meter: Meter | None = None
        self._sums = Sums()
        self._update_started = 0.0
        self._seconds_per_update = 0.0

    def open(self, state: TrainingState, *, average_stands: bool) -> None:
        """Begin behind `state`: what files say of later updates comes from a training that was cut off, and goes."""
        drop_later_records(self._run.metrics, state.update, validated=state.validated, average_stands=average_stands)
        self._metrics = MetricsWriter(self._run.metrics)
        if self._tensorboard:
            self._events = open_events(self._run.tensorboard, state.update + 1)
        self._meter = self._log.meter("training", unit="updates", done=state.update)
        self._update_started = time.monotonic()

    def close(self) -> None:
        """Close files and bar."""
        for part in (self._meter, self._metrics, self._events):
            if part is not None:
                part.close()

    def begin_updates(self) -> None:
        """Start the clock of the rates anew, so that validation does not count as slow training."""
        self._update_started = time.monotonic()

    def update(self, result: UpdateResult, state: TrainingState, progress: Progress) -> None:
        """Take in an update; write a record where one is due."""
        now = time.monotonic()
        seconds = now - self._update_started
        self._update_started = now
        self._sums.seconds += seconds
        if result.finite:
            self._sums.add(result)
        # A mean that forgets, over some 20 updates: the first updates of a run are slower than the rest.
        self._seconds_per_update += (seconds - self._seconds_per_update) * (0.05 if self._seconds_per_update else 1.0)
        if self._meter is not None:
            left = self._seconds_left(state, progress)
            self._meter.expect(None if left is None else state.update + round(left / self._seconds_per_update))
            self._meter.advance(note=f"loss {result.total / result.cost.target_tokens:.3f}{_in_time(left)}")
        if state.update % self._every == 0 and self._sums.target_tokens:
            self._record_training(result, state, progress)
            self._sums = Sums()

    def _record_training(self, result: UpdateResult, state: TrainingState, progress: Progress) -> None:
        sums = self._sums
        loss, plain = sums.total / sums.target_tokens, perplexity(sums.nll / sums.target_tokens)
        source_rate, target_rate = sums.source_tokens / sums.seconds, sums.target_tokens / sums.seconds
        padding = 1 - (sums.source_tokens + sums.target_tokens) / sums.positions
        self._write(
            {
                "kind": "train",
                "update": state.update,
                "epoch": round(progress.epochs, 4),
                "loss": loss,
                "perplexity": plain,
                "learning_rate": result.rate,
                "gradient_norm": result.gradient_norm,
                "source_tokens_per_second": source_rate,
                "target_tokens_per_second": target_rate,
                "padding": padding,
                "pairs": state.pairs,
                "skipped": state.skipped,
                "seconds": state.seconds,
            }
        )
        self._log.info(
            f"update {state.update:,}, epoch {progress.epochs:.2f}: loss {loss:.4f}, perplexity {plain:.2f}, "
            f"learning rate {result.rate:.3e}, gradient norm {result.gradient_norm:.3f}, "
            f"{source_rate:,.0f} + {target_rate:,.0f} tokens/s, padding {padding:.1%}"
            f"{_in_time(self._seconds_left(state, progress))}"
        )

    def _seconds_left(self, state: TrainingState, progress: Progress) -> float | None:
        return seconds_left(self._stop, state, progress, seconds_per_update=self._seconds_per_update)

    def begin_validation(self) -> None:
        """Say that updates pause."""
        if self._meter is not None:
            self._meter.say("validating")

    def validation(self, result: Validation, state: TrainingState, *, best: bool) -> None:
        """Report a validation."""
        self._write(
            {"kind": "validation", "update": state.update, **_facts(result), "best": best, "seconds": state.seconds}
        )
        self._log.info(
            f"update {state.update:,}: development set {_in_words(result)}"
            + (
                ", the best so far"
                if best
                else f", best {state.best.value:.2f} at update {state.best_update:,}"
                if state.best
                else ""
            )
        )

    def average(self, result: Validation | None, updates: Sequence[int], state: TrainingState) -> None:
        """Report the averaged model."""
        facts = _facts(result) if result else {}
        self._write(
            {"kind": "average", "update": state.update, "updates": list(updates), **facts, "seconds": state.seconds}
        )
        words = f"development set {_in_words(result)}" if result else "not validated"
        self._log.info(f"average of updates {', '.join(f'{update:,}' for update in updates)}: {words}")

    def draw_curve(self) -> None:
        """Draw the learning curve anew."""
        try:
            draw_learning_curve(self._run.metrics, self._run.learning_curve)
        except Exception as error:  # a picture is not worth the end of a training of days
            self._log.warn(f"{self._run.learning_curve} could not be drawn: {error}")

    def _write(self, record: dict[str, Any]) -> None:
        if self._metrics is not None:
            self._metrics.write(record)
        if self._events is not None:
            for key, value in record.items():
                if isinstance(value, float):
                    self._events.add_scalar(f"{record['kind']}/{key}", value, record["update"])


def _facts(result: Validation) -> dict[str, Any]:
    facts: dict[str, Any] = {"loss": result.loss, "perplexity": result.perplexity}
    if result.translated:
        score = result.score
        facts |= {"score": score.value, "metric": score.name, "signature": score.signature}
    return facts


def _in_time(seconds_left: float | None) -> str:
    return "" if seconds_left is None else f", {duration(seconds_left)} left"


def _in_words(result: Validation) -> str:
    words = f"perplexity {result.perplexity:.2f}"
    return f"{words}, {result.score.name} {result.score.value:.2f}" if result.translated else words


def check_tensorboard() -> None:
    """Raise ConfigError where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise ConfigError(
            "train.tensorboard: true, but the package tensorboard is not installed; "
            "pip install 'nmtkit[tensorboard]', or set it to false"
        )


def open_events(folder: Path, first_update: int) -> "SummaryWriter":
    """Return a writer of TensorBoard events that hides earlier events of `first_update` and later."""
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=first_update)
