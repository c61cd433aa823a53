"""Ten sets of lines, scored by us and by sacreBLEU's own command line: the same to two decimals."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from nmtkit.commands.score import score_files
from nmtkit.commands.score_output import Output
from nmtkit.commands.score_reading import Given
from nmtkit.log import Log
from nmtkit.metrics.settings import ScoreConfig, SignificanceConfig


class Lines(NamedTuple):
    """A set of lines in a language, and what sacreBLEU's command has to be told for it."""

    language: str
    hypotheses: list[str]
    references: list[list[str]]
    tokenize: str = "13a"
    ter: tuple[str, ...] = ()


SETS = {
    "hyphens": Lines(
        "de",
        ["Der E-Mail-Server läuft nicht.", "Ein Drei-Gänge-Menü für Nord- und Süddeutsche.", "a-b-c ist ein Plan-B."],
        [["Der E-Mail-Dienst läuft nicht.", "Ein Drei-Gänge-Menü für Nord- und Ostdeutsche.", "a-b-c war Plan B."]],
    ),
    "quotes": Lines(
        "en",
        ['"Come in," she said, "it\'s open."', "He called it ‘nonsense’.", "They don't say “hello”, don't they?"],
        [['"Come in", she said. "It\'s open."', "He called it 'nonsense'.", 'They do not say "hello", do they?']],
    ),
    "numbers": Lines(
        "de",
        ["Am 3.10.2014 kamen 1.250,50 €.", "Um 18:30 Uhr waren es 17 % (3 von 18).", "Nr. 5 kostet 2,99."],
        [["Am 3. Oktober 2014 kamen 1.250,50 €.", "Um 18.30 Uhr waren es 17% (3 von 18).", "Nr. 5 kostete 2,99."]],
    ),
    "French spaces": Lines(
        "fr",
        ["« Où vas-tu ? » demanda-t-il ; elle ne répondit pas !", "Il y avait 1 000 personnes : bien.", "Non !"],
        [["«Où vas-tu?» demanda-t-il; elle n'a pas répondu!", "Il y avait 1\u202f000 personnes : trop.", "Non\u00a0!"]],
    ),
    "Chinese": Lines(
        "zh",
        ["我有一只黑色的狗,它叫小白。", "会议将于2014年3月5日在北京举行。", "你好!"],
        [["我有一只白色的狗,它的名字叫小白。", "会议于2014年3月5日在北京召开。", "您好！"]],
        "zh",
        ("--ter-normalized", "--ter-asian-support"),
    ),
    "blanks": Lines(
        "de",
        ["Die Katze schläft auf dem Sofa.", "", "   ", "Zu viel des Guten hier.", ""],
        [["Die Katze schläft auf dem Sofa.", "Der Hund ist wach.", "Es regnet seit gestern.", "", ""]],
    ),
    "symbols and addresses": Lines(
        "en",
        [
            "See https://example.org/a_b?c=d&e=f for R&D @ 5 < 6.",
            "Cost: $5.00/kg [sic] – #1 {x} *y*",
            "&quot;Q&amp;A&quot;",
        ],
        [["See https://example.org/a-b?c=d&e=f for R & D at 5 < 6.", "Costs: $5/kg [sic] - #1 {x} *y*", '"Q&A"']],
    ),
    "case": Lines(
        "de",
        ["DER HUND UND DIE KATZE SIND FREUNDE.", "die straße ist lang und gerade", "Weiß GROSS heiß"],
        [["Der Hund und die Katze sind Freunde.", "Die Straße ist lang und gerade.", "weiß groß heiß"]],
    ),
    "two references": Lines(
        "ru",
        ["Собака бежит по снегу.", "Он сказал, что придёт завтра утром.", "Сколько это стоит?"],
        [
            ["Собака бежит по свежему снегу.", "Он сказал, что придёт завтра.", "Почём это?"],
            ["Пёс бежит по снегу.", "Он обещал прийти завтра утром.", "Сколько это будет стоить?"],
        ],
    ),
    "short and repeated": Lines(
        "en",
        ["the the the the the", "yes", "a a b b", "no no no", "on and on and on"],
        [["the cat", "yes", "a b a b", "no", "on and on and on and on"]],
    ),
    "Thai": Lines("th", ["ฉันมีสุนัขสีดำ", "สวัสดีครับ"], [["ฉันมีสุนัขสีขาว", "สวัสดีค่ะ"]], "char"),
}


PROGRAM = """
import json, sys
from sacrebleu.sacrebleu import main
kept = [sys.stdin, sys.stdout]
for arguments in json.load(open(sys.argv[1], encoding="utf-8")):
    sys.argv = ["sacrebleu", *arguments]
    main()
    kept += [sys.stdin, sys.stdout]  # it opens them anew, and where the old ones went they would be closed
    sys.stdout.write("\\0")
    sys.stdout.flush()
"""
"""Calls sacreBLEU's command once for each list of arguments, since one call takes half a second to begin."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all sets, each in a folder of its own: h, r0, r1, ..."""
    folder = tmp_path_factory.mktemp("sets")
    for name, lines in SETS.items():
        for file, text in [("h", lines.hypotheses), *((f"r{n}", each) for n, each in enumerate(lines.references))]:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / file).write_bytes("".join(f"{line}\n" for line in text).encode())
    return folder


@pytest.fixture(scope="module")
def theirs(folder: Path) -> dict[str, dict[str, str]]:
    """What sacreBLEU's command says of each set: name, two decimals."""
    calls: dict[str, list[list[str]]] = {}
    for name, lines in SETS.items():
        files = [*(str(folder / name / f"r{n}") for n in range(len(lines.references))), "-i", str(folder / name / "h")]
        calls[name] = [
            [*files, "-w", "2", "-m", "bleu", "chrf", "--tokenize", lines.tokenize],
            [*files, "-w", "2", "-m", "chrf", "--chrf-word-order", "2"],
            [*files, "-w", "2", "-m", "ter", *lines.ter],
        ]
    asked = folder / "calls.json"
    asked.write_text(json.dumps([call for each in calls.values() for call in each]), encoding="utf-8")
    program = [sys.executable, "-c", PROGRAM, asked]
    done = subprocess.run(program, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    answers = iter(done.stdout.decode().split("\0"))
    found: dict[str, dict[str, str]] = {}
    for name, own in calls.items():
        for answer in (json.loads(next(answers)) for _ in own):
            for score in answer if isinstance(answer, list) else [answer]:
                found.setdefault(name, {})[score["name"]] = f"{score['score']:.2f}"
    return found


@pytest.mark.parametrize("name", SETS)
def test_scores_are_those_of_the_command(name, folder, theirs, capsys):
    lines, files = SETS[name], folder / name
    references = tuple(files / f"r{n}" for n in range(len(lines.references)))
    config = ScoreConfig(significance=SignificanceConfig(draws=0))
    score_files(config, lines.language, Log("silent"), Given((str(files / "h"),), references), Output("json"))
    (test_set,) = json.loads(capsys.readouterr().out)["sets"]
    ours = {score["name"]: f"{score['value']:.2f}" for score in test_set["systems"][0]["scores"]}
    own = {"BLEU-tok", "BLEU-split"} if lines.language not in ("zh", "th") else set()
    assert set(ours) - own == set(theirs[name]) - ({"TER"} if lines.language == "th" else set())
    assert {metric: value for metric, value in ours.items() if metric not in own} == {
        metric: value for metric, value in theirs[name].items() if metric in ours
    }


def test_there_are_ten_sets_whose_scores_say_something(theirs):
    assert len(SETS) >= 10
    for name, scores in theirs.items():
        assert all(0 < float(value) < 100 for metric, value in scores.items() if metric != "TER"), name
