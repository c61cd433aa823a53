"""The settings of training."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from nmtkit.data.settings import BatchConfig, SamplingConfig
from nmtkit.section import Conflict, Section
from nmtkit.training.optimizers import AdamConfig, OptimizerConfig
from nmtkit.training.schedules import NoamConfig, ScheduleConfig


class StopConfig(Section):
    """When training ends; the first limit reached ends it. 0 means no such limit."""

    updates: int = Field(100_000, ge=0, description="Updates in all, those before a resume included.")
    epochs: int = Field(0, ge=0, description="Passes over the training corpus; 0: no such limit.")
    minutes: float = Field(0.0, ge=0, description="Minutes of training, with those before a resume; 0: no such limit.")
    patience: int = Field(0, ge=0, description="Validations in a row without a better score; 0: no such limit.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report training without an end."""
        if not (self.updates or self.epochs or self.minutes or self.patience):
            yield Conflict("updates", "no limit is set, so training would never end; set one of the keys of train.stop")


class ValidationConfig(Section):
    """How training is watched on the development set."""

    every: int = Field(1_000, ge=0, description="Updates between validations; 0: only at the end.")
    translate: bool = Field(
        True, description="Translate and score the development set, exactly as translate and score do."
    )


class CheckpointConfig(Section):
    """Which checkpoints are kept."""

    every: int = Field(
        1_000, ge=1, description="Updates between checkpoints; one is also written at a new best score and at the end."
    )
    keep_last: int = Field(5, ge=1, description="Newest checkpoints kept.")
    keep_best: int = Field(1, ge=0, description="Best checkpoints by development score kept besides.")
    average: int = Field(
        5, ge=0, description="At the end the newest this many are averaged (the paper: base 5, big 20); 0: no average."
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report an average over checkpoints that are not kept."""
        if self.average > self.keep_last:
            yield Conflict("average", f"{self.average} is more than keep_last = {self.keep_last}; raise keep_last")


class TrainConfig(Section):
    """How the model is trained."""

    seed: int = Field(
        1, ge=0, description="Draws weights, order of pairs and dropout; same seed, same weights on a CPU."
    )
    batch: BatchConfig = Field(BatchConfig(), description="Token budgets.")
    sampling: SamplingConfig = Field(SamplingConfig(), description="Pieces drawn anew for each epoch.")
    optimizer: OptimizerConfig = Field(AdamConfig(), description="How weights follow gradients.")
    schedule: ScheduleConfig = Field(NoamConfig(), description="Learning rate by update.")
    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="Probability mass spread evenly over the whole vocabulary (ε_ls)."
    )
    clip_norm: float = Field(0.0, ge=0, description="Largest norm of the gradient; 0: not clipped (the paper).")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="Number format of matrix products; auto: bf16 where processor or GPU gains by it."
    )
    log_every: int = Field(100, ge=1, description="Updates between lines of metrics.jsonl and the log.")
    stop: StopConfig = Field(StopConfig(), description="When training ends.")
    validation: ValidationConfig = Field(ValidationConfig(), description="Watching the development set.")
    checkpoints: CheckpointConfig = Field(CheckpointConfig(), description="What is kept.")
    tensorboard: bool = Field(False, description="Also write TensorBoard events (needs the extra nmtkit[tensorboard]).")
