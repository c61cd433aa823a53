"""A run folder opened from Python."""

from pathlib import Path

import pytest
import torch
from toy.runs import write_run

import nmtkit
from nmtkit.api import load_model, load_run_config, load_segmenters, resolve_device
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.run_folder import RunFolder
from nmtkit.search.settings import BeamConfig, GreedyConfig
from nmtkit.training.choice import find_weights
from nmtkit.translation.settings import TranslateConfig

LINES = ["the dog sees a bird today .", "", "every fox hears the fish ."]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("api") / "run")


def test_load_and_translate(run: RunFolder) -> None:
    translator = nmtkit.Translator.load(str(run.path))
    texts = translator.translate(LINES)
    assert len(texts) == 3
    assert texts[1] == ""
    assert all(texts[::2])
    answers = list(translator.hypotheses(LINES))
    assert [found[0].text for found in answers] == texts
    assert all(isinstance(hypothesis, nmtkit.Hypothesis) for found in answers for hypothesis in found)
    assert nmtkit.Translator.load(run.path, device="cpu").translate(LINES) == texts


def test_lines_are_normalised_as_the_run_says(tmp_path: Path) -> None:
    plain = nmtkit.Translator.load(write_run(tmp_path / "run").path)
    assert plain.translate([" the  dog "]) == plain.translate(["the dog"])
    assert plain.counts.pieces == 2 * len(plain.source_segmenter.encode(["the dog"])[0])
    bare = nmtkit.Translator.load(write_run(tmp_path / "bare", {"prepare.normalizers": []}).path)
    assert bare.normalize(" the  dog ") == " the  dog "


def test_other_settings_than_those_of_the_run(run: RunFolder) -> None:
    config = TranslateConfig(search=BeamConfig(beam=3, n_best=3, max_length_extra=5), max_pieces=3)
    translator = nmtkit.Translator.load(run.path, config=config)
    assert len(next(translator.hypotheses(["the dog"]))) == 3
    greedy = nmtkit.Translator.load(run.path, config=TranslateConfig(search=GreedyConfig(max_length_extra=5)))
    assert len(next(greedy.hypotheses(["the dog"]))) == 1


def test_a_tag_is_asked_for_by_the_settings_or_by_the_call(tmp_path: Path) -> None:
    corpora = [{"name": tag, "tag": tag, "source": f"{tag}.en", "target": f"{tag}.de"} for tag in ("news", "bt")]
    run = write_run(tmp_path / "run", {"corpus.train": corpora, "translate.tag": "bt"})
    texts = {tag: nmtkit.Translator.load(run.path).translate(LINES, tag=tag) for tag in ("", "news", "bt", None)}
    assert texts[None] == texts["bt"]
    assert len({*map(tuple, texts.values())}) == 3
    config = load_run_config(run).translate.model_copy(update={"tag": "news"})
    assert nmtkit.Translator.load(run.path, config=config).translate(LINES) == texts["news"]
    with pytest.raises(ConfigError, match=r'translate\.tag = "old": no such tag; choose "news" or "bt", or remove it'):
        nmtkit.Translator.load(run.path, config=TranslateConfig(tag="old"))


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="absent: no such folder; give the folder that nmtkit train wrote"):
        nmtkit.Translator.load(tmp_path / "absent")
    with pytest.raises(CheckpointError, match=r"no run folder, it has no config\.toml"):
        nmtkit.Translator.load(tmp_path)


def test_a_run_without_checkpoint_or_vocabulary_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    run.checkpoints.rename(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="run nmtkit train first"):
        nmtkit.Translator.load(run.path)
    (tmp_path / "elsewhere").rename(run.checkpoints)
    run.source_segmenter.unlink()
    with pytest.raises(CheckpointError, match=r"source\.model cannot be read"):
        nmtkit.Translator.load(run.path)


def test_another_vocabulary_than_the_checkpoints_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    other = write_run(tmp_path / "other", {"prepare.segmenter.vocabulary_size": 110})
    ours, theirs = load_segmenters(run).target.fingerprint, load_segmenters(other).target.fingerprint
    run.target_segmenter.write_bytes(other.target_segmenter.read_bytes())
    with pytest.raises(CheckpointError, match="target vocabulary") as refused:
        nmtkit.Translator.load(run.path)
    assert ours[:12] in str(refused.value)
    assert theirs[:12] in str(refused.value)


def test_load_model_takes_the_weights_that_were_asked_for(run: RunFolder) -> None:
    config = load_run_config(run)
    model = load_model(config, find_weights(run, "8"), load_segmenters(run), torch.device("cpu"))
    assert not model.training
    last = load_model(config, find_weights(run, "last"), load_segmenters(run), torch.device("cpu"))
    for one, other in zip(model.parameters(), last.parameters(), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(CheckpointError, match="no checkpoint of update 7; there are: 8"):
        nmtkit.Translator.load(run.path, config=TranslateConfig(checkpoint="7"))


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match="'cuda' was asked for, but torch finds no GPU"):
        resolve_device("cuda")
    for wrong in ("gpu", "cuda:", "cuda:x", "cpu:0", "", "cuda:²"):
        with pytest.raises(ConfigError, match='choose "auto", "cpu", "cuda"'):
            resolve_device(wrong)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match="there are 2 GPUs, counted from cuda:0"):
        resolve_device("cuda:2")
