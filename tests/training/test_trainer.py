"""The training loop: accumulation, clipping, skipped updates, positions."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from toy.models import VOCABULARY, random_batch
from toy.training import WIDTH_16, make_trainer, random_pairs, train_config

from nmtkit.data.batch import Batch, Part
from nmtkit.data.position import Position
from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.models.base import Loss, Model
from nmtkit.training.checkpoints import checkpoint_folders, read_state, save_checkpoint
from nmtkit.training.engine import tensor_seed
from nmtkit.training.state import TrainingState
from nmtkit.training.trainer import Trainer


def gradients(model: Model) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_accumulated_tensors_give_the_gradient_of_one_batch(tmp_path: Path) -> None:
    """Two tensors of n sentences give the gradient of one of 2n, whatever their token counts are."""
    trainer = make_trainer(tmp_path, train_config(label_smoothing=0.1), random_pairs(20))
    lengths = [(3, 9), (5, 9), (2, 2), (7, 1), (1, 4), (6, 6)]
    whole = random_batch(lengths)
    halves = [whole.rows(0, 3), whole.rows(3, 6)]
    tokens = int(whole.target.lengths.sum())
    in_one = trainer.engine.gradients([Part(whole, 0, 0)], 1, tokens).read()[:2]
    expected = gradients(trainer.model)
    parts = [Part(half, number, 0) for number, half in enumerate(halves)]
    in_two = trainer.engine.gradients(parts, 1, tokens).read()[:2]
    assert in_two == pytest.approx(in_one, rel=1e-5)
    for name, gradient in gradients(trainer.model).items():
        scale = float(expected[name].abs().max())
        torch.testing.assert_close(gradient, expected[name], rtol=1e-5, atol=1e-5 * scale)


def test_a_position_in_other_data_is_refused(tmp_path: Path) -> None:
    """A version that would cut the epoch otherwise could not tell which pairs are behind."""
    trainer = make_trainer(tmp_path, train_config(), random_pairs(20))
    trainer.state.position = Position(begin=1_000)
    with pytest.raises(CheckpointError, match=r"checkpoints: the newest .* \(a window of .* left\): another version"):
        trainer.train()


def test_an_update_is_one_step_on_the_mean_loss(tmp_path: Path) -> None:
    """The weights after an update are those of Adam on the loss per token, written out."""
    config = train_config(batch={"tokens_per_update": 100_000, "tokens_per_tensor": 40}, stop={"updates": 1})
    pairs = random_pairs(30)
    trainer = make_trainer(tmp_path, config, pairs)
    reference = copy.deepcopy(trainer.model)
    trainer.train()
    from nmtkit.data.batch import make_batch

    loss = reference(make_batch(pairs, range(len(pairs))))
    (loss.total / loss.tokens).backward()
    beta1, beta2, epsilon, rate = 0.9, 0.98, 1e-9, 0.01
    for name, parameter in reference.named_parameters():
        gradient = parameter.grad
        assert gradient is not None
        mean, square = (1 - beta1) * gradient / (1 - beta1), (1 - beta2) * gradient**2 / (1 - beta2)
        moved = (rate * mean / (square.sqrt() + epsilon)).detach()
        # Where the gradient is zero but for rounding, its sign is chance.
        clear = gradient.abs() > 1e-6
        now = dict(trainer.model.named_parameters())[name]
        torch.testing.assert_close(now[clear], (parameter - moved)[clear], rtol=1e-4, atol=1e-6)


def test_clipping_scales_the_whole_gradient(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, train_config(), random_pairs(20))
    outcome = trainer.engine.gradients([Part(random_batch([(3, 4), (5, 6)]), 0, 0)], 1, 12)
    norm = outcome.read()[2]
    before = gradients(trainer.model)
    by_hand = math.sqrt(sum(float((g.double() ** 2).sum()) for g in before.values()))
    assert norm == pytest.approx(by_hand, rel=1e-6)
    trainer.engine.config = train_config(clip_norm=norm / 4)
    weights = {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
    trainer.engine.step(outcome, 0.01)
    first = 1 - 0.9  # what the first step's gradient weighs in Adam's mean
    clipped = {parameter: state["exp_avg"] / first for parameter, state in trainer.optimizer.state.items()}
    for name, parameter in trainer.model.named_parameters():
        torch.testing.assert_close(clipped[parameter], before[name] / 4, rtol=1e-5, atol=1e-7)
        assert not torch.equal(parameter, weights[name])


@pytest.mark.parametrize(("clip_norm", "same"), [(0.0, True), (1e6, True), (1e-3, False)])
def test_only_a_larger_norm_is_clipped(tmp_path: Path, clip_norm: float, same: bool) -> None:
    """Clipping acts through the optimizer's first moment, since Adam itself divides by the size of gradients."""
    moments = []
    for norm in (0.0, clip_norm):
        trainer = make_trainer(tmp_path / str(len(moments)), train_config(clip_norm=norm), random_pairs(60))
        trainer.train()
        moments.append(torch.cat([state["exp_avg"].flatten() for state in trainer.optimizer.state.values()]))
    assert torch.equal(*moments) == same


def test_dropout_seeds_differ_by_seed_update_and_tensor() -> None:
    seeds = {tensor_seed(s, u, t, r) for s in range(3) for u in range(20) for t in range(5) for r in range(3)}
    assert len(seeds) == 3 * 20 * 5 * 3
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_position_follows_the_epochs(tmp_path: Path) -> None:
    pairs = random_pairs(50)
    trainer = make_trainer(tmp_path, train_config(stop={"updates": 0, "epochs": 3}), pairs)
    assert trainer.train() == "train.stop.epochs = 3"
    state = trainer.state
    assert (state.position, state.epoch, state.pairs) == (Position(3), 3, 3 * len(pairs))


class Breaking(Model):
    """A model whose loss is not finite in the chosen updates, counted from 1 by the tensors seen."""

    def __init__(self, broken: set[int]) -> None:
        super().__init__()
        self.inner = WIDTH_16.build(VOCABULARY, VOCABULARY)
        self.broken, self.calls = broken, -2  # the first two calls are the rehearsal

    def encode(self, source):
        return self.inner.encode(source)

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        self.calls += 1
        loss = self.inner(batch, label_smoothing)
        return loss._replace(total=loss.total * math.nan) if self.calls in self.broken else loss


ONE_TENSOR = {"tokens_per_update": 60, "tokens_per_tensor": 60}
"""One tensor an update, where all sentences are of equal length."""


def test_an_update_that_is_not_finite_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Breaking({2, 3})
    trainer = make_trainer(tmp_path, train_config(batch=ONE_TENSOR), random_pairs(60, longest=1), model=model)
    seen = []
    original = trainer.outcomes.read

    def watch(state):
        unread = len(trainer.outcomes._unread)
        original(state)
        if not unread:
            return
        seen.append(torch.cat([p.detach().flatten() for p in model.parameters()]).clone())

    trainer.outcomes.read = watch
    trainer.train()
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[1], seen[2])
    assert not torch.equal(seen[2], seen[3])
    assert (trainer.state.update, trainer.state.skipped, trainer.state.skipped_in_a_row) == (4, 2, 0)
    warned = capsys.readouterr().err
    assert "update 2: the loss (nan) or the norm of the gradient (nan) is not finite" in warned
    assert warned.count("the weights stay as they are") == 2


def test_ten_such_updates_in_a_row_end_training(tmp_path: Path) -> None:
    model = Breaking(set(range(3, 100)))
    config = train_config(batch=ONE_TENSOR, stop={"updates": 50})
    trainer = make_trainer(tmp_path, config, random_pairs(60, longest=1), model=model)
    with pytest.raises(NmtkitError, match=r"update 12: 10 updates in a row .* lower the learning rate"):
        trainer.train()


def joining(trainer: Trainer) -> Callable[[], None]:
    """Return what waits for the thread of a checkpoint, but takes in nothing of it."""

    def join() -> None:
        assert trainer.writer._thread is not None
        trainer.writer._thread.join()

    return join


def test_a_checkpoint_that_cannot_be_written_ends_training_soon(tmp_path: Path) -> None:
    """Not at the next one, which may be hours away."""
    config = train_config(stop={"updates": 5_000}, checkpoints={"every": 1_000, "average": 0})
    trainer = make_trainer(tmp_path, config, random_pairs(60), state=TrainingState(update=998))

    def ends(*_: Any, **__: Any) -> None:
        raise CheckpointError("no room")

    with (
        patch("nmtkit.training.checkpoint_writer.save_checkpoint", ends),
        patch.object(trainer.pace, "checkpoint_begun", joining(trainer)),
        pytest.raises(CheckpointError, match="no room"),
    ):
        trainer.train()
    assert trainer.state.update == 1_001


def test_what_a_checkpoint_took_is_known_at_the_next_update(tmp_path: Path) -> None:
    """It plans the end of a training by the clock; what an earlier process knew stands until then."""
    config = train_config(stop={"updates": 4}, checkpoints={"every": 2, "average": 0})
    trainer = make_trainer(tmp_path, config, random_pairs(60), state=TrainingState(checkpoint_seconds=77.0))
    now = [100.0]

    def slowly(*arguments: Any, **named: Any) -> Path:
        now[0] += 5
        return save_checkpoint(*arguments, **named)

    with (
        patch("nmtkit.training.checkpoint_writer.monotonic", lambda: now[0]),
        patch("nmtkit.training.checkpoint_writer.save_checkpoint", slowly),
        patch.object(trainer.pace, "checkpoint_begun", joining(trainer)),
    ):
        trainer.train()
    states = [read_state(folder).state for folder in checkpoint_folders(trainer.place.run.checkpoints)]
    assert [state.checkpoint_seconds for state in states] == [77.0, 5.0]


def test_a_validation_for_which_the_memory_is_too_small_is_explained(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, train_config(), random_pairs(20))
    error = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nmore")
    with (
        patch.object(trainer, "_rehearse", side_effect=error),
        pytest.raises(NmtkitError, match=r"behind update 0: .*2 GiB\); lower train\.batch\.tokens_per_tensor \(now 60"),
    ):
        trainer.train()


def test_the_largest_tensors_come_first(tmp_path: Path) -> None:
    """What does not fit into memory shows before the first update."""
    trainer = make_trainer(tmp_path, train_config(), random_pairs(80))
    sizes = []
    forward = trainer.model.forward

    def watch(batch: Batch, label_smoothing: float = 0.0) -> Loss:
        sizes.append(batch.source.ids.numel() + batch.target.ids.numel())
        return forward(batch, label_smoothing)

    trainer.model.forward = watch
    trainer.train()
    assert max(sizes[:2]) == max(sizes)
    assert len(sizes) > 4
