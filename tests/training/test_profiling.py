"""Profiles of toy trainings: parts that add up, figures of the updates themselves."""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from toy.models import VOCABULARY
from toy.training import WIDTH_16, random_pairs, train_config

from nmtkit.data.batching import summarize
from nmtkit.data.epochs import Batches
from nmtkit.data.mixing import CorpusRange
from nmtkit.data.position import Position
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.settings import ModelConfig
from nmtkit.training import profiling
from nmtkit.training.accounting import Account, Share
from nmtkit.training.engine import Engine
from nmtkit.training.feeding import Material
from nmtkit.training.parallel import Whole
from nmtkit.training.profiling import Profile, Rounds, peak_memory, profile_updates, updates_computed

CPU = torch.device("cpu")
MODELS: dict[str, ModelConfig] = {
    "transformer": WIDTH_16,
    "rnn": RnnConfig(encoder_layers=1, decoder_layers=1, width=16),
}


def engine_and_material(kind: str) -> tuple[Engine, Material]:
    config = train_config(batch={"tokens_per_update": 24, "tokens_per_tensor": 24})
    pairs = random_pairs(30, longest=3)
    torch.manual_seed(1)
    model = MODELS[kind].build(VOCABULARY, VOCABULARY)
    engine = Engine(Whole(model), config.optimizer.build(model.parameters()), config, "fp32", CPU)
    whole = [CorpusRange(0, len(pairs))]
    batches = Batches(pairs.source.lengths, pairs.target.lengths, whole, config.batch, seed=1)
    return engine, Material(pairs, batches)


@cache
def profiled(kind: str) -> Profile:
    with patch("nmtkit.training.profiling.matrix_peak", return_value=1e9):
        return profile_updates(*engine_and_material(kind), width=16, updates=2)


@pytest.mark.parametrize("kind", MODELS)
def test_parts_add_up_and_none_is_missing(kind: str) -> None:
    account = profiled(kind).account
    assert profiled(kind).whole == pytest.approx(account.seconds, rel=1e-6)
    assert all(seconds > -1e-9 for seconds in account.shares.values())
    phases = ("waiting for data", "forward", "backward", "optimizer", "other")
    assert sum(map(account.of_phase, phases)) == pytest.approx(account.seconds, rel=1e-6)
    assert all(account.of_phase(phase) > 0 for phase in phases)
    learning = {
        "transformer": ("encoder self-attention", "decoder cross-attention", "decoder feed-forward"),
        "rnn": ("encoder forwards", "decoder layers", "decoder attention"),
    }[kind]
    for part in ("embeddings", "output layer and loss", *learning):
        assert account.shares[Share("forward", part)] > 0
        assert account.shares[Share("backward", part)] > 0


def test_figures_are_of_the_first_updates_of_a_training() -> None:
    _, (pairs, batches, _) = engine_and_material("transformer")
    steps = batches.steps(Position())
    updates = [next(steps).update for _ in range(2)]
    profile = profiled("transformer")
    assert profile.cost == summarize(updates, pairs.source.lengths, pairs.target.lengths)
    assert profile.memory is not None
    assert profile.memory > 1e7
    assert profile.utilisation == profile.flops / profile.seconds / 1e9
    assert profile.idle == 0.0


def test_all_updates_are_counted_once_and_kernels_come_back() -> None:
    engine, material = engine_and_material("transformer")
    engine.kernels = kernels = object()  # which would fail if it were used
    one, two = (Rounds(engine, material, 16, updates).count_flops(lambda: None) for updates in (1, 2))
    assert two == profiled("transformer").flops
    assert one < two < 3 * one
    assert engine.kernels is kernels


def test_what_is_recomputed_takes_time_on_the_way_back_and_adds_no_operations() -> None:
    flops, products, forward = [], [], []
    for recompute in (False, True):
        engine, material = engine_and_material("transformer")
        engine.parallel.model.train().recompute = recompute
        rounds = Rounds(engine, material, 16, 1)
        flops.append(rounds.count_flops(lambda: None))
        account = rounds.run_profiled(lambda: None)
        assert sum(account.shares.values()) == pytest.approx(account.seconds, rel=1e-6)
        products.append(sum(usage.calls for (name, _), usage in account.operators.items() if name == "aten::mm"))
        forward.append({share.part for share in account.shares if share.phase == "forward"})
    assert flops[0] == flops[1]
    assert products[0] < products[1]
    assert forward[0] == forward[1]


def test_each_update_is_computed_as_often_as_announced_and_profiled_once() -> None:
    engine, material = engine_and_material("transformer")
    done: list[int] = []
    with (
        patch.object(engine, "update", wraps=engine.update) as update,
        patch("nmtkit.training.profiling.matrix_peak", return_value=1e9),
    ):
        profile = profile_updates(engine, material, width=16, updates=2, done=lambda: done.append(1))
    assert len(done) == update.call_count == updates_computed(2)
    assert [call.args[1] for call in update.call_args_list] == [1, 2, 1, 1, 2, 1, 2]
    steps = [usage.calls for (name, _), usage in profile.account.operators.items() if "fused_adamw" in name]
    assert sum(steps) == 2


def test_a_resegmented_update_costs_what_it_became() -> None:
    engine, (pairs, batches, _) = engine_and_material("transformer")

    class Doubling:
        target = None

        @staticmethod
        def source(sentences: Sequence[Sequence[int]], places: Sequence[int], epoch: int) -> list[list[int]]:
            assert epoch == 0
            return [[*ids, *ids] for ids in sentences]

    plain, _ = Rounds(engine, Material(pairs, batches), 16, 1).run(lambda: None)
    drawn, _ = Rounds(engine, Material(pairs, batches, Doubling()), 16, 1).run(lambda: None)
    assert drawn.source_tokens == 2 * plain.source_tokens - plain.pairs
    assert drawn.target_tokens == plain.target_tokens


def test_memory_where_no_file_tells(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t   1234 kB\nVmRSS:\t 1 kB\n")
    with patch.object(profiling, "STATUS", status):
        assert peak_memory(CPU) == 1234 * 1024
    for content in ("Name:\tpython\n", None):
        if content is None:
            status.unlink()
        else:
            status.write_text(content)
        with patch.object(profiling, "STATUS", status):
            assert peak_memory(CPU) > 1e7
            with patch.dict("sys.modules", {"resource": None}):
                assert peak_memory(CPU) is None


def test_a_gpu_is_idle_in_what_is_left_of_an_update() -> None:
    profile = profiled("transformer")
    account: Account = deepcopy(profile.account)
    account.kernels = True
    busy = sum(account.shares.values())
    slower = profile._replace(seconds=busy + 0.5, account=account)
    assert slower.idle == pytest.approx(0.5)
    assert slower.whole == pytest.approx(slower.seconds)
    assert slower._replace(seconds=busy / 2).idle == 0.0
