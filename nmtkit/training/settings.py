"""The settings of training."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from nmtkit.data.settings import BatchConfig, SamplingConfig
from nmtkit.section import Conflict, Section
from nmtkit.training.optimizers import AdamConfig, OptimizerConfig
from nmtkit.training.schedules import NoamConfig, ScheduleConfig, WsdConfig
from nmtkit.translation.settings import checkpoint_conflicts


class InitConfig(Section):
    """What weights begin as: those of another run (fine-tuning). Its [model] must be the same, but for dropout."""

    run: str = Field(
        min_length=1,
        description="Run folder that the weights are taken from, at the beginning of a training only; relative: seen "
        "from the config file's folder. With `--init-from RUN`, from the working directory.",
    )
    checkpoint: str = Field("auto", description="Which of its weights; see translate.checkpoint.")
    vocabulary: Literal["same", "by_piece"] = Field(
        "same",
        description='same: the vocabulary must be that of the other run, which `prepare.segmenter.kind = "file"` with '
        "`path = RUN/data/source.model` takes over. by_piece: the vocabularies may differ; pieces that both have (tags "
        "and control pieces by their names) keep their rows of embeddings and output, new ones get rows drawn anew.",
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report a checkpoint that nothing can be meant by."""
        yield from checkpoint_conflicts(self.checkpoint)


class StopConfig(Section):
    """When training ends; the first limit reached ends it. 0 means no such limit."""

    updates: int = Field(100_000, ge=0, description="Updates in all, those before a resume included.")
    epochs: int = Field(0, ge=0, description="Passes over the training corpus; 0: no such limit.")
    minutes: float = Field(
        0.0,
        ge=0,
        description="Minutes from the first update to the end, the last validation, the average and its validation "
        "included, and those before a resume; 0: no such limit. Updates end sooner, by what the latest validation and "
        "checkpoint took (by half of the time at most); where none was validated until half of the time is over, one "
        "is then. Validations in between take a tenth of the time at most: one that is due sooner is left out.",
    )
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
        1_000,
        ge=1,
        description="Updates between checkpoints; one is also written at a new best score and at the end. Training "
        "goes on while one is written, from a copy in the CPU's memory (12 bytes a parameter).",
    )
    keep_last: int = Field(
        5, ge=1, description="Newest checkpoints kept; one to go back to (`train.guard`) besides, where they are newer."
    )
    keep_best: int = Field(1, ge=0, description="Best checkpoints by development score kept besides.")
    average: int = Field(
        5,
        ge=0,
        description="At the end the newest this many are averaged (the paper: base 5, big 20); 0: no average. Where "
        "so many, `every` apart, would not all lie in the last quarter of training, they are written at even distances "
        "in its last twentieth; patience alone foresees no end.",
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
    init: InitConfig | None = Field(
        None,
        description="Begin with the weights of another run, not with drawn ones (fine-tuning); [model] must be as "
        "there, but for dropout.",
    )
    freeze: tuple[str, ...] = Field(
        (),
        strict=False,
        description="What stays as it is while the rest learns: parts of the model, as the summary of a training names "
        'them (`"embeddings"`, `"encoder"`) or its profile does (`"decoder cross-attention"`), or names of parameters, '
        'with * for any characters (`"encoder.0.*"`). What is shared is frozen as a whole.',
    )
    batch: BatchConfig = Field(BatchConfig(), description="Token budgets.")
    sampling: SamplingConfig = Field(
        SamplingConfig(),
        description="Pieces drawn anew for each epoch. Batches are planned by the stored pieces; what is drawn is "
        "longer, by a fifth to a third as a rule, and updates and tensors hold so many tokens more than train.batch "
        "says.",
    )
    optimizer: OptimizerConfig = Field(AdamConfig(), description="How weights follow gradients.")
    schedule: ScheduleConfig = Field(
        NoamConfig(), description="Learning rate by update. Without this table, `stop.minutes` brings `wsd` with it."
    )
    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="Probability mass spread evenly over the whole vocabulary (ε_ls)."
    )
    clip_norm: float = Field(0.0, ge=0, description="Largest norm of the gradient; 0: not clipped (the paper).")
    guard: float = Field(
        2.0,
        ge=0,
        description="Nats a target token by which the mean plain loss of some 50 updates may lie above the lowest it "
        "has been; 0: as many as it likes. Beyond that, or behind 10 updates in a row that were not finite, training "
        "goes back to the last checkpoint from before, once, and passes over the updates by which it diverged.",
    )
    precision: Literal["auto", "fp32", "tf32", "bf16", "fp16"] = Field(
        "auto",
        description="Number format of matrix products; auto: bf16 where the hardware computes it, else fp16 on a GPU.",
    )
    kernels: bool = Field(
        True, description="Compute on a CPU with kernels that are compiled at the start, where there is a C++ compiler."
    )
    parallel: Literal["replicate", "shard"] = Field(
        "replicate",
        description="How several processes train a model; replicate: each holds all of it; shard: each holds a part of "
        "it, of its gradient and of the optimizer's tensors, for models that do not fit on one device.",
    )
    timeout: float = Field(
        300.0,
        ge=1,
        le=31_536_000,
        description="Seconds without a sign of life after which the other processes of a training give one up and end; "
        "more than any of them takes for a tensor, to compile, or to write a checkpoint that others wait for.",
    )
    recompute: bool = Field(
        False,
        description="Save memory: keep of each layer only its inputs and compute the rest again on the way back. "
        "Results are the same to the bit; activations take half of the memory or less, updates a quarter more time. "
        "On a CPU freed memory then goes back to the system each time, which costs some time more.",
    )
    compile: Literal["auto", True, False] = Field(
        "auto",
        description="Compile the layers by torch.compile, which takes some minutes at the start; auto: on a GPU. Where "
        "it fails, training goes on without and says so. On a CPU our kernels are faster.",
    )
    log_every: int = Field(100, ge=1, description="Updates between lines of metrics.jsonl and the log.")
    stop: StopConfig = Field(StopConfig(), description="When training ends.")
    validation: ValidationConfig = Field(ValidationConfig(), description="Watching the development set.")
    checkpoints: CheckpointConfig = Field(CheckpointConfig(), description="What is kept.")
    tensorboard: bool = Field(False, description="Also write TensorBoard events (needs the extra nmtkit[tensorboard]).")

    @model_validator(mode="before")
    @classmethod
    def _fit_schedule(cls, values: Any) -> Any:
        """Let training by the clock follow the schedule that is fitted to it, where none is named.

        The others turn at certain updates, and nobody knows how many the time will be enough for.
        """
        if not isinstance(values, dict) or "schedule" in values:
            return values
        stop = values.get("stop")
        minutes = stop.get("minutes") if isinstance(stop, dict) else getattr(stop, "minutes", None)
        return {**values, "schedule": {"kind": "wsd"}} if minutes else values

    def conflicts(self) -> Iterator[Conflict]:
        """Report a schedule that is fitted to an end which nobody can foresee."""
        if isinstance(self.schedule, WsdConfig) and not (self.stop.updates or self.stop.epochs or self.stop.minutes):
            yield Conflict(
                "schedule.kind",
                "is fitted to the end of training, which train.stop.patience alone does not foresee; set updates, "
                "epochs or minutes in train.stop too, or choose another schedule",
            )
