"""Where things stand, where they are put, where they go: what lies well on, in, under or behind what."""

from nmtkit.sample.draw import Draw, noun_of
from nmtkit.sample.entries import Twin, Verb
from nmtkit.sample.phrases import Phrase, prepositional

_POSITIONS = {  # where what moves or stands can be: preposition, landmarks
    "small": (
        ("in", "container"),
        ("on", "surface"),
        ("under", "surface"),
        ("next to", "furniture"),
        ("behind", "furniture"),
    ),
    "furniture": (("in", "room"), ("next to", "furniture"), ("in front of", "building"), ("behind", "building")),
    "animal": (
        ("in", "outdoor barn stable kitchen"),
        ("behind", "house barn tree bush oak vehicle hut"),
        ("in front of", "building"),
        ("next to", "tree bush oak vehicle barn house"),
        ("under", "table bench bed tree bush oak"),
    ),
    "alive": (
        ("in", "inside"),
        ("behind", "building tree bush oak vehicle"),
        ("in front of", "building"),
        ("next to", "building tree bush oak vehicle"),
        ("under", "tree oak"),
        ("on", "chair bench sofa bed carpet"),
    ),
}


def place(draw: Draw, verb: Verb, moved: Phrase) -> Twin:
    """Return where something stands (dative), or is put or goes (accusative)."""
    noun = noun_of(moved)
    classes = noun.classes if noun else frozenset({"person"})
    kind = "alive"
    if classes & {"small", "clothes", "text"}:
        kind = "small"
    elif classes & {"furniture"}:
        kind = "furniture"
    elif classes & {"animal"}:
        kind = "animal"
    english, landmarks = draw.one(_POSITIONS[kind])
    entry = draw.lexicon.place(english)
    landmark = draw.definite(draw.noun(landmarks.split(), but=[noun]), probability=0.3)
    if verb.frame == "motion":
        return prepositional(Twin(entry.english_motion, entry.german), landmark, "acc")
    if verb.frame == "placing":
        return prepositional(Twin(entry.english, entry.german), landmark, "acc")
    return prepositional(Twin(entry.english, entry.german), landmark, "dat")


def scene(draw: Draw, verb: Verb) -> Twin:
    """Return a place where people do things."""
    if "outside" in verb.flags:
        return prepositional(Twin("in", "in"), draw.definite(draw.noun(["outdoor"]), probability=0.15), "dat")
    if draw.chance(0.2):
        city = draw.one(draw.lexicon.cities)
        return Twin(f"in {city.english}", f"in {city.german}")
    landmark = draw.definite(draw.noun(["inside"]), probability=0.15)
    return prepositional(Twin("in", "in"), landmark, "dat")
