"""Lines of text for property tests: anything, and more than by chance of what the rules look for."""

from hypothesis import strategies as st

from nmtkit.corpus.lines import clean

SPECIAL = [
    *" \u00a0\u202f\u3000\u2009\u1680\u200b\u200d\u200e\u00ad\ufeff\u0085\u2028",
    *"é\u0301ñß\u0308ｱ\u3099が\u1112\u1161\u11abﬁⅧ２٣",
    *"\"'`„“”«»‚‘’…–—-.,:;!?%()[]{}<>&|/@#￭▁",
    *[
        "a",
        "B",
        "z",
        "0",
        "17",
        "1.000",
        "  ",
        "@-@",
        "DOTMULTI",
        "...",
        "www.x.de",
        "http://a.b/c",
        "-li",
        "s'",
        "I'm",
    ],
    *["и", "日本", "ह", "ि", "ا", "α", "µ"],
]
ANY = st.text(max_size=20)
LINES = st.one_of(ANY, st.lists(st.sampled_from(SPECIAL), max_size=12).map("".join)).map(clean)
"""Clean lines."""
PAIRS = st.lists(st.tuples(LINES, LINES) | LINES.map(lambda line: (line, line)), max_size=12)
