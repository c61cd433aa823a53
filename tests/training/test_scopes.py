"""Scopes: the parts of every architecture, and that nothing of them stays behind."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from toy.models import VARIANTS, build, random_batch

from nmtkit.training.scopes import BETWEEN, EMBEDDINGS, LAYERS, NORMS, OUTPUT, SCOPE, announced, part_of

LENGTHS = [(3, 5), (7, 2), (1, 1)]

COMMON = {EMBEDDINGS, OUTPUT, BETWEEN}
TRANSFORMER = COMMON | {
    NORMS,
    "encoder",
    "decoder",
    "encoder self-attention",
    "encoder feed-forward",
    "decoder self-attention",
    "decoder cross-attention",
    "decoder feed-forward",
}
RNN = COMMON | {
    "encoder",
    "encoder forwards",
    "encoder backwards",
    "decoder",
    "decoder initial",
    "decoder layers",
    "decoder attention",
    "decoder combine",
}


def parts_announced(variant: str, compiled: Callable[..., Any] | None = None) -> set[str]:
    """Return the parts that a profiler hears of."""
    model, batch = build(VARIANTS[variant]).train(), random_batch(LENGTHS)
    model.compiled = compiled
    with announced(model), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        model(batch, 0.1).total.backward()
    return {event.name.removeprefix(SCOPE) for event in profiler.events() if event.name.startswith(SCOPE)}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_parts_of_each_architecture_have_names(variant: str) -> None:
    kind = VARIANTS[variant].kind
    assert kind in ("transformer", "rnn"), "name its parts here"
    assert parts_announced(variant) == {"transformer": TRANSFORMER, "rnn": RNN}[kind]


def test_compiled_layers_are_one_part_and_stay_as_they_were_compiled() -> None:
    def call(layer: torch.nn.Module, *inputs: Any) -> Any:
        assert not [name for module in layer.modules() for name in vars(module) if name == "forward"]
        return layer(*inputs)

    assert parts_announced("transformer", call) == COMMON | {LAYERS}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_model_computes_the_same_while_it_announces_and_forgets_it_then(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    before = {path: set(vars(module)) for path, module in model.named_modules()}
    plain = model(batch, 0.1).total
    with announced(model):
        assert model(batch, 0.1).total == plain
    with pytest.raises(RuntimeError, match="stop"), announced(model):
        raise RuntimeError("stop")
    assert {path: set(vars(module)) for path, module in model.named_modules()} == before


@pytest.mark.parametrize(
    ("path", "method", "part"),
    [
        ("", "forward", OUTPUT),
        ("", "_embed", EMBEDDINGS),
        ("", "_decode", BETWEEN),
        ("target_embedding", "forward", EMBEDDINGS),
        ("decoder.3.cross_attention", "project", "decoder cross-attention"),
        ("decoder.3.cross_attention.query", "forward", None),
        ("decoder.3.cross_attention_residual", "forward", NORMS),
        ("decoder.3.cross_attention_residual.norm", "forward", None),
        ("encoder_norm", "forward", NORMS),
        ("dropout", "forward", None),
        ("decoder.attention", "keys", "decoder attention"),
    ],
)
def test_parts_by_name(path: str, method: str, part: str | None) -> None:
    assert part_of(path, method) == part
