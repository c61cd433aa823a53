"""Sentences of every phenomenon, made of chosen words and compared with answers written out by hand."""

from dataclasses import replace

import pytest

from nmtkit.sample import PHENOMENA, numbers
from nmtkit.sample.clauses import Clause
from nmtkit.sample.entries import Twin
from nmtkit.sample.lexicon import lexicon
from nmtkit.sample.phrases import (
    BARE,
    NOT_A,
    Amount,
    Both,
    NounPhrase,
    Quality,
    first_name,
    owned_by,
    prepositional,
    titled,
)
from nmtkit.sample.pronouns import (
    HE,
    IT,
    NOBODY,
    SHE,
    THEY,
    WE,
    WHO,
    YOU,
    YOU_ALL,
    YOU_POLITE,
    Dropped,
    I,
    Relative,
    pronoun_for,
)
from nmtkit.sample.sentences import after_clause, command, final, infinitive, joined, main, question, sentence

WORDS = lexicon()
COMMA, COMMAS = Twin("", ","), Twin(",", ",")
ANNA, PAUL = (first_name(next(entry for entry in WORDS.first_names if entry.name == name)) for name in ("Anna", "Paul"))


def np(noun, determiner="the", *adjectives, plural=False, degree=0, **more):
    """A noun phrase by its English words; `determiner` "" is none."""
    entry = WORDS.determiner(determiner) if determiner else BARE
    qualities = [Quality(WORDS.adjective(adjective), degree) for adjective in adjectives]
    return NounPhrase(WORDS.noun(noun), entry, plural, qualities=qualities, **more)


def cl(subject, verb, object_=None, *, frame=None, **more):
    return Clause(subject, WORDS.verb(verb, frame), object_, **more)


def pp(english, german, phrase, case):
    return prepositional(Twin(english, german), phrase, case)


def said(words, mark="."):
    return sentence(words, mark)


YESTERDAY, TOMORROW = Twin("yesterday", "gestern"), Twin("tomorrow", "morgen")
KITCHEN = pp("in", "in", np("kitchen"), "dat")


def relative(head, clause, *, english, german):
    """A relative clause that begins with an object."""
    words = main(clause, Twin(english, ""))
    return replace(head, relative=Twin(words.english, f"{german} {final(clause).german}"))


def being(subject, english, german, **more):
    return cl(subject, "be", predicate=Twin(english, german), **more)


MAN_WHO = replace(np("man"), relative=final(cl(Relative(np("man")), "buy", np("bread"))))
SEES_CAR = cl(np("teacher"), "see", np("car"), tense="perfect")

CASES = {
    "main clause": [
        (
            said(main(cl(np("baker"), "buy", np("car", "a", "old")))),
            "The baker buys an old car.",
            "Der Bäcker kauft ein altes Auto.",
        ),
        (
            said(main(cl(I, "read", np("newspaper"), tense="progressive"))),
            "I am reading the newspaper.",
            "Ich lese gerade die Zeitung.",
        ),
        (
            said(main(cl(THEY, "sleep", tense="past", place=KITCHEN, time=YESTERDAY))),
            "They slept in the kitchen yesterday.",
            "Sie schliefen gestern in der Küche.",
        ),
        (
            said(
                main(
                    cl(
                        np("child", "the", plural=True),
                        "eat",
                        np("apple", "", plural=True),
                        frequency=Twin("often", "oft"),
                    )
                )
            ),
            "The children often eat apples.",
            "Die Kinder essen oft Äpfel.",
        ),
    ],
    "future": [
        (
            said(main(cl(np("doctor"), "visit", np("museum"), tense="future"))),
            "The doctor will visit the museum.",
            "Die Ärztin wird das Museum besuchen.",
        ),
        (
            said(main(cl(WE, "arrive", tense="future", time=TOMORROW))),
            "We will arrive tomorrow.",
            "Wir werden morgen ankommen.",
        ),
        (said(main(cl(ANNA, "rest", tense="future"))), "Anna will rest.", "Anna wird sich ausruhen."),
    ],
    "perfect": [
        (
            said(main(cl(np("boy"), "find", np("key"), tense="perfect"))),
            "The boy has found the key.",
            "Der Junge hat den Schlüssel gefunden.",
        ),
        (
            said(main(cl(np("girl", "the", plural=True), "get up", tense="perfect"))),
            "The girls have got up.",
            "Die Mädchen sind aufgestanden.",
        ),
        (
            said(main(cl(np("singer"), "sing", np("song"), tense="perfect", particle="already"))),
            "The singer has already sung the song.",
            "Die Sängerin hat das Lied schon gesungen.",
        ),
    ],
    "modal verb": [
        (
            said(main(cl(np("pupil"), "read", np("book"), modal=WORDS.modal("can")))),
            "The pupil can read the book.",
            "Der Schüler kann das Buch lesen.",
        ),
        (
            said(main(cl(np("pupil", "the", plural=True), "read", np("book"), modal=WORDS.modal("wants to")))),
            "The pupils want to read the book.",
            "Die Schüler wollen das Buch lesen.",
        ),
        (
            said(main(cl(I, "go", modal=WORDS.modal("was allowed to"), place=Twin("home", "nach Hause")))),
            "I was allowed to go home.",
            "Ich durfte nach Hause gehen.",
        ),
        (
            said(main(cl(THEY, "lock up", np("door"), modal=WORDS.modal("had to")))),
            "They had to lock up the door.",
            "Sie mussten die Tür abschließen.",
        ),
    ],
    "passive": [
        (
            said(main(cl(np("letter"), "write", frame="accusative", tense="past", passive=True, agent=np("boy")))),
            "The letter was written by the boy.",
            "Der Brief wurde vom Jungen geschrieben.",
        ),
        (
            said(main(cl(np("car"), "repair", tense="progressive", passive=True))),
            "The car is being repaired.",
            "Das Auto wird gerade repariert.",
        ),
        (
            said(main(cl(np("guest", "the", plural=True), "invite", tense="perfect", passive=True))),
            "The guests have been invited.",
            "Die Gäste sind eingeladen worden.",
        ),
        (
            said(main(cl(np("window"), "open", passive=True, modal=WORDS.modal("must")))),
            "The window must be opened.",
            "Das Fenster muss geöffnet werden.",
        ),
    ],
    "separable verb": [
        (
            said(main(cl(np("colleague", "my"), "call up", PAUL))),
            "My colleague calls up Paul.",
            "Meine Kollegin ruft Paul an.",
        ),
        (said(main(cl(SHE, "turn off", IT["f"], tense="past"))), "She turned it off.", "Sie schaltete sie aus."),
        (said(main(cl(np("train"), "depart", tense="perfect"))), "The train has departed.", "Der Zug ist abgefahren."),
        (
            said(final(cl(np("train"), "depart"), Twin("because", "weil"))),
            "Because the train departs.",
            "Weil der Zug abfährt.",
        ),
    ],
    "reflexive verb": [
        (
            said(main(cl(I, "remember", np("teacher", "my")))),
            "I remember my teacher.",
            "Ich erinnere mich an meine Lehrerin.",
        ),
        (
            said(main(cl(np("woman"), "wash oneself", tense="perfect"))),
            "The woman has washed herself.",
            "Die Frau hat sich gewaschen.",
        ),
        (
            said(main(cl(WE, "choose", np("hat", "a"), tense="past"))),
            "We chose a hat.",
            "Wir suchten uns einen Hut aus.",
        ),
        (said(main(cl(I, "watch", np("film")))), "I watch the film.", "Ich sehe mir den Film an."),
        (
            said(main(cl(np("customer"), "complain", np("soup", "his"), tense="past"), YESTERDAY)),
            "Yesterday the customer complained about his soup.",
            "Gestern beschwerte sich der Kunde über seine Suppe.",
        ),
    ],
    "verb second": [
        (
            said(main(cl(np("farmer"), "sell", np("cow"), tense="past"), YESTERDAY)),
            "Yesterday the farmer sold the cow.",
            "Gestern verkaufte der Bauer die Kuh.",
        ),
        (said(main(cl(HE, "cook", tense="past"), KITCHEN)), "In the kitchen he cooked.", "In der Küche kochte er."),
        (
            said(main(cl(np("actor"), "give back", np("hat"), recipient=ANNA, tense="future"), TOMORROW)),
            "Tomorrow the actor will give back the hat to Anna.",
            "Morgen wird der Schauspieler Anna den Hut zurückgeben.",
        ),
    ],
    "two-way preposition": [
        (
            said(main(cl(np("book"), "lie", place=pp("on", "auf", np("table"), "dat")))),
            "The book lies on the table.",
            "Das Buch liegt auf dem Tisch.",
        ),
        (
            said(main(cl(np("man"), "put", np("book"), place=pp("on", "auf", np("table"), "acc")))),
            "The man puts the book on the table.",
            "Der Mann legt das Buch auf den Tisch.",
        ),
        (
            said(main(cl(np("cat"), "jump", place=pp("into", "in", np("basket"), "acc"), tense="perfect"))),
            "The cat has jumped into the basket.",
            "Die Katze ist in den Korb gesprungen.",
        ),
        (
            said(main(cl(np("cat"), "sit"), pp("in", "in", np("garden"), "dat"))),
            "In the garden the cat sits.",
            "Im Garten sitzt die Katze.",
        ),
    ],
    "direction": [
        (
            said(main(cl(np("tourist"), "travel", tense="perfect", place=Twin("to Vienna", "nach Wien")))),
            "The tourist has travelled to Vienna.",
            "Der Tourist ist nach Wien gereist.",
        ),
        (
            said(main(cl(WE, "go", place=pp("to", "zu", np("bakery"), "dat")))),
            "We go to the bakery.",
            "Wir gehen zur Bäckerei.",
        ),
        (
            said(main(cl(np("dog"), "run", tense="past", place=pp("through", "durch", np("forest"), "acc")))),
            "The dog ran through the forest.",
            "Der Hund rannte durch den Wald.",
        ),
        (
            said(
                main(
                    cl(np("thief"), "climb", tense="past", place=pp("out of", "aus", np("castle", "the", "old"), "dat"))
                )
            ),
            "The thief climbed out of the old castle.",
            "Der Dieb kletterte aus dem alten Schloss.",
        ),
    ],
    "governed case": [
        (
            said(main(cl(np("boy"), "help", np("mother", "his")))),
            "The boy helps his mother.",
            "Der Junge hilft seiner Mutter.",
        ),
        (
            said(main(cl(ANNA, "wait", np("bus"), tense="past"))),
            "Anna waited for the bus.",
            "Anna wartete auf den Bus.",
        ),
        (
            said(main(cl(np("waiter"), "bring", np("soup", "a"), recipient=np("guest")))),
            "The waiter brings the guest a soup.",
            "Der Kellner bringt dem Gast eine Suppe.",
        ),
        (
            said(main(cl(THEY, "show", np("picture", "the"), recipient=SHE, tense="perfect"))),
            "They have shown her the picture.",
            "Sie haben ihr das Bild gezeigt.",
        ),
        (said(main(cl(PAUL, "take part", np("race")))), "Paul takes part in the race.", "Paul nimmt am Rennen teil."),
    ],
    "adjective endings": [
        (
            said(main(cl(np("farmer", "a", "old"), "feed", np("horse", "his", "white", plural=True)))),
            "An old farmer feeds his white horses.",
            "Ein alter Bauer füttert seine weißen Pferde.",
        ),
        (
            said(main(cl(np("soldier", "the", "brave"), "help", np("child", "a", "small")))),
            "The brave soldier helps a small child.",
            "Der mutige Soldat hilft einem kleinen Kind.",
        ),
        (
            said(main(cl(np("guest", "every", "hungry"), "eat", np("soup", "", "warm", plural=True)))),
            "Every hungry guest eats warm soups.",
            "Jeder hungrige Gast isst warme Suppen.",
        ),
    ],
    "negation": [
        (
            said(main(cl(np("girl"), "read", np("book"), negated=True))),
            "The girl does not read the book.",
            "Das Mädchen liest das Buch nicht.",
        ),
        (
            said(main(cl(np("girl"), "buy", NounPhrase(WORDS.noun("hat"), NOT_A), negated=True, tense="perfect"))),
            "The girl has not bought a hat.",
            "Das Mädchen hat keinen Hut gekauft.",
        ),
        (
            said(main(cl(I, "drink", NounPhrase(WORDS.noun("coffee"), NOT_A), negated=True))),
            "I do not drink any coffee.",
            "Ich trinke keinen Kaffee.",
        ),
        (
            said(main(cl(HE, "wait", np("train"), negated=True, tense="past"))),
            "He did not wait for the train.",
            "Er wartete nicht auf den Zug.",
        ),
        (said(main(cl(NOBODY, "laugh", frame="intransitive"))), "Nobody laughs.", "Niemand lacht."),
        (
            said(main(cl(ANNA, "invite", np("neighbour", "her"), negated=True, tense="perfect", particle="not yet"))),
            "Anna has not invited her neighbour yet.",
            "Anna hat ihren Nachbarn noch nicht eingeladen.",
        ),
        (
            said(main(cl(THEY, "sell", np("house"), negated=True, modal=WORDS.modal("can")))),
            "They cannot sell the house.",
            "Sie können das Haus nicht verkaufen.",
        ),
    ],
    "yes-no question": [
        (
            said(question(cl(np("baker"), "sell", np("cake"))), "?"),
            "Does the baker sell the cake?",
            "Verkauft der Bäcker den Kuchen?",
        ),
        (
            said(question(cl(np("guest", "the", plural=True), "arrive", tense="perfect")), "?"),
            "Have the guests arrived?",
            "Sind die Gäste angekommen?",
        ),
        (
            said(joined(question(cl(YOU, "read", np("letter"))), Twin(", Anna", ", Anna")), "?"),
            "Do you read the letter, Anna?",
            "Liest du den Brief, Anna?",
        ),
        (
            said(joined(question(cl(YOU_POLITE, "help", ANNA)), Twin(", Mr Keller", ", Herr Keller")), "?"),
            "Do you help Anna, Mr Keller?",
            "Helfen Sie Anna, Herr Keller?",
        ),
    ],
    "question word": [
        (
            said(main(cl(WHO, "bake", np("cake", "the"), tense="past")), "?"),
            "Who baked the cake?",
            "Wer backte den Kuchen?",
        ),
        (
            said(question(cl(np("boy"), "see"), Twin("whom", "wen")), "?"),
            "Whom does the boy see?",
            "Wen sieht der Junge?",
        ),
        (
            said(question(cl(THEY, "wait", stranded="for"), Twin("what", "worauf")), "?"),
            "What do they wait for?",
            "Worauf warten sie?",
        ),
        (
            said(question(cl(np("nurse"), "dance", tense="perfect"), Twin("where", "wo")), "?"),
            "Where has the nurse danced?",
            "Wo hat die Krankenschwester getanzt?",
        ),
    ],
    "imperative": [
        (
            said(joined(Twin("Anna,", "Anna,"), command(cl(YOU, "open", np("window")))), "!"),
            "Anna, open the window!",
            "Anna, öffne das Fenster!",
        ),
        (
            said(joined(Twin("children,", "Kinder,"), command(cl(YOU_ALL, "tidy up", np("room")))), "!"),
            "Children, tidy up the room!",
            "Kinder, räumt das Zimmer auf!",
        ),
        (
            said(joined(Twin("Paul,", "Paul,"), command(cl(YOU, "give", np("key"), recipient=np("man")))), "!"),
            "Paul, give the man the key!",
            "Paul, gib dem Mann den Schlüssel!",
        ),
        (
            said(joined(Twin("please", "bitte"), command(cl(YOU_POLITE, "complain", np("noise"), negated=True)))),
            "Please do not complain about the noise.",
            "Bitte beschweren Sie sich nicht über das Geräusch.",
        ),
    ],
    "relative clause": [
        (
            said(main(cl(MAN_WHO, "laugh", frame="intransitive"))),
            "The man who buys the bread laughs.",
            "Der Mann, der das Brot kauft, lacht.",
        ),
        (
            said(
                main(
                    cl(
                        PAUL,
                        "know",
                        relative(np("woman"), cl(np("doctor"), "help", tense="past"), english="whom", german="der"),
                        frame="accusative",
                    )
                )
            ),
            "Paul knows the woman whom the doctor helped.",
            "Paul kennt die Frau, der die Ärztin half.",
        ),
        (
            said(main(cl(relative(np("bus"), cl(WE, "wait"), english="for which", german="auf den"), "stop"))),
            "The bus for which we wait stops.",
            "Der Bus, auf den wir warten, hält an.",
        ),
        (
            said(
                main(
                    cl(
                        np("judge"),
                        "see",
                        relative(
                            np("child", "the", plural=True),
                            cl(np("dog"), "chase", tense="past"),
                            english="whom",
                            german="die",
                        ),
                    )
                )
            ),
            "The judge sees the children whom the dog chased.",
            "Die Richterin sieht die Kinder, die der Hund jagte.",
        ),
    ],
    "subordinate clause": [
        (
            said(
                joined(
                    main(cl(np("boy"), "cry")),
                    COMMA,
                    final(cl(np("ball"), "disappear", tense="perfect"), Twin("because", "weil")),
                )
            ),
            "The boy cries because the ball has disappeared.",
            "Der Junge weint, weil der Ball verschwunden ist.",
        ),
        (
            said(
                joined(
                    final(cl(np("mother"), "call up", ANNA), Twin("if", "wenn")),
                    COMMAS,
                    after_clause(cl(SHE, "come back", tense="future")),
                )
            ),
            "If the mother calls up Anna, she will come back.",
            "Wenn die Mutter Anna anruft, wird sie zurückkommen.",
        ),
        (
            said(
                joined(
                    final(cl(np("guest"), "get dressed", tense="pluperfect"), Twin("after", "nachdem")),
                    COMMAS,
                    after_clause(cl(HE, "go", tense="past", place=pp("to", "zu", np("station"), "dat"))),
                )
            ),
            "After the guest had got dressed, he went to the station.",
            "Nachdem sich der Gast angezogen hatte, ging er zum Bahnhof.",
        ),
    ],
    "that clause": [
        (
            said(joined(main(cl(I, "know", frame="clause")), COMMA, final(SEES_CAR, Twin("that", "dass")))),
            "I know that the teacher has seen the car.",
            "Ich weiß, dass die Lehrerin das Auto gesehen hat.",
        ),
        (
            said(
                joined(
                    main(cl(HE, "say", tense="past")),
                    COMMA,
                    final(cl(ANNA, "arrive", tense="future"), Twin("that", "dass")),
                )
            ),
            "He said that Anna will arrive.",
            "Er sagte, dass Anna ankommen wird.",
        ),
        (
            said(
                joined(
                    main(cl(THEY, "hope")), COMMA, final(cl(np("king"), "hurry", tense="past"), Twin("that", "dass"))
                )
            ),
            "They hope that the king hurried.",
            "Sie hoffen, dass sich der König beeilte.",
        ),
    ],
    "indirect question": [
        (
            said(joined(main(cl(PAUL, "ask", frame="clause")), COMMA, final(SEES_CAR, Twin("whether", "ob")))),
            "Paul asks whether the teacher has seen the car.",
            "Paul fragt, ob die Lehrerin das Auto gesehen hat.",
        ),
        (
            said(joined(main(cl(WE, "wonder", tense="past")), COMMA, final(cl(WHO, "call up", ANNA, tense="perfect")))),
            "We wondered who has called up Anna.",
            "Wir fragten uns, wer Anna angerufen hat.",
        ),
        (
            said(
                joined(
                    main(cl(SHE, "know", frame="clause", negated=True)),
                    COMMA,
                    final(cl(np("tailor"), "work", tense="past"), Twin("where", "wo")),
                )
            ),
            "She does not know where the tailor worked.",
            "Sie weiß nicht, wo der Schneider arbeitete.",
        ),
    ],
    "infinitive clause": [
        (
            said(
                joined(
                    main(cl(ANNA, "try", frame="clause", tense="past")), COMMA, infinitive(cl(ANNA, "open", np("door")))
                )
            ),
            "Anna tried to open the door.",
            "Anna versuchte, die Tür zu öffnen.",
        ),
        (
            said(
                joined(
                    main(cl(I, "forget", frame="clause", tense="perfect")),
                    COMMA,
                    infinitive(cl(I, "invite", np("guest"))),
                )
            ),
            "I have forgotten to invite the guest.",
            "Ich habe vergessen, den Gast einzuladen.",
        ),
        (
            said(
                joined(
                    main(cl(HE, "work", tense="past")),
                    COMMA,
                    Twin("in order", "um"),
                    infinitive(cl(HE, "prepare oneself", np("exam"))),
                )
            ),
            "He worked in order to prepare himself for the exam.",
            "Er arbeitete, um sich auf die Prüfung vorzubereiten.",
        ),
    ],
    "condition": [
        (
            said(
                joined(
                    Twin("if Paul had more time", "wenn Paul mehr Zeit hätte"),
                    COMMAS,
                    after_clause(cl(HE, "read", np("novel", "a"), tense="conditional")),
                )
            ),
            "If Paul had more time, he would read a novel.",
            "Wenn Paul mehr Zeit hätte, würde er einen Roman lesen.",
        ),
        (
            said(
                joined(
                    Twin("if it were cheap", "wenn es billig wäre"),
                    COMMAS,
                    after_clause(cl(np("man", "the", plural=True), "buy", np("boat"), tense="conditional")),
                )
            ),
            "If it were cheap, the men would buy the boat.",
            "Wenn es billig wäre, würden die Männer das Boot kaufen.",
        ),
        (said(main(cl(I, "hurry", tense="conditional"))), "I would hurry.", "Ich würde mich beeilen."),
    ],
    "coordination": [
        (said(main(cl(Both(np("baker"), ANNA), "dance"))), "The baker and Anna dance.", "Der Bäcker und Anna tanzen."),
        (
            said(main(cl(PAUL, "trust", Both(np("boy"), np("queen")), tense="past"))),
            "Paul trusted the boy and the queen.",
            "Paul vertraute dem Jungen und der Königin.",
        ),
        (
            said(
                joined(
                    main(cl(np("aunt"), "get up")), Twin("and", "und"), main(cl(Dropped(np("aunt")), "comb oneself"))
                )
            ),
            "The aunt gets up and combs herself.",
            "Die Tante steht auf und kämmt sich.",
        ),
        (
            said(joined(main(cl(I, "cook")), Twin(", but", ", aber"), main(cl(np("father", "my"), "rest")))),
            "I cook, but my father rests.",
            "Ich koche, aber mein Vater ruht sich aus.",
        ),
    ],
    "pronoun": [
        (
            said(
                joined(
                    main(cl(ANNA, "buy", np("lamp", "a"), tense="past")),
                    Twin("and", "und"),
                    main(cl(Dropped(ANNA), "repair", pronoun_for(np("lamp")), tense="past")),
                )
            ),
            "Anna bought a lamp and repaired it.",
            "Anna kaufte eine Lampe und reparierte sie.",
        ),
        (
            said(
                joined(
                    main(cl(PAUL, "find", np("key", "the"), tense="past")),
                    Twin("and", "und"),
                    main(cl(Dropped(PAUL), "give", pronoun_for(np("key")), recipient=np("boy"), tense="past")),
                )
            ),
            "Paul found the key and gave it to the boy.",
            "Paul fand den Schlüssel und gab ihn dem Jungen.",
        ),
        (
            said(
                joined(
                    main(being(np("car"), "old", "alt")),
                    Twin(", but", ", aber"),
                    main(being(pronoun_for(np("car")), "clean", "sauber")),
                )
            ),
            "The car is old, but it is clean.",
            "Das Auto ist alt, aber es ist sauber.",
        ),
    ],
    "predicate": [
        (
            said(main(being(np("melon", "the", plural=True), "ripe", "reif"))),
            "The melons are ripe.",
            "Die Melonen sind reif.",
        ),
        (said(main(being(I, "tired", "müde", tense="past"))), "I was tired.", "Ich war müde."),
        (said(main(being(PAUL, "a pilot", "Pilot"))), "Paul is a pilot.", "Paul ist Pilot."),
        (
            said(main(being(np("tea"), "hot", "heiß", tense="perfect", negated=True))),
            "The tea has not been hot.",
            "Der Tee ist nicht heiß gewesen.",
        ),
    ],
    "comparison": [
        (
            said(main(being(np("train"), "faster than the bus", "schneller als der Bus"))),
            "The train is faster than the bus.",
            "Der Zug ist schneller als der Bus.",
        ),
        (
            said(main(cl(np("man"), "buy", np("car", "a", "big", degree=1)))),
            "The man buys a bigger car.",
            "Der Mann kauft ein größeres Auto.",
        ),
        (
            said(main(cl(SHE, "know", np("teacher", "the", "good", degree=2), frame="accusative"))),
            "She knows the best teacher.",
            "Sie kennt die beste Lehrerin.",
        ),
        (
            said(main(cl(ANNA, "wear", np("dress", "her", "expensive", degree=2)))),
            "Anna wears her most expensive dress.",
            "Anna trägt ihr teuerstes Kleid.",
        ),
    ],
    "genitive": [
        (
            said(main(cl(HE, "open", np("door", "the", owner=np("house", "the", "old"))))),
            "He opens the door of the old house.",
            "Er öffnet die Tür des alten Hauses.",
        ),
        (
            said(
                main(
                    cl(
                        np("dog"),
                        "bite",
                        NounPhrase(WORDS.noun("brother"), owned_by(WORDS.first_names[0])),
                        tense="past",
                    )
                )
            ),
            "The dog bit Anna's brother.",
            "Der Hund biss Annas Bruder.",
        ),
        (
            said(main(cl(np("pupil"), "sleep", tense="past"), pp("during", "während", np("lecture"), "gen"))),
            "During the lecture the pupil slept.",
            "Während des Vortrags schlief der Schüler.",
        ),
        (
            said(main(cl(SHE, "forget", np("name", "the", owner=np("boy")), frame="accusative"))),
            "She forgets the name of the boy.",
            "Sie vergisst den Namen des Jungen.",
        ),
    ],
    "number": [
        (
            said(main(cl(np("boy"), "see", NounPhrase(WORDS.noun("bear"), BARE, True, numbers.cardinal(21))))),
            "The boy sees twenty-one bears.",
            "Der Junge sieht einundzwanzig Bären.",
        ),
        (
            said(
                main(
                    cl(
                        I,
                        "write",
                        NounPhrase(
                            WORDS.noun("letter"), WORDS.determiner("my"), qualities=[Quality(numbers.ordinal(3))]
                        ),
                        frame="accusative",
                    )
                )
            ),
            "I write my third letter.",
            "Ich schreibe meinen dritten Brief.",
        ),
        (
            said(main(cl(ANNA, "help", NounPhrase(WORDS.noun("child"), BARE, True, numbers.cardinal(2))))),
            "Anna helps two children.",
            "Anna hilft zwei Kindern.",
        ),
    ],
    "measure": [
        (
            said(main(cl(HE, "drink", Amount(numbers.cardinal(2), True, WORDS.measures[2], WORDS.noun("water"))))),
            "He drinks two bottles of water.",
            "Er trinkt zwei Flaschen Wasser.",
        ),
        (
            said(main(cl(HE, "buy", Amount(numbers.cardinal(1), False, WORDS.measures[3], WORDS.noun("milk"))))),
            "He buys a litre of milk.",
            "Er kauft einen Liter Milch.",
        ),
        (
            said(main(cl(np("film"), "last", predicate=Twin("two hours", "zwei Stunden"), tense="past"))),
            "The film lasted two hours.",
            "Der Film dauerte zwei Stunden.",
        ),
    ],
    "time of day": [
        (
            said(main(cl(I, "get up", time=Twin("at half past six", f"um {numbers.spoken_time(6, 30).german}")))),
            "I get up at half past six.",
            "Ich stehe um halb sieben auf.",
        ),
        (
            said(main(cl(np("ferry"), "depart", time=Twin("at 7:05 pm", f"um {numbers.written_time(19, 5).german}")))),
            "The ferry departs at 7:05 pm.",
            "Die Fähre fährt um 19.05 Uhr ab.",
        ),
        (
            said(
                main(
                    cl(
                        np("concert"),
                        "begin",
                        predicate=Twin("at a quarter to eight", "um Viertel vor acht"),
                        tense="future",
                    )
                )
            ),
            "The concert will begin at a quarter to eight.",
            "Das Konzert wird um Viertel vor acht beginnen.",
        ),
    ],
    "date": [
        (
            said(main(cl(np("queen"), "arrive", tense="past"), Twin("on 3 May 1987", "am 3. Mai 1987"))),
            "On 3 May 1987 the queen arrived.",
            "Am 3. Mai 1987 kam die Königin an.",
        ),
        (
            said(main(cl(WE, "meet", PAUL, tense="future", time=Twin("on Monday morning", "am Montagmorgen")))),
            "We will meet Paul on Monday morning.",
            "Wir werden am Montagmorgen Paul treffen.",
        ),
        (
            said(main(being(np("birthday", "the", owner=np("aunt", "my")), "on 1 June", "am 1. Juni"))),
            "The birthday of my aunt is on 1 June.",
            "Der Geburtstag meiner Tante ist am 1. Juni.",
        ),
    ],
    "price": [
        (
            said(main(cl(np("hat"), "cost", predicate=numbers.price(1250)))),
            "The hat costs 12.50 euros.",
            "Der Hut kostet 12,50 Euro.",
        ),
        (
            said(main(cl(np("house", "the", plural=True), "cost", predicate=numbers.price(120_000_00, sign=True)))),
            "The houses cost €120,000.",
            "Die Häuser kosten 120.000 €.",
        ),
        (
            said(question(cl(np("ring"), "cost"), Twin("how much", "wie viel")), "?"),
            "How much does the ring cost?",
            "Wie viel kostet der Ring?",
        ),
    ],
    "there is": [
        (
            said(
                joined(
                    Twin("there is a dog", f"es gibt {np('dog', 'a').german('acc')}"),
                    pp("in", "in", np("garden"), "dat"),
                )
            ),
            "There is a dog in the garden.",
            "Es gibt einen Hund im Garten.",
        ),
        (
            said(joined(Twin("there are no trees", f"es gibt {np('tree', 'no', plural=True).german('acc')}"), KITCHEN)),
            "There are no trees in the kitchen.",
            "Es gibt keine Bäume in der Küche.",
        ),
        (
            said(
                joined(
                    Twin("there was a king", f"es gab {np('king', 'a').german('acc')}"),
                    pp("in", "in", np("castle"), "dat"),
                )
            ),
            "There was a king in the castle.",
            "Es gab einen König im Schloss.",
        ),
    ],
}
EXAMPLES = [(name, *example) for name, examples in CASES.items() for example in examples]


def test_every_phenomenon_has_three_examples():
    assert set(CASES) == set(PHENOMENA)
    assert min(len(examples) for examples in CASES.values()) >= 3
    assert len({made for _, made, *_ in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize(
    ("phenomenon", "made", "english", "german"), EXAMPLES, ids=[english for _, _, english, _ in EXAMPLES]
)
def test_sentence(phenomenon, made, english, german):
    assert made == (english, german)


def test_who_stands_before_the_reflexive_pronoun():
    words = joined(main(cl(ANNA, "know", frame="clause")), COMMA, final(cl(WHO, "sit down", tense="past")))
    assert sentence(words) == ("Anna knows who sat down.", "Anna weiß, wer sich hinsetzte.")


def test_no_contraction_before_a_relative_clause():
    head = replace(np("brother"), pointed=True)
    words = joined(
        main(cl(PAUL, "say goodbye", head)),
        COMMA,
        final(cl(Relative(head), "laugh", frame="intransitive")),
    )
    assert sentence(words) == (
        "Paul says goodbye to the brother who laughs.",
        "Paul verabschiedet sich von dem Bruder, der lacht.",
    )


def test_mr_and_mrs():
    assert [titled("Keller", "m").german(case) for case in ("nom", "acc", "dat")] == [
        *("Herr Keller", "Herrn Keller", "Herrn Keller"),
    ]
    assert titled("Brandt", "f").english() == "Mrs Brandt"


@pytest.mark.parametrize(
    ("subject", "english", "german"),
    [
        (YOU, "Do you wash yourself?", "Wäschst du dich?"),
        (YOU_ALL, "Do you wash yourselves?", "Wascht ihr euch?"),
        (YOU_POLITE, "Do you wash yourself?", "Waschen Sie sich?"),
        (I, "Do I wash myself?", "Wasche ich mich?"),
        (WE, "Do we wash ourselves?", "Waschen wir uns?"),
        (THEY, "Do they wash themselves?", "Waschen sie sich?"),
        (np("dog"), "Does the dog wash itself?", "Wäscht sich der Hund?"),
        (np("woman"), "Does the woman wash herself?", "Wäscht sich die Frau?"),
    ],
)
def test_reflexive_pronouns(subject, english, german):
    assert sentence(question(cl(subject, "wash oneself")), "?") == (english, german)
