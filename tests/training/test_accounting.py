"""Accounts: what events are charged to, on a CPU and on a GPU."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

from nmtkit.training.accounting import ACCUMULATION, BETWEEN, DATA, EVALUATION, OTHER, UPDATE, Account, Event, Share
from nmtkit.training.scopes import SCOPE, announced

MICRO = 1e-6


@dataclass
class Fake:
    """An event from `start` to `end`, in µs, and what it launched on a GPU: names with their µs."""

    name: str
    start: float
    end: float
    children: list["Fake"] = field(default_factory=list)
    sequence_nr: int = -1
    thread: int = 1
    launched: dict[str, float] = field(default_factory=dict)
    input_shapes: Any = ()
    device_type: DeviceType = DeviceType.CPU
    is_async: bool = False
    cpu_parent: "Fake | None" = None

    def __post_init__(self) -> None:
        self.cpu_children = self.children
        self.time_range = SimpleNamespace(start=self.start, end=self.end, elapsed_us=lambda: self.end - self.start)
        self.kernels = [SimpleNamespace(name=name, duration=took) for name, took in self.launched.items()]
        for child in self.children:
            child.cpu_parent = self

    @property
    def self_cpu_time_total(self) -> float:
        return self.end - self.start - sum(child.end - child.start for child in self.children)


def events(*roots: Fake) -> list[Fake]:
    found: list[Fake] = []
    waiting = list(roots)
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].children
    return sorted(found, key=lambda event: (event.start, -event.end))


def cpu_update() -> Fake:
    return Fake(UPDATE, 0, 100, [
        Fake(DATA, 0, 10),
        Fake(SCOPE + "outer", 10, 40, [
            Fake("aten::mul", 12, 15, sequence_nr=7),
            Fake("aten::mm", 15, 20, sequence_nr=8, input_shapes=[[2, 3], [3, 5]]),
            Fake(SCOPE + "inner", 20, 38, [
                Fake("aten::add", 21, 23, sequence_nr=8),  # no gradient: one with its number follows
                Fake("aten::mm", 24, 30, [Fake("aten::empty", 25, 26)], sequence_nr=9, input_shapes=[[4, 3], [3, 5]]),
            ]),
        ]),
        Fake(EVALUATION + "MmBackward0", 50, 60, [
            Fake("aten::mm", 51, 59, input_shapes=[[3, 4], [4, 5]]),
        ], sequence_nr=9),
        Fake(EVALUATION + "MulBackward0", 62, 65, sequence_nr=7),
        Fake(EVALUATION + "torch::autograd::AccumulateGrad", 66, 70),
        Fake(EVALUATION + "SomethingBackward0", 70, 71, sequence_nr=99),
        Fake("Optimizer.step#AdamW.step", 80, 90, [Fake("aten::_fused_adamw_", 81, 89)]),
    ])  # fmt: skip


def micros(account: Account) -> dict[Share, float]:
    return {share: round(seconds / MICRO, 6) for share, seconds in account.shares.items() if abs(seconds) > 1e-12}


def test_a_cpu_is_charged_the_time_of_its_thread_once() -> None:
    account = Account(frozenset({3, 5}))
    for _ in range(2):
        account.take_in(events(cpu_update()))
    assert micros(account) == {
        share: 2 * each
        for share, each in {
            Share("waiting for data"): 10,
            Share("forward", "outer"): 30 - 18,
            Share("forward", "inner"): 18,
            Share("backward", "inner"): 10,
            Share("backward", "outer"): 3,
            Share("backward", ACCUMULATION): 4,
            Share("backward", BETWEEN): 1 + 2 + 1,  # an unknown number, and the gaps
            Share("optimizer"): 10,
            OTHER: 10 + 9 + 10,
        }.items()
    }
    assert sum(account.shares.values()) == pytest.approx(account.seconds) == pytest.approx(200 * MICRO)
    assert account.of_phase("backward") == pytest.approx(42 * MICRO)
    assert account.waiting == pytest.approx(20 * MICRO)


def test_operators_are_summed_by_shapes_whatever_varies() -> None:
    account = Account(frozenset({3, 5}))
    account.take_in(events(cpu_update()))
    usage = account.operators["aten::mm", ((None, 3), (3, 5))]
    assert (usage.calls, usage.flops) == (2, 2 * 2 * 3 * 5 + 2 * 4 * 3 * 5)
    assert usage.seconds == pytest.approx((5 + 6 - 1) * MICRO)
    assert account.operators["aten::mm", ((3, None), (None, 5))].calls == 1
    assert not [name for name, _ in account.operators if not name.startswith("aten::")]


def test_what_is_recomputed_for_the_way_back_belongs_to_it() -> None:
    account = Account()
    account.take_in(events(Fake(UPDATE, 0, 40, [
        Fake(SCOPE + "layer", 0, 10, [Fake("aten::mm", 1, 9, sequence_nr=1)]),
        Fake(EVALUATION + "MmBackward0", 10, 40, [
            Fake(SCOPE + "layer", 11, 21, [Fake("aten::mm", 12, 20, sequence_nr=5)]),
            Fake("aten::mm", 22, 40),
        ], sequence_nr=1),
    ])))  # fmt: skip
    assert micros(account) == {Share("forward", "layer"): 10, Share("backward", "layer"): 30}


def test_what_other_threads_do_meanwhile_takes_no_time_of_an_update() -> None:
    account = Account()
    account.take_in(events(cpu_update(), Fake("aten::cat", 5, 95, thread=2)))
    assert sum(account.shares.values()) == pytest.approx(100 * MICRO)


def test_a_gpu_is_charged_kernels_by_what_launched_them() -> None:
    """Autograd has a thread of its own there; what was announced spans kernels, and a replayed graph is nobody's."""
    update = Fake(UPDATE, 0, 100, [
        Fake(DATA, 0, 10),
        Fake(SCOPE + "part", 10, 40, [Fake("aten::mm", 15, 16, sequence_nr=8, launched={"gemm": 50})],
             launched={SCOPE + "part": 60, "triton": 7}),
        Fake("Optimizer.step#AdamW.step", 80, 90, [Fake("aten::_fused_adamw_", 81, 82, launched={"adam": 20})]),
    ])  # fmt: skip
    backward = Fake(EVALUATION + "MmBackward0", 50, 60, [
        Fake("aten::mm", 51, 52, launched={"gemm": 100}, thread=9)
    ], sequence_nr=8, thread=9)  # fmt: skip
    device = [
        Fake(name, 200, 200 + took, device_type=DeviceType.CUDA)
        for name, took in {"gemm": 150, SCOPE + "part": 60, "adam": 20, "triton": 7, "graph": 11}.items()
    ]
    account = Account(kernels=True)
    account.take_in([*events(update, backward), *device])
    assert micros(account) == {
        Share("forward", "part"): 57,
        Share("backward", "part"): 100,
        Share("optimizer"): 20,
        OTHER: 11,
    }
    assert account.waiting == pytest.approx(10 * MICRO)
    assert account.operators["aten::mm", ()].seconds == pytest.approx(150 * MICRO)


class Net(nn.Module):
    """Three parts, each with an operator of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.some_norm = nn.LayerNorm(4)

    def _output(self, x: torch.Tensor) -> torch.Tensor:
        return x.log_softmax(-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._output(self.some_norm(self.first(x))).sum()


def test_torch_numbers_backward_work_as_its_forward_work() -> None:
    """What this rests on, seen at operators that each part has alone."""
    charged: dict[str, set[Share]] = {}

    class Watching(Account):
        def _charge(self, event: Event, share: Share, names: set[str]) -> None:
            charged.setdefault(event.name, set()).add(share)
            super()._charge(event, share, names)

    net, account = Net(), Watching()
    with (
        announced(net),
        profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler,
        record_function(UPDATE),
    ):
        net(torch.randn(3, 4)).backward()
    account.take_in(profiler.events())
    for forward, backward, part in (
        ("aten::native_layer_norm", "aten::native_layer_norm_backward", "norms, residuals, dropout"),
        ("aten::_log_softmax", "aten::_log_softmax_backward_data", "output layer and loss"),
        ("aten::addmm", "AddmmBackward0", "first"),
    ):
        assert charged[forward] == {Share("forward", part)}
        assert charged[backward] == {Share("backward", part)}
