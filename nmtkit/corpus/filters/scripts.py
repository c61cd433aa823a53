"""Which scripts languages are written in."""

import re

_SCRIPTS = {
    "Latin": (
        "af ak an ast ay az bi bm br bs ca ceb ch co crh cs csb cy da de dsb ee en eo es et eu ext ff fi fil "
        "fj fo fr frp fur fy ga gd gl gn gsw gv ha haw hil hr hsb ht hu ia id ie ig ilo io is it jv kab kea "
        "kg ki kl kw la lb lg li lij lmo ln lt ltg lu lv mg mi min ms mt nah nap nb nd nds nl nn no nov nr "
        "nso nv ny oc om pag pam pap pcm pl pms pt qu rm rn ro rup rw sc scn sco se sg sk sl sm sn so sq ss "
        "st stq su sv sw szl tet tk tl tn to tpi tr ts tw ty uz vec vi vls vo wa wo xh yo za zea zu"
    ),
    "Cyrillic": (
        "ab av ba be bg bxr ce cv inh kbd kk kv ky lbe lez mdf mhr mk mn mrj myv os ru rue sah tg tt tyv udm uk"
    ),
    "Arabic": "ar ary arz azb bal ckb fa fas glk ks lrc mzn pnb ps sd skr ug ur",
    "Hebrew": "he iw yi",
    "Greek": "el pnt",
    "Armenian": "hy hyw",
    "Georgian": "ka xmf",
    "Devanagari": "awa bho brx doi gom hi mag mai mr ne new sa",
    "Bengali": "as bn bpy",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml tcy",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Khmer": "km",
    "Myanmar": "my mnw shn",
    "Tibetan": "bo dz",
    "Ethiopic": "am gez ti",
    "Thaana": "dv",
    "Cherokee": "chr",
    "Ol_Chiki": "sat",
    "Han": "cdo gan hak lzh wuu yue zh",
    "Hangul Han": "ko",
    "Hiragana Katakana Han": "ja",
    "Cyrillic Latin": "sh sr",
    "Bengali Meetei_Mayek": "mni",
}
"""Languages of each script, or of several scripts; those that are usually written in one of several are left out."""

_CODES = {
    **{"Latn": "Latin", "Cyrl": "Cyrillic", "Grek": "Greek", "Armn": "Armenian", "Geor": "Georgian", "Hebr": "Hebrew"},
    **{"Arab": "Arabic", "Syrc": "Syriac", "Thaa": "Thaana", "Nkoo": "Nko", "Adlm": "Adlam", "Ethi": "Ethiopic"},
    **{"Deva": "Devanagari", "Beng": "Bengali", "Gujr": "Gujarati", "Guru": "Gurmukhi", "Orya": "Oriya"},
    **{"Taml": "Tamil", "Telu": "Telugu", "Knda": "Kannada", "Mlym": "Malayalam", "Sinh": "Sinhala"},
    **{"Laoo": "Lao", "Khmr": "Khmer", "Mymr": "Myanmar", "Tibt": "Tibetan", "Cher": "Cherokee", "Olck": "Ol_Chiki"},
    **{"Mtei": "Meetei_Mayek", "Tfng": "Tifinagh", "Mong": "Mongolian", "Hang": "Hangul", "Hani": "Han"},
    **{"Hans": "Han", "Hant": "Han", "Jpan": "Hiragana Katakana Han", "Kore": "Hangul Han"},
}
"""Scripts by the four letters that ISO 15924 has for them, where these are not their name."""

SCRIPTS = frozenset(" ".join([*_SCRIPTS, *_CODES.values()]).split())
"""The scripts that are known by their names in Unicode."""


def scripts_of(language: str) -> list[str]:
    """Return the scripts of a language by its code, by their names in Unicode; empty where it is not known.

    A code of a language with its script (sr-Latn, zh_Hant) says which.
    """
    code, *rest = re.split("[-_]", language)
    written = next((part.title() for part in rest if len(part) == 4 and part.isalpha()), "")
    if written:
        return _CODES.get(written, written).split()
    return next((scripts.split() for scripts, codes in _SCRIPTS.items() if code.lower() in codes.split()), [])
