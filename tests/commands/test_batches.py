"""Batches as the settings ask for them: weights of corpora, and corpora that are not those prepared."""

import pytest
from toy.projects import Project

from nmtkit.commands.train import train
from nmtkit.errors import DataError
from nmtkit.log import Log

TOY = 'corpus.train=[{name="toy", source="train.en", target="train.de"%s}]'


def said_by(project: Project, capsys: pytest.CaptureFixture[str], *settings: str) -> str:
    train(project.config(*settings), project.folder, project.run, Log(), device="cpu")
    return capsys.readouterr().err


def test_a_weight_says_how_many_pairs_an_epoch_sees(fresh: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights need no new preparation, and a new one waits for the next epoch."""
    stop = "train.stop={updates=0, epochs=1}", "train.validation.every=0"
    said = said_by(fresh, capsys, TOY % ", weight=0.5", "train.stop.updates=2", "train.validation.every=0")
    assert "data: 200 pairs, an epoch of 5 updates with 100 pairs seen" in said
    said = said_by(fresh, capsys, TOY % ", weight=2.0", *stop)
    assert "an epoch of 20 updates with 400 pairs seen" in said
    assert fresh.records("train")[-1]["pairs"] <= 100
    said_by(fresh, capsys, TOY % ", weight=2.0", "train.stop={updates=0, epochs=2}", "train.validation.every=0")
    assert 400 < fresh.records("train")[-1]["pairs"] <= 500


def test_corpora_that_were_not_prepared_are_named(fresh: Project) -> None:
    with pytest.raises(
        DataError, match=r"^corpus.train names other, but prepared are toy, 200 pairs; run `nmtkit prepare`"
    ):
        fresh.train(TOY.replace("toy", "other") % "")
