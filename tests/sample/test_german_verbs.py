import pytest

from nmtkit.sample import german_verbs
from nmtkit.sample.lexicon import lexicon

# ich, du, er, wir, ihr, sie of the present; er and wir of the preterite; participle; imperatives
VERBS = {
    "buy": "kaufe kaufst kauft kaufen kauft kaufen, kaufte kauften, gekauft, kauf kauft",
    "work": "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten, arbeitete arbeiteten, gearbeitet, arbeite arbeitet",
    "open": "öffne öffnest öffnet öffnen öffnet öffnen, öffnete öffneten, geöffnet, öffne öffnet",
    "draw": "zeichne zeichnest zeichnet zeichnen zeichnet zeichnen, zeichnete zeichneten, gezeichnet, zeichne zeichnet",
    "learn": "lerne lernst lernt lernen lernt lernen, lernte lernten, gelernt, lern lernt",
    "collect": "sammle sammelst sammelt sammeln sammelt sammeln, sammelte sammelten, gesammelt, sammle sammelt",
    "feed": "füttere fütterst füttert füttern füttert füttern, fütterte fütterten, gefüttert, füttere füttert",
    "see": "sehe siehst sieht sehen seht sehen, sah sahen, gesehen, sieh seht",
    "read": "lese liest liest lesen lest lesen, las lasen, gelesen, lies lest",
    "eat": "esse isst isst essen esst essen, aß aßen, gegessen, iss esst",
    "give": "gebe gibst gibt geben gebt geben, gab gaben, gegeben, gib gebt",
    "help": "helfe hilfst hilft helfen helft helfen, half halfen, geholfen, hilf helft",
    "wash": "wasche wäschst wäscht waschen wascht waschen, wusch wuschen, gewaschen, wasch wascht",
    "find": "finde findest findet finden findet finden, fand fanden, gefunden, finde findet",
    "stop": "halte hältst hält halten haltet halten, hielt hielten, angehalten, halte haltet",
    "invite": "lade lädst lädt laden ladet laden, lud luden, eingeladen, lade ladet",
    "play": "spiele spielst spielt spielen spielt spielen, spielte spielten, gespielt, spiel spielt",
    "repair": "repariere reparierst repariert reparieren repariert reparieren, reparierte reparierten, repariert, "
    "repariere repariert",
    "visit": "besuche besuchst besucht besuchen besucht besuchen, besuchte besuchten, besucht, besuch besucht",
    "be": "bin bist ist sind seid sind, war waren, gewesen, sei seid",
}


@pytest.mark.parametrize(("english", "forms"), VERBS.items())
def test_conjugation(english, forms):
    verb = next(entry for entry in lexicon().verbs if entry.name == english).german
    present = [german_verbs.finite(verb, "present", person, plural) for plural in (False, True) for person in (1, 2, 3)]
    preterite = [german_verbs.finite(verb, "past", 3, plural) for plural in (False, True)]
    commands = [german_verbs.imperative(verb, plural) for plural in (False, True)]
    groups = (present, preterite, [german_verbs.participle(verb)], commands)
    assert ", ".join(" ".join(group) for group in groups) == forms


@pytest.mark.parametrize(
    ("infinitive", "tense", "forms"),
    [
        ("haben", "present", "habe hast hat haben habt haben"),
        ("werden", "present", "werde wirst wird werden werdet werden"),
        ("werden", "past", "wurde wurdest wurde wurden wurdet wurden"),
        ("werden", "conditional", "würde würdest würde würden würdet würden"),
        ("können", "present", "kann kannst kann können könnt können"),
        ("müssen", "past", "musste musstest musste mussten musstet mussten"),
        ("wollen", "present", "will willst will wollen wollt wollen"),
        ("dürfen", "present", "darf darfst darf dürfen dürft dürfen"),
        ("mögen", "conditional", "möchte möchtest möchte möchten möchtet möchten"),
        ("sein", "conditional", "wäre wärest wäre wären wäret wären"),
    ],
)
def test_auxiliaries_and_modals(infinitive, tense, forms):
    made = [
        german_verbs.auxiliary(infinitive, tense, person, plural) for plural in (False, True) for person in (1, 2, 3)
    ]
    assert " ".join(made) == forms


@pytest.mark.parametrize(
    ("english", "plain", "with_zu"),
    [
        ("buy", "kaufen", "zu kaufen"),
        ("invite", "einladen", "einzuladen"),
        ("give back", "zurückgeben", "zurückzugeben"),
        ("visit", "besuchen", "zu besuchen"),
    ],
)
def test_infinitives(english, plain, with_zu):
    verb = lexicon().verb(english).german
    assert (german_verbs.infinitive(verb), german_verbs.infinitive(verb, zu=True)) == (plain, with_zu)


def test_which_verbs_form_the_perfect_with_sein():
    names = {verb.german.prefix + verb.german.infinitive for verb in lexicon().verbs if verb.german.with_sein}
    assert {"gehen", "aufstehen", "ankommen", "einschlafen", "rennen", "folgen", "sein", "verschwinden"} <= names
    assert not {"kaufen", "sehen", "stehen", "schlafen", "arbeiten", "sich ausruhen"} & names
