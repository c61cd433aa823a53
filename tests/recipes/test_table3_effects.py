"""Effects beside the paper's: spread of seeds, intervals, ranks, and what the table says of them."""

import json
import math

import pytest
from recipe_parts.table3_cells import Cell, Result
from recipe_parts.table3_effects import PERPLEXITY, SCORE, _margin, agreement, effects, spearman, spread
from recipe_parts.table3_rows import BASE, ROWS, LeftOut, variations
from recipe_parts.table3_show import Table, markdown, plain

from nmtkit.config import resolve

NAMED = {row.name: row for row in ROWS}


def result(score: float, perplexity: float = 5.0, seed: int = 1) -> Result:
    return Result(seed, 1_234_567, perplexity, score, "BLEU", "a signature", 100, 60.0)


def found(**scores: list[float]):
    """Return results by row, `C_2_layers` meaning C-2-layers."""
    names = {name: name.replace("_", "-") for name in scores}
    return {NAMED[names[name]]: [result(score) for score in each] for name, each in scores.items()}


def test_the_spread_is_pooled_over_rows() -> None:
    """Squares around the means: 2 × 1², 2 × 2², none of a single training; 3 - 1 + 2 - 1 … degrees of freedom."""
    deviation, freedom = spread(found(base=[10, 12], A1=[20, 24], A4=[7]), SCORE)
    assert (deviation, freedom) == (pytest.approx(math.sqrt((2 + 8) / 2)), 2)
    assert spread(found(base=[10], A1=[20]), SCORE) is None


def test_effects_are_differences_to_the_base_with_an_interval() -> None:
    base, a1 = [10.0, 12.0], [20.0, 24.0]
    (effect,) = effects(found(base=base, A1=a1), SCORE)
    assert effect.row is NAMED["A1"]
    assert effect.here == pytest.approx(11)
    assert effect.paper == pytest.approx(24.9 - 25.8)
    # Student's t of two degrees of freedom, 4.30; standard deviation of one training √5; means of two and two.
    assert effect.margin == pytest.approx(4.30 * math.sqrt(5) * math.sqrt(1 / 2 + 1 / 2))
    assert effect.is_clear
    (smaller,) = effects(found(base=base, A1=[9, 11]), SCORE)
    assert not smaller.is_clear


def test_perplexities_are_compared_by_their_logarithms() -> None:
    results = {BASE: [result(1, 4.0)], NAMED["A1"]: [result(1, 8.0)]}
    (effect,) = effects(results, PERPLEXITY)
    assert effect.here == pytest.approx(math.log(2))
    assert effect.paper == pytest.approx(math.log(5.29 / 4.92))
    assert effect.margin is None
    assert not effect.is_clear


def test_without_the_base_there_are_no_effects() -> None:
    assert effects(found(A1=[1, 2]), SCORE) == []


@pytest.mark.parametrize(
    ("one", "other", "correlation"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3], [1, 3, 2], 0.5),
        ([1, 1, 2], [1, 2, 3], 0.5 / math.sqrt(1 / 3)),  # ranks 0.5, 0.5, 2 beside 0, 1, 2
        ([1, 1, 1], [1, 2, 3], None),
    ],
)
def test_rank_correlation(one, other, correlation) -> None:
    found = spearman(one, other)
    assert found is None if correlation is None else found == pytest.approx(correlation)


def test_agreement_counts_orders_and_directions() -> None:
    """The paper: 2 layers -2.1, 1 head -0.9, feed-forward 4096 +0.4; here the same order, the last one unclear."""
    scores = found(base=[30, 30.2], A1=[28, 28.2], C_2_layers=[25, 25.2], C_ff_4096=[30.1, 30.3])
    agreed = agreement(scores, SCORE)
    assert agreed.rows == 3
    assert agreed.correlation == pytest.approx(1)
    assert agreed.chance == pytest.approx(1 / 6)
    assert (agreed.directed, agreed.same_direction, agreed.clear, agreed.clear_same_direction) == (3, 3, 2, 2)
    assert agreed.low <= agreed.high <= 1


def test_rows_without_an_effect_in_the_paper_have_no_direction() -> None:
    """Sixteen heads have the BLEU of eight there."""
    agreed = agreement(found(base=[30, 30.2], A1=[28, 28.2], A16=[20, 20.2], C_2_layers=[25, 25.2]), SCORE)
    assert (agreed.rows, agreed.directed, agreed.same_direction) == (3, 2, 2)
    assert (agreed.clear, agreed.clear_same_direction) == (2, 2)


@pytest.mark.parametrize(("freedom", "quantile"), [(30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980)])
def test_intervals_are_students(freedom: int, quantile: float) -> None:
    assert _margin((1.0, freedom), 2, 2) == pytest.approx(quantile, abs=0.004)


def test_agreement_of_many_rows_is_drawn_and_the_same_each_time() -> None:
    rows = [row for row in ROWS if row is not BASE][:10]
    scores = {BASE: [result(30)], **{row: [result(row.paper.bleu)] for row in rows}}
    agreed = agreement(scores, SCORE)
    assert agreed.correlation == pytest.approx(1)
    assert 0 < agreed.chance < 0.001
    assert (agreed.low, agreed.high) == (-1, 1)  # one training a row says nothing of the spread
    assert agreement(scores, SCORE) == agreed


def test_two_rows_have_no_order_to_speak_of() -> None:
    assert agreement(found(base=[3], A1=[1], A4=[2]), SCORE) is None


@pytest.fixture
def table(tmp_path) -> Table:
    """Two seeds of the base and of three rows, one seed of a fourth, none of a fifth."""
    tables = {"languages": {"source": "en", "target": "de"}, "corpus": {"dev": {"name": "the dev", "tsv": "d"}}}
    config = resolve({**tables, "model": {"preset": "base"}}, "x.toml")
    names = ("base", "A1", "C-2-layers", "C-ff-4096", "D-dropout-0", "E")
    rows, _ = variations(config, [NAMED[name] for name in names])
    scores = {"base": (30, 30.2), "A1": (28, 28.2), "C-2-layers": (31, 31.2), "C-ff-4096": (30.1, 30.3), "E": (29,)}
    cells = []
    for variation in rows:
        for seed in (1, 2):
            cell = Cell(variation, seed, tmp_path / f"{variation.row.name}-{seed}")
            cells.append(cell)
            values = scores.get(variation.row.name, ())
            if seed > len(values):
                continue
            cell.run.mkdir()
            card = {
                "training": {"ended": "train.stop.updates = 9", "updates": 9},
                "development": {
                    "last": {
                        "update": 9,
                        "perplexity": 5.0,
                        "score": values[seed - 1],
                        "metric": "BLEU",
                        "signature": "s",
                    }
                },
                "model": {"parameters": {"encoder": 1_000_000, "decoder": 500_000}},
                "time": {"seconds": 3.5},
            }
            (cell.run / "run.json").write_text(json.dumps(card), encoding="utf-8")
    return Table(config, rows, [LeftOut(NAMED["A32"], "too many")], cells)


def test_the_table_says_what_is_clear_and_what_is_not(table: Table) -> None:
    text = markdown(table)
    lines = {line.split("|")[1].strip(): line for line in text.split("\n") if line.startswith("|")}
    rows = [line for line in text.split("\n") if line.startswith("| C-2-layers")]
    assert [cell.strip() for cell in rows[0].split("|")[1:-1]] == [
        "C-2-layers", "2 layers", "layers 6 → 2", "2", "36", "1.50", "6.11", "5.00 (5.00 to 5.00)", "23.7",
        "31.10 (31.00 to 31.20)",
    ]  # fmt: skip
    assert rows[1].endswith("| BLEU beyond the spread; BLEU against the paper |") or "against the paper" in rows[1]
    assert "+1.00" in rows[1]
    assert "within the spread of seeds" in lines["C-ff-4096"]
    assert "beyond the spread" in lines["A1"]
    assert "against" not in lines["A1"]
    assert "| D-dropout-0 | dropout 0" in text
    assert "The same direction as in the paper: " in text
    assert "- A32 (32 heads): too many" in text
    assert "BLEU: `s`." in text
    widths = {len(line) for line in text.split("\n") if line.startswith("| base") or line.startswith("| row")}
    assert len(widths) <= 2  # each of the two tables has columns one under the other


def test_the_json_has_every_training(table: Table) -> None:
    content = json.loads(json.dumps(plain(table)))
    rows = {row["row"]: row for row in content["rows"]}
    assert [each["score"] for each in rows["A1"]["results"]] == [28, 28.2]
    assert rows["A1"]["settings"] == {"model.heads": 1}
    assert rows["A1"]["paper"] == {"perplexity": 5.29, "bleu": 24.9, "parameters": None}
    assert rows["A1"]["effects"]["BLEU"]["here"] == pytest.approx(-2)
    assert rows["A1"]["effects"]["BLEU"]["clear"] is True
    assert rows["D-dropout-0"]["results"] == []
    assert rows["D-dropout-0"]["effects"]["BLEU"] is None
    assert content["agreement"]["BLEU"]["rows"] == 4
    assert content["left_out"] == [{"row": "A32", "why": "too many"}]


def test_a_table_without_any_training_is_a_table(table: Table) -> None:
    empty = table._replace(cells=[cell for cell in table.cells if cell.result() is None])
    assert "| base" in markdown(empty)
    assert plain(empty)["agreement"] == {"perplexity": None, "BLEU": None}
