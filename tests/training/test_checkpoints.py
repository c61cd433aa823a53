"""Checkpoints: written whole, read exactly, found by name, pruned by rule, and what happens to damaged ones."""

import errno
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from safetensors.torch import load_file, save_file
from toy.models import VARIANTS, VOCABULARY, random_batch
from toy.training import ORIGIN, WIDTH_16

from nmtkit.errors import CheckpointError, ConfigError, UnreadableError
from nmtkit.metrics.base import Score
from nmtkit.models.base import AutoregressiveModel
from nmtkit.run_folder import RunFolder
from nmtkit.training.averaging import average, choose_last, mean_weights, write_average
from nmtkit.training.checkpoints import (
    average_is_current,
    checkpoint_folders,
    load_optimizer,
    load_weights,
    newest_resumable,
    prune,
    read_state,
    save_checkpoint,
    save_score,
    training_tensors,
    usable_checkpoints,
)
from nmtkit.training.choice import find_weights
from nmtkit.training.fitting import check_model, check_vocabularies
from nmtkit.training.optimizers import AdamConfig
from nmtkit.training.parallel import Whole, own_tensors
from nmtkit.training.settings import CheckpointConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import (
    OPTIMIZER,
    STATE,
    WEIGHTS,
    checksum,
    read_json,
    read_tensors,
    remove_leftovers,
    rewrite_state,
    state_text,
)


class Bench:
    """A model, its optimizer and a run folder to save them in."""

    def __init__(self, folder: Path, model: AutoregressiveModel | None = None) -> None:
        torch.manual_seed(0)
        self.run = RunFolder(folder)
        self.model = model or WIDTH_16.build(VOCABULARY, VOCABULARY)
        self.optimizer = AdamConfig().build(self.model.parameters())
        self.optimizer.param_groups[0]["lr"] = 0.01

    def step(self) -> None:
        """Move the weights."""
        self.model(random_batch([(3, 4), (2, 5)])).total.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def save(self, update: int, score: float | None = None, *, regular: bool = True) -> Path:
        """Write a checkpoint of this number."""
        state = TrainingState(update=update)
        if score is not None:
            state.record_score(Score("BLEU", score, "13a", higher_is_better=True), counts=True)
        tensors = training_tensors(Whole(self.model), self.optimizer)
        return save_checkpoint(self.run.checkpoints, tensors, state, ORIGIN, regular=regular)

    def updates(self) -> list[int]:
        """Return what is there."""
        return [int(folder.name) for folder in checkpoint_folders(self.run.checkpoints)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_and_optimizer_come_back_to_the_bit(tmp_path: Path, variant: str) -> None:
    """A model loaded from a checkpoint makes the same next step as the one that wrote it."""
    first = Bench(tmp_path, VARIANTS[variant].build(VOCABULARY, VOCABULARY).eval())
    first.step()
    folder = first.save(1)
    torch.manual_seed(5)
    second = Bench(tmp_path, VARIANTS[variant].build(VOCABULARY, VOCABULARY).eval())
    load_weights(second.model, folder / WEIGHTS)
    load_optimizer(second.optimizer, Whole(second.model), folder / OPTIMIZER)
    for bench in (first, second):
        bench.step()
    for (name, expected), tensor in zip(
        first.model.state_dict().items(), second.model.state_dict().values(), strict=True
    ):
        assert torch.equal(expected, tensor), name


def test_tied_weights_stand_in_the_file_once_and_stay_tied(bench: Bench) -> None:
    stored = load_file(bench.save(1) / WEIGHTS)
    assert sum(tensor.numel() for tensor in stored.values()) == sum(p.numel() for p in bench.model.parameters())
    assert all(tensor.dtype == torch.float32 for tensor in stored.values())
    load_weights(bench.model, bench.run.checkpoints / "00000001" / WEIGHTS)
    assert len(own_tensors(bench.model)) == len(list(bench.model.parameters())) < len(bench.model.state_dict())


def test_an_optimizer_that_never_stepped_can_be_saved(bench: Bench) -> None:
    folder = bench.save(1)
    load_optimizer(bench.optimizer, Whole(bench.model), folder / OPTIMIZER)
    assert newest_resumable(bench.run.checkpoints, pytest.fail) is not None
    bench.step()


def test_a_checkpoint_of_the_same_update_is_replaced(bench: Bench) -> None:
    bench.save(1, 10.0)
    bench.step()
    folder = bench.save(1, 20.0)
    assert read_state(folder).state.current_score.value == 20.0
    assert torch.equal(load_file(folder / WEIGHTS)["target_embedding.weight"], bench.model.target_embedding.weight)
    assert [path.name for path in bench.run.checkpoints.iterdir()] == ["00000001"]


# What is damaged.


def cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER, STATE])
@pytest.mark.parametrize("harm", [cut, empty, Path.unlink])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_taken(bench: Bench, name: str, harm) -> None:
    for update in (1, 2):
        bench.save(update)
    harm(bench.run.checkpoints / "00000002" / name)
    warnings: list[str] = []
    checkpoint = newest_resumable(bench.run.checkpoints, warnings.append)
    assert checkpoint is not None
    assert checkpoint.update == 1
    assert len(warnings) == 1
    assert f"00000002/{name}: missing or damaged" in warnings[0]
    assert "trying the checkpoint before it" in warnings[0]


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER, STATE])
def test_a_checkpoint_that_cannot_be_read_now_sends_no_training_back(
    bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a network's file system is away: whether it is whole nobody knows."""
    for update in (1, 2):
        bench.save(update)
    stale, opened = bench.run.checkpoints / "00000002" / name, Path.open

    def open_(path: Path, *arguments: Any, **named: Any) -> Any:
        if path == stale:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        return opened(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", open_)
    with pytest.raises(UnreadableError) as raised:
        newest_resumable(bench.run.checkpoints, pytest.fail)
    assert str(raised.value) == (
        f"{stale}: cannot be read (Stale file handle); training does not go on from an older one for that: see to "
        "permissions and file system, then run the same command again"
    )
    warnings: list[str] = []
    usable = [checkpoint.update for checkpoint in usable_checkpoints(bench.run.checkpoints, warnings.append)]
    assert usable == ([1, 2] if name == OPTIMIZER else [1])
    monkeypatch.undo()
    assert newest_resumable(bench.run.checkpoints, pytest.fail).update == 2


def flip(file: Path, place: int) -> None:
    """Change one bit of a byte."""
    content = bytearray(file.read_bytes())
    content[place] ^= 16
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER])
def test_one_bit_that_flipped_is_noticed_wherever_it_is(bench: Bench, name: str) -> None:
    """In the numbers, at their ends and in the header: in a name, a shape, a format."""
    bench.save(1)
    bench.step()
    file = bench.save(2) / name
    content = file.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    draw = random.Random(name)
    for place in (header, len(content) - 1, *draw.sample(range(len(content)), 20), *draw.sample(range(8, header), 20)):
        if content[place : place + 1].isspace():
            continue  # what fills the header up to a whole number of words
        flip(file, place)
        warnings: list[str] = []
        checkpoint = newest_resumable(bench.run.checkpoints, warnings.append)
        assert checkpoint is not None
        assert checkpoint.update == 1, place
        assert re.search(rf"00000002/{name}: .*damaged \(.*\); trying the checkpoint before it", warnings[0])
        with pytest.raises(CheckpointError, match=f"00000002/{name}: "):
            read_tensors(file)
        flip(file, place)
    assert newest_resumable(bench.run.checkpoints, pytest.fail).update == 2


def test_a_figure_of_the_state_that_changed_is_noticed(bench: Bench) -> None:
    """It is as good JSON as before."""
    for update in (1, 2):
        bench.save(update)
    file = bench.run.checkpoints / "00000002" / STATE
    written = file.read_text()
    for old, new in (('"skipped": 0', '"skipped": 1'), ('"returns": 0', '"returns": 2'), ('"regular": true', "")):
        file.write_text(written.replace(old, new or '"regular": false'))
        assert file.read_text() != written
        warnings: list[str] = []
        assert newest_resumable(bench.run.checkpoints, warnings.append).update == 1
        assert f"00000002/{STATE}: missing or damaged (it is not what was written); trying" in warnings[0]


def zeros(folder: Path) -> None:
    """Lose a stretch of the weights, as a disk does that never wrote it."""
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[:-2_000] + bytes(1_000) + content[-1_000:])


def exchanged(folder: Path) -> None:
    """Have the weights of another checkpoint, which are whole."""
    shutil.copy(folder.with_name("00000001") / WEIGHTS, folder / WEIGHTS)


def of_another_update(folder: Path) -> None:
    """Have the state of another checkpoint of the same run."""
    shutil.copy(folder.with_name("00000001") / STATE, folder / STATE)


def of_another_run(folder: Path) -> None:
    """Have the state that another run had at the same update."""
    other = Bench(folder.parents[1] / "other")
    other.step()
    other.step()
    shutil.copy(other.save(2) / STATE, folder / STATE)


def emptied(folder: Path) -> None:
    """Have no files."""
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (zeros, f"{WEIGHTS}: damaged (its tensors are not those that were written)"),
        (exchanged, f"{WEIGHTS}: damaged (its tensors are not those that were written)"),
        (of_another_update, f"{STATE}: damaged (ValueError('the state of update 1'))"),
        (of_another_run, f"{WEIGHTS}: damaged (its tensors are not those that were written)"),
        (emptied, f"{STATE}: missing or damaged ("),
    ],
)
def test_what_is_whole_by_itself_but_not_what_was_written_is_noticed(
    bench: Bench, harm: Callable[[Path], None], says: str
) -> None:
    bench.save(1)
    bench.step()
    harm(bench.save(2))
    warnings: list[str] = []
    checkpoint = newest_resumable(bench.run.checkpoints, warnings.append)
    assert checkpoint is not None
    assert checkpoint.update == 1
    assert len(warnings) == 1
    assert f"00000002/{says}" in warnings[0]


def test_damaged_weights_are_neither_loaded_nor_averaged(bench: Bench) -> None:
    for update in (1, 2, 3):
        bench.step()
        bench.save(update)
    file = bench.run.checkpoints / "00000002" / WEIGHTS
    flip(file, -1)
    with pytest.raises(CheckpointError, match=r"00000002/weights\.safetensors: damaged"):
        load_weights(bench.model, file)
    warnings: list[str] = []
    assert [checkpoint.update for checkpoint in choose_last(bench.run, 3, warnings.append)] == [1, 3]
    assert "this checkpoint is left out" in warnings[0]


def test_a_late_score_leaves_the_checksums(bench: Bench) -> None:
    folder = bench.save(1)
    state = read_state(folder).state
    save_score(bench.run.checkpoints, state, ORIGIN)
    flip(folder / WEIGHTS, -1)
    with pytest.raises(CheckpointError, match="damaged"):
        read_tensors(folder / WEIGHTS)


def test_weights_by_themselves_are_read(bench: Bench, tmp_path: Path) -> None:
    file = shutil.copy(bench.save(1) / WEIGHTS, tmp_path / WEIGHTS)
    assert read_tensors(Path(file)).keys() == own_tensors(bench.model).keys()


def test_a_state_without_its_checksum_is_damaged(bench: Bench) -> None:
    folder = bench.save(1)
    content = json.loads((folder / STATE).read_text())
    del content["checksum"]
    (folder / STATE).write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"state\.json: missing or damaged \(it is not what was written\)"):
        read_state(folder)


def test_a_checksum_sees_names_formats_shapes_and_every_byte() -> None:
    one = torch.arange(300_001, dtype=torch.float32)
    tensors = {"a": one, "b": torch.tensor(3.0), "c": torch.zeros(0, 2), "d": torch.tensor([True, False, True])}
    turned = one.clone()
    turned[[1, 200_000]] = turned[[200_000, 1]]  # in different blocks
    others = [
        {**tensors, "a": one.view(torch.int32)},
        {**tensors, "a": one[None]},
        {**tensors, "a": turned},
        {**tensors, "a": torch.cat((one[:-1], one[-1:] + 1))},
        {**tensors, "d": torch.tensor([True, False, False])},
        {**tensors, "c": torch.zeros(2, 0)},
        {"x" if name == "a" else name: tensor for name, tensor in tensors.items()},
        {name: tensor for name, tensor in tensors.items() if name != "b"},
    ]
    checksums = [checksum(each) for each in (tensors, *others)]
    assert len(set(checksums)) == len(checksums)
    assert checksum(dict(reversed(tensors.items()))) == checksums[0]
    assert checksum({**tensors, "a": one.clone()}) == checksums[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (state_text({"state": {}}), r"damaged \(KeyError"),
        ("[1]", r"missing or damaged \(it is not what was written\)"),
        (state_text({"state": {"score": 3}, "origin": {}, "regular": True}), r"damaged \(.*Error"),
    ],
)
def test_a_state_that_says_something_else_is_damaged(bench: Bench, text: str, says: str) -> None:
    folder = bench.save(1)
    (folder / STATE).write_text(text)
    with pytest.raises(CheckpointError, match=rf"state\.json: {says}"):
        read_state(folder)


def test_without_any_whole_checkpoint_training_does_not_begin_anew(bench: Bench) -> None:
    assert newest_resumable(bench.run.checkpoints, pytest.fail) is None
    for update in (1, 2):
        empty(bench.save(update) / WEIGHTS)
    with pytest.raises(
        CheckpointError, match=r"(?s)00000002/weights.*00000001/weights.*none of its checkpoints; delete the folder"
    ):
        newest_resumable(bench.run.checkpoints, lambda message: None)
    with pytest.raises(CheckpointError, match="no usable checkpoint; run nmtkit train first"):
        find_weights(bench.run, "auto")


def test_a_kill_while_saving_leaves_no_half_checkpoint(bench: Bench) -> None:
    bench.save(1)

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    with patch("nmtkit.training.tensor_folder.sync", killed), pytest.raises(KeyboardInterrupt):
        bench.save(2)
    assert bench.updates() == [1]
    leftover = bench.run.checkpoints / ".00000002.99.tmp"
    shutil.copytree(bench.run.checkpoints / "00000001", leftover)
    assert bench.updates() == [1]
    remove_leftovers(bench.run.checkpoints)
    assert [path.name for path in bench.run.checkpoints.iterdir()] == ["00000001"]


def test_a_full_disk_is_told_before_anything_is_written(bench: Bench) -> None:
    bench.save(1)
    with (
        patch("shutil.disk_usage", return_value=SimpleNamespace(free=16 * 2**20)),
        pytest.raises(CheckpointError, match=r"checkpoints: a checkpoint needs 17 MiB, but 16 MiB are free; make room"),
    ):
        bench.save(2)
    assert bench.updates() == [1]


def test_a_disk_that_fills_up_meanwhile_leaves_what_was_there(bench: Bench) -> None:
    bench.save(1)
    with (
        patch("nmtkit.training.tensor_folder.save_file", side_effect=OSError(28, "No space left on device")),
        pytest.raises(CheckpointError, match=r"00000002: could not be written .*No space left"),
    ):
        bench.save(2)
    assert [path.name for path in bench.run.checkpoints.iterdir()] == ["00000001"]


# What does not fit.


def test_weights_of_another_model_are_refused_by_name(bench: Bench, tmp_path: Path) -> None:
    file = bench.save(1) / WEIGHTS
    other = WIDTH_16.build(VOCABULARY + 1, VOCABULARY + 1)
    with pytest.raises(
        CheckpointError, match=r"target_embedding\.weight is \(23, 16\) in the file but \(24, 16\) in the model"
    ):
        load_weights(other, file)
    stored = load_file(file)
    stored["more"] = stored.pop("target_embedding.weight")
    save_file(stored, tmp_path / "more.safetensors")
    with pytest.raises(CheckpointError, match=r"more is .* in the file but missing in the model"):
        load_weights(bench.model, tmp_path / "more.safetensors")
    with pytest.raises(CheckpointError, match=r"absent\.safetensors: missing or damaged"):
        load_weights(bench.model, tmp_path / "absent.safetensors")


def test_an_optimizer_of_another_model_is_refused(bench: Bench, tmp_path: Path) -> None:
    save_file({"exp_avg:somewhere.weight": torch.ones(1)}, tmp_path / OPTIMIZER)
    with pytest.raises(CheckpointError, match=r"somewhere\.weight is not a parameter of this model"):
        load_optimizer(bench.optimizer, Whole(bench.model), tmp_path / OPTIMIZER)


@pytest.mark.parametrize("side", ["source", "target"])
def test_another_vocabulary_is_refused(bench: Bench, side: str) -> None:
    weights = bench.save(1) / WEIGHTS
    check_vocabularies(weights, "source", "target")
    given = {"source": "source", "target": "target", side: "0123456789abcdef"}
    with pytest.raises(
        CheckpointError, match=rf"trained with the {side} vocabulary {side}, .*{side}\.model is 0123456789ab"
    ):
        check_vocabularies(weights, **given)


def test_another_model_is_refused_with_each_setting_that_differs(bench: Bench) -> None:
    """Four heads have the weights of two: the tensors alone do not tell."""
    weights = bench.save(1) / WEIGHTS
    check_model(weights, WIDTH_16.model_copy(update={"dropout": 0.5, "preset": "big"}))
    with pytest.raises(CheckpointError) as caught:
        check_model(weights, WIDTH_16.model_copy(update={"heads": 4, "key_size": 8}))
    assert str(caught.value) == (
        f"{weights}: trained with other settings of the model:\n  model.heads: 2 in training, 4 now\n"
        "  model.key_size: not set in training, 8 now\nset them back in the run folder's config.toml, or train anew"
    )


# What is kept.

SCORES = {1: 10.0, 2: 30.0, 3: 20.0, 4: 25.0, 5: 15.0}


@pytest.mark.parametrize(
    ("last", "best", "kept"),
    [
        (5, 0, [1, 2, 3, 4, 5]),
        (2, 0, [4, 5]),
        (1, 1, [2, 5]),
        (1, 2, [2, 4, 5]),
        (2, 2, [2, 4, 5]),
        (1, 9, [1, 2, 3, 4, 5]),
    ],
)
def test_the_newest_and_the_best_are_kept(bench: Bench, last: int, best: int, kept: list[int]) -> None:
    for update, score in SCORES.items():
        bench.save(update, score)
    prune(bench.run.checkpoints, CheckpointConfig(keep_last=last, keep_best=best, average=0), 5)
    assert bench.updates() == kept


def test_only_the_two_newest_can_be_resumed_from(bench: Bench) -> None:
    config = CheckpointConfig(keep_last=4, average=0)
    for update in range(1, 6):
        bench.save(update)
        prune(bench.run.checkpoints, config, update)
    folders = checkpoint_folders(bench.run.checkpoints)
    assert [(folder / OPTIMIZER).exists() for folder in folders] == [False, False, True, True]
    assert all((folder / WEIGHTS).exists() for folder in folders)


def test_what_cannot_be_deleted_yet_ends_no_training(bench: Bench) -> None:
    """As where somebody reads it on NFS, which keeps a file of another name in the folder meanwhile."""
    with patch("os.rmdir", side_effect=OSError(errno.ENOTEMPTY, "Directory not empty")):
        for update in (1, 2, 3, 3):
            bench.save(update)
            prune(bench.run.checkpoints, CheckpointConfig(keep_last=2, keep_best=0, average=0), update)
    assert bench.updates() == [2, 3]
    remove_leftovers(bench.run.checkpoints)
    assert sorted(path.name for path in bench.run.checkpoints.iterdir()) == ["00000002", "00000003"]


def watched(bench: Bench, update: int, steady: int, *, regular: bool = True) -> Path:
    """Write a checkpoint of a training that was last well at some update."""
    state = TrainingState(update=update, steady=steady)
    tensors = training_tensors(Whole(bench.model), bench.optimizer)
    return save_checkpoint(bench.run.checkpoints, tensors, state, ORIGIN, regular=regular)


def resumable(bench: Bench) -> list[int]:
    return [update for update in bench.updates() if (bench.run.checkpoints / f"{update:08d}" / OPTIMIZER).exists()]


def test_a_checkpoint_to_go_back_to_is_kept_while_losses_rise(bench: Bench) -> None:
    """The newest that is good for certain, which the steady state of 540 says of 400 alone."""
    config = CheckpointConfig(keep_last=2, keep_best=0, average=0)
    kept = []
    for update in range(100, 1_000, 100):
        watched(bench, update, min(update, 540))
        prune(bench.run.checkpoints, config, update)
        kept.append((bench.updates(), resumable(bench)))
    assert kept[2:5] == [([200, 300], [200, 300]), ([300, 400], [300, 400]), ([400, 500], [400, 500])]
    assert kept[5] == ([400, 500, 600], [400, 500, 600])
    assert kept[-1] == ([400, 800, 900], [400, 800, 900])
    prune(bench.run.checkpoints, config, 900, ended=True)
    assert (bench.updates(), resumable(bench)) == ([800, 900], [800, 900])


def test_close_to_each_other_all_checkpoints_that_may_be_gone_back_to_can_be_resumed_from(bench: Bench) -> None:
    config = CheckpointConfig(keep_last=5, keep_best=0, average=0)
    for update in range(20, 220, 20):
        watched(bench, update, update)
        prune(bench.run.checkpoints, config, update)
    assert bench.updates() == [120, 140, 160, 180, 200]
    assert resumable(bench) == [140, 160, 180, 200]  # 150 is the last update that is good for certain
    prune(bench.run.checkpoints, config, 200, ended=True)
    assert resumable(bench) == [180, 200]


def test_irregular_checkpoints_are_not_kept_to_go_back_to(bench: Bench) -> None:
    """A run that was interrupted keeps in the end what an uninterrupted one keeps."""
    config = CheckpointConfig(keep_last=2, keep_best=0, average=0)
    for update, regular in ((100, True), (200, True), (245, False), (300, True)):
        watched(bench, update, update, regular=regular)
        prune(bench.run.checkpoints, config, update)
    assert bench.updates() == resumable(bench) == [200, 300]


def test_irregular_checkpoints_do_not_push_out_regular_ones(bench: Bench) -> None:
    """A run that was interrupted keeps what an uninterrupted one keeps, and averages the same."""
    config = CheckpointConfig(keep_last=2, keep_best=0, average=2)
    kept = []
    for update, regular in ((10, True), (13, False), (20, True), (25, False), (27, False), (30, True)):
        bench.save(update, regular=regular)
        prune(bench.run.checkpoints, config, update)
        kept.append(bench.updates())
    assert kept == [[10], [10, 13], [10, 20], [10, 20, 25], [10, 20, 27], [20, 30]]


def test_irregular_checkpoints_do_not_shift_the_average(bench: Bench) -> None:
    """The newest counts whatever wrote it; others only where `train.checkpoints.every` was due."""
    for update, regular in ((10, True), (20, True), (23, False), (27, False), (30, True), (31, False)):
        bench.save(update, regular=regular)
    chosen = {count: [each.update for each in choose_last(bench.run, count, pytest.fail)] for count in (1, 2, 3, 9)}
    assert chosen == {1: [31], 2: [30, 31], 3: [20, 30, 31], 9: [10, 20, 30, 31]}


def test_checkpoints_ahead_of_the_present_one_are_left_alone(bench: Bench) -> None:
    """Training that went back to an earlier checkpoint does not count those it will write again."""
    for update in (1, 2, 3, 9):
        bench.save(update)
    prune(bench.run.checkpoints, CheckpointConfig(keep_last=1, keep_best=0, average=0), 3)
    assert bench.updates() == [3, 9]


def test_a_late_score_leaves_a_checkpoint_regular_or_not(bench: Bench) -> None:
    for update, regular in ((10, True), (13, False)):
        bench.save(update, regular=regular)
        written = read_state(bench.run.checkpoints / f"{update:08d}")
        written.state.validated = update
        save_score(bench.run.checkpoints, written.state, written.origin)
        after = read_state(written.folder)
        assert (after.regular, after.state.validated) == (regular, update)


# What is found.


def test_weights_are_found_by_name(bench: Bench) -> None:
    for update, score in SCORES.items():
        bench.save(update, score)
    found = {which: find_weights(bench.run, which).parent.name for which in ("auto", "best", "last", "3", "00000003")}
    assert found == {
        "auto": "00000002",
        "best": "00000002",
        "last": "00000005",
        "3": "00000003",
        "00000003": "00000003",
    }
    with pytest.raises(CheckpointError, match="average: no average was made"):
        find_weights(bench.run, "average")
    average(bench.run, choose_last(bench.run, 2, pytest.fail))
    for which in ("auto", "average"):
        assert find_weights(bench.run, which).parent.name == "average"


@pytest.mark.parametrize(
    ("value", "taken"), [(30.0, "average"), (SCORES[2], "average"), (1.0, "00000002"), (None, "average")]
)
def test_an_average_that_is_worse_than_the_best_is_not_taken(bench: Bench, value: float | None, taken: str) -> None:
    for update, score in SCORES.items():
        bench.save(update, score)
    chosen = choose_last(bench.run, 2, pytest.fail)
    score = chosen[-1].state.current_score
    means = mean_weights([checkpoint.folder / WEIGHTS for checkpoint in chosen])
    write_average(bench.run, chosen, means, None if value is None else score._replace(value=value))
    assert find_weights(bench.run, "auto").parent.name == taken
    assert find_weights(bench.run, "average").parent.name == "average"


def test_an_average_that_training_left_behind_is_not_taken(bench: Bench) -> None:
    bench.save(1)
    average(bench.run, choose_last(bench.run, 1, pytest.fail))
    bench.save(2)
    assert not average_is_current(bench.run, 2)
    assert find_weights(bench.run, "auto").parent.name == "00000002"
    assert find_weights(bench.run, "average").parent.name == "average"


@pytest.mark.parametrize("name", [WEIGHTS, STATE])
def test_a_damaged_average_is_named_and_left_out(bench: Bench, name: str) -> None:
    bench.save(1)
    average(bench.run, choose_last(bench.run, 1, pytest.fail))
    cut(bench.run.average / name)
    warnings: list[str] = []
    assert find_weights(bench.run, "auto", warnings.append).parent.name == "00000001"
    assert f"average/{name}: missing or damaged" in warnings[0]


def test_an_average_of_unknown_age_is_named_and_left_out(bench: Bench) -> None:
    bench.save(1)
    average(bench.run, choose_last(bench.run, 1, pytest.fail))
    (bench.run.average / STATE).write_text(state_text({}))
    warnings: list[str] = []
    assert not average_is_current(bench.run, 1, warnings.append)
    assert warnings == [f"{bench.run.average / STATE}: damaged (KeyError('made_at')); the average is left out"]


def test_weights_of_unknown_origin_are_named(bench: Bench) -> None:
    folder = bench.save(1)
    (folder / STATE).write_text(state_text({"origin": [1]}))
    with pytest.raises(CheckpointError, match=r"state.json: damaged \(it does not say what the weights come from\)"):
        check_vocabularies(folder / WEIGHTS, "source", "target")
    for origin in ({}, {"model": None}, {"model": [1]}):
        (folder / STATE).write_text(state_text({"origin": origin}))
        with pytest.raises(
            CheckpointError, match=r"state.json: damaged, or of another version of nmtkit \(it does not"
        ):
            check_model(folder / WEIGHTS, WIDTH_16)


def test_a_precision_that_no_training_has_is_damage(bench: Bench) -> None:
    folder = bench.save(1)
    rewrite_state(folder, {"origin": {**read_json(folder)["origin"], "precision": "fp12"}})
    with pytest.raises(CheckpointError, match=r"state.json: damaged \(ValueError\(.*precision = 'fp12'"):
        read_state(folder)


def test_damaged_checkpoints_are_never_found(bench: Bench) -> None:
    for update in (1, 2):
        bench.save(update)
    cut(bench.run.checkpoints / "00000002" / WEIGHTS)
    warnings: list[str] = []
    assert find_weights(bench.run, "last", warnings.append).parent.name == "00000001"
    assert "this checkpoint is left out" in warnings[0]
    with pytest.raises(CheckpointError, match=r"00000002/weights\.safetensors: missing or damaged"):
        find_weights(bench.run, "2")


def test_what_cannot_be_found_is_explained(bench: Bench) -> None:
    with pytest.raises(CheckpointError, match="no usable checkpoint; run nmtkit train first"):
        find_weights(bench.run, "last")
    bench.save(4)
    with pytest.raises(CheckpointError, match="no checkpoint has a development score"):
        find_weights(bench.run, "best")
    with pytest.raises(CheckpointError, match="no checkpoint of update 7; there are: 4"):
        find_weights(bench.run, "7")
    with pytest.raises(ConfigError, match=r"translate\.checkpoint: 'newest' is none"):
        find_weights(bench.run, "newest")


def test_scores_of_another_measure_choose_no_best(bench: Bench) -> None:
    bench.save(1, 90.0)
    bench.save(2, 20.0)
    folder = bench.run.checkpoints / "00000001"
    content = read_json(folder)
    content["state"]["score"]["signature"] = "other"
    rewrite_state(folder, content)
    assert find_weights(bench.run, "best").parent.name == "00000002"
