"""The page of a run card: well-formed, self-contained, harmless whatever names hold, and true to run.json."""

from base64 import b64encode
from functools import reduce
from typing import Any
from xml.etree import ElementTree

import pytest
from toy.cards import MACHINE, SESSION, run_card

from nmtkit.commands.run_page import page
from nmtkit.commands.run_remarks import remarks
from nmtkit.commands.run_repeat import repeating

PICTURE = b"\x89PNG not really"
GPU = {"name": "A GPU", "memory": 80 * 2**30}
EVIL = "<script>alert(1)</script>\u202e</style>&"


def tree_of(content: dict[str, Any], picture: bytes = PICTURE) -> ElementTree.Element:
    return ElementTree.fromstring(page(content, picture).encode())  # fails where it is not well-formed


def text_of(element: ElementTree.Element | None) -> str:
    assert element is not None
    return "".join(element.itertext())


def section(tree: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(element for element in tree.iter("section") if element.get("id") == name)


def test_every_section_is_there_and_linked() -> None:
    tree = tree_of(run_card(training__skipped=2))
    anchors = [element.get("id") for element in tree.iter("section")]
    assert anchors == [
        "look", "scores", "curve", "repeat", "model", "data", "training", "sessions", "software", "settings"
    ]  # fmt: skip
    assert [element.get("href") for element in tree.iter("a")] == [f"#{anchor}" for anchor in anchors]


def test_nothing_is_loaded_and_nothing_runs() -> None:
    tree = tree_of(run_card())
    for element in tree.iter():
        assert element.tag not in ("script", "link", "iframe", "object", "embed")
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name != "src" or value.startswith("data:image/png;base64,")
            assert name != "href" or value.startswith("#")
    policy = next(element.get("content", "") for element in tree.iter("meta") if element.get("http-equiv"))
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_the_learning_curve_is_in_it() -> None:
    (image,) = tree_of(run_card()).iter("img")
    assert image.get("src") == f"data:image/png;base64,{b64encode(PICTURE).decode()}"
    assert list(tree_of(run_card(), b"").iter("img")) == []


def test_names_act_as_text() -> None:
    content = run_card(sessions__0__command=EVIL, sessions__0__ending=EVIL, config__languages__target=EVIL)
    for place in ("tests", "data"):
        rows = content[place] if place == "tests" else content[place]["corpora"]
        rows[0]["name"] = EVIL
    content["data"]["corpora"][0]["dropped"] = {EVIL: 3}
    content["data"]["files"] = {EVIL: EVIL}
    content["tests"][0] |= {
        "tag": EVIL,
        "parts": [{"label": EVIL, "lines": 3, "scores": content["tests"][0]["scores"]}],
    }
    content["tests"][0]["scores"][0] |= {"name": EVIL, "signature": EVIL}
    content["model"]["parameters"] = {EVIL: 3}
    content["software"]["torch"] = content["sessions"][0]["machine"]["cpu"] = EVIL
    content["energy"]["unread"] = [EVIL]
    tree = tree_of(content)
    assert not list(tree.iter("script"))
    text = "".join(tree.itertext())
    assert text.count("<script>alert(1)</script>U+202E</style>&") >= 14
    assert "\u202e" not in text


def test_every_number_is_that_of_the_json() -> None:
    content = run_card()

    def at(pointer: str) -> Any:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
        return reduce(lambda part, key: part[int(key)] if isinstance(part, list) else part[key], keys, content)

    data = list(tree_of(content).iter("data"))
    assert len(data) > 20
    for element in data:
        value = at(element.attrib["data-at"])
        assert element.attrib["value"] == str(value)
        assert element.text in (f"{value:,}", f"{value:.2%}")


def test_the_largest_figures_are_the_scores_measured_last() -> None:
    content = run_card()
    (test,) = content["tests"]
    earlier = [{**score, "value": 1.25} for score in test["scores"]]
    content["tests"] = [test, {**test, "checkpoint": "00000004", "scored": "2026-11-01", "scores": earlier}]
    cards = [text_of(element) for element in tree_of(content).iter("div") if element.get("class") == "card"]
    assert cards[:2] == ["4.50BLEU of test", "3.50BLEU of the development set, average"]


def test_weights_of_another_run_are_named() -> None:
    content = run_card(model__initial={"run": "theirs", "update": "100"})
    text = text_of(section(tree_of(content), "model"))
    assert "began with weights of another run: run theirs, update 100" in text


def test_scores_stand_with_their_signatures() -> None:
    content = run_card()
    text = text_of(section(tree_of(content), "scores"))
    for score in content["tests"][0]["scores"]:
        assert f"{score['value']:.2f}" in text
        assert f"{score['name']} {score['signature']}" in text
    for judged in content["development"].values():
        assert f"{judged['score']:.2f}" in text
    assert "average of updates 4, 8" in text
    for what in ("hypotheses_sha256", "references_sha256"):
        assert content["tests"][0][what] in text
    assert "2026-11-30 01:26:00 UTC" in text


def test_scores_with_another_signature_stand_in_another_column() -> None:
    content = run_card()
    other = {**content["tests"][0], "name": "other"}
    other["scores"] = [{**other["scores"][0], "value": 9.75, "signature": "tok:char"}]
    content["tests"].append(other)
    heads = [text_of(head) for head in section(tree_of(content), "scores").iter("th")]
    assert heads.count("BLEU") == 3  # of the development set, and twice of test sets


def test_what_has_not_been_measured_is_said_so() -> None:
    content = run_card(tests=[], development={}, time__seconds=0.0, training__ended=None)
    for side in ("source", "target"):
        for what in ("", "_of_updates"):
            content["time"][f"{side}_tokens_per_second{what}"] = None
    text = "".join(tree_of(content, b"").itertext())
    for words in ("Nothing has been validated yet.", "nmtkit score puts its scores here", "not known", "not finished"):
        assert words in text


def test_a_validation_without_translation_has_its_perplexity() -> None:
    content = run_card(
        development={"last": {"update": 8, "perplexity": None}, "best": {"update": 4, "perplexity": 3.5}}
    )
    text = "".join(tree_of(content).itertext())
    assert "3.50perplexity of the development set, best" in text


# What deserves a second look.


def test_a_sound_run_calls_for_no_remark() -> None:
    assert list(remarks(run_card())) == []


def resumed(**values: Any) -> dict[str, Any]:
    """Return a second session."""
    return {**SESSION, "from_update": 8, "to_update": 16, **values}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            {"training__ended": None, "sessions__0__ending": None},
            "not finished: behind update 8; it is at work, or was",
        ),
        ({"software__changed": True}, "nmtkit was changed since commit 0123456789ab: keep the change"),
        ({"software__changed": None}, "whether nmtkit was changed since commit 0123456789ab is not known"),
        ({"training__skipped": 1}, "1 update not applied, since loss or gradient was not finite"),
        (
            {"training__returns": 1, "training__passed_over": [300, 320]},
            "training diverged and went back to a checkpoint; it passed over updates 300 to 320",
        ),
        (
            {"sessions": [SESSION, resumed(from_update=5)]},
            "3 updates behind update 5 computed twice: the session of 2026-11-30 01:00:00 UTC was",
        ),
        (
            {"sessions": [SESSION, resumed(machine={**MACHINE, "threads": 4})]},
            "machine changed behind update 8: threads 2 → 4; sums are rounded otherwise from there on",
        ),
        (
            {"sessions": [SESSION, resumed(software={**SESSION["software"], "torch": "2.14.0"})]},
            "software changed behind update 8: torch 2.13.0+cpu → 2.14.0",
        ),
        (
            {"sessions": [SESSION, resumed(machine={**MACHINE, "device": "cuda", "gpus": [GPU] * 2, "processes": 2})]},
            "machine changed behind update 8: gpus none → 2 × A GPU of 80 GiB, device cpu → cuda, processes 1 → 2; ",
        ),
        (
            {"sessions": [SESSION, resumed(changed=["train.label_smoothing: 0.1 in the run, now 0.2"])]},
            "settings changed behind update 8: train.label_smoothing: 0.1 in the run, now 0.2",
        ),
        (
            {"tests__0__updates": [2, 4]},
            "test: the scores are of an earlier average, of updates 2, 4; run nmtkit score again",
        ),
    ],
)
def test_remarks(parts: dict[str, Any], said: str) -> None:
    content = run_card(**parts)
    (remark,) = remarks(content)
    assert remark.startswith(said)
    assert remark in text_of(section(tree_of(content), "look"))


# How to repeat.


def test_the_commands_that_repeat_a_run() -> None:
    assert repeating(run_card()) == [
        "git checkout 0123456789abcdef0123456789abcdef01234567  # in the repository of nmtkit",
        "pip install torch==2.13.0 numpy==2.4.6 sentencepiece==0.2.3 sacremoses==0.2.0 regex==2026.11.19 "
        "sacrebleu==2.6.0 safetensors==0.7.0",
        "# in the run folder, whose config.toml has all settings and the folder of the corpus files:",
        "nmtkit prepare --config config.toml --run ../again",
        "OMP_NUM_THREADS=2 nmtkit train --config config.toml --run ../again --device cpu",
        "nmtkit score --config config.toml --run ../again",
        "nmtkit inspect . ../again  # what differs",
    ]


@pytest.mark.parametrize(
    ("machine", "command"),
    [
        ({"device": "cuda"}, "nmtkit train --config config.toml --run ../again --device cuda"),
        ({"device": "cuda", "processes": 8}, "nmtkit train --config config.toml --run ../again --gpus 8"),
        ({"processes": 2}, "OMP_NUM_THREADS=2 nmtkit train --config config.toml --run ../again --processes 2"),
        (
            {"device": "cuda", "processes": 16, "hosts": ["a", "b"]},
            "torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint a:29500 -m nmtkit train "
            "--config config.toml --run ../again",
        ),
    ],
)
def test_as_many_processes_train_again(machine: dict[str, Any], command: str) -> None:
    content = run_card(sessions=[{**SESSION, "machine": {**MACHINE, **machine}}])
    assert command in repeating(content)


def test_a_vocabulary_that_was_given_is_given_again() -> None:
    content = run_card(config__prepare__segmenter={"kind": "file", "path": "words.model", "target_path": "w.model"})
    given = "--set prepare.segmenter.path=data/source.model --set prepare.segmenter.target_path=data/target.model"
    assert [line.endswith(given) for line in repeating(content)] == [False, False, False, True, False, False, False]
    assert f" ../again {given} --device cpu" in repeating(content)[4]


def test_a_release_is_installed_where_there_is_no_commit() -> None:
    assert repeating(run_card(software__commit=None))[0] == "pip install nmtkit==0.1.0"
    assert not any("nmtkit score" in line for line in repeating(run_card(tests=[])))
