"""Figures of a run card in words, for its page and for the terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

from nmtkit.log import counted, rounded

GIB = 2**30


def languages(content: Mapping[str, Any]) -> str:
    """Return the direction of translation."""
    both = content["config"]["languages"]
    return f"{both['source']} → {both['target']}"


def state(content: Mapping[str, Any]) -> str:
    """Return how far training has come, and what ended it."""
    training = content["training"]
    behind = f"update {training['updates']:,}, epoch {training['epochs']:.2f}"
    return f"finished at {behind} ({training['ended']})" if training["ended"] else f"not finished: behind {behind}"


def origin(software: Mapping[str, Any]) -> str:
    """Return version and commit of nmtkit."""
    if not software["commit"]:
        return f"nmtkit {software['nmtkit']}"
    changed = {True: ", changed since", False: "", None: ", perhaps changed since"}[software["changed"]]
    return f"nmtkit {software['nmtkit']}, commit {software['commit'][:12]}{changed}"


def parts(parameters: Mapping[str, int]) -> str:
    """Return the parameters of a model, in all and by part."""
    each = ", ".join(f"{name} {count:,}" for name, count in parameters.items())
    return f"{sum(parameters.values()):,} parameters ({each})"


def initial(origin: Mapping[str, str]) -> str:
    """Return where the weights came from that training began with."""
    if not origin:
        return "weights drawn by the seed"
    return f"began with weights of another run: {', '.join(f'{key} {value}' for key, value in origin.items())}"


def machine(content: Mapping[str, Any]) -> str:
    """Return what a session computed on, in one line."""
    memory = "" if content["memory"] is None else f", {content['memory'] / GIB:.0f} GiB"
    cores = counted(content["cores"], "core")
    return ", ".join(
        [
            f"{content['cpu']} ({cores}{memory})",
            *gpus(content["gpus"]),
            f"device {content['device']}",
            processes(content),
            counted(content["threads"], "thread") + (" each" if content["processes"] > 1 else ""),
            "kernels" if content["kernels"] else "no kernels",
        ]
    )


def processes(content: Mapping[str, Any]) -> str:
    """Return how many processes train, and on how many hosts."""
    number, hosts = content["processes"], len(content["hosts"])
    count = "1 process" if number == 1 else f"{number:,} processes"
    return count if hosts == 1 else f"{count} on {hosts} hosts"


def gpus(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return each kind of GPU once, with how often it is there."""
    names = [f"{gpu['name']} of {gpu['memory'] / GIB:.0f} GiB" for gpu in found]
    return [f"{names.count(name)} × {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def rate(time: Mapping[str, Any], key: str = "") -> str:
    """Return source and target tokens a second; of updates alone with the key `_of_updates`."""
    both = [time[f"{side}_tokens_per_second{key}"] for side in ("source", "target")]
    return "not known" if None in both else " + ".join(rounded(number) for number in both)


def energy(joules: Mapping[str, float]) -> str:
    """Return the sum of the energy that counters have counted."""
    total = sum(joules.values())
    return f"{total / 3.6e6:.3g} kWh" if total >= 3.6e4 else f"{total:,.0f} J"


def score(judged: Mapping[str, Any]) -> str:
    """Return what the development set said of weights: the score, where it was translated, and the perplexity."""
    if "perplexity" not in judged:
        return "not validated"
    perplexity = judged["perplexity"]
    words = "perplexity not finite" if perplexity is None else f"perplexity {perplexity:.2f}"
    return f"{judged['metric']} {judged['score']:.2f}, {words}" if "score" in judged else words


def moment(iso: str) -> str:
    """Return a time in UTC as people write it."""
    return iso.replace("T", " ").replace("+00:00", " UTC")


def ending(session: Mapping[str, Any]) -> str:
    """Return what ended a session."""
    return f"ended by {session['ending']}" if session["ending"] else "at work, or killed"


def newest(tests: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return of each test set the scores that were measured last."""
    return list({test["name"]: test for test in sorted(tests, key=lambda test: str(test["scored"]))}.values())


def weights(test: Mapping[str, Any]) -> str:
    """Return which weights were scored."""
    if test["checkpoint"] == "average" and test["updates"]:
        return f"average of updates {', '.join(f'{update:,}' for update in test['updates'])}"
    return f"update {int(test['checkpoint']):,}" if test["checkpoint"].isdecimal() else test["checkpoint"]
