"""What lets a reader find lines in the error report: without it all are there, in the order of the page.

It holds neither < nor &, so that the page stays well-formed as XML.
"""

SCRIPT = """
(() => {
  const form = document.getElementById("find"), box = document.getElementById("cards");
  if (!form) return;
  const cards = Array.from(box.querySelectorAll(".line")), field = form.elements;
  const groups = Array.from(box.children), home = new Map(cards.map(card => [card, card.parentNode]));
  const numbers = text => text ? text.split(" ").map(Number) : [];
  const facts = new Map(cards.map((card, place) => {
    const data = card.dataset, scores = numbers(data.scores), ranks = new Map();
    for (const rank of data.ranks ? data.ranks.split(" ") : []) ranks.set(...rank.split(":"));
    return [card, {place, scores, ranks, line: Number(data.line), length: Number(data.length),
      gap: Math.max(...scores) - Math.min(...scores), faults: data.faults ? data.faults.split(" ") : []}];
  }));
  const text = card => {
    const fact = facts.get(card);
    if (fact.text === undefined) fact.text = Array.from(card.querySelectorAll(".sentence"),
      part => part.textContent).join("\\n").toLowerCase();
    return fact.text;
  };
  const within = (value, from, to) => {
    if (from !== "") if (Number(from) > value) return false;
    return to === "" ? true : Number(to) >= value;
  };
  const shown = card => {
    const fact = facts.get(card), list = field.show.value, of = field.of ? field.of.value : "0";
    if (list.startsWith("fault ")) {
      const kind = list.slice(6);
      const fits = of === "any" ? fault => fault.endsWith("." + kind) : fault => fault === of + "." + kind;
      if (!fact.faults.some(fits)) return false;
    } else if (list !== "all") { if (!fact.ranks.has(list)) return false; }
    const scores = of === "any" ? fact.scores : [fact.scores[Number(of)]];
    if (!scores.some(score => within(score, field.least.value, field.most.value))) return false;
    if (!within(fact.length, field.shortest.value, field.longest.value)) return false;
    const wanted = field.text.value.toLowerCase();
    return wanted === "" ? true : text(card).includes(wanted);
  };
  const measure = card => {
    const fact = facts.get(card), list = field.show.value, of = field.of ? field.of.value : "0";
    const score = of === "any" ? Math.min(...fact.scores) : fact.scores[Number(of)];
    switch (field.sort.value) {
      case "line": return fact.line;
      case "lowest": return score;
      case "highest": return of === "any" ? -Math.max(...fact.scores) : -score;
      case "apart": return -fact.gap;
      case "shortest": return fact.length;
      case "longest": return -fact.length;
      default: return fact.ranks.has(list) ? Number(fact.ranks.get(list)) : fact.place;
    }
  };
  let moved = false;
  const apply = () => {
    const some = cards.filter(shown), plain = field.show.value === "all" ? field.sort.value === "page" : false;
    const all = some.length === cards.length;
    for (const card of cards) card.hidden = true;
    for (const card of some) card.hidden = false;
    box.classList.toggle("sorted", !(plain ? all : false));
    if (plain) {
      if (moved) for (const card of cards) home.get(card).append(card);
      moved = false;
    } else {
      const keys = new Map(some.map(card => [card, measure(card)]));
      some.sort((one, other) => keys.get(one) - keys.get(other) || facts.get(one).place - facts.get(other).place);
      box.append(...some);
      moved = true;
    }
    for (const group of groups) if (group.classList.contains("group")) group.hidden = plain ? false : true;
    form.querySelector("output").textContent = some.length.toLocaleString("en") + " of "
      + cards.length.toLocaleString("en") + " lines";
  };
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(apply, 80); });
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply, 0));
  if (field.pairs) field.pairs.addEventListener("change", () => box.classList.toggle("no-pairs", !field.pairs.checked));
  document.addEventListener("click", event => {
    const link = event.target.closest("a[data-show], a[data-text]");
    if (!link) return;
    event.preventDefault();
    form.reset();
    if (link.dataset.show) field.show.value = link.dataset.show;
    if (link.dataset.text) field.text.value = link.dataset.text;
    if (field.of) if (link.dataset.of) field.of.value = link.dataset.of;
    setTimeout(() => { apply(); document.getElementById("lines").scrollIntoView(); }, 10);
  });
  const reach = () => {
    const card = document.getElementById(location.hash.slice(1));
    if (!facts.has(card)) return;
    if (!card.hidden) return;
    form.reset();
    setTimeout(() => { apply(); card.scrollIntoView(); }, 10);
  };
  addEventListener("hashchange", reach);
  form.hidden = false;
  apply();
})();
"""
