"""Freezing: parts of a model that stay as they are while the rest learns.

A part goes by the name that the summary or the profile of a training gives it, or by names of parameters.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from torch import nn
from torch.nn import Parameter

from nmtkit.errors import ConfigError
from nmtkit.schema import quoted
from nmtkit.training.scopes import part_of

KEY = "train.freeze"


def part_of_parameter(name: str) -> str:
    """Return the part of a model that a parameter belongs to, as "embeddings", "encoder", "decoder".

    A part is what the names of a model's modules begin with; the norm behind all layers belongs to these.
    """
    module = name.split(".", maxsplit=1)[0]
    return "embeddings" if module.endswith("_embedding") else module.removesuffix("_norm").replace("_", " ")


def finer_part(name: str) -> str | None:
    """Return the part that the time of a parameter is charged to in a profile, as "encoder self-attention"."""
    path = name.rpartition(".")[0]
    while path:
        part = part_of(path, "forward")
        if part is not None:
            return part
        path = path.rpartition(".")[0]
    return None


def freeze(model: nn.Module, names: Sequence[str]) -> None:
    """Let the parts and parameters of these names get no gradient. A name may be a pattern of parameters (`fnmatch`).

    A parameter that is shared is frozen under each of its names. Raises ConfigError for names of nothing, and where
    nothing would be left to learn.
    """
    named = dict(model.named_parameters(remove_duplicate=False))
    unknown = []
    for name in names:
        matched = [parameter for own, parameter in named.items() if _is_meant(name, own)]
        for parameter in matched:
            parameter.requires_grad_(False)
        if not matched:
            unknown.append(name)
    if unknown:
        raise ConfigError([_nothing_named(name, list(named)) for name in unknown])
    if names and not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigError(f"{KEY}: {quoted(list(names))}: nothing is left to train; take some of them away")


def frozen_in_words(model: nn.Module) -> Iterator[str]:
    """Yield lines on what is trained and what is not; none where everything is."""
    parameters = dict(model.named_parameters())
    frozen = {name: parameter for name, parameter in parameters.items() if not parameter.requires_grad}
    if not frozen:
        return
    parts = {part_of_parameter(name): 0 for name in frozen}
    of_parts = dict.fromkeys(parts, 0)
    for name, parameter in parameters.items():
        part = part_of_parameter(name)
        if part in parts:
            of_parts[part] += parameter.numel()
            parts[part] += 0 if parameter.requires_grad else parameter.numel()
    told = [part if size == of_parts[part] else f"{size:,} of {part}" for part, size in parts.items()]
    whole = sum(parameter.numel() for parameter in parameters.values())
    yield f"trained: {whole - sum(parts.values()):,} of {whole:,} parameters; frozen ({KEY}): {', '.join(told)}"
    for name, others in _other_names(model, frozen).items():
        yield f"frozen: {name} is one matrix with {' and '.join(others)}, which stand still with it"


def _is_meant(name: str, parameter: str) -> bool:
    return name in (part_of_parameter(parameter), finer_part(parameter)) or fnmatchcase(parameter, name)


def _nothing_named(name: str, parameters: list[str]) -> str:
    """Return what is wrong with a name that nothing has, and which there are."""
    parts = list(dict.fromkeys(map(part_of_parameter, parameters)))
    finer = list(dict.fromkeys(part for part in map(finer_part, parameters) if part is not None and part not in parts))
    nearest = get_close_matches(name, [*parts, *finer, *parameters], n=1)
    hint = f"did you mean {quoted(nearest)}? " if nearest else ""
    return (
        f"{KEY}: {quoted([name])} names no part of the model and no parameter; {hint}there are "
        f"{quoted([*parts, *finer])}, and parameters such as "
        f"{quoted([parameters[-1]])}, in whose names * stands for any characters"
    )


def _other_names(model: nn.Module, frozen: dict[str, Parameter]) -> dict[str, list[str]]:
    """Return for each frozen parameter that has other names than its first which they are."""
    names = {id(parameter): name for name, parameter in frozen.items()}
    others: dict[str, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first = names.get(id(parameter), name)
        if first != name:
            others.setdefault(first, []).append(name)
    return others
