"""Scores as tables, as a person sees them."""

import re
from dataclasses import replace

import pytest

from nmtkit.commands import score_results
from nmtkit.commands.score_results import Part, Result, SystemScores
from nmtkit.commands.score_tables import Scores, latex, markdown, print_tables
from nmtkit.metrics.base import Score
from nmtkit.metrics.significance import Comparison, Interval

NAMES = ["BLEU", "BLEU-tok", "BLEU-split", "chrF2", "chrF2++", "TER"]
DRAWN = "bs:1000|ar:1000|seed:12345"


def results(value: float, comparison: Comparison | None = None, *, draws: bool = True) -> list[Result]:
    interval = Interval(value - 1, value + 1.5) if draws else None
    scores = [Score(name, value + n, f"nrefs:1|sign:{name}", name != "TER") for n, name in enumerate(NAMES)]
    return [Result(score, interval, comparison) for score in scores]


def system(name, value, comparison=None, labels=(), *, draws=True):
    parts = [Part(label, 12, results(value + 10, comparison, draws=draws)) for label in labels]
    return SystemScores(name, f"{name}.txt", 0, results(value, comparison, draws=draws), parts)


SURE, UNSURE = Comparison(0.5, 0.001, 0.002), Comparison(0.5, 0.04, 0.06)


def set_of(name="test_2016_flickr", labels=(), *, several=True, draws=True):
    systems = [system("base", 38.974, None, labels, draws=draws)]
    if several:
        comparisons = (SURE, UNSURE) if draws else (None, None)
        systems += [
            system("big", 39.8, comparisons[0], labels, draws=draws),
            system("distilled", 8.5, comparisons[1], labels, draws=draws),
        ]
    return score_results.TestSet(name, 1000, None, ["r.de"], systems)


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return the lines that a terminal of so many columns shows."""

    def show(scores, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_tables(scores)
        return [line.rstrip() for line in capsys.readouterr().out.split("\n")]

    return show


def test_six_metrics_of_three_systems_go_into_eighty_columns(shown):
    lines = shown(Scores([set_of(labels=["news"])], DRAWN))
    assert max(map(len, lines[:16])) <= 80
    (row,) = [n for n, line in enumerate(lines) if line.startswith(" test_2016_flickr  base")]
    assert lines[row] == " test_2016_flickr  base        38.97   39.97    40.97    41.97    42.97   43.97"
    assert lines[row + 1] == " 1,000 lines                   ±1.25   ±1.25    ±1.25    ±1.25    ±1.25   ±1.25"
    assert lines[row + 2].split() == ["big", *(f"{39.8 + n:.2f}*" for n in range(6))]
    assert lines[row + 4].split() == ["distilled", *(f"{8.5 + n:.2f}" for n in range(6))]
    assert lines[row + 6].split()[:3] == ["news", "(12)", "base"]
    assert "…" not in "\n".join(lines)


def test_p_values_stand_below_each_other(shown):
    lines = shown(Scores([set_of(), set_of("other")], DRAWN))
    title = next(n for n, line in enumerate(lines) if line.startswith("p-values against base: paired bootstrap"))
    below = [line.split() for line in lines[title:] if line.strip()]
    assert ["test_2016_flickr", "big", *["0.0010"] * 6] in below
    assert ["distilled", *["0.0400"] * 6] in below
    assert below.count(["0.0600"] * 6) == 2
    assert ["other", "big", *["0.0010"] * 6] in below


def test_signatures_are_whole_lines_below(shown):
    lines = shown(Scores([set_of()], DRAWN), columns=40)
    assert [line for line in lines if "sign:" in line] == [f"{name}  nrefs:1|sign:{name}" for name in NAMES]
    assert f"± and p  {DRAWN}" in lines
    assert "* differs from base: p < 0.05 in both tests" in lines


def test_test_sets_with_other_signatures_are_named(shown):
    other = set_of("other", several=False)
    scores = [replace(result, score=result.score._replace(signature="nrefs:2|x")) for result in other.systems[0].scores]
    other = replace(other, systems=[replace(other.systems[0], scores=scores)])
    lines = shown(Scores([set_of("one", several=False), other, set_of("two", several=False)], ""))
    assert "BLEU (one, two)  nrefs:1|sign:BLEU" in lines
    assert "BLEU (other)  nrefs:2|x" in lines


def test_one_system_has_neither_column_nor_marks(shown):
    lines = shown(Scores([set_of(several=False, labels=["[red] cows"])], "bs:9", "scores of checkpoint average"))
    assert lines[0] == "scores of checkpoint average"
    text = "\n".join(lines)
    assert "base" not in text
    assert "*" not in text
    assert "   [red] cows (12)  " in text
    assert "±  bs:9" in lines
    assert "p-values" not in text


def test_without_draws_there_is_no_plus_minus(shown):
    text = "\n".join(shown(Scores([set_of(draws=False)], "")))
    assert "±" not in text
    assert "p-values" not in text


def test_a_narrow_terminal_breaks_names_and_not_numbers(shown):
    lines = shown(Scores([set_of(name="a_rather_long_name_of_a_test_set")], DRAWN), columns=70)
    assert "39.80*" in "\n".join(lines)
    assert "…" not in "\n".join(lines)


def test_several_test_sets_share_a_table():
    text = markdown(Scores([set_of("one"), set_of("two", several=True)], DRAWN))
    rows = [line for line in text.split("\n") if line.startswith("| ")]
    named = [row.split(" | ")[0] for row in rows[2:8]]
    assert named == ["| one, 1,000 lines", "| ", "| ", "| two, 1,000 lines", "| ", "| "]


def test_markdown():
    text = markdown(Scores([set_of("a|b_c")], DRAWN))
    lines = text.split("\n")
    assert lines[0] == "| test set | system | BLEU ↑ | BLEU-tok ↑ | BLEU-split ↑ | chrF2 ↑ | chrF2++ ↑ | TER ↓ |"
    assert lines[1] == "| :-- | :-- | --: | --: | --: | --: | --: | --: |"
    assert lines[2].startswith(r"| a\|b\_c, 1,000 lines | base | 38.97 ±1.25 | 39.97 ±1.25 |")
    assert lines[3].startswith(r"|  | big | 39.80\* ±1.25 |")
    assert r"| a\|b\_c | big | 0.0010 / 0.0020 |" in text
    assert "- BLEU-tok: `nrefs:1|sign:BLEU-tok`\n" in text
    assert text.endswith("\\* differs from base: p \\< 0.05 in both tests\n")


def test_latex():
    text = latex(Scores([set_of("a_b & 50%"), set_of("two")], DRAWN))
    lines = text.split("\n")
    assert lines[:3] == [r"\begin{tabular}{llrrrrrr}", r"\toprule", lines[2]]
    assert lines[2].startswith(r"test set & system & BLEU $\uparrow$ & BLEU-tok $\uparrow$ &")
    assert lines[4].startswith(r"a\_b \& 50\%, 1,000 lines & base & 38.97 {\scriptsize $\pm$1.25} &")
    assert lines[5].startswith(r" & big & 39.80$^{*}$ {\scriptsize $\pm$1.25} &")
    assert all(line.endswith(r" \\") for line in lines[4:7])
    assert lines[7] == r"\midrule"
    assert lines[lines.index(r"\end{tabular}") - 1] == r"\bottomrule"
    assert text.count(r"\begin{tabular}") == 2
    assert r"a\_b \& 50\% & big & 0.0010 / 0.0020 &" in text
    assert "% TER  nrefs:1|sign:TER\n" in text


@pytest.mark.parametrize("render", [markdown, latex])
def test_what_a_name_holds_breaks_no_table(render):
    evil = "a\nb\tc\\d|e&f_g{h}$"
    text = render(Scores([set_of(evil)], ""))
    rows = [line for line in text.split("\n") if "base" in line]
    assert len(rows) == 1
    assert "\t" not in text


def named(name):
    """Return scores of a test set and a baseline of this name, and of a system that differs from it."""
    found = set_of(name)
    return Scores([replace(found, systems=[replace(found.systems[0], name=name), *found.systems[1:]])], DRAWN)


def test_a_name_is_text_in_markdown_wherever_it_stands():
    text = markdown(named("[a](b) *c* ~~d~~ $e$ &lt; _f_"))
    lines = [line for line in text.split("\n") if "(b)" in line]
    assert len(lines) == 4  # a row of each table, the title of the second one, the legend
    assert not any(re.search(r"(?<!\\)[\[\]*~$&_<]", line) for line in lines)


def test_a_name_is_text_in_latex_wherever_it_stands():
    text = latex(named("[1pt]*"))
    assert not re.search(r"^ *[\[*]", text, re.MULTILINE), "what stands so behind a rule or a row is its option"
    assert r"{[}1pt]{*}, 1,000 lines & {[}1pt]{*} & 38.97 {" in text, "no mark of significance"
