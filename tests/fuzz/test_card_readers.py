"""Run cards and scores are read as they were written; damaged ones are told, never half believed."""

import json
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from toy.cards import run_card

from fuzz.cases import each_tier, try_cases
from fuzz.damage import altered_json, damages
from fuzz.messages import check_message
from fuzz.text import documents
from nmtkit.errors import CheckpointError
from nmtkit.run_folder import RunFolder
from nmtkit.training.card_files import card_text, measured_scores, read_card


@each_tier
def test_a_run_card(tier: str, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    content = run_card()
    written = card_text(content).encode()
    score = run.scores("test", "average")
    score.parent.mkdir()

    @given(content=st.one_of(altered_json(json.loads(written)), damages().map(lambda d: d(written)), documents(3)))
    @example(content=written)
    @example(content=b"[" * 5_000 + b"]" * 5_000)
    @example(content=card_text({"scores": []}).encode())
    def check(content: bytes) -> None:
        run.card.write_bytes(content)
        score.write_bytes(content)
        try:
            found = read_card(run.card)
        except CheckpointError as error:
            check_message(error, run.card)
        else:
            assert found == run_card()
        assert all("scores" in test for test in measured_scores(run))

    try_cases(check, tier)
