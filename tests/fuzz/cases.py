"""How many cases each property is tried with in each tier, and the runner that sees to it that so many were tried."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings


class Cases(NamedTuple):
    """Cases of a property in the fast tier, the ci tier and the full tier."""

    fast: int
    ci: int
    full: int


CASES = {
    # text
    "test_lines_of_a_file": Cases(30, 80, 2_000),
    "test_a_damaged_packed_file": Cases(30, 80, 3_000),
    "test_two_files": Cases(20, 60, 1_500),
    "test_tab_separated_pairs": Cases(20, 60, 1_500),
    "test_a_translation_memory": Cases(20, 60, 1_500),
    "test_pairs_between_cleaning_and_packing": Cases(10, 20, 500),
    "test_standard_input_in_any_pieces": Cases(10, 40, 1_000),
    # settings
    "test_a_config_file_of_any_bytes": Cases(20, 50, 1_500),
    "test_a_config_file_of_any_values": Cases(20, 60, 1_500),
    "test_settings_of_the_command_line": Cases(20, 60, 1_500),
    # files of a run
    "test_a_manifest": Cases(15, 40, 1_000),
    "test_the_state_of_a_checkpoint": Cases(15, 40, 1_000),
    "test_the_progress_of_a_preparation": Cases(15, 40, 1_000),
    "test_a_position": Cases(20, 60, 1_500),
    "test_records_of_a_training": Cases(15, 40, 1_000),
    "test_a_learning_curve": Cases(1, 3, 100),
    "test_a_lock_file": Cases(5, 10, 200),
    "test_a_run_card": Cases(15, 40, 1_000),
    "test_packed_sentences": Cases(15, 40, 1_000),
    "test_a_vocabulary": Cases(10, 30, 800),
    "test_weights": Cases(10, 30, 800),
    # commands
    "test_translate": Cases(15, 60, 3_000),
    "test_translate_in_chunks_and_batches_of_any_size": Cases(3, 10, 300),
    "test_translate_from_python": Cases(5, 20, 600),
    "test_score_of_two_files": Cases(15, 60, 2_500),
    "test_score_of_a_run": Cases(2, 5, 200),
    "test_prepare": Cases(3, 15, 400),
}
"""By the name of the test."""

LEAST_IN_FULL = 20_000
"""Cases of the full tier, all properties together."""

each_tier = pytest.mark.parametrize(
    "tier",
    [
        "fast",
        pytest.param("ci", marks=pytest.mark.slow),
        pytest.param("full", marks=pytest.mark.full),
    ],
)


def try_cases(check: Callable[..., None], tier: str) -> None:
    """Try `check`, a `given` function within a test, as often as the table says for that test and tier.

    Its explicit examples come on top. Fails where fewer cases were tried, as when too many were rejected.
    """
    given: Any = check
    inner = given.hypothesis.inner_test
    wanted: int = getattr(CASES[inner.__qualname__.split(".")[0]], tier)
    tried = 0

    @wraps(inner)
    def counted(*args: Any, **values: Any) -> None:
        nonlocal tried
        inner(*args, **values)
        tried += 1

    given.hypothesis.inner_test = counted
    settings(max_examples=wanted, suppress_health_check=[HealthCheck.too_slow])(check)()
    assert tried >= wanted, f"{tried} of {wanted} cases were tried"
