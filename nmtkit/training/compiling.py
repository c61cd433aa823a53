"""Compiling: layers made into kernels of their own by torch.compile, which fuses what stands between matrix products.

All layers of a kind share what was compiled for one, for tensors of every shape. Outside of training, and where the
compiler fails, layers are called as they are: nothing of a checkpoint tells whether they were compiled.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

import torch
from torch import nn

from nmtkit.errors import NmtkitError
from nmtkit.models.base import Model
from nmtkit.toml import shorten

KEY = "train.compile"

MOST_VARIANTS = 64
"""Variants of a layer that are compiled at most: of each kind one, one for a batch of one sentence, and so on."""


def compile_layers(
    model: Model, wanted: Literal["auto", True, False], device: torch.device, say: Callable[[str], None]
) -> None:
    """Have the layers of a model compiled when training first calls them, where that is wanted and can be had.

    `say` is told why not, where one might expect it.
    """
    if wanted is False or (wanted == "auto" and device.type != "cuda"):
        return
    if not model.compilable:
        if wanted is True:
            say(f"{KEY} = true: there is nothing to gain by compiling the layers of this model, so they are not")
        return
    if device.type == "cuda" and find_spec("triton") is None:
        say(f"{KEY}: layers are not compiled, which needs the package triton on a GPU; training goes on without")
        return
    try:
        model.compiled = compiled_call()
    except RuntimeError as error:  # as of a Python that is too new for this torch
        say(f"{KEY}: layers are not compiled ({_reason(error)}); training goes on without")


def compiled_call(backend: str = "inductor") -> Callable[..., Any]:
    """Return what calls its first argument, a layer, with the others, compiled at the first call of its kind."""
    compiled: Callable[..., Any] = torch.compile(_call, dynamic=True, backend=backend)
    _allow_variants()
    return compiled


def _call(layer: nn.Module, *inputs: Any) -> Any:
    return layer(*inputs)


def _allow_variants() -> None:
    """Let torch compile more variants of one function than the 8 that suit a function of one purpose."""
    from torch._dynamo import config

    for name in ("recompile_limit", "cache_size_limit"):  # as it is called, and was until torch 2.6
        if hasattr(config, name):
            setattr(config, name, max(MOST_VARIANTS, getattr(config, name)))
            return


def rehearse(model: Model, work: Callable[[], object], warn: Callable[[str], None]) -> None:
    """Do work that calls layers of every kind; where they fail for being compiled, say why and do it again without."""
    try:
        work()
    except (torch.cuda.OutOfMemoryError, NmtkitError):
        raise
    except Exception as error:
        if model.compiled is None:
            raise
        reason = _reason(error)
    else:
        return
    warn(f"{KEY}: the layers could not be compiled ({reason}); training goes on without")
    model.compiled = None
    work()


def _reason(error: Exception) -> str:
    """Return the first line of what went wrong in the compiler, which wraps its errors."""
    inner = getattr(error, "inner_exception", None) or error.__cause__ or error
    lines = [line for line in str(inner).split("\n") if line.strip()]
    return f"{type(inner).__name__}: {shorten(lines[0], 200)}" if lines else type(inner).__name__
