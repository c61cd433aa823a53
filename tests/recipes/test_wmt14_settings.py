"""What the WMT14 recipes tell nmtkit, at every scale; what they need; options, manifests and published figures."""

import json

import pytest
from recipe_parts.saying import RecipeError
from recipe_parts.wmt14_needs import needs
from recipe_parts.wmt14_options import read_options
from recipe_parts.wmt14_settings import inline, read_experiment, scaled, training_arguments
from recipe_parts.wmt14_table import Stage, keep, last_validation, read_published, stage_of, table

from nmtkit.config import load
from nmtkit.overrides import parse
from nmtkit.training.outlook import checkpoint_disk
from recipes.wmt14_files import RECIPES

EN_FR = RECIPES / "wmt14-en-fr"
EN_DE = RECIPES / "wmt14-en-de"
both_recipes = pytest.mark.parametrize("recipe", [EN_DE, EN_FR], ids=["en-de", "en-fr"])


@both_recipes
@pytest.mark.parametrize("size", ["base", "big"])
@pytest.mark.parametrize("scale", ["1", "0.1", "0.001", "1e-6"])
def test_settings_of_every_scale_are_good(recipe, size, scale, tmp_path):
    options = read_options(["--recipe", str(recipe), "--size", size, "--scale", scale, "--folder", str(tmp_path)])
    experiment = read_experiment(options)
    arguments = training_arguments(options, experiment, tmp_path)
    settings = [word for word in arguments[4:] if word != "--set"]
    config = load(experiment.config, settings)
    if options.scale < 1:
        assert (config.model.width, config.train.stop.updates) == (
            128,
            max(20, round(experiment.updates * float(scale))),
        )
    else:
        assert config.train.stop.updates == experiment.updates


PAPER = {
    # Vaswani et al. 2017, sections 5 and 6: pieces, updates, dropout, checkpoints averaged
    ("wmt14-en-de", "nmtkit.toml"): ("bpe", 37_000, 100_000, 0.1, 5, 512),
    ("wmt14-en-de", "big.toml"): ("bpe", 37_000, 300_000, 0.3, 20, 1024),
    ("wmt14-en-fr", "nmtkit.toml"): ("wordpiece", 32_000, 100_000, 0.1, 5, 512),
    ("wmt14-en-fr", "big.toml"): ("wordpiece", 32_000, 300_000, 0.1, 20, 1024),
}


@pytest.mark.parametrize("place", PAPER, ids="/".join)
def test_the_configs_are_the_papers(place):
    config = load(RECIPES / place[0] / place[1])
    kind, vocabulary, updates, dropout, averaged, width = PAPER[place]
    segmenter, model, train, search = config.prepare.segmenter, config.model, config.train, config.translate.search
    assert (segmenter.kind, segmenter.vocabulary_size, segmenter.joint) == (kind, vocabulary, True)
    assert (model.width, model.dropout, model.norm, model.share_embeddings) == (width, dropout, "post", "all")
    assert (model.attention_dropout, model.activation_dropout) == (0, 0)
    assert (train.stop.updates, train.batch.tokens_per_update, train.label_smoothing) == (updates, 25_000, 0.1)
    assert (train.schedule.kind, train.schedule.factor, train.schedule.warmup) == ("noam", 1.0, 4_000)
    assert (train.optimizer.beta1, train.optimizer.beta2, train.optimizer.epsilon) == (0.9, 0.98, 1e-9)
    assert (train.checkpoints.average, train.checkpoints.keep_last) == (averaged, averaged)
    # ten minutes of the paper's, at 0.4 and 1.0 seconds an update
    assert train.checkpoints.every == (1_500 if updates == 100_000 else 600)
    assert (search.beam, search.length_penalty) == (4, 0.6)
    assert (search.max_length_ratio, search.max_length_extra) == (1.0, 50)
    assert config.corpus.dev.name == "newstest2013"
    assert [test.name for test in config.corpus.test] == ["newstest2014"]


def test_what_is_written_as_toml_is_read_as_it_was_meant():
    for value in ['a "b" c\\d', 3, 0.5, 1e-9, True, [1, "x"], [{"kind": "ratio", "maximum": 9.0}]]:
        assert parse(f"key={inline(value)}").value == value


def test_updates_fall_with_the_scale_and_sizes_with_its_root():
    tables = read_experiment(read_options(["--recipe", str(EN_DE)])).tables
    found = dict(setting.split("=", 1) for setting in scaled(tables, 0.01))
    assert found["train.stop.updates"] == "1000"
    assert found["prepare.segmenter.vocabulary_size"] == "3700"
    assert found["train.batch.tokens_per_update"] == "2500"
    assert found["train.checkpoints.every"] == "15"


BAD_OPTIONS = {
    "a scale of nothing": ["--scale", "0"],
    "more than all": ["--scale", "1.5"],
    "no number": ["--scale", "half"],
    "no GPUs": ["--gpus", "0"],
    "GPUs in words": ["--gpus", "two"],
    "no time at all": ["--timeout", "0"],
    "a sample of everything": ["--only", "sample"],
    "an unknown step": ["--only", "lunch"],
    "an unknown size": ["--size", "huge"],
}


@pytest.mark.parametrize("arguments", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options_end_with_the_code_for_it(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        read_options(["--recipe", str(EN_DE), *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {arguments[0]}: " in said
    assert "invalid _" not in said  # the name of a function


def test_unequal_sides_in_a_manifest_are_refused(tmp_path):
    content = json.loads((EN_DE / "files.json").read_text())
    content["items"][0]["texts"]["training/europarl-v7.de-en.de"]["lines"] += 1
    (tmp_path / "files.json").write_text(json.dumps(content))
    with pytest.raises(RecipeError, match=r"has 1,920,209 lines but .* has 1,920,210"):
        read_experiment(read_options(["--recipe", str(EN_DE), "--manifest", str(tmp_path / "files.json")]))


def test_both_recipes_say_the_same_of_the_files_that_both_use():
    copies = {}
    for recipe in (EN_DE, EN_FR):
        for item in json.loads((recipe / "files.json").read_text())["items"]:
            for copy in item["copies"]:
                assert copies.setdefault(copy["path"], copy) == copy
                assert ("sha256" in copy and len(copy["sha256"]) == 64) or len(copy["md5"]) == 32


def test_the_known_pairs():
    """4,520,620 of De-En and 40,842,333 of Fr-En, lines, blank ones included."""
    for recipe, pairs in ((EN_DE, 4_520_620), (EN_FR, 40_842_333)):
        experiment = read_experiment(read_options(["--recipe", str(recipe)]))
        assert sum(pair.lines for pair in experiment.train) == pairs
        assert (experiment.dev.lines, experiment.test.lines) == (3_000, 3_003)


@pytest.mark.parametrize("place", PAPER, ids="/".join)
def test_the_room_for_checkpoints_is_what_training_reckons(place, tmp_path):
    """Written down in published.json, as nmtkit is not there yet when the recipe says it."""
    recipe, size = RECIPES / place[0], "big" if place[1] == "big.toml" else "base"
    config = load(recipe / place[1])
    width, inner, pieces = config.model.width, config.model.feed_forward, config.prepare.segmenter.vocabulary_size
    attention, feed_forward, norm = 4 * (width**2 + width), 2 * width * inner + inner + width, 2 * width
    parameters = pieces * width + 6 * (3 * attention + 2 * feed_forward + 5 * norm)
    published = read_published(recipe / "published.json")
    most = checkpoint_disk(config.train.checkpoints, parameters, parameters).most
    assert published.sizes[size].checkpoint_bytes == most
    for scale in ("0.0001", "0.5"):
        options = read_options(["--recipe", str(recipe), "--size", size, "--scale", scale, "--folder", str(tmp_path)])
        experiment = read_experiment(options)
        (said,) = [need for need in needs(options, experiment, published) if need.what == "training"]
        settings = scaled(experiment.tables, options.scale)
        small = load(recipe / place[1], settings)
        parameters = 1_325_056 + 128 * small.prepare.segmenter.vocabulary_size  # of the plan of such a run
        most = checkpoint_disk(small.train.checkpoints, parameters, parameters).most
        assert most <= said.bytes < 1.2 * most


# The table


def test_the_table_has_the_papers_figures_beside_ours(tmp_path):
    published = read_published(EN_DE / "published.json")
    scores = [
        {"name": name, "value": 26.125, "signature": f"of {name}", "low": 25.5, "high": 26.75}
        for name in published.metrics
    ]
    whole = table(published, "base", Stage(1.0, 100_000, 100_000), scores, {"perplexity": 4.925, "score": 25.7})
    rows = whole.split("\n")
    assert rows[0] == "WMT14 English-German, base, after update 100,000"
    assert len({len(row) for row in rows[2:9]}) == 1
    assert "27.3" in whole
    assert whole.count("26.12 (25.50 to 26.75)") == len(published.metrics)
    assert "4.92" in whole
    part = table(published, "base", Stage(1.0, 2_000, 100_000), scores, {})
    assert "less: 2,000 of 100,000 updates" in part
    assert "about that" not in part
    for scale, expected in ((0.001, "near 0"), (0.5, "far below")):
        assert table(published, "base", Stage(scale, 10, 100_000), scores, {}).count(expected) == len(published.metrics)
    keep(tmp_path / "results.json", published, "base", Stage(1.0, 100_000, 100_000), scores, {"perplexity": 4.925})
    kept = json.loads((tmp_path / "results.json").read_text())
    assert kept["dev"] == {"perplexity": {"paper": "4.92", "yours": 4.925}, "score": {"paper": "25.8", "yours": None}}


def test_the_stage_of_a_run(tmp_path):
    assert stage_of(tmp_path, 1.0, 100) == Stage(1.0, 0, 100)
    for name in ("00000010", "00000030", "average"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert stage_of(tmp_path, 1.0, 100).updates == 30


def test_the_last_validation_is_found(tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    assert last_validation(metrics) == {}
    records = [{"kind": "validation", "update": 1}, {"kind": "validation", "update": 2}, {"kind": "average"}]
    metrics.write_text("".join(f"{json.dumps(record)}\n" for record in records) + '{"kind": "valid')
    assert last_validation(metrics)["update"] == 2


@both_recipes
def test_readmes_have_the_published_figures(recipe):
    readme = (recipe / "README.md").read_text(encoding="utf-8")
    published = read_published(recipe / "published.json")
    for figures in published.sizes.values():
        for figure in [
            *figures.paper.values(),
            *figures.expected.values(),
            *(value for _, value, _ in figures.dev.values()),
        ]:
            assert figure in readme
    experiment = read_experiment(read_options(["--recipe", str(recipe)]))
    for pair in experiment.train:
        assert f"{pair.lines:,}" in readme
