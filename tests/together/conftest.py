"""What the tests of several processes share."""

from collections.abc import Iterator

import pytest
from kills.processes import Forked


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    """Where processes that train together are forked."""
    forked = Forked(tmp_path_factory.mktemp("team"), "nmtkit.training.shards")
    yield forked
    forked.close()
