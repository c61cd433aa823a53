from pathlib import Path

from nmtkit.commands.options import options
from nmtkit.config import Config
from nmtkit.schema import everywhere, kind_of
from nmtkit.schema import options as keys_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"


def test_page_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == options(), "stale: run `nmtkit options > docs/options.md`"


def test_page_tells_every_table_key_and_kind():
    page = options()
    tables = {table.replace("[]", "") for table, _ in everywhere(Config)} - {""}
    headings = {line.strip("# ") for line in page.split("\n") if line.startswith("##")}
    assert headings == tables | {"Tables"}
    for table, key in everywhere(Config):
        assert not table or key == "kind" or f"| `{key}` |" in page or f".{key}](#" in page, (table, key)
    kinds = {kind_of(section) for option in keys_of(Config).values() for section in _below(option.sections)}
    assert {"beam", "noam", "bpe", "bleu", "transformer", "adam"} <= kinds
    for kind in kinds - {""}:
        assert f'**`kind = "{kind}"`**: ' in page


def _below(sections):
    for section in sections:
        yield section
        for option in keys_of(section).values():
            yield from _below(option.sections)


def test_links_lead_to_headings():
    page = options()
    anchors = {line.strip("# ").replace(".", "").lower() for line in page.split("\n") if line.startswith("##")}
    links = [part.split(")")[0] for part in page.split("](#")[1:]]
    assert links
    assert set(links) <= anchors


def test_what_was_told_is_referred_to_once():
    filters = options().split("### corpus.train.filters\n")[1].split("\n### ")[0]
    assert filters.count("Its keys are those of [prepare.filters](#preparefilters).") == 1
    assert "kind = " not in filters


def test_what_tables_share_is_told_once_with_what_differs():
    dev, test = (
        options().split(f"\n### corpus.{name}\n")[1].split("\n## ")[0].split("\n### ")[0] for name in ("dev", "test")
    )
    shared = "Its keys are those of [corpus.train](#corpustrain), but for `weight` and `filters`"
    assert f"{shared}.\n" in dev
    assert "| `" not in dev
    assert f"{shared}; and:\n" in test
    assert [line.split(" | ")[0] for line in test.split("\n") if line.startswith("| `")] == [
        "| `more_references`",
        "| `labels`",
    ]


def test_rows_say_type_range_default_and_meaning():
    page = options()
    assert "| `beam` | integer, at least 1 and at most 1000 | `4` | Hypotheses kept for each sentence. |" in page
    assert "| `decay_to` | integer, at least 2 | required | " in page
    assert '| `norm` | `"post"` or `"pre"` | `"post"` | ' in page
    assert "| `width` | integer, at least 2 and at most 65536 | by preset | " in page
    assert "| `width` | 128 | 256 | 512 | 1024 |" in page
    assert "Default: `blank`, `length`, `ratio`, `overlap`, `duplicate`." in page


def test_tables_are_whole():
    width = 0
    for line in options().split("\n"):
        if line.startswith("|"):
            bars = line.replace("\\|", "").count("|")
            assert width in (0, bars), line
            width = bars
        else:
            width = 0
