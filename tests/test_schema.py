from nmtkit.config import Config
from nmtkit.schema import everywhere, options


def test_every_key_has_a_description_and_a_known_type():
    tables, seen = [Config], set()
    while tables:
        section = tables.pop()
        if section in seen:
            continue
        seen.add(section)
        assert section.__doc__, section
        for name, option in options(section).items():
            assert name == "kind" or option.description.endswith((".", ")")), (section, name)
            assert option.type in {"integer", "number", "string", "true or false", "table", "list", "string or list"}
            assert option.sections or option.type != "table"
            assert not option.sections or option.type in {"table", "list"}
            tables += option.sections
    assert len(seen) > 25


def test_everywhere_walks_all_keys():
    keys = set(everywhere(Config))
    assert {
        ("", "train"),
        ("train.schedule", "decay_to"),
        ("corpus.train[]", "tsv"),
        ("translate.search", "beam"),
    } <= keys
