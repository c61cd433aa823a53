"""The kernels for tests, or a skip that says why there are none."""

from functools import cache

import pytest

from nmtkit.kernels.building import NotBuilt
from nmtkit.kernels.library import Kernels


@cache
def _built() -> Kernels | str:
    try:
        return Kernels()
    except NotBuilt as reason:
        return str(reason)


def kernels() -> Kernels:
    """Return the kernels; skips the test where they cannot be built."""
    built = _built()
    if isinstance(built, str):
        pytest.skip(built)
    return built
