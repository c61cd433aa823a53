"""Languages as metrics see them: by two letters, with or without spaces between words."""

_TWO_LETTERS = {
    **{"zho": "zh", "chi": "zh", "cmn": "zh", "yue": "zh", "wuu": "zh", "nan": "zh", "hak": "zh", "lzh": "zh"},
    **{"jpn": "ja", "kor": "ko", "tha": "th", "lao": "lo", "khm": "km", "mya": "my", "bur": "my"},
    **{"bod": "bo", "tib": "bo", "dzo": "dz"},
    **{"deu": "de", "ger": "de", "eng": "en", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt"},
    **{"nld": "nl", "dut": "nl", "ces": "cs", "cze": "cs", "slk": "sk", "slo": "sk", "slv": "sl", "pol": "pl"},
    **{"ron": "ro", "rum": "ro", "rus": "ru", "hun": "hu", "fin": "fi", "swe": "sv", "est": "et", "lav": "lv"},
    **{"lvs": "lv", "lit": "lt", "ell": "el", "gre": "el", "cat": "ca", "isl": "is", "ice": "is", "gle": "ga"},
    **{"asm": "as", "ben": "bn", "guj": "gu", "hin": "hi", "kan": "kn", "mal": "ml", "mar": "mr", "ori": "or"},
    **{"ory": "or", "pan": "pa", "tam": "ta", "tel": "te"},
}
"""Codes of three letters (ISO 639-2 and 639-3) for languages that a metric treats in a way of their own."""

UNKNOWN = "und"
"""The code of a language that nobody named."""

UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo", "dz", "shn"})
"""Languages that put no spaces between words."""


def primary_language(code: str) -> str:
    """Return a language code without script and region, in two letters where it has such a code: deu_Latn is de."""
    primary = code.lower().replace("_", "-").split("-")[0]
    return _TWO_LETTERS.get(primary, primary)
