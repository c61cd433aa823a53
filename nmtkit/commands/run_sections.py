"""The longer parts of the page of a run card: model, data, training, sessions, software and machine, settings."""

from collections.abc import Iterable, Mapping
from typing import Any

import tomli_w

from nmtkit.commands import run_words as words
from nmtkit.commands.prepare_suspicions import SIDES, percent, share
from nmtkit.commands.report_markup import Part, bar, folded, name, table, visible
from nmtkit.log import duration


def model_section(card: Part) -> str:
    """Return the parameters by part."""
    parameters = card["model"]["parameters"]
    total = sum(parameters.value.values())
    rows = [
        [visible(part), bar(share(count.value, total), "source"), count.number, percent(share(count.value, total))]
        for part, count in parameters.items()
    ]
    rows.append(["in all", "", f"{total:,}", ""])
    model = card["model"].value
    about = f"<p>{visible(model['kind'])}, {visible(words.initial(model['initial']))}</p>\n"
    return about + table(["part", "", "parameters", "of all"], rows, text=2)


def data_section(card: Part) -> str:
    """Return what the data was made from, what became of it, and the vocabulary."""
    data = card["data"]
    rows = [
        [name(corpus["name"].value), bar(_kept(corpus), "kept"), _dropped(corpus["dropped"]), corpus["read"].number,
         corpus["kept"].number, percent(_kept(corpus))]
        for corpus in data["corpora"]
    ]  # fmt: skip
    corpora = table(["corpus", "", "dropped", "pairs read", "kept", "share"], rows, text=3)
    held_out = [[name(text["name"].value), text["read"].number] for text in data["held_out"]]
    packed = [
        ["pairs to train on", data["pairs"].number],
        *([f"{side} pieces", data[f"{side}_pieces"].number] for side in SIDES),
        *([f"{side} pieces unknown", data[f"{side}_unknown"].number] for side in SIDES),
    ]
    files = folded("Files", _listed(data["files"].value))
    made = folded("Prepared with", _listed(data["prepared_with"].value))
    sets = f"<h3>Development and test sets</h3>\n{table(['set', 'pairs'], held_out)}" if held_out else ""
    return f"{corpora}{table([], packed)}{sets}<h3>Vocabulary</h3>\n{_vocabulary(card['vocabulary'])}{files}{made}"


def _kept(corpus: Part) -> float:
    return share(corpus["kept"].value, corpus["read"].value)


def _dropped(dropped: Part) -> str:
    return ", ".join(f"{visible(reason)} {count.number}" for reason, count in dropped.items()) or "none"


def _vocabulary(vocabulary: Part) -> str:
    joint = vocabulary["joint"].value
    rows = [
        ["both sides" if joint else side, _hash(vocabulary[side]["fingerprint"].value), vocabulary[side]["size"].number]
        for side in SIDES[: 1 if joint else 2]
    ]
    return table([visible(vocabulary["kind"].value), "fingerprint", "pieces"], rows, text=2)


def training_section(card: Part) -> str:
    """Return how much was trained, how fast, and what it took."""
    training, time, energy = card["training"], card["time"].value, card["energy"].value
    spent = sum(session["seconds"] for session in card.value["sessions"])
    rows = [
        ["updates", training["updates"].number],
        ["of these not applied", training["skipped"].number],
        ["epochs", f"{training['epochs'].value:.2f}"],
        ["pairs seen", training["pairs"].number],
        *([f"{side} tokens seen", training[f"{side}_tokens"].number] for side in SIDES),
        ["precision", visible(training["precision"].value)],
        ["seed", str(card.value["config"]["train"]["seed"])],
        ["time of training", duration(time["seconds"])],
        ["time of all sessions, lost updates included", duration(spent)],
        ["source + target tokens a second, over all", words.rate(time)],
        ["in updates alone, median", words.rate(time, "_of_updates")],
        *(
            [f"energy, {visible(counter)}", words.energy({counter: joules})]
            for counter, joules in energy["joules"].items()
        ),
    ]
    unread = "".join(f'<p class="soft">Energy: {visible(line)}.</p>\n' for line in energy["unread"])
    whole = '<p class="soft">Counters count whatever runs on a processor or GPU.</p>\n' if energy["joules"] else ""
    return f"{table([], rows)}{whole}{unread}"


def sessions_section(card: Part) -> str:
    """Return each call of training with its times."""
    return "".join(map(_session, card["sessions"]))


def _session(session: Part) -> str:
    content = session.value
    updates = f"updates {session['from_update'].number} to {session['to_update'].number}"
    took = f"{updates} in {duration(content['seconds'])}, {visible(words.ending(content))}"
    command = visible(content["command"] or "called from Python")
    return f'<div class="pair"><h4>{visible(words.moment(content["began"]))}, {took}</h4>\n<pre>{command}</pre></div>\n'


def software_section(card: Part) -> str:
    """Return versions, and the machines of the sessions."""
    software = dict(card["software"].value)
    source, commit, changed = (software.pop(key) for key in ("source", "commit", "changed"))
    listed = {name: str(version or "not installed") for name, version in software.items()}
    listed["commit of nmtkit"] = commit or "it does not run from a git checkout"
    if commit:
        listed["changed since"] = {True: "yes", False: "no", None: "not known"}[changed]
    listed["source of nmtkit, SHA-256"] = source
    sessions: list[Mapping[str, Any]] = card.value["sessions"]
    machines = {tuple(_machine(session["machine"]).items()): session for session in sessions}
    tables = []
    for facts, session in machines.items():
        since = (
            "" if len(machines) == 1 else f'<p class="soft">Session of {visible(words.moment(session["began"]))}</p>\n'
        )
        tables.append(f"{since}{_listed(dict(facts))}")
    return f"{_listed(listed)}<h3>Machine</h3>\n{''.join(tables)}"


def _machine(machine: Mapping[str, Any]) -> dict[str, str]:
    return {
        "hosts": ", ".join(machine["hosts"]),
        "system": machine["system"],
        "processor": machine["cpu"],
        "cores": f"{machine['cores']:,}",
        "memory": "not known" if machine["memory"] is None else f"{machine['memory'] / words.GIB:.1f} GiB",
        "GPUs": ", ".join(words.gpus(machine["gpus"])) or "none used",
        **({"CUDA of torch": machine["cuda"]} if machine["cuda"] else {}),
        "device": machine["device"],
        "processes": words.processes(machine),
        "threads of each": f"{machine['threads']:,}",
        "kernels": "yes" if machine["kernels"] else "no",
    }


def settings_section(content: Mapping[str, Any]) -> str:
    """Return the whole config.toml."""
    return folded("config.toml", f"<pre>{_lines(tomli_w.dumps(content['config']).split(chr(10)))}</pre>\n")


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(map(visible, lines)).strip("\n")


def _hash(text: str) -> str:
    return f'<span class="hash">{visible(text)}</span>'


def _listed(facts: Mapping[str, str]) -> str:
    return table(
        [], ([visible(fact), f'<span class="hash">{visible(value)}</span>'] for fact, value in facts.items()), text=2
    )
