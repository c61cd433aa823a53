"""`nmtkit train --init-from`: what a training begins with, what it says of that, and what does not fit."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from safetensors.torch import load_file
from toy.projects import Project, same

from nmtkit.api import load_segmenters
from nmtkit.commands.prepare import prepare
from nmtkit.config import load
from nmtkit.corpus.segmenters import load_segmenter
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.log import Log
from nmtkit.training.checkpoints import read_state
from nmtkit.training.choice import find_weights

STILL = ("train.schedule={kind='constant', peak=1e-60}", "train.stop.updates=1", "train.checkpoints.average=0")
"""One update that moves nothing."""


@pytest.fixture(autouse=True)
def _no_picture(trained: Project) -> Iterator[None]:
    with patch("nmtkit.training.reporting.draw_learning_curve"):
        yield


@pytest.fixture
def general(trained: Project, fresh: Project) -> Project:
    """A trained project beside `fresh`, in the folder `general`."""
    return trained.copy(fresh.folder.parent / "general")


def chosen(project: Project) -> dict[str, torch.Tensor]:
    """Return the weights that translate would take."""
    return load_file(find_weights(project.run, "auto"))


def initial(project: Project, update: int = 1) -> dict[str, str]:
    return read_state(project.run.checkpoints / f"{update:08d}").origin.initial


@pytest.mark.parametrize("checkpoint", ["auto", "average", "last", "4"])
def test_a_training_begins_with_the_weights_that_translate_would_take(
    fresh: Project, general: Project, checkpoint: str
) -> None:
    """Seen from the folder of the config file; where they come from stands in every checkpoint."""
    fresh.train("train.init.run=../general/run", f"train.init.checkpoint='{checkpoint}'", *STILL)
    weights = find_weights(general.run, checkpoint)
    folder = weights.parent.name
    assert same(fresh.weights(1), general.weights(folder))
    updates = {"average": "4, 8", "00000008": "8", "00000004": "4"}[folder]
    assert initial(fresh) == {
        "run": str(general.run.path.resolve()),
        "checkpoint": folder,
        "update": updates,
        "weights": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "vocabulary": "same",
    }
    said = fresh.run.log.read_text()
    several = "s" if folder == "average" else ""
    assert f"beginning with the weights of {weights.parent.resolve()} (update{several} {updates})" in said
    assert load(fresh.run.config).train.init.run == str(general.run.path.resolve())


@pytest.mark.slow
def test_a_resumed_training_goes_on_from_its_own_checkpoint(fresh: Project, general: Project) -> None:
    """With the other run gone, named anew, or not named at all; it is still known where it began."""
    stop = ("train.checkpoints={every=2, average=0}", "train.validation.every=0")
    fresh.train("train.init.run=../general/run", *stop, "train.stop.updates=2")
    straight = fresh.copy(fresh.folder.parent / "straight")
    straight.train("train.init.run=../general/run", *stop, "train.stop.updates=6")
    shutil.rmtree(general.folder)
    fresh.train("train.init.run=../general/run", *stop, "train.stop.updates=4")
    assert "only the beginning" not in fresh.run.log.read_text()
    fresh.train(*stop, "train.stop.updates=6")
    assert same(fresh.weights(6), straight.weights(6))
    assert initial(fresh, 6) == initial(straight, 6)
    assert "changed since this run began: train.init" not in fresh.run.log.read_text()
    assert load(fresh.run.config).train.init == load(straight.run.config).train.init
    fresh.train("train.init.run=elsewhere", *stop, "train.stop.updates=7")
    said = fresh.run.log.read_text()
    assert f"train.init.run = '{fresh.folder}/elsewhere': only the beginning of a training reads it; this one" in said


def test_a_run_without_initial_weights_draws_them(trained: Project) -> None:
    assert initial(trained, 8) == {}
    content = json.loads((trained.run.checkpoints / "00000008" / "state.json").read_bytes())
    assert content["origin"]["initial"] == {}


def prepared_again(project: Project, *settings: str) -> tuple[str, ...]:
    prepare(project.config(*settings), project.folder, project.run, Log("quiet"))
    return settings


def test_the_vocabulary_of_the_other_run_can_be_taken_over(fresh: Project, general: Project) -> None:
    """Two settings and two commands: pieces learned from other text would be others."""
    lines = (fresh.folder / "train.en").read_bytes().split(b"\n")[:120]
    (fresh.folder / "train.en").write_bytes(b"\n".join(lines) + b"\n")
    lines = (fresh.folder / "train.de").read_bytes().split(b"\n")[:120]
    (fresh.folder / "train.de").write_bytes(b"\n".join(lines) + b"\n")
    settings = prepared_again(fresh, "prepare.segmenter={kind='file', path='../general/run/data/source.model'}")
    assert fresh.run.source_segmenter.read_bytes() == general.run.source_segmenter.read_bytes()
    fresh.train(*settings, "train.init.run=../general/run", *STILL)
    assert same(fresh.weights(1), chosen(general))


@pytest.mark.slow
def test_both_vocabularies_of_the_other_run_can_be_taken_over(fresh: Project, general: Project) -> None:
    apart = ("prepare.segmenter={kind='bpe', vocabulary_size=70, byte_fallback=false, joint=false}",
             "model.share_embeddings=none")  # fmt: skip
    shutil.rmtree(general.run.checkpoints)
    prepared_again(general, *apart)
    general.train(*apart, *STILL)
    data = "../general/run/data"
    given = f"prepare.segmenter={{kind='file', path='{data}/source.model', target_path='{data}/target.model'}}"
    settings = prepared_again(fresh, given, apart[1])
    for own, theirs in ((fresh.run.source_segmenter, general.run.source_segmenter),
                        (fresh.run.target_segmenter, general.run.target_segmenter)):  # fmt: skip
        assert own.read_bytes() == theirs.read_bytes()
    assert fresh.run.source_segmenter.read_bytes() != fresh.run.target_segmenter.read_bytes()
    fresh.train(*settings, "train.init.run=../general/run", *STILL)
    assert same(fresh.weights(1), general.weights(1))
    with pytest.raises(ConfigError, match=r"^prepare\.segmenter\.target_path = '.*/no\.model': cannot be read"):
        prepared_again(fresh, given.replace("target.model", "no.model"), apart[1])
    with pytest.raises(ConfigError, match=r'model\.share_embeddings = "all".*needs a joint vocabulary'):
        fresh.config(given)


def test_another_vocabulary_is_refused_unless_pieces_are_matched(fresh: Project, general: Project) -> None:
    settings = prepared_again(fresh, "prepare.segmenter.vocabulary_size=100", "prepare.segmenter.symbols=['<2x>']")
    with pytest.raises(CheckpointError) as caught:
        fresh.train(*settings, "train.init.run=../general/run")
    assert str(caught.value) == (
        f"{find_weights(general.run, 'auto')}: trained with another vocabulary (source and target) than this run "
        'was prepared with; prepare it with that one, prepare.segmenter = { kind = "file", path = '
        f'"{general.run.source_segmenter}" }}, or set train.init.vocabulary = "by_piece" to keep the rows of the '
        "pieces that both have"
    )
    assert not fresh.run.checkpoints.exists()
    fresh.train(*settings, "train.init={run='../general/run', vocabulary='by_piece'}", *STILL)
    own, theirs = load_segmenter(fresh.run.source_segmenter), load_segmenter(general.run.source_segmenter)
    ours, others = own.pieces(range(own.size)), theirs.pieces(range(theirs.size))
    weights, trained = fresh.weights(1), chosen(general)
    torch.manual_seed(1)
    drawn = fresh.config(*settings).model.build(own.size, own.size).target_embedding.weight
    new = [piece for piece in ours if piece not in others]
    assert "<2x>" in new
    for place, piece in enumerate(ours):
        expected = drawn[place] if piece in new else trained["target_embedding.weight"][others.index(piece)]
        assert torch.equal(weights["target_embedding.weight"][place], expected), piece
    for name in weights.keys() - {"target_embedding.weight"}:
        assert torch.equal(weights[name], trained[name])
    said = fresh.run.log.read_text()
    kept = own.size - len(new)
    assert f"vocabulary: {kept} pieces kept, {len(new)} new, {theirs.size - kept} left out" in said
    assert 'vocabulary, new, with rows drawn anew: "' in said
    assert initial(fresh)["vocabulary"] == "by_piece"


@pytest.mark.slow
def test_separate_vocabularies_are_matched_side_by_side(fresh: Project, general: Project) -> None:
    apart = ("prepare.segmenter.joint=false", "prepare.segmenter.vocabulary_size=70", "model.share_embeddings=none")
    shutil.rmtree(general.run.checkpoints)
    prepared_again(general, *apart)
    general.train(*apart, *STILL)
    settings = (*apart[::2], "prepare.segmenter.vocabulary_size=60")
    prepared_again(fresh, *settings)
    fresh.train(*settings, "train.init={run='../general/run', vocabulary='by_piece'}", *STILL)
    weights, trained = fresh.weights(1), general.weights(1)
    for side, names in (("source", ["source"]), ("target", ["target", "output"])):
        own, theirs = (getattr(load_segmenters(project.run), side) for project in (fresh, general))
        ours, others = own.pieces(range(own.size)), theirs.pieces(range(theirs.size))
        for name in (f"{name}_embedding.weight" for name in names):
            for place, piece in enumerate(ours):
                if piece in others:
                    assert torch.equal(weights[name][place], trained[name][others.index(piece)])
    said = fresh.run.log.read_text()
    assert "source vocabulary: " in said
    assert "target vocabulary: " in said


def test_another_model_is_refused_with_each_setting_that_differs(fresh: Project, general: Project) -> None:
    start = "train.init.run=../general/run"
    with pytest.raises(CheckpointError) as caught:
        fresh.train(
            start, "model.width=32", "model.heads=4", "model.norm=pre", "model.dropout=0.3", "model.preset=base"
        )
    assert str(caught.value) == (
        f"{general.run}: its weights are of another model than this one (train.init):\n"
        "  model.width: 16 there, 32 here\n  model.heads: 2 there, 4 here\n"
        "  model.norm: 'post' there, 'pre' here\n"
        f"set them as {general.run.config} has them, or begin with another run"
    )
    with pytest.raises(CheckpointError, match=r"model\.kind: 'transformer' there, 'rnn' here\nset them as"):
        fresh.train(start, "model={kind='rnn', preset='tiny', width=16}")
    fresh.train(start, "model.dropout=0.3", *STILL)


def test_folders_that_are_no_runs_are_named(fresh: Project, general: Project) -> None:
    key = r"^train\.init\.run = '.*': "
    (fresh.folder / "empty").mkdir()
    for folder, message in (
        ("nothing", "no such folder; give the folder that nmtkit train wrote"),
        ("empty", r"no run folder, it has no config\.toml; give the folder that nmtkit train wrote"),
        ("../general/run@4", r'no such folder; give a checkpoint as train\.init\.checkpoint = "4"; give the folder'),
    ):
        with pytest.raises(ConfigError, match=key + message):
            fresh.train(f"train.init.run={folder}")
    with pytest.raises(CheckpointError, match=r"no checkpoint of update 5; there are: 4, 8"):
        fresh.train("train.init={run='../general/run', checkpoint='5'}")
    with pytest.raises(ConfigError, match=r'train\.init\.checkpoint = "newest": no such choice; choose "auto"'):
        fresh.config("train.init={run='../general/run', checkpoint='newest'}")
    shutil.rmtree(general.run.checkpoints)
    with pytest.raises(CheckpointError, match=r"checkpoints: no usable checkpoint"):
        fresh.train("train.init.run=../general/run")
    assert not fresh.run.log.exists()


def test_frozen_parts_stay_what_the_other_run_made_of_them(fresh: Project, general: Project) -> None:
    fresh.train(
        "train.init.run=../general/run", "train.freeze=['embeddings', 'encoder']", "train.stop.updates=3",
        "train.checkpoints.average=0",
    )  # fmt: skip
    weights, trained = fresh.weights(3), chosen(general)
    for name, tensor in weights.items():
        assert torch.equal(tensor, trained[name]) == name.startswith(("encoder", "target_embedding")), name
    said = fresh.run.log.read_text()
    assert "parameters; frozen (train.freeze): embeddings, encoder" in said
    assert "frozen: target_embedding.weight is one matrix with source_embedding.weight and output_embedding.wei" in said
    with pytest.raises(CheckpointError, match=r"train\.freeze: \['embeddings', 'encoder'\] in the run, now \[\]"):
        fresh.train("train.stop.updates=4")


def test_a_name_of_nothing_is_refused_before_anything_is_written(fresh: Project) -> None:
    with pytest.raises(ConfigError, match=r'^train\.freeze: "enkoder" names no part of the model'):
        fresh.train("train.freeze=['enkoder']")
    assert not fresh.run.config.exists()
    assert not fresh.run.checkpoints.exists()


def test_the_flag_is_seen_from_the_working_directory(
    fresh: Project, general: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from nmtkit.cli import app

    monkeypatch.chdir(fresh.folder.parent)
    settings = [part for setting in STILL for part in ("--set", setting)]
    command = ["train", "--config", f"{fresh.folder.name}/nmtkit.toml", "--init-from", "general/run", "--device", "cpu"]
    result = CliRunner().invoke(app, [*command, "--quiet", *settings])
    assert result.exit_code == 0, result.output
    assert initial(fresh)["run"] == str(Path(general.run.path).resolve())
