"""`nmtkit train`: what it makes, what it says, what it leaves alone and what it refuses."""

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from toy import comet
from toy.corpora import write_lines
from toy.projects import Project, same

from nmtkit.api import Translator
from nmtkit.commands.prepare import prepare
from nmtkit.commands.train_summary import parameters_by_part
from nmtkit.config import load
from nmtkit.corpus.lines import read_lines
from nmtkit.data.manifest import load_manifest
from nmtkit.data.store import HEADER_BYTES, LINES
from nmtkit.errors import CheckpointError, ConfigError, DataError
from nmtkit.log import Log, duration
from nmtkit.metrics.base import Score
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.run_lock import RunLock
from nmtkit.training.checkpoints import read_state
from nmtkit.training.choice import find_weights
from nmtkit.training.signals import Interrupted
from nmtkit.training.stopping import seconds_needed
from nmtkit.training.tensor_folder import read_json, rewrite_state
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validation, Validator
from nmtkit.translation.settings import TranslateConfig


@pytest.fixture(autouse=True)
def _no_picture(request: pytest.FixtureRequest):
    if "trained" in request.fixturenames or "finished" in request.fixturenames:
        request.getfixturevalue("trained")  # with its picture
    with patch("nmtkit.training.reporting.draw_learning_curve"):
        yield


def test_a_run_folder_holds_all_that_was_promised(trained: Project) -> None:
    run = trained.run
    assert trained.updates() == [4, 8]
    for name in ("00000004", "00000008"):
        files = {path.name for path in (run.checkpoints / name).iterdir()}
        assert files == {"weights.safetensors", "optimizer.safetensors", "state.json"}
    assert {path.name for path in run.average.iterdir()} == {"weights.safetensors", "state.json"}
    assert run.learning_curve.read_bytes().startswith(b"\x89PNG")
    assert "finished at update 8 (train.stop.updates = 8)" in run.log.read_text()
    assert not list(run.path.rglob("*.tmp"))


def test_the_config_in_the_run_folder_is_whole_and_finds_its_files_from_anywhere(trained: Project) -> None:
    config = load(trained.run.config)
    original = trained.config()
    assert Path(config.corpus.folder).is_absolute()
    assert (Path(config.corpus.folder) / config.corpus.train[0].source).exists()
    corpus = config.corpus.model_copy(update={"folder": original.corpus.folder})
    assert config.model_copy(update={"corpus": corpus}) == original


def test_records_follow_the_agreed_form(trained: Project) -> None:
    training = trained.records("train")
    assert [record["update"] for record in training] == [2, 4, 6, 8]
    assert training[0].keys() == {
        "kind", "update", "epoch", "loss", "perplexity", "learning_rate", "gradient_norm", "source_tokens_per_second",
        "target_tokens_per_second", "padding", "pairs", "skipped", "seconds", "seconds_left",
    }  # fmt: skip
    assert training[0]["learning_rate"] == 0.005
    assert 0 < training[0]["padding"] < 1
    assert training[-1]["loss"] < training[0]["loss"]
    validations = trained.records("validation")
    assert [record["update"] for record in validations] == [4, 8]
    assert validations[0].keys() == {
        "kind", "update", "loss", "perplexity", "score", "metric", "signature", "best", "seconds"
    }  # fmt: skip
    assert validations[0]["metric"] == "BLEU"
    assert "tok:13a" in validations[0]["signature"]
    (average,) = trained.records("average")
    assert average["updates"] == [4, 8]


def test_the_average_is_the_mean_of_the_checkpoints(trained: Project) -> None:
    four, eight, average = (trained.weights(name) for name in (4, 8, "average"))
    for name, tensor in average.items():
        assert tensor.equal(((four[name].double() + eight[name].double()) / 2).float())


@pytest.mark.parametrize("checkpoint", ["4", "8", "average"])
def test_the_logged_score_is_that_of_translate_and_score(trained: Project, tmp_path: Path, checkpoint: str) -> None:
    """The commands, on the raw development set: the same number to two decimals and beyond."""
    from nmtkit.commands.translate import translate

    config = trained.config(f"translate.checkpoint='{checkpoint}'")
    output = tmp_path / "dev.de"
    translate(trained.run, config, Log("quiet"), source=trained.folder / "dev.en", output=output, device="cpu")
    metric = config.score.metrics[0].build("de")
    score = metric(list(read_lines(output)), list(read_lines(trained.folder / "dev.de")))
    records = trained.records("average" if checkpoint == "average" else "validation")
    (logged,) = [record for record in records if checkpoint in ("average", str(record["update"]))]
    assert f"{logged['score']:.2f}" == f"{score.value:.2f}"
    assert logged["score"] == pytest.approx(score.value)
    assert logged["signature"] == score.signature


def test_the_logged_score_is_that_of_translate_and_score_where_it_is_not_zero(fresh: Project, tmp_path: Path) -> None:
    """After a few updates BLEU is zero whatever is scored; chrF is not."""
    from nmtkit.commands.translate import translate

    fresh.train("score.metrics=[{kind='chrf'}]", "train.stop.updates=4", "train.checkpoints.average=0")
    output = tmp_path / "dev.de"
    config = fresh.config("score.metrics=[{kind='chrf'}]")
    translate(fresh.run, config, Log("quiet"), source=fresh.folder / "dev.en", output=output, device="cpu")
    score = config.score.metrics[0].build("de")(list(read_lines(output)), list(read_lines(fresh.folder / "dev.de")))
    (logged,) = fresh.records("validation")
    assert score.value > 1
    assert logged["score"] == pytest.approx(score.value)


def test_the_logged_score_is_that_of_the_development_set_with_its_tag(fresh: Project, tmp_path: Path) -> None:
    from nmtkit.commands.translate import translate

    tags = ("corpus.train=[{name='toy', tag='news', source='train.en', target='train.de'}]", "corpus.dev.tag=news")
    settings = (*tags, "score.metrics=[{kind='chrf'}]", "train.stop.updates=2", "train.validation.every=2",
                "train.checkpoints.average=0")  # fmt: skip
    prepare(fresh.config(*settings), fresh.folder, fresh.run, Log("quiet"))
    fresh.train(*settings)
    (logged,) = fresh.records("validation")
    scores = {}
    for tag in ("news", ""):
        config, output = fresh.config(*settings, f"translate.tag='{tag}'"), tmp_path / "dev.de"
        translate(fresh.run, config, Log("quiet"), source=fresh.folder / "dev.en", output=output, device="cpu")
        metric = config.score.metrics[0].build("de")
        scores[tag] = metric(list(read_lines(output)), list(read_lines(fresh.folder / "dev.de"))).value
    assert logged["score"] == pytest.approx(scores["news"])
    assert scores["news"] != pytest.approx(scores[""])


def test_checkpoints_are_not_chosen_by_what_takes_too_long(
    fresh: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comet.install(tmp_path, monkeypatch)
    metric = comet.model(tmp_path)
    asked = f"{{kind='comet', python='{metric.python}', model='{metric.model}'}}"
    with pytest.raises(ConfigError, match=r'score\.metrics\[0\]\.kind = "comet": takes too long to choose'):
        fresh.train(f"score.metrics=[{asked}]")
    fresh.train(f"score.metrics=[{{kind='chrf'}}, {asked}]", "train.stop.updates=1")


@pytest.mark.slow
def test_what_the_language_makes_of_the_metric_is_said(fresh: Project) -> None:
    settings = ("languages.target=th", "train.stop.updates=1")
    prepare(fresh.config(*settings), fresh.folder, fresh.run, Log("quiet"))
    fresh.train(*settings)
    assert fresh.run.log.read_text(encoding="utf-8").count("BLEU compares characters") == 1


def test_tags_must_be_prepared_and_trained(fresh: Project) -> None:
    with pytest.raises(
        DataError, match=r"prepared with other settings:\n  corpus\.dev\.tag: new, news\nrun `nmtkit pre"
    ):
        fresh.train("corpus.dev.tag=news")
    tagged = "corpus.train=[{name='toy', tag='news', source='train.en', target='train.de'}]"
    with pytest.raises(DataError, match=r"  corpus\.train\[0\]\.tag: new, news\n"):
        fresh.train(tagged)
    with pytest.raises(ConfigError, match=r'^translate\.tag = "news": the vocabulary has no tags'):
        fresh.train("translate.tag=news")
    assert not fresh.run.config.exists()


def test_a_trained_run_translates(trained: Project) -> None:
    translator = Translator.load(trained.run.path, config=TranslateConfig(checkpoint="last"))
    assert len(translator.translate(["the dog sees a bird today .", ""])) == 2


def test_what_is_said_at_the_start(fresh: Project, capsys: pytest.CaptureFixture[str]) -> None:
    from nmtkit.commands.train import train

    train(fresh.config(), fresh.folder, fresh.run, Log(), device="cpu")
    captured = capsys.readouterr()
    assert captured.out == ""
    said = captured.err
    # 120 × 16; encoder: 4 × (16² + 16) + 2 × 16 × 32 + 32 + 16 + 2 × 32; decoder: 4 × (16² + 16) + 32 more
    assert "model: transformer of 7,488 parameters (embeddings 1,920, encoder 2,224, decoder 3,344)" in said
    assert "vocabulary: 120 pieces, joint" in said
    assert "data: 200 pairs, an epoch of 10 updates" in said
    assert "at most 400 with padding" in said
    assert "device cpu, precision fp32" in said
    assert "learning rate: constant (peak = 0.005, warmup = 2)\n" in said
    assert re.search(r"update 2, epoch 0\.(1[5-9]|2[0-5]): loss ", said)
    assert " tokens/s, padding " in said
    assert " left\n" in said
    assert "update 8: development set perplexity " in said
    assert "average of updates 4, 8: development set perplexity " in said
    logged = [line[20:] for line in fresh.run.log.read_text().split("\n")]  # each behind its time
    details = [line for line in logged if line.startswith("checkpoint written: ")]
    assert len(details) == 2
    assert [line for line in logged if line not in details] == said.split("\n")


def test_parameters_by_part() -> None:
    """Of width 8: attention has 4 · (64 + 8), feed-forward 8 · 6 + 6 + 6 · 8 + 8, a norm 16, an embedding 8 a row."""
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "width": 8, "feed_forward": 6, "heads": 2}
    layers = {"encoder": 288 + 110 + 2 * 16, "decoder": 2 * 288 + 110 + 3 * 16}
    shared = TransformerConfig(**sizes).build(11, 11)
    assert parameters_by_part(shared) == {"embeddings": 88, **layers}
    apart = TransformerConfig(**sizes, share_embeddings="none", norm="pre").build(11, 13)
    pre = {name: count + 16 for name, count in layers.items()}
    assert parameters_by_part(apart) == {"embeddings": 88 + 2 * 104, **pre}


# A run that was there before.


def test_a_finished_run_is_left_as_it_is(finished: Project, capsys: pytest.CaptureFixture[str]) -> None:
    from nmtkit.commands.train import train

    before = finished.snapshot()
    train(finished.config(), finished.folder, finished.run, Log(), device="cpu")
    assert finished.snapshot() == before
    assert "finished at update 8 (train.stop.updates = 8); to train on, raise that limit" in capsys.readouterr().err
    train(finished.config("train.stop.updates=6"), finished.folder, finished.run, Log(), device="cpu")
    assert finished.snapshot() == before


def test_a_finished_run_says_with_what_it_was_not_trained(
    finished: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    from nmtkit.commands.train import train

    before = finished.snapshot()
    changed = ("model.dropout=0.25", "translate.batch_tokens=99", "train.stop.updates=6")
    train(finished.config(*changed), finished.folder, finished.run, Log(), device="cpu")
    assert finished.snapshot() == before
    first, *warned = capsys.readouterr().err.removesuffix("\n").split("\n")
    assert first.endswith("to train on, raise that limit")
    old = finished.config().model.dropout
    assert warned == [
        f"warning: model.dropout: {old} in the run, now 0.25: nothing was trained with that; to do so, choose another "
        "folder with --run"
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"train.schedule": "{kind='noam', warmup=2}"}, "train.schedule.kind: 'linear' in the run, now 'noam'"),
        ({"train.stop.minutes": "0"}, "train.stop.minutes: 90.0 in the run, now 0.0"),
        ({"train.label_smoothing": "0.2"}, ""),
    ],
)
def test_of_another_learning_rate_and_of_a_limit_that_is_gone_a_quiet_training_tells_too(
    fresh: Project, capsys: pytest.CaptureFixture[str], changed: dict[str, str], told: str
) -> None:
    begun = {"train.schedule": "{kind='linear', peak=0.01, warmup=2, decay_to=20}", "train.stop.minutes": "90"}
    for settings in ({**begun, "train.stop.updates": "2"}, {**begun, "train.stop.updates": "3", **changed}):
        capsys.readouterr()
        fresh.train(*(f"{key}={value}" for key, value in settings.items()))
    warned = [line for line in capsys.readouterr().err.split("\n") if "changed since this run began" in line]
    assert warned == ([f"warning: changed since this run began: {told}"] if told else [])


def test_a_raised_limit_goes_on(finished: Project, trained: Project) -> None:
    finished.train("train.stop.updates=12")
    assert finished.updates()[-2:] == [8, 12]
    assert same(finished.weights(8), trained.weights(8))
    assert [record["updates"] for record in finished.records("average")] == [[4, 8], [8, 12]]


def test_what_was_not_finished_after_the_last_update_is_made_up_for(finished: Project, trained: Project) -> None:
    """Killed between the last checkpoint and the average: the average is made, its record stands once."""
    for path in finished.run.average.iterdir():
        path.unlink()
    finished.run.average.rmdir()
    finished.train()
    assert same(finished.weights("average"), trained.weights("average"))
    assert len(finished.records("average")) == 1
    assert same(finished.weights(8), trained.weights(8))


REFUSED = {
    "train.seed=2": "train.seed: 1 in the run, now 2",
    "model.width=32": "model.width: 16 in the run, now 32",
    "model.norm=pre": "model.norm: 'post' in the run, now 'pre'",
    "model.share_embeddings=none": "model.share_embeddings: 'all' in the run, now 'none'",
}


def test_settings_of_another_model_or_order_of_pairs_are_refused(finished: Project) -> None:
    before = finished.snapshot()
    with pytest.raises(CheckpointError) as caught:
        finished.train("train.stop.updates=12", *REFUSED)
    lines = str(caught.value).split("\n")
    assert "cannot change in the middle of a training" in lines[0]
    assert sorted(lines[1:-1]) == sorted(f"  {line}" for line in REFUSED.values())
    assert lines[-1] == "set them back, or train into another folder with --run"
    assert finished.snapshot() == before


def test_other_settings_may_change_and_are_logged(finished: Project) -> None:
    finished.train(
        "train.stop.updates=10",
        "train.validation.every=2",
        "train.checkpoints.keep_last=3",
        "train.log_every=1",
        "translate.search.beam=3",
        "score.metrics=[{kind='chrf'}]",
    )
    said = finished.run.log.read_text()
    for change in ("train.stop.updates: 8 in the run, now 10", "translate.search.beam: 2 in the run, now 3"):
        assert f"changed since this run began: {change}" in said
    assert load(finished.run.config).translate.search.beam == 3
    assert finished.records("validation")[-1]["metric"] == "chrF2"


LEARNING = {
    "train.optimizer.beta2=0.9": "train.optimizer.beta2: 0.98 in the run, now 0.9",
    "train.schedule={kind='linear', peak=0.002, decay_to=20, warmup=1}": "train.schedule.kind: 'constant' in the run, "
    "now 'linear'",
    "train.label_smoothing=0.2": "train.label_smoothing: 0.1 in the run, now 0.2",
    "train.clip_norm=0.5": "train.clip_norm: 0.0 in the run, now 0.5",
    "train.guard=3.0": "train.guard: 2.0 in the run, now 3.0",
    "train.sampling={source=true}": "train.sampling.source: False in the run, now True",
    "model.dropout=0.3": "model.dropout: 0.1 in the run, now 0.3",
}


def test_how_it_learns_may_change_and_is_logged(finished: Project) -> None:
    """From there on: the learning rate of the very next update is that of the new schedule."""
    finished.train("train.stop.updates=10", "train.log_every=1", *LEARNING)
    said = finished.run.log.read_text()
    for change in LEARNING.values():
        assert f"changed since this run began: {change}" in said
    assert "changed since this run began: train.schedule.decay_to: not set in the run, now 20\n" in said
    rates = {record["update"]: record["learning_rate"] for record in finished.records("train")}
    assert rates[8] == 0.005
    assert rates[9] == pytest.approx(0.002 * (20 - 9) / (20 - 1), rel=0.1)
    assert load(finished.run.config).train.label_smoothing == 0.2
    finished.train("train.stop.updates=10", "train.log_every=1", *LEARNING)
    assert finished.run.log.read_text() == said


def test_a_time_limit_instead_of_updates_brings_its_schedule_along(finished: Project) -> None:
    """Where the configuration names none: then the change says so, and is no reason to refuse."""
    text = finished.file.read_text().replace('[train.schedule]\nkind = "constant"\npeak = 0.005\nwarmup = 2\n', "")
    assert "schedule" not in text
    finished.file.write_text(text)
    finished.train("train.stop={updates=10, minutes=1000}")
    assert "train.schedule.kind: 'constant' in the run, now 'wsd'" in finished.run.log.read_text()
    assert max(finished.updates()) > 8


def test_another_precision_is_taken_from_there_on(finished: Project) -> None:
    finished.train("train.stop.updates=10", "train.precision=bf16")
    said = finished.run.log.read_text()
    assert "changed since this run began: train.precision: 'fp32' in the run, now 'bf16'" in said
    assert "device cpu, precision bf16" in said
    for update, precision in ((8, "fp32"), (10, "bf16")):
        assert read_state(finished.run.checkpoints / f"{update:08d}").origin.precision == precision
    finished.train("train.stop.updates=12", "train.precision=bf16")
    assert read_state(finished.run.checkpoints / "00000012").origin.precision == "bf16"


def test_a_precision_that_the_machine_does_not_compute_is_refused(fresh: Project) -> None:
    """As where a training that chose fp16 for itself moves from a GPU to a CPU."""
    fresh.train("train.stop.updates=4", "train.precision=auto")
    folder = fresh.run.checkpoints / "00000004"
    rewrite_state(folder, {"origin": {**read_json(folder)["origin"], "precision": "fp16"}})
    with pytest.raises(ConfigError, match=r'train\.precision = "fp16" is for a GPU, but this trains on cpu'):
        fresh.train("train.stop.updates=6", "train.precision=auto")
    fresh.train("train.stop.updates=6", "train.precision=fp32")


def test_the_precision_of_the_checkpoint_stays(fresh: Project) -> None:
    """Another machine would choose otherwise for auto."""
    auto = "train.precision=auto"
    with patch("nmtkit.training.precision._cpu_computes_bf16", return_value=True):
        fresh.train(auto, "train.stop.updates=4")
    with patch("nmtkit.training.precision._cpu_computes_bf16", return_value=False):
        fresh.train(auto, "train.stop.updates=6")
    state = json.loads((fresh.run.checkpoints / "00000006" / "state.json").read_text())
    assert state["origin"]["precision"] == "bf16"


def test_a_damaged_newest_checkpoint_is_named_and_trained_again(finished: Project, trained: Project) -> None:
    file = finished.run.checkpoints / "00000008" / "weights.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    finished.train()
    assert "00000008/weights.safetensors: missing or damaged" in finished.run.log.read_text()
    for name in (8, "average"):
        assert same(finished.weights(name), trained.weights(name))
    assert [record["update"] for record in finished.records("train")] == [2, 4, 6, 8]


def test_two_processes_do_not_share_a_run(finished: Project) -> None:
    with RunLock(finished.run.lock) as lock:
        lock.sign()
        with pytest.raises(CheckpointError, match=f"process {os.getpid()} is at work in this folder"):
            finished.train("train.stop.updates=12")


def test_another_corpus_under_the_same_run_is_refused(finished: Project) -> None:
    """Here two pairs that changed places: the vocabulary stays, but a resume would see other pairs."""
    for name in ("train.en", "train.de"):
        first, second, *rest = (finished.folder / name).read_bytes().split(b"\n")
        (finished.folder / name).write_bytes(b"\n".join([second, first, *rest]))
    assert "train" in prepare(finished.config(), finished.folder, finished.run, Log("quiet"))
    with pytest.raises(CheckpointError, match=r"the training pairs are not those that .*00000008 was trained with"):
        finished.train("train.stop.updates=12")


def exchange_dev(project: Project) -> None:
    """Let the development set have the text of the test set."""
    for side in ("en", "de"):
        (project.folder / f"dev.{side}").write_bytes((project.folder / f"test.{side}").read_bytes())


def test_another_development_set_is_refused_until_it_is_prepared(fresh: Project) -> None:
    """Perplexity is that of prepared pairs, BLEU that of the text itself."""
    other = ("corpus.dev.source=test.en", "corpus.dev.target=test.de")
    with pytest.raises(
        DataError, match=r"test\.en: is not the file that .*data was prepared with \(corpus dev, source"
    ):
        fresh.train(*other)
    exchange_dev(fresh)
    with pytest.raises(DataError, match=r"dev\.en: is not the file .*; run `nmtkit prepare` .*or bring the file back$"):
        fresh.train()


def test_scores_of_another_development_set_do_not_compare(finished: Project) -> None:
    assert read_state(finished.run.checkpoints / "00000008").state.best_update == 8
    exchange_dev(finished)
    prepare(finished.config(), finished.folder, finished.run, Log("quiet"))
    signature = read_state(finished.run.checkpoints / "00000008").state.best.signature
    low = Validation(1.0, Score("BLEU", 1e-6, signature, higher_is_better=True), translated=True)
    with patch.object(Validator, "judge", lambda *_: low):
        finished.train("train.stop.updates=12")
    assert "corpus.dev: other pairs than before" in finished.run.log.read_text()
    assert read_state(finished.run.checkpoints / "00000012").state.best_update == 12
    assert find_weights(finished.run, "best").parent.name == "00000012"


@pytest.mark.parametrize(
    "name", ["train.source.ids.bin", "train.target.lengths.bin", "dev.source.ids.bin", "target.model"]
)
def test_a_single_bit_of_the_data_is_damage_that_preparing_makes_good(fresh: Project, name: str) -> None:
    file = fresh.run.data / name
    written = file.read_bytes()
    place = (len(written) + HEADER_BYTES) // 2
    file.unlink()  # a new file: the old one may still be mapped
    file.write_bytes(written[:place] + bytes([written[place] ^ 1]) + written[place + 1 :])
    with pytest.raises(DataError, match=rf"{name}.* damaged.*; run `nmtkit prepare` for this run folder again"):
        fresh.train()
    prepare(fresh.config(), fresh.folder, fresh.run, Log("quiet"))
    assert file.read_bytes() == written
    fresh.train("train.stop.updates=2")


def test_a_file_of_the_data_is_missing_that_training_does_not_use(fresh: Project) -> None:
    (fresh.run.data / LINES).unlink()
    with pytest.raises(DataError, match=rf"{LINES} is not as .*; run `nmtkit prepare` for this run folder again"):
        fresh.train()


def test_another_vocabulary_under_the_same_run_is_refused(finished: Project) -> None:
    folder = finished.run.checkpoints / "00000008"
    origin = read_json(folder)["origin"]
    rewrite_state(folder, {"origin": {**origin, "source_vocabulary": f"0{origin['source_vocabulary']}"}})
    with pytest.raises(
        CheckpointError, match=r"trained with the source vocabulary 0.*source\.model it was trained with"
    ):
        finished.train("train.stop.updates=12")


def test_a_run_without_its_config_is_refused(finished: Project) -> None:
    finished.run.config.unlink()
    with pytest.raises(CheckpointError, match=r"config\.toml"):
        finished.train("train.stop.updates=12")


# What is missing.


def test_data_must_be_prepared(fresh: Project, tmp_path: Path) -> None:
    fresh.run.manifest.unlink()
    with pytest.raises(DataError, match="run `nmtkit prepare`"):
        fresh.train()
    fresh.run.path.rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="run `nmtkit prepare`"):
        fresh.train()
    assert not fresh.run.path.exists()


def test_data_must_be_prepared_with_these_settings(fresh: Project) -> None:
    with pytest.raises(DataError) as caught:
        fresh.train("prepare.max_pieces=99", "prepare.segmenter.character_coverage=0.999")
    first, *differences, last = str(caught.value).split("\n")
    assert first.endswith("was prepared with other settings:")
    assert sorted(differences) == [
        "  prepare.max_pieces: 64 -> 99",
        "  prepare.segmenter.character_coverage: 1.0 -> 0.999",
    ]
    assert "run `nmtkit prepare` for this run folder again" in last


def test_the_development_set_must_be_there(fresh: Project) -> None:
    (fresh.folder / "dev.en").unlink()
    with pytest.raises(DataError, match=r"corpus 'dev': .*dev\.en does not exist"):
        fresh.train()


def test_a_development_set_given_later_must_be_prepared(fresh: Project, tmp_path: Path) -> None:
    manifest = load_manifest(fresh.run.manifest)
    del manifest.stages["dev"]
    manifest.save(fresh.run.manifest)
    with pytest.raises(DataError, match=r"corpus\.dev is not prepared"):
        fresh.train()


def test_a_development_set_out_of_step_is_refused(fresh: Project) -> None:
    write_lines(fresh.folder / "dev.de", ["nur eine"])
    with pytest.raises(DataError, match=r"dev\.en has 20 lines but .*dev\.de has 1"):
        fresh.train()


def test_tensorboard_must_be_installed(fresh: Project) -> None:
    with (
        patch("importlib.util.find_spec", return_value=None),
        pytest.raises(ConfigError, match=r"train\.tensorboard: .*pip install 'nmtkit\[tensorboard\]'"),
    ):
        fresh.train("train.tensorboard=true")


def test_without_development_set_training_works_and_says_so(fresh: Project) -> None:
    text = fresh.file.read_text().replace('[corpus.dev]\nname = "dev"\nsource = "dev.en"\ntarget = "dev.de"\n', "")
    assert "corpus.dev" not in text
    fresh.file.write_text(text)
    prepare(fresh.config(), fresh.folder, fresh.run, Log("quiet"))
    fresh.train()
    assert "there is no development set" in fresh.run.log.read_text()
    assert fresh.records("validation") == []
    assert fresh.records("average")[0]["updates"] == [4, 8]
    before = fresh.snapshot()
    fresh.train()
    assert fresh.snapshot() == before


def test_without_translation_perplexity_chooses_the_best(fresh: Project) -> None:
    with patch("nmtkit.translation.translator.LineTranslator.translate", side_effect=AssertionError):
        fresh.train("train.validation.translate=false", "train.checkpoints.keep_last=1", "train.checkpoints.average=1")
    validations = fresh.records("validation")
    assert [record["best"] for record in validations] == [True, True]
    assert "score" not in validations[0]
    state = json.loads((fresh.run.checkpoints / "00000008" / "state.json").read_text())["state"]
    assert state["best"]["name"] == "perplexity"
    assert state["best"]["value"] == validations[1]["perplexity"]


# How it ends.


def test_patience_ends_training(fresh: Project) -> None:
    """With a rate of next to nothing no validation beats the first."""
    fresh.train(
        "train.schedule.peak=1e-30",
        "train.stop={updates=0, patience=2}",
        "train.validation.every=1",
        "train.checkpoints.every=100",
    )
    assert "finished at update 3 (train.stop.patience = 2)" in fresh.run.log.read_text()
    assert fresh.updates() == [1, 3]  # the best and the last


def test_minutes_count_over_a_resume(finished: Project) -> None:
    state = read_state(finished.run.checkpoints / "00000008").state
    needed = seconds_needed(finished.config("train.stop.minutes=1000").train, state)
    needed = min(needed, 2 * (state.seconds + state.update_seconds))  # at most half is kept for the ending
    assert needed > state.seconds
    before = finished.snapshot()
    finished.train(f"train.stop={{updates=0, minutes={(needed - 1e-6) / 60}}}")
    assert finished.snapshot() == before
    finished.train(f"train.stop={{updates=0, minutes={(needed + 0.02) / 60}}}", "train.log_every=1")
    assert max(finished.updates()) > 8
    assert finished.records("train")[-1]["seconds"] > state.seconds


def test_a_finished_run_says_how_many_minutes_go_on(fresh: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """More than those it took: the ending has to fit in too."""
    from nmtkit.commands.train import train

    stop = "train.stop={updates=0, minutes=0.01}"
    fresh.train(stop)
    state = read_state(fresh.run.checkpoints / f"{max(fresh.updates()):08d}").state
    needed = seconds_needed(fresh.config(stop).train, state)
    train(fresh.config(stop), fresh.folder, fresh.run, Log(), device="cpu")
    assert capsys.readouterr().err.endswith(f"to train on, raise that limit beyond {duration(needed)}\n")


def during(what: type, name: str, number: signal.Signals) -> Callable[[object], object]:
    """Return a method that sends this process a signal, then does what it did before."""
    original = getattr(what, name)

    def signalled(self: object, *args: object) -> object:
        os.kill(os.getpid(), number)
        return original(self, *args)

    return signalled


def test_a_signal_in_a_validation_cuts_it_off_and_the_resume_makes_up_for_it(fresh: Project, trained: Project) -> None:
    with (
        patch.object(Validator, "compute", during(Validator, "compute", signal.SIGTERM)),
        pytest.raises(Interrupted, match="stopped by SIGTERM behind update 4; the same command goes on") as caught,
    ):
        fresh.train()
    assert caught.value.exit_code == 143
    assert fresh.updates() == [4]
    assert fresh.records("validation") == []
    fresh.train()
    assert [(r["update"], r["loss"]) for r in fresh.records("validation")] == [
        (r["update"], r["loss"]) for r in trained.records("validation")
    ]
    state = json.loads((fresh.run.checkpoints / "00000004" / "state.json").read_text())["state"]
    assert (state["validated"], state["best_update"]) == (4, 4)
    for name in (4, 8, "average"):
        assert same(fresh.weights(name), trained.weights(name))


def test_a_late_validation_writes_its_score_and_nothing_else(fresh: Project) -> None:
    """A checkpoint that is written anew could be lost by a kill in between."""
    with (
        patch.object(Validator, "compute", during(Validator, "compute", signal.SIGTERM)),
        pytest.raises(Interrupted),
    ):
        fresh.train("train.stop.updates=4")
    folder = fresh.run.checkpoints / "00000004"
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    fresh.train("train.stop.updates=4")
    changed = {path.name for path in folder.iterdir() if before[path.name] != path.stat().st_ino}
    assert changed == {"state.json"}
    assert json.loads((folder / "state.json").read_text())["state"]["validated"] == 4


def test_a_signal_between_validation_and_checkpoint_stops_behind_the_next_update(fresh: Project) -> None:
    """Training does not say that it stands where no checkpoint was written."""
    is_due, sent = Trainer._checkpoint_is_due, []

    def signalled(self: Trainer) -> bool:
        if not sent:
            sent.append(self.state.update)
            os.kill(os.getpid(), signal.SIGTERM)
        return is_due(self)

    with (
        patch.object(Trainer, "_checkpoint_is_due", signalled),
        pytest.raises(Interrupted, match="stopped by SIGTERM behind update 2; the same command goes on"),
    ):
        fresh.train()
    assert sent == [1]
    assert fresh.updates() == [2]


def test_a_signal_at_the_start_stops_before_the_first_update(fresh: Project) -> None:
    with (
        patch.object(Validator, "rehearse", during(Validator, "rehearse", signal.SIGINT)),
        pytest.raises(Interrupted, match="stopped by SIGINT behind update 0") as caught,
    ):
        fresh.train()
    assert caught.value.exit_code == 130
    assert not fresh.run.checkpoints.exists()


@pytest.mark.parametrize("stage", ["_after_update", "_finish"])
def test_a_signal_at_the_end_still_leaves_a_run_that_can_be_finished(
    fresh: Project, trained: Project, stage: str
) -> None:
    with patch.object(Trainer, stage, during(Trainer, stage, signal.SIGTERM)), pytest.raises(Interrupted):
        fresh.train()
    fresh.train()
    for name in (8, "average"):
        assert same(fresh.weights(name), trained.weights(name))


def test_a_validation_that_cannot_work_fails_before_the_first_update(fresh: Project) -> None:
    with (
        patch("nmtkit.translation.translator.LineTranslator.translate", side_effect=DataError("no such thing")),
        pytest.raises(DataError, match="no such thing"),
    ):
        fresh.train()
    assert fresh.run.metrics.read_text() == ""


def test_a_picture_that_cannot_be_drawn_ends_nothing(fresh: Project) -> None:
    with patch("nmtkit.training.reporting.draw_learning_curve", side_effect=ValueError("no ink")):
        fresh.train()
    assert "learning_curve.png could not be drawn: no ink" in fresh.run.log.read_text()
    assert fresh.updates() == [4, 8]
