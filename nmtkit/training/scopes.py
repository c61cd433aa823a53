"""Scopes: while a model is profiled its modules announce which part of it computes; at other times nothing does.

Parts follow from the names of modules and methods, so every architecture has them: `encoder.0.self_attention` is
"encoder self-attention", and what it calls belongs to it where that is no part itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any

from torch import nn
from torch.profiler import record_function

SCOPE = "nmtkit: "
"""What the name of each announced part begins with."""

EMBEDDINGS, NORMS, OUTPUT, LAYERS, BETWEEN = (
    "embeddings",
    "norms, residuals, dropout",
    "output layer and loss",
    "layers, compiled",
    "between the parts",
)

OWN_METHODS = {"_embed": EMBEDDINGS, "_output": OUTPUT, "forward": OUTPUT}
"""Methods of a whole model; `forward` itself computes the loss, and the others lead from part to part."""


@contextmanager
def announced(model: nn.Module) -> Iterator[None]:
    """Let a model announce its parts to the profiler as they compute; layers that are compiled have no parts."""
    wrapped: list[tuple[nn.Module, str]] = []
    compiled = getattr(model, "compiled", None) is not None
    try:
        for path, module in model.named_modules():
            if compiled and any(name.isdecimal() for name in path.split(".")):
                continue  # they would be compiled anew
            for name in methods(type(module)):
                part = LAYERS if compiled and name == "through" else part_of(path, name)
                if part is not None:
                    vars(module)[name] = _announcing(SCOPE + part, getattr(module, name))
                    wrapped.append((module, name))
        yield
    finally:
        for module, name in wrapped:
            del vars(module)[name]


def part_of(path: str, method: str) -> str | None:
    """Return the part that a method of the module at a path computes; None: that of whoever calls it."""
    names = [name for name in path.split(".") if name and not name.isdecimal()]
    if not names:
        return OWN_METHODS.get(method, BETWEEN)
    last = names[-1]
    if last.endswith("_embedding"):
        return EMBEDDINGS
    if last.endswith(("_residual", "_norm")):
        return NORMS
    if len(names) > 2 or last == "dropout":
        return None
    return " ".join(names).replace("_", "-")


def methods(kind: type[nn.Module]) -> set[str]:
    """Return the names of what a module may be asked to compute: `forward`, and the methods of our own classes."""
    own = [vars(base) for base in kind.__mro__ if base.__module__.split(".")[0] != "torch"]
    return {"forward"} | {
        name
        for attributes in own
        for name, value in attributes.items()
        if isinstance(value, FunctionType) and not name.startswith("__")
    }


def _announcing(scope: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def announce(*arguments: Any, **named: Any) -> Any:
        with record_function(scope):
            return method(*arguments, **named)

    return announce
