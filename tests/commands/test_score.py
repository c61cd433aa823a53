"""`nmtkit score` on files and on a run."""

import gzip
import json

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from toy import comet
from toy.corpora import write_project
from toy.formats import sgm_of
from toy.runs import write_run

from nmtkit.api import Translator
from nmtkit.commands import score_output
from nmtkit.commands.score import score_files, score_run, score_test_sets
from nmtkit.commands.score_output import COLUMNS, Output
from nmtkit.commands.score_reading import Given
from nmtkit.config import Config, load
from nmtkit.errors import CheckpointError, ConfigError, DataError
from nmtkit.log import Log
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.settings import ScoreConfig, SignificanceConfig
from nmtkit.run_folder import RunFolder

HYPOTHESES = ["ein Hund läuft", "", "zwei Katzen sitzen auf dem Dach"]
REFERENCES = ["ein Hund rennt", "eine Kuh", "zwei Katzen sitzen auf einem Dach"]
NAMES = ["BLEU", "BLEU-tok", "BLEU-split", "chrF2", "chrF2++", "TER"]
DRAWN = "bs:1000|seed:12345|level:0.95|nmtkit:"


@pytest.fixture
def log():
    return Log("quiet")


def write(path, lines):
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


@pytest.fixture
def h(tmp_path):
    return write(tmp_path / "h.txt", HYPOTHESES)


@pytest.fixture
def r(tmp_path):
    return write(tmp_path / "r.txt", REFERENCES)


@pytest.fixture
def scored(log, capsys):
    """Score files; return what stands on stdout, of JSON its content."""

    def score(systems, references, form="json", config=None, language="de", **more):
        systems, references = ([each] if not isinstance(each, list) else each for each in (systems, references))
        beside = {name: more.pop(name) for name in ("source", "labels") if name in more}
        given = Given(tuple(map(str, systems)), tuple(references), **beside)
        score_files(config or ScoreConfig(), language, log, given, Output(form, **more))
        out = capsys.readouterr().out
        return json.loads(out) if form == "json" else out

    return score


def rows_of(out):
    head, *rows = (line.split("\t") for line in out.removesuffix("\n").split("\n"))
    assert tuple(head) == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def only_system(content):
    (test_set,) = content["sets"]
    (system,) = test_set["systems"]
    return system


def test_a_pipe_gets_a_line_for_each_score(h, r, scored):
    rows = rows_of(scored(h, r, form="auto"))
    assert [row["metric"] for row in rows] == NAMES
    assert {(row["set"], row["label"], row["system"]) for row in rows} == {("r.txt", "", "h.txt")}
    for name, peer in (("BLEU", BLEU()), ("chrF2", CHRF()), ("chrF2++", CHRF(word_order=2)), ("TER", TER())):
        (row,) = [row for row in rows if row["metric"] == name]
        assert row["score"] == f"{peer.corpus_score(HYPOTHESES, [REFERENCES]).score:.2f}"
        assert row["signature"].startswith(f"{peer.get_signature()}|{DRAWN}")
        assert float(row["low"]) <= float(row["score"]) <= float(row["high"])
        assert (row["p_bootstrap"], row["p_randomization"]) == ("", "")


def test_json_holds_everything(h, r, scored):
    found = scored(h, r)
    assert found["target_language"] == "de"
    assert {key: found["significance"][key] for key in ("draws", "seed", "confidence")} == {
        "draws": 1000, "seed": 12345, "confidence": 0.95
    }  # fmt: skip
    assert found["significance"]["signature"].startswith(DRAWN)
    assert found["notices"] == []
    (test_set,) = found["sets"]
    assert (test_set["name"], test_set["lines"], test_set["references"]) == ("r.txt", 3, [str(r)])
    system = only_system(found)
    assert (system["name"], system["hypotheses"], system["blank"]) == ("h.txt", str(h), 1)
    bleu = BLEU()
    assert system["scores"][0]["value"] == bleu.corpus_score(HYPOTHESES, [REFERENCES]).score
    assert system["scores"][0]["signature"] == str(bleu.get_signature())
    assert [score["higher_is_better"] for score in system["scores"]] == [True] * 5 + [False]
    assert all(score["low"] <= score["value"] <= score["high"] for score in system["scores"])
    assert not any("p_bootstrap" in score for score in system["scores"])


def test_a_terminal_gets_a_table(h, r, scored, monkeypatch):
    monkeypatch.setattr(score_output.sys.stdout, "isatty", lambda: True, raising=False)
    assert "TER ↓" in scored(h, r, form="auto")


def test_the_metrics_are_those_of_the_config(h, r, scored):
    config = ScoreConfig(metrics=(BleuConfig(lowercase=True), BleuConfig()))
    signatures = [row["signature"] for row in rows_of(scored(h, r, form="tsv", config=config))]
    assert ["case:lc" in signature for signature in signatures] == [True, False]


def test_without_draws_there_are_scores_alone(h, r, scored):
    config = ScoreConfig(significance=SignificanceConfig(draws=0))
    rows = rows_of(scored([h, f"b={r}"], r, form="tsv", config=config))
    assert {tuple(row[key] for key in ("low", "high", "p_bootstrap", "p_randomization")) for row in rows} == {("",) * 4}
    assert not any("bs:" in row["signature"] for row in rows)


def test_compressed_files_a_byte_order_mark_and_crlf_change_nothing(h, r, scored, tmp_path):
    plain = only_system(scored(h, r))["scores"]
    references = tmp_path / "r.gz"
    references.write_bytes(gzip.compress(b"\xef\xbb\xbf" + "\r\n".join([*REFERENCES, ""]).encode()))
    assert only_system(scored(h, references))["scores"] == plain


def test_references_may_be_the_segments_of_a_test_set(h, r, scored, tmp_path):
    plain = only_system(scored(h, r))["scores"]
    (tmp_path / "ref.sgm.gz").write_bytes(gzip.compress(sgm_of(REFERENCES, "refset")))
    assert only_system(scored(h, tmp_path / "ref.sgm.gz"))["scores"] == plain


def test_a_line_separator_inside_a_sentence_is_no_line_end(scored, tmp_path):
    hypotheses = write(tmp_path / "h.txt", ["eins\u2028zwei", "drei\x0bvier"])
    references = write(tmp_path / "r.txt", ["eins zwei", "drei vier"])
    assert scored(hypotheses, references)["sets"][0]["lines"] == 2


def test_what_is_no_text_is_taken_out_and_told(h, r, tmp_path, capsys):
    plain = tmp_path / "nul.txt"
    plain.write_bytes(h.read_bytes().replace(b"auf", b"a\0uf\1"))
    files = Given((str(plain), str(h)), (r,))
    score_files(ScoreConfig(), "de", Log("quiet"), files, Output("json"))
    said = capsys.readouterr()
    one, other = json.loads(said.out)["sets"][0]["systems"]
    assert [score["value"] for score in one["scores"]] == [score["value"] for score in other["scores"]]
    assert f"warning: {plain}: control characters removed: 2 (first line 3)\n" in said.err


@pytest.mark.parametrize(("ours", "theirs"), [(2, 3), (3, 2), (0, 3), (3, 0)])
def test_unequal_counts_name_both_files_and_counts(log, capsys, tmp_path, ours, theirs):
    hypotheses = write(tmp_path / "h.txt", HYPOTHESES[:ours])
    references = write(tmp_path / "r.txt", REFERENCES[:theirs])
    with pytest.raises(DataError) as caught:
        score_files(ScoreConfig(), "de", log, Given((str(hypotheses),), (references,)))
    assert f"{hypotheses} has {ours} lines but {references} has {theirs}" in str(caught.value)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("short", ["system", "reference", "source"])
def test_every_file_is_counted(h, r, scored, tmp_path, short):
    cut = write(tmp_path / "cut.txt", HYPOTHESES[:2])
    files = {
        "system": {"systems": [h, cut], "references": r},
        "reference": {"systems": h, "references": [r, cut]},
        "source": {"systems": h, "references": r, "source": cut},
    }[short]
    with pytest.raises(DataError, match=r"cut\.txt has 2 lines but .*r\.txt has 3"):
        scored(**files)


def test_empty_files_are_refused(scored, tmp_path):
    empty = write(tmp_path / "e.txt", [])
    with pytest.raises(DataError, match="no lines to score"):
        scored(empty, empty)


def test_bytes_that_are_no_utf8_are_named(h, r, scored):
    h.write_bytes(b"ein Hund\nzwei \xff\ndrei\n")
    with pytest.raises(DataError, match="line 2, byte 6"):
        scored(h, r)


def test_a_missing_file_is_named(h, scored, tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.txt does not exist"):
        scored(h, tmp_path / "nowhere.txt")


# Several references, several systems


def test_several_references(h, r, scored, tmp_path):
    other = ["ein Hund läuft schnell", "eine Kuh", "zwei Katzen schlafen"]
    found = scored(h, [r, write(tmp_path / "r2.txt", other)])
    bleu = BLEU()
    score = only_system(found)["scores"][0]
    assert score["value"] == bleu.corpus_score(HYPOTHESES, [REFERENCES, other]).score
    assert score["signature"] == str(bleu.get_signature())
    assert score["signature"].startswith("nrefs:2|")
    assert found["sets"][0]["references"] == [str(r), str(tmp_path / "r2.txt")]


@pytest.fixture
def three(tmp_path):
    """References of forty lines and three systems: the baseline, the same text again, a better one."""
    lines = [f"der Hund Nummer {n} läuft schnell über die Wiese" for n in range(40)]
    worse = [line.replace("schnell", "langsam").replace("über die", "auf der") for line in lines]
    better = [line if n % 4 else line.replace("schnell", "rasch") for n, line in enumerate(lines)]
    names = {"r": lines, "base": worse, "again": worse, "better": better}
    return {name: write(tmp_path / f"{name}.de", text) for name, text in names.items()}


def test_systems_are_compared_with_the_first(three, scored):
    found = scored([three["base"], three["again"], f"good={three['better']}"], three["r"])
    base, again, good = found["sets"][0]["systems"]
    assert [base["name"], again["name"], good["name"]] == ["base.de", "again.de", "good"]
    for index, name in enumerate(NAMES):
        assert "p_bootstrap" not in base["scores"][index]
        same, better = again["scores"][index], good["scores"][index]
        assert (same["difference"], same["p_bootstrap"], same["p_randomization"]) == (0, 1, 1)
        assert max(better["p_bootstrap"], better["p_randomization"]) < 0.05, name
        assert better["difference"] == pytest.approx(better["value"] - base["scores"][index]["value"])
    assert found["significance"]["signature"].startswith("bs:1000|ar:1000|seed:12345|")


def test_the_same_files_have_the_same_p_values(three, scored):
    files = [three["base"], three["better"]], three["r"]
    assert scored(*files) == scored(*files)
    other = ScoreConfig(significance=SignificanceConfig(seed=7, draws=50))
    again = scored(*files, config=other)
    assert again["significance"]["signature"].startswith("bs:50|ar:50|seed:7|")


def test_p_values_stand_in_columns(three, scored):
    rows = rows_of(scored([three["base"], three["again"]], three["r"], form="tsv"))
    assert [(row["system"], row["p_bootstrap"], row["p_randomization"]) for row in rows] == [
        *[("base.de", "", "")] * 6,
        *[("again.de", "1.0000", "1.0000")] * 6,
    ]


def test_the_same_text_twice_is_told(three, scored, log, capsys):
    given = Given((str(three["base"]), str(three["again"])), (three["r"],))
    score_files(ScoreConfig(), "de", log, given)
    assert "warning: r.de: base.de and again.de are the same text" in capsys.readouterr().err


# Lines by themselves


def test_each_line_by_itself(three, scored, tmp_path):
    file = tmp_path / "lines.tsv"
    scored([f"a={three['base']}", f"b={three['better']}"], three["r"], per_sentence=file)
    head, *rows = (line.split("\t") for line in file.read_bytes().decode().removesuffix("\n").split("\n"))
    assert head[:3] == ["set", "line", "system"]
    assert [name.split("|")[0] for name in head[3:]] == NAMES
    assert "|eff:yes|" in head[3]
    assert [row[:3] for row in rows] == [["r.de", str(n % 40 + 1), "ab"[n // 40]] for n in range(80)]
    reference = three["r"].read_bytes().decode().split("\n")[0]
    hypothesis = three["base"].read_bytes().decode().split("\n")[0]
    bleu = BLEU(effective_order=True)
    assert rows[0][3] == f"{bleu.sentence_score(hypothesis, [reference]).score:.4f}"
    assert f"BLEU|{bleu.get_signature()}" == head[3]
    assert rows[41][3:] == ["100.0000"] * 5 + ["0.0000"]


def test_lines_of_test_sets_with_other_references_say_how_many(two_sets, log, tmp_path):
    more = two_sets.corpus.test[1].model_copy(update={"more_references": ("1.de",)})
    corpus = two_sets.corpus.model_copy(update={"test": (two_sets.corpus.test[0], more)})
    file = tmp_path / "lines.tsv"
    config = two_sets.model_copy(update={"corpus": corpus})
    score_test_sets(config, tmp_path, log, [f"{tmp_path}/base.{{set}}.de"], Output(per_sentence=file))
    head = file.read_bytes().decode().split("\n")[0].split("\t")
    assert all("|nrefs:1,2|" in name for name in head[3:])


# COMET


def test_comet_takes_the_sources_and_goes_the_same_way(three, scored, tmp_path, monkeypatch):
    comet.install(tmp_path, monkeypatch)
    config = ScoreConfig(metrics=(comet.model(tmp_path), BleuConfig()))
    found = scored([three["base"], three["better"]], three["r"], config=config, source=three["r"])
    scores = [system["scores"][0] for system in found["sets"][0]["systems"]]
    assert [score["name"] for score in scores] == ["COMET"] * 2
    assert scores[0]["low"] <= scores[0]["value"] <= scores[0]["high"] < scores[1]["value"]
    assert max(scores[1]["p_bootstrap"], scores[1]["p_randomization"]) < 0.05
    assert found["sets"][0]["source"] == str(three["r"])
    with pytest.raises(ConfigError, match="--source FILE"):
        scored(three["base"], three["r"], config=config)


# By label


@pytest.fixture
def labels(tmp_path):
    return write(tmp_path / "labels.txt", ["animals", "", "animals"])


def test_the_lines_of_a_label_are_scored_by_themselves(h, r, labels, scored):
    system = only_system(scored(h, r, labels=labels))
    assert system["scores"][0]["value"] == BLEU().corpus_score(HYPOTHESES, [REFERENCES]).score
    (part,) = system["parts"]
    assert (part["label"], part["lines"]) == ("animals", 2)
    alone = BLEU().corpus_score(HYPOTHESES[::2], [REFERENCES[::2]])
    assert part["scores"][0]["value"] == alone.score != system["scores"][0]["value"]
    assert part["scores"][0]["low"] <= part["scores"][0]["value"] <= part["scores"][0]["high"]


def test_labels_are_rows_of_their_own(h, r, scored, tmp_path):
    labels = write(tmp_path / "labels.txt", ["[red] cows", "animals", "animals"])
    rows = rows_of(scored(h, r, form="tsv", labels=labels))
    assert [row["label"] for row in rows] == [""] * 6 + ["[red] cows"] * 6 + ["animals"] * 6


def test_systems_are_compared_by_label_too(three, scored, tmp_path):
    labels = write(tmp_path / "labels.txt", ["even", "odd"] * 20)
    found = scored([three["base"], three["better"]], three["r"], labels=labels)
    for part in found["sets"][0]["systems"][1]["parts"]:
        assert part["lines"] == 20
        assert all(score["p_randomization"] < 0.05 for score in part["scores"])


@pytest.mark.parametrize("count", [0, 2, 4])
def test_as_many_labels_as_lines(h, r, scored, tmp_path, count):
    labels = write(tmp_path / "labels.txt", ["animals"] * count)
    with pytest.raises(DataError, match=rf"labels\.txt has {count} lines but .*r\.txt has 3"):
        scored(h, r, labels=labels)


# The test sets of a configuration, and files


def config_of(folder, *tests, **more):
    corpus = {"folder": str(folder), "test": [{"name": n, "source": s, "target": t, **more} for n, s, t in tests]}
    return Config.model_validate({"languages": {"source": "en", "target": "de"}, "corpus": corpus})


@pytest.fixture
def two_sets(tmp_path):
    """A configuration with two test sets, and two systems that translated both."""
    for name, text in (("1.en", "a"), ("2.en", "b")):
        write(tmp_path / name, [text] * 3)
    write(tmp_path / "1.de", REFERENCES)
    write(tmp_path / "2.de", REFERENCES[::-1])
    write(tmp_path / "base.one.de", HYPOTHESES)
    write(tmp_path / "base.two%2F2.de", REFERENCES[::-1])
    write(tmp_path / "big.one.de", REFERENCES)
    write(tmp_path / "big.two%2F2.de", HYPOTHESES[::-1])
    return config_of(tmp_path, ("one", "1.en", "1.de"), ("two/2", "2.en", "2.de"))


def test_files_of_several_test_sets_are_found_by_their_names(two_sets, log, capsys, tmp_path):
    systems = [f"base={tmp_path}/base.{{set}}.de", f"{tmp_path}/big.{{set}}.de"]
    score_test_sets(two_sets, tmp_path, log, systems, Output("json"))
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["sets"]] == ["one", "two/2"]
    assert [each["source"] for each in found["sets"]] == [str(tmp_path / "1.en"), str(tmp_path / "2.en")]
    values = [[system["scores"][3]["value"] for system in each["systems"]] for each in found["sets"]]
    chrf = CHRF().corpus_score(HYPOTHESES, [REFERENCES]).score
    assert values == [[chrf, pytest.approx(100)], [pytest.approx(100), chrf]]
    assert [system["name"] for system in found["sets"][1]["systems"]] == ["base", f"{tmp_path}/big.{{set}}.de"]
    assert found["sets"][1]["systems"][1]["hypotheses"] == f"{tmp_path}/big.two%2F2.de"


def test_a_file_of_several_test_sets_must_say_which(two_sets, log, tmp_path):
    with pytest.raises(ConfigError, match=r"--system h\.de: there are 2 test sets; write \{set\}"):
        score_test_sets(two_sets, tmp_path, log, ["h.de"])
    one = two_sets.model_copy(update={"corpus": two_sets.corpus.model_copy(update={"test": two_sets.corpus.test[:1]})})
    score_test_sets(one, tmp_path, log, [f"{tmp_path}/base.one.de"])


def test_a_test_set_may_have_more_references(log, capsys, tmp_path):
    write(tmp_path / "1.en", ["a"] * 3)
    write(tmp_path / "1.de", REFERENCES)
    other = write(tmp_path / "1.de.b", ["ein Hund läuft schnell", "eine Kuh", "zwei Katzen"])
    h = write(tmp_path / "h", HYPOTHESES)
    config = config_of(tmp_path, ("one", "1.en", "1.de"), more_references=["1.de.b"])
    score_test_sets(config, tmp_path, log, [str(h)], Output("json"))
    found = json.loads(capsys.readouterr().out)
    assert found["sets"][0]["references"] == [str(tmp_path / "1.de"), str(other)]
    texts = [REFERENCES, ["ein Hund läuft schnell", "eine Kuh", "zwei Katzen"]]
    assert only_system(found)["scores"][0]["value"] == BLEU().corpus_score(HYPOTHESES, texts).score
    write(other, ["ein Hund"])
    with pytest.raises(DataError, match=r"1\.de\.b has 1 lines but .*1\.de has 3"):
        score_test_sets(config, tmp_path, log, [str(h)])


# A run


def test_no_test_set_is_told_with_the_remedy(log, tmp_path):
    with pytest.raises(ConfigError, match=r"\[\[corpus\.test\]\]"):
        score_run(RunFolder(tmp_path), config_of(tmp_path), tmp_path, log, device="cpu")


def test_every_missing_file_is_named_before_anything_is_loaded(log, tmp_path):
    config = config_of(tmp_path, ("one", "1.en", "1.de"), ("two", "2.en", "2.de"))
    write(tmp_path / "1.en", ["a"])
    with pytest.raises(DataError) as caught:
        score_run(RunFolder(tmp_path / "run"), config, tmp_path, log, device="cpu")
    for name in ("1.de", "2.en", "2.de"):
        assert name in str(caught.value)


def test_unequal_test_files_name_both_counts(log, tmp_path):
    write(tmp_path / "1.en", ["a", "b"])
    write(tmp_path / "1.de", ["a"])
    config = config_of(tmp_path, ("one", "1.en", "1.de"))
    with pytest.raises(DataError, match=r"1\.en has 2 lines but .*1\.de has 1"):
        score_run(RunFolder(tmp_path / "run"), config, tmp_path, log, device="cpu")


def test_a_run_without_weights_is_told(log, tmp_path):
    write(tmp_path / "1.en", ["a"])
    write(tmp_path / "1.de", ["a"])
    config = config_of(tmp_path, ("one", "1.en", "1.de"))
    with pytest.raises(CheckpointError, match="nmtkit train"):
        score_run(RunFolder(tmp_path / "run"), config, tmp_path, log, device="cpu")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with two checkpoints, its config and the folder of its config."""
    base = tmp_path_factory.mktemp("score")
    config = load(write_project(base))
    write_run(base / "run", update=4, seed=2)
    return write_run(base / "run", update=8), config, base


@pytest.fixture
def scored_run(log, capsys):
    """Score a run; return the content of its JSON."""

    def score(run, config, base, **more):
        score_run(run, config, base, log, device="cpu", output=Output("json", **more))
        return json.loads(capsys.readouterr().out)

    return score


def lines_of(path):
    return path.read_bytes().decode().removesuffix("\n").split("\n")


def test_a_run_is_translated_and_scored(trained, scored_run):
    run, config, base = trained
    found = scored_run(run, config, base)
    assert (found["run"], found["checkpoint"]) == (str(run), "00000008")
    (test_set,) = found["sets"]
    assert (test_set["name"], test_set["lines"]) == ("test", 20)
    assert test_set["source"].endswith("test.en")

    output = run.translation("test", "00000008")
    system = only_system(found)
    assert (system["name"], system["hypotheses"]) == ("00000008", str(output))
    hypotheses = lines_of(output)
    assert hypotheses == Translator.load(run.path, device="cpu").translate(lines_of(base / "test.en"))
    assert system["scores"][3]["value"] == CHRF().corpus_score(hypotheses, [lines_of(base / "test.de")]).score


def test_a_run_scores_as_its_translations_do(trained, scored_run, scored):
    run, config, base = trained
    scores = only_system(scored_run(run, config, base))["scores"]
    assert only_system(scored(run.translation("test", "00000008"), base / "test.de"))["scores"] == scores


def test_the_checkpoint_is_the_one_asked_for(trained, scored_run):
    run, config, base = trained
    asked = config.model_copy(update={"translate": config.translate.model_copy(update={"checkpoint": "4"})})
    found = scored_run(run, asked, base)
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
    score_run(run, config, base, log, device="cpu", output=Output("json"))
    out, err = capsys.readouterr()
    sets = json.loads(out)["sets"]
    assert [each["tag"] for each in sets] == ["bt", "news", ""]
    sources = lines_of(base / "test.en")
    translator = Translator.load(run.path, device="cpu")
    found = []
    for each in sets:
        found.append(lines_of(run.translation(each["name"], "00000008")))
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


def with_test_files(config, **changes):
    files = config.corpus.test[0].model_copy(update=changes)
    return config.model_copy(update={"corpus": config.corpus.model_copy(update={"test": (files,)})})


def test_references_stay_as_they_are(trained, scored_run, tmp_path):
    run, config, base = trained
    decomposed = ["a\u0308rger  und   spa\u0308ne"] * 20  # the normalizers would compose and squeeze this
    references = write(tmp_path / "test.de", decomposed)
    scores = only_system(scored_run(run, with_test_files(config, target=str(references)), base))["scores"]
    hypotheses = lines_of(run.translation("test", "00000008"))
    assert scores[3]["value"] == CHRF().corpus_score(hypotheses, [decomposed]).score


def test_a_test_set_may_have_labels(trained, scored_run, log, tmp_path):
    run, config, base = trained
    labels = write(tmp_path / "labels.txt", ["even", "odd"] * 10)
    asked = with_test_files(config, labels=str(labels))
    parts = only_system(scored_run(run, asked, base))["parts"]
    assert [(part["label"], part["lines"]) for part in parts] == [("even", 10), ("odd", 10)]
    write(labels, ["even"] * 19)
    with pytest.raises(DataError, match=r"labels\.txt has 19 lines but .*test\.de has 20"):
        score_run(RunFolder(tmp_path / "nothing"), asked, base, log, device="cpu")


def test_several_test_sets_make_several_rows(trained, log, capsys):
    run, config, base = trained
    again = config.corpus.test[0].model_copy(update={"name": "news/2014"})
    corpus = config.corpus.model_copy(update={"test": (*config.corpus.test, again)})
    score_run(run, config.model_copy(update={"corpus": corpus}), base, log, device="cpu")
    rows = rows_of(capsys.readouterr().out)
    assert [row["set"] for row in rows] == ["test"] * 6 + ["news/2014"] * 6
    assert run.translation("news/2014", "00000008").name == "news%2F2014.00000008.txt"
    assert run.translation("news/2014", "00000008").exists()
    others = {run.translation(name, "8") for name in ("a/b", "a_b", "a%2Fb", "a\0b", "a b")}
    assert len(others) == 5
    assert {path.parent for path in others} == {run.translations}


def test_what_does_not_serve_the_language_is_told_once(trained, log, capsys):
    run, config, base = trained
    thai = config.model_copy(
        update={
            "languages": config.languages.model_copy(update={"target": "th"}),
            "score": ScoreConfig(metrics=(ChrfConfig(), BleuConfig())),
        }
    )
    score_run(run, thai, base, Log(), device="cpu", output=Output("json"))
    out, err = capsys.readouterr()
    assert err.count("BLEU compares characters") == 1
    assert json.loads(out)["notices"][0].startswith("BLEU compares characters")
