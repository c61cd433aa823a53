"""`nmtkit score` on files and on a run."""

import gzip
import json

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from toy.corpora import write_project
from toy.formats import sgm_of
from toy.runs import write_run

from nmtkit.api import Translator
from nmtkit.commands import score as command
from nmtkit.commands.score import score_files, score_run
from nmtkit.config import Config, load
from nmtkit.errors import CheckpointError, ConfigError, DataError
from nmtkit.log import Log
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.settings import ScoreConfig
from nmtkit.run_folder import RunFolder

HYPOTHESES = ["ein Hund läuft", "", "zwei Katzen sitzen auf dem Dach"]
REFERENCES = ["ein Hund rennt", "eine Kuh", "zwei Katzen sitzen auf einem Dach"]


@pytest.fixture
def log():
    return Log("quiet")


def write(path, lines):
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


@pytest.fixture
def files(tmp_path):
    return {
        "hypotheses": write(tmp_path / "h.txt", HYPOTHESES),
        "references": write(tmp_path / "r.txt", REFERENCES),
    }


def test_a_pipe_gets_a_line_for_each_score(files, log, capsys):
    score_files(ScoreConfig(), "de", log, **files, form="auto")
    out, err = capsys.readouterr()
    lines = [line.split("\t") for line in out.removesuffix("\n").split("\n")]
    peers = [BLEU(), CHRF(), TER()]
    scores = [peer.corpus_score(HYPOTHESES, [REFERENCES]) for peer in peers]
    assert lines == [
        ["h.txt", score.name, f"{score.score:.2f}", str(peer.get_signature())]
        for peer, score in zip(peers, scores, strict=True)
    ]
    assert err == ""


def test_json_holds_everything(files, log, capsys):
    score_files(ScoreConfig(), "de", log, **files, form="json")
    found = json.loads(capsys.readouterr().out)
    assert found["target_language"] == "de"
    (test_set,) = found["sets"]
    assert test_set["lines"] == 3
    assert (test_set["hypotheses"], test_set["references"]) == tuple(map(str, files.values()))
    bleu = BLEU()
    assert test_set["scores"][0]["value"] == bleu.corpus_score(HYPOTHESES, [REFERENCES]).score
    assert test_set["scores"][0]["signature"] == str(bleu.get_signature())
    assert [score["higher_is_better"] for score in test_set["scores"]] == [True, True, False]


def test_a_terminal_gets_a_table_with_the_signatures_below(files, log, capsys, monkeypatch):
    monkeypatch.setattr(command.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    score_files(ScoreConfig(), "de", log, **files, form="auto")
    out = capsys.readouterr().out
    bleu = BLEU()
    assert f"{bleu.corpus_score(HYPOTHESES, [REFERENCES]).score:.2f}" in out
    assert f"BLEU  {bleu.get_signature()}" in out, "signatures are not broken over lines"
    assert "TER ↓" in out


def test_the_metrics_are_those_of_the_config(files, log, capsys):
    config = ScoreConfig(metrics=(BleuConfig(lowercase=True), BleuConfig()))
    score_files(config, "de", log, **files, form="auto")
    signatures = [line.split("\t")[3] for line in capsys.readouterr().out.removesuffix("\n").split("\n")]
    assert ["case:lc" in signature for signature in signatures] == [True, False]


def test_compressed_files_a_byte_order_mark_and_crlf_change_nothing(files, log, capsys, tmp_path):
    score_files(ScoreConfig(), "de", log, **files, form="json")
    plain = json.loads(capsys.readouterr().out)["sets"][0]["scores"]
    references = tmp_path / "r.gz"
    references.write_bytes(gzip.compress(b"\xef\xbb\xbf" + "\r\n".join([*REFERENCES, ""]).encode()))
    score_files(ScoreConfig(), "de", log, hypotheses=files["hypotheses"], references=references, form="json")
    assert json.loads(capsys.readouterr().out)["sets"][0]["scores"] == plain


def test_references_may_be_the_segments_of_a_test_set(files, log, capsys, tmp_path):
    score_files(ScoreConfig(), "de", log, **files, form="auto")
    plain = capsys.readouterr().out
    (tmp_path / "ref.sgm.gz").write_bytes(gzip.compress(sgm_of(REFERENCES, "refset")))
    score_files(
        ScoreConfig(), "de", log, hypotheses=files["hypotheses"], references=tmp_path / "ref.sgm.gz", form="auto"
    )
    assert capsys.readouterr().out == plain


def test_a_line_separator_inside_a_sentence_is_no_line_end(log, capsys, tmp_path):
    hypotheses = write(tmp_path / "h.txt", ["eins\u2028zwei", "drei\x0bvier"])
    references = write(tmp_path / "r.txt", ["eins zwei", "drei vier"])
    score_files(ScoreConfig(), "de", log, hypotheses=hypotheses, references=references, form="json")
    assert json.loads(capsys.readouterr().out)["sets"][0]["lines"] == 2


@pytest.mark.parametrize(("ours", "theirs"), [(2, 3), (3, 2), (0, 3), (3, 0)])
def test_unequal_counts_name_both_files_and_counts(log, capsys, tmp_path, ours, theirs):
    hypotheses = write(tmp_path / "h.txt", HYPOTHESES[:ours])
    references = write(tmp_path / "r.txt", REFERENCES[:theirs])
    with pytest.raises(DataError) as caught:
        score_files(ScoreConfig(), "de", log, hypotheses=hypotheses, references=references, form="auto")
    assert f"{hypotheses} has {ours} lines but {references} has {theirs}" in str(caught.value)
    assert capsys.readouterr().out == ""


def test_empty_files_are_refused(log, tmp_path):
    empty = write(tmp_path / "e.txt", [])
    with pytest.raises(DataError, match="no lines to score"):
        score_files(ScoreConfig(), "de", log, hypotheses=empty, references=empty, form="auto")


def test_bytes_that_are_no_utf8_are_named(files, log):
    files["hypotheses"].write_bytes(b"ein Hund\nzwei \xff\ndrei\n")
    with pytest.raises(DataError, match="line 2, byte 6"):
        score_files(ScoreConfig(), "de", log, **files, form="auto")


def test_a_missing_file_is_named(files, log, tmp_path):
    files["references"] = tmp_path / "nowhere.txt"
    with pytest.raises(DataError, match=r"nowhere\.txt does not exist"):
        score_files(ScoreConfig(), "de", log, **files, form="auto")


def test_text_that_looks_tokenized_is_reported(log, capsys, tmp_path):
    lines = ["ein Hund läuft .", "zwei Katzen sitzen ."]
    hypotheses, references = write(tmp_path / "h.txt", lines), write(tmp_path / "r.txt", ["ein Hund.", "zwei."])
    score_files(ScoreConfig(), "de", log, hypotheses=hypotheses, references=references, form="auto")
    err = capsys.readouterr().err
    assert "2 of 2 hypotheses end in a space and a full stop" in err
    assert "references end" not in err


@pytest.mark.parametrize(("words", "warned"), [(1_000, False), (1_001, True)])
def test_a_line_that_ter_takes_hours_for_is_warned_of(log, capsys, tmp_path, words, warned):
    lines = write(tmp_path / "h.txt", ["kurz", " ".join(map(str, range(words)))])
    score_files(ScoreConfig(), "de", log, hypotheses=lines, references=lines, form="auto")
    assert ("a line has 1,001 words, for which TER may take hours" in capsys.readouterr().err) == warned
    score_files(ScoreConfig(metrics=(BleuConfig(),)), "de", log, hypotheses=lines, references=lines, form="auto")
    assert capsys.readouterr().err == ""


# By label


@pytest.fixture
def labels(tmp_path):
    return write(tmp_path / "labels.txt", ["animals", "", "animals"])


def test_the_lines_of_a_label_are_scored_by_themselves(files, labels, log, capsys):
    score_files(ScoreConfig(), "de", log, **files, labels=labels, form="json")
    (test_set,) = json.loads(capsys.readouterr().out)["sets"]
    assert test_set["scores"][0]["value"] == BLEU().corpus_score(HYPOTHESES, [REFERENCES]).score
    (part,) = test_set["parts"]
    assert (part["label"], part["lines"]) == ("animals", 2)
    alone = BLEU().corpus_score(HYPOTHESES[::2], [REFERENCES[::2]])
    assert part["scores"][0]["value"] == alone.score != test_set["scores"][0]["value"]


def test_labels_are_rows_of_their_own(files, log, capsys, tmp_path):
    labels = write(tmp_path / "labels.txt", ["[red] cows", "animals", "animals"])
    score_files(ScoreConfig(), "de", log, **files, labels=labels)
    rows = [line.split("\t")[0] for line in capsys.readouterr().out.removesuffix("\n").split("\n")]
    assert rows == ["h.txt"] * 3 + ["h.txt: [red] cows"] * 3 + ["h.txt: animals"] * 3
    score_files(ScoreConfig(), "de", log, **files, labels=labels, form="table")
    out = capsys.readouterr().out
    assert "  [red] cows " in out
    assert "BLEU  nrefs:1|case:mixed|" in out


@pytest.mark.parametrize("count", [0, 2, 4])
def test_as_many_labels_as_lines(files, log, capsys, tmp_path, count):
    labels = write(tmp_path / "labels.txt", ["animals"] * count)
    with pytest.raises(DataError, match=rf"labels\.txt has {count} lines but .*r\.txt has 3"):
        score_files(ScoreConfig(), "de", log, **files, labels=labels)
    assert capsys.readouterr().out == ""


# A run


def config_of(folder, *tests):
    corpus = {"folder": str(folder), "test": [{"name": n, "source": s, "target": t} for n, s, t in tests]}
    return Config.model_validate({"languages": {"source": "en", "target": "de"}, "corpus": corpus})


def test_no_test_set_is_told_with_the_remedy(log, tmp_path):
    with pytest.raises(ConfigError, match=r"\[\[corpus\.test\]\]"):
        score_run(RunFolder(tmp_path), config_of(tmp_path), tmp_path, log, device="cpu", form="auto")


def test_every_missing_file_is_named_before_anything_is_loaded(log, tmp_path):
    config = config_of(tmp_path, ("one", "1.en", "1.de"), ("two", "2.en", "2.de"))
    write(tmp_path / "1.en", ["a"])
    with pytest.raises(DataError) as caught:
        score_run(RunFolder(tmp_path / "run"), config, tmp_path, log, device="cpu", form="auto")
    for name in ("1.de", "2.en", "2.de"):
        assert name in str(caught.value)


def test_unequal_test_files_name_both_counts(log, tmp_path):
    write(tmp_path / "1.en", ["a", "b"])
    write(tmp_path / "1.de", ["a"])
    config = config_of(tmp_path, ("one", "1.en", "1.de"))
    with pytest.raises(DataError, match=r"1\.en has 2 lines but .*1\.de has 1"):
        score_run(RunFolder(tmp_path / "run"), config, tmp_path, log, device="cpu", form="auto")


def test_a_run_without_weights_is_told(log, tmp_path):
    write(tmp_path / "1.en", ["a"])
    write(tmp_path / "1.de", ["a"])
    config = config_of(tmp_path, ("one", "1.en", "1.de"))
    with pytest.raises(CheckpointError, match="nmtkit train"):
        score_run(RunFolder(tmp_path / "run"), config, tmp_path, log, device="cpu", form="auto")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with two checkpoints, its config and the folder of its config."""
    base = tmp_path_factory.mktemp("score")
    config = load(write_project(base))
    write_run(base / "run", update=4, seed=2)
    return write_run(base / "run", update=8), config, base


def test_a_run_is_translated_and_scored(trained, log, capsys):
    run, config, base = trained
    score_run(run, config, base, log, device="cpu", form="json")
    found = json.loads(capsys.readouterr().out)
    assert (found["run"], found["checkpoint"]) == (str(run), "00000008")
    (test_set,) = found["sets"]
    assert (test_set["name"], test_set["lines"]) == ("test", 20)
    assert test_set["source"].endswith("test.en")

    output = run.translation("test", "00000008")
    assert test_set["hypotheses"] == str(output)
    hypotheses = output.read_bytes().decode().removesuffix("\n").split("\n")
    sources = (base / "test.en").read_bytes().decode().removesuffix("\n").split("\n")
    references = (base / "test.de").read_bytes().decode().removesuffix("\n").split("\n")
    assert hypotheses == Translator.load(run.path, device="cpu").translate(sources)
    assert test_set["scores"][1]["value"] == CHRF().corpus_score(hypotheses, [references]).score


def test_a_run_scores_as_its_translations_do(trained, log, capsys):
    run, config, base = trained
    score_run(run, config, base, log, device="cpu", form="json")
    scores = json.loads(capsys.readouterr().out)["sets"][0]["scores"]
    files = {"hypotheses": run.translation("test", "00000008"), "references": base / "test.de"}
    score_files(config.score, "de", log, **files, form="json")
    assert json.loads(capsys.readouterr().out)["sets"][0]["scores"] == scores


def test_the_checkpoint_is_the_one_asked_for(trained, log, capsys):
    run, config, base = trained
    asked = config.model_copy(update={"translate": config.translate.model_copy(update={"checkpoint": "4"})})
    score_run(run, asked, base, log, device="cpu", form="json")
    found = json.loads(capsys.readouterr().out)
    assert found["checkpoint"] == "00000004"
    assert run.translation("test", "00000004").exists()
    assert found["translate"]["checkpoint"] == "4"


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """A run whose training corpora have tags, its config with three test sets of one text, and the config's folder."""
    base = tmp_path_factory.mktemp("tagged")
    train = [{"name": tag, "tag": tag, "source": "train.en", "target": "train.de"} for tag in ("news", "bt")]
    test = [{"name": f"test {tag}", "tag": tag, "source": "test.en", "target": "test.de"} for tag in ("bt", "news", "")]
    config = load(write_project(base, {"corpus.train": train, "corpus.test": test, "translate.tag": "news"}))
    return write_run(base / "run", {"corpus.train": train}), config, base


def test_each_test_set_has_its_own_tag(tagged, log, capsys):
    run, config, base = tagged
    score_run(run, config, base, log, device="cpu", form="json")
    out, err = capsys.readouterr()
    sets = json.loads(out)["sets"]
    assert [each["tag"] for each in sets] == ["bt", "news", ""]
    sources = (base / "test.en").read_bytes().decode().removesuffix("\n").split("\n")
    translator = Translator.load(run.path, device="cpu")
    found = []
    for each in sets:
        found.append(run.translation(each["name"], "00000008").read_bytes().decode().removesuffix("\n").split("\n"))
        assert found[-1] == translator.translate(sources, tag=each["tag"])
    assert len({*map(tuple, found)}) == 3
    assert err.count("has no tag") == 1
    assert (
        'test  has no tag, though every training corpus has one, so the model knows nothing like it; give "news"' in err
    )


def test_a_tag_that_was_not_trained_is_refused_before_anything_is_translated(tagged, log, monkeypatch):
    run, config, base = tagged
    monkeypatch.setattr(Translator, "hypotheses", lambda *_, **__: pytest.fail("something was translated"))
    wrong = config.corpus.test[2].model_copy(update={"tag": "old"})
    corpus = config.corpus.model_copy(update={"test": (*config.corpus.test[:2], wrong)})
    with pytest.raises(ConfigError, match=r'^corpus\.test\[2\]\.tag = "old": no such tag; choose "news" or "bt", or'):
        score_run(run, config.model_copy(update={"corpus": corpus}), base, log, device="cpu")


def test_references_stay_as_they_are(trained, log, capsys, tmp_path):
    run, config, base = trained
    decomposed = ["a\u0308rger  und   spa\u0308ne"] * 20  # the normalizers would compose and squeeze this
    references = write(tmp_path / "test.de", decomposed)
    files = config.corpus.test[0].model_copy(update={"target": str(references)})
    corpus = config.corpus.model_copy(update={"test": (files,)})
    score_run(run, config.model_copy(update={"corpus": corpus}), base, log, device="cpu", form="json")
    scores = json.loads(capsys.readouterr().out)["sets"][0]["scores"]
    hypotheses = run.translation("test", "00000008").read_bytes().decode().removesuffix("\n").split("\n")
    assert scores[1]["value"] == CHRF().corpus_score(hypotheses, [decomposed]).score


def test_a_test_set_may_have_labels(trained, log, capsys, tmp_path):
    run, config, base = trained
    labels = write(tmp_path / "labels.txt", ["even", "odd"] * 10)
    labelled = config.corpus.test[0].model_copy(update={"labels": str(labels)})
    asked = config.model_copy(update={"corpus": config.corpus.model_copy(update={"test": (labelled,)})})
    score_run(run, asked, base, log, device="cpu", form="json")
    (test_set,) = json.loads(capsys.readouterr().out)["sets"]
    assert [(part["label"], part["lines"]) for part in test_set["parts"]] == [("even", 10), ("odd", 10)]
    write(labels, ["even"] * 19)
    with pytest.raises(DataError, match=r"labels\.txt has 19 lines but .*test\.de has 20"):
        score_run(RunFolder(tmp_path / "nothing"), asked, base, log, device="cpu")


def test_several_test_sets_make_several_rows(trained, log, capsys):
    run, config, base = trained
    again = config.corpus.test[0].model_copy(update={"name": "news/2014"})
    corpus = config.corpus.model_copy(update={"test": (*config.corpus.test, again)})
    score_run(run, config.model_copy(update={"corpus": corpus}), base, log, device="cpu", form="auto")
    rows = [line.split("\t")[0] for line in capsys.readouterr().out.removesuffix("\n").split("\n")]
    assert rows == ["test"] * 3 + ["news/2014"] * 3
    assert run.translation("news/2014", "00000008").name == "news%2F2014.00000008.txt"
    assert run.translation("news/2014", "00000008").exists()
    others = {run.translation(name, "8") for name in ("a/b", "a_b", "a%2Fb", "a\0b", "a b")}
    assert len(others) == 5
    assert {path.parent for path in others} == {run.translations}
