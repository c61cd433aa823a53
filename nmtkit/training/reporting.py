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
from nmtkit.log import Log, Meter, MetricsWriter, duration, rounded
from nmtkit.run_folder import RunFolder
from nmtkit.training.curve import draw_learning_curve
from nmtkit.training.records import drop_later_records
from nmtkit.training.settings import StopConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.stopping import seconds_left
from nmtkit.training.validation import Validation, perplexity

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FADING = 0.95
"""What is shown while training goes on is a mean over some 20 updates: the older, the less they count."""


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
    """Sums over updates, divided once."""

    updates: float = 0.0
    total: float = 0.0
    nll: float = 0.0
    source_tokens: float = 0.0
    target_tokens: float = 0.0
    positions: float = 0.0
    """Places computed, padding included."""
    seconds: float = 0.0

    def add(self, result: UpdateResult, seconds: float) -> None:
        """Take in an update; of one that is not finite the time alone."""
        self.updates += 1
        self.seconds += max(seconds, 1e-9)  # some clocks are coarse
        if result.finite:
            self.total += result.total
            self.nll += result.nll
            self.source_tokens += result.cost.source_tokens
            self.target_tokens += result.cost.target_tokens
            self.positions += result.cost.positions

    def fade(self, factor: float) -> None:
        """Let what was taken in so far count less."""
        for name, value in vars(self).items():
            setattr(self, name, value * factor)

    @property
    def seconds_per_update(self) -> float:
        """Of all updates."""
        return self.seconds / self.updates

    @property
    def loss(self) -> float:
        """Nats a target token, smoothed where asked for."""
        return self.total / self.target_tokens

    @property
    def perplexity(self) -> float:
        """Of a target token, never smoothed."""
        return perplexity(self.nll / self.target_tokens)

    @property
    def rates(self) -> tuple[float, float]:
        """Source and target tokens a second, padding left out."""
        return self.source_tokens / self.seconds, self.target_tokens / self.seconds

    @property
    def padding(self) -> float:
        """The share of all places that hold no token."""
        return 1 - (self.source_tokens + self.target_tokens) / self.positions


class Reporter:
    """Tells a person and the files of the run how training goes."""

    def __init__(
        self, log: Log, run: RunFolder, stop: StopConfig, *, every: int, tensorboard: bool, writes: bool = True
    ) -> None:
        """Without `writes` files stay as they are: another process of this training writes them."""
        self._log, self._run, self._stop, self._every = log, run, stop, every
        self._writes, self._tensorboard = writes, tensorboard and writes
        self._metrics: MetricsWriter | None = None
        self._events: SummaryWriter | None = None
        self._meter: Meter | None = None
        self._sums, self._recent = Sums(), Sums()
        """Of the updates since the last record, and of the latest ones."""
        self._reported = 0.0
        """When the last update that was reported had been computed."""

    def open(self, state: TrainingState, *, average_stands: bool) -> None:
        """Begin behind `state`: what files say of later updates comes from a training that was cut off, and goes."""
        self._sums, self._recent = Sums(), Sums()
        if self._writes:
            drop_later_records(
                self._run.metrics, state.update, validated=state.validated, average_stands=average_stands
            )
            self._metrics = MetricsWriter(self._run.metrics)
        if self._tensorboard:
            self._events = open_events(self._run.tensorboard, state.update + 1)
        self._meter = self._log.meter("training", unit="updates", done=state.update)
        self._reported = time.monotonic()

    def close(self) -> None:
        """Close files and bar."""
        for part in (self._meter, self._metrics, self._events):
            if part is not None:
                part.close()

    def begin_updates(self) -> None:
        """Start the clock of the rates anew, so that validation does not count as slow training."""
        self._reported = time.monotonic()

    def update(self, result: UpdateResult, state: TrainingState, progress: Progress, number: int | None = None) -> None:
        """Take in update `number`, else the newest one of `state`; write a record where one is due.

        Updates may be reported late, several in a row: the time since the last report is shared out evenly among
        those up to the newest.
        """
        number = state.update if number is None else number
        seconds = (time.monotonic() - self._reported) / (state.update - number + 1)
        self._reported += seconds
        self._sums.add(result, seconds)
        self._recent.fade(FADING)
        self._recent.add(result, seconds)
        self._show(result, state, progress, number)
        if number % self._every == 0 and self._sums.target_tokens:
            self._record(result, state, progress, number)
            self._sums = Sums()

    def _show(self, result: UpdateResult, state: TrainingState, progress: Progress, number: int) -> None:
        """Move the bar."""
        if self._meter is None:
            return
        left = self._seconds_left(state, progress)
        self._meter.expect(None if left is None else state.update + round(left / self._recent.seconds_per_update))
        in_time = "" if left is None else f", {duration(left)} left"
        self._meter.advance(number - self._meter.done, note=f"updates{in_time}")
        if self._recent.target_tokens:
            self._meter.beneath(*in_one_line(self._recent, result))

    def _record(self, result: UpdateResult, state: TrainingState, progress: Progress, number: int) -> None:
        """Write what happened since the last record."""
        sums, left = self._sums, self._seconds_left(state, progress)
        source_rate, target_rate = sums.rates
        self._write(
            {
                "kind": "train",
                "update": number,
                "epoch": round(progress.epochs, 4),
                "loss": sums.loss,
                "perplexity": sums.perplexity,
                "learning_rate": result.rate,
                "gradient_norm": result.gradient_norm,
                "source_tokens_per_second": source_rate,
                "target_tokens_per_second": target_rate,
                "padding": sums.padding,
                "pairs": state.pairs,
                "skipped": state.skipped,
                "seconds": state.seconds,
                "seconds_left": left,
            }
        )
        begin = (
            f"update {number:,}, epoch {progress.epochs:.2f}: loss {sums.loss:.4f}, perplexity {sums.perplexity:.2f}"
        )
        speed = f"{source_rate:,.0f} + {target_rate:,.0f} tokens/s"
        rate, norm = f"learning rate {result.rate:.3e}", f"gradient norm {result.gradient_norm:.3f}"
        self._log.info(
            f"{begin}, {rate}, {norm}, {speed}, padding {sums.padding:.1%}"
            + ("" if left is None else f", {duration(left)} left"),
            # What is left out here stands beneath the bar.
            f"{begin}, {rate}, {speed}",
            f"update {number:,}: loss {sums.loss:.4f}, perplexity {sums.perplexity:.2f}, {speed}",
            f"update {number:,}: loss {sums.loss:.4f}, perplexity {sums.perplexity:.2f}",
        )

    def _seconds_left(self, state: TrainingState, progress: Progress) -> float | None:
        return seconds_left(self._stop, state, progress, seconds_per_update=self._recent.seconds_per_update)

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
        if not self._writes:
            return
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


def in_one_line(sums: Sums, result: UpdateResult) -> tuple[str, ...]:
    """Return what is worth watching of the latest updates and the last one, in forms of falling length."""
    source, target = (rounded(rate) for rate in sums.rates)
    loss, plain, padding = f"{sums.loss:.3f}", rounded(sums.perplexity, 2), f"{sums.padding:.1%}"
    rate, norm = f"{result.rate:.2e}", f"{result.gradient_norm:.2f}"
    return (
        f"loss {loss}, perplexity {plain}, learning rate {rate}, {source} + {target} tokens/s, padding {padding}, "
        f"gradient norm {norm}",
        f"loss {loss}, ppl {plain}, lr {rate}, {source}+{target} tokens/s, padding {padding}, norm {norm}",
        f"loss {loss}, ppl {plain}, lr {rate}, {source}+{target} tok/s, pad {padding}, norm {norm}",
        f"loss {loss}, ppl {plain}, {source}+{target} tok/s",
    )


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
