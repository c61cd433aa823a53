"""Compiled layers: when they are, what happens where they cannot be, and that they compute what others do."""

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
import torch
from toy.models import VARIANTS, VOCABULARY, build, random_batch

from nmtkit.errors import NmtkitError
from nmtkit.models.base import AutoregressiveModel
from nmtkit.training import compiling
from nmtkit.training.compiling import compile_layers, compiled_call, rehearse
from nmtkit.training.parallel import own_tensors

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def of(variant: str) -> AutoregressiveModel:
    return VARIANTS[variant].build(VOCABULARY, VOCABULARY)


def call(layer: Callable[..., Any], *inputs: Any) -> Any:
    """Stand in for what torch.compile makes."""
    return layer(*inputs)


@pytest.mark.parametrize(
    ("variant", "wanted", "device", "triton", "compiled", "said"),
    [
        ("transformer", "auto", CPU, True, False, ""),
        ("transformer", False, GPU, True, False, ""),
        ("transformer", "auto", GPU, True, True, ""),
        ("transformer", True, CPU, False, True, ""),
        (
            "transformer",
            "auto",
            GPU,
            False,
            False,
            "train.compile: layers are not compiled, which needs the package tr",
        ),
        ("rnn", "auto", GPU, True, False, ""),
        ("rnn", True, GPU, True, False, "train.compile = true: there is nothing to gain by compiling the layers of th"),
    ],
)
def test_layers_are_compiled_where_that_is_wanted_and_can_be_had(
    variant: str, wanted: Any, device: torch.device, triton: bool, compiled: bool, said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(compiling, "compiled_call", lambda: call)
    monkeypatch.setattr(compiling, "find_spec", lambda name: importlib.util.find_spec("torch") if triton else None)
    model, told = of(variant), []
    compile_layers(model, wanted, device, told.append)
    assert model.compiled is (call if compiled else None)
    assert len(told) == bool(said)
    assert "".join(told).startswith(said)


def test_a_torch_that_cannot_compile_at_all_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("Dynamo is not supported on Python 9.9+\nfor now")

    monkeypatch.setattr(compiling, "compiled_call", refuse)
    model, told = of("transformer"), []
    compile_layers(model, True, CPU, told.append)
    assert model.compiled is None
    assert told == [
        "train.compile: layers are not compiled (RuntimeError: Dynamo is not supported on Python 9.9+); training goes "
        "on without"
    ]


class _WrappingError(RuntimeError):
    def __init__(self, inner: Exception) -> None:
        super().__init__("backend='x' raised:\n…")
        self.inner_exception = inner


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def test_layers_that_do_not_compile_are_called_as_they_are() -> None:
    model, warned = build(VARIANTS["transformer"]).train(), []
    expected = model(random_batch([(3, 4)])).total
    model.compiled = failing(_WrappingError(ValueError("\nno working gcc\nat all")))
    found = []
    rehearse(model, lambda: found.append(model(random_batch([(3, 4)])).total), warned.append)
    assert model.compiled is None
    assert len(found) == 1
    assert found[0].isfinite()
    assert expected.isfinite()
    assert warned == [
        "train.compile: the layers could not be compiled (ValueError: no working gcc); training goes on without"
    ]


@pytest.mark.parametrize("error", [torch.cuda.OutOfMemoryError("small"), NmtkitError("diverged"), KeyboardInterrupt()])
def test_what_has_nothing_to_do_with_the_compiler_stays_an_error(error: BaseException) -> None:
    model = of("transformer").train()
    model.compiled = failing(error)
    with pytest.raises(type(error)):
        rehearse(model, lambda: model(random_batch([(3, 4)])), pytest.fail)
    assert model.compiled is not None
    model.compiled = None
    with pytest.raises(ZeroDivisionError):
        rehearse(model, lambda: 1 / 0, pytest.fail)


def test_work_that_goes_well_is_done_once() -> None:
    done: list[int] = []
    rehearse(of("transformer"), lambda: done.append(1), pytest.fail)
    assert done == [1]


def test_only_training_calls_compiled_layers_and_names_of_weights_stay() -> None:
    model, called = build(VARIANTS["transformer"]), []
    names = list(own_tensors(model))

    def compiled(layer: torch.nn.Module, *inputs: Any) -> Any:
        called.append(type(layer).__name__)
        return layer(*inputs)

    model.compiled = compiled
    batch = random_batch([(3, 4)])
    model(batch)
    with torch.inference_mode():
        model.train()(batch)
        model.encode(batch.source)
    assert called == []
    for recompute in (False, True):
        called.clear()
        model.recompute = recompute
        model(batch).total.backward()
        assert called[:4] == ["EncoderLayer", "EncoderLayer", "DecoderLayer", "DecoderLayer"]
        assert called[4:] == (["DecoderLayer", "DecoderLayer", "EncoderLayer", "EncoderLayer"] if recompute else [])
    assert list(own_tensors(model)) == names


SHAPES = [(2 + (7 * n) % 9, 4 + (5 * n) % 11, 1 + (3 * n) % 5) for n in range(30)]
"""Pieces of source and target and sentences but one of batches, in each of which they are others."""


@pytest.mark.parametrize(
    ("variant", "precision", "backend"),
    [
        pytest.param("transformer", "fp32", "aot_eager", marks=pytest.mark.slow),
        pytest.param("transformer-pre-norm", "bf16", "aot_eager", marks=pytest.mark.full),
        pytest.param("transformer", "fp32", "inductor", marks=pytest.mark.full),
        pytest.param("transformer-pre-norm", "bf16", "inductor", marks=pytest.mark.full),
    ],
)
@pytest.mark.filterwarnings("default")  # those of the compiler are not ours
def test_compiled_layers_compute_the_same_in_a_few_variants(variant: str, precision: str, backend: str) -> None:
    """Over 30 shapes of batches, forth and back, recomputed or not; without dropout, whose masks are others."""
    torch._dynamo.reset()
    counted = torch._dynamo.utils.counters
    counted.clear()
    none = dict.fromkeys(VARIANTS[variant].apart_from_weights - {"preset"}, 0.0)
    model, compiled = build(VARIANTS[variant].model_copy(update=none)).train(), compiled_call(backend)
    tolerance = 1e-5 if precision == "fp32" else 2e-2
    for number, (source, target, sentences) in enumerate(SHAPES):
        batch = random_batch([(source, target)] * sentences + [(1, 1)], seed=number)
        losses, norms = [], []
        for model.compiled in (None, compiled):
            model.recompute = number % 2 == 1
            model.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                loss = model(batch, 0.1)
            loss.total.backward()
            losses.append(loss.total.item())
            norms.append({name: p.grad.norm().item() for name, p in model.named_parameters()})
        assert losses[1] == pytest.approx(losses[0], rel=tolerance)
        assert norms[1] == pytest.approx(norms[0], rel=10 * tolerance, abs=tolerance * max(norms[0].values()))
    # One for each kind of layer, and others where sizes that happened to be equal no longer are.
    assert 2 <= counted["stats"]["unique_graphs"] <= 6
    assert not counted["graph_break"]


@pytest.mark.full
@pytest.mark.filterwarnings("default")
def test_compiled_dropout_drops_its_share_and_can_be_recomputed() -> None:
    torch._dynamo.reset()
    model = build(VARIANTS["transformer"].model_copy(update={"dropout": 0.5})).train()
    model.compiled = compiled_call("aot_eager")
    batch, found = random_batch([(5, 6), (3, 7)]), []
    for recompute, seed in ((False, 1), (True, 1), (False, 2)):
        model.recompute = recompute
        model.zero_grad(set_to_none=True)
        torch.manual_seed(seed)
        model(batch).total.backward()
        found.append([p.grad.clone() for p in model.parameters()])
    for once, again in zip(*found[:2], strict=True):
        torch.testing.assert_close(again, once)
    assert not torch.allclose(found[0][0], found[2][0])
