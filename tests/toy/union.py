"""The members of a union of settings, so that tests iterate over what is registered."""

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin


def members(union: Any) -> tuple[type, ...]:
    """Return the classes of `A | B`, of Annotated[A | B, …], or of a single class."""
    if get_origin(union) is Annotated:
        union = get_args(union)[0]
    if get_origin(union) in (Union, UnionType):
        return get_args(union)
    return (union,)
