"""The style of pages: for wide and narrow screens, light and dark, and for paper."""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --card: #f6f7f9; --ink: #1b1f24; --soft: #5c6570; --line: #dde1e6;
  --source: #2f6fde; --target: #d9730d; --good: #2a9d63; --bad: #c8443c; --warn: #fff4dc; --warn-line: #e0a93b; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --card: #1d2127; --ink: #e6e8eb; --soft: #9aa4b0;
  --line: #333a43; --source: #79a8ff; --target: #f2a65a; --good: #4cc38a; --bad: #f0736a; --warn: #2c2616;
  --warn-line: #b98a2b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 68rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.25; } h2 { margin: 0 0 .8rem; font-size: 1.2rem; }
h3 { margin: 1.2rem 0 .4rem; font-size: 1rem; } section { margin-top: 2.6rem; } p { margin: .4rem 0; max-width: 50rem; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: .2em; }
nav { margin-top: .8rem; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; color: var(--soft); font-size: .9rem; }
.soft, small { color: var(--soft); } small { font-size: .8em; }
.cards { display: grid; gap: .7rem; margin-top: 1.4rem;
  grid-template-columns: repeat(auto-fill, minmax(min(13.5rem, 45%), 1fr)); }
.card { padding: .7rem .9rem; border-radius: .5rem; background: var(--card); overflow-wrap: anywhere; }
.card b { display: block; font-size: 1.35rem; font-weight: 600; line-height: 1.3; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .wide + .wide, .figures + .wide { margin-top: 1.2rem; }
table { border-collapse: collapse; min-width: min(100%, 38rem); font-size: .93em; }
th, td { padding: .32rem 1.6rem .32rem 0; border-bottom: 1px solid var(--line); text-align: start;
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; white-space: nowrap; }
td:last-child, th:last-child { padding-inline-end: 0; }
.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: inline-block; width: 7rem; height: .6rem; border-radius: .2rem; background: var(--line);
  overflow: hidden; }
.bar > span { display: block; height: 100%; min-width: 1px; background: var(--bad); }
.bar.kept > span { background: var(--good); } .bar.source > span { background: var(--source); }
.bar.target > span { background: var(--target); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1rem 1.6rem; }
.figure { display: block; width: 100%; height: auto; }
.figure .grid { stroke: var(--line); stroke-width: 1; } .figure .tick { fill: var(--soft); font-size: 11px; }
.figure .middle { text-anchor: middle; } .figure .end { text-anchor: end; }
.figure path { fill-opacity: .22; stroke-width: 1.6; stroke-linejoin: round; }
.figure .source { fill: var(--source); stroke: var(--source); }
.figure .target { fill: var(--target); stroke: var(--target); }
.key::before { content: ""; display: inline-block; width: .75em; height: .75em; margin-inline-end: .4em;
  border-radius: .15em; background: var(--source); } .key.target::before { background: var(--target); }
.key { margin-inline-end: 1.2em; }
.warnings { margin: 0; padding: 0; list-style: none; }
.warnings li { margin-bottom: .5rem; padding: .5rem .9rem; border-inline-start: 3px solid var(--warn-line);
  border-radius: .2rem; background: var(--warn); overflow-wrap: anywhere; }
details { margin-top: .7rem; } summary { cursor: pointer; } summary:hover { color: var(--source); }
details > :not(summary) { margin-top: .6rem; } details.corpus { padding: .7rem .9rem; border-radius: .5rem;
  background: var(--card); } details.corpus > summary { font-weight: 600; }
.pair { margin: .8rem 0 0; padding-top: .6rem; border-top: 1px solid var(--line); }
.pair > h4 { margin: 0 0 .3rem; font-size: .85rem; font-weight: 500; color: var(--soft); }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: .3rem 1.6rem; }
@media (max-width: 44rem) { .sides { grid-template-columns: 1fr; } body { padding-top: 1rem; } .bar { width: 4rem; }
  th, td { padding-inline-end: .8rem; } }
.step { min-width: 0; } .step > small { display: block; margin-top: .25rem; }
.sentence { display: block; white-space: pre-wrap; overflow-wrap: anywhere; contain: paint; padding: .1rem 0; }
.pieces { display: flex; flex-wrap: wrap; gap: .25rem; contain: paint; }
.pieces > span { max-width: 100%; padding: .05rem .35rem; border: 1px solid var(--line); border-radius: .25rem;
  background: var(--paper); text-align: center; line-height: 1.25; overflow-wrap: anywhere; }
.pieces small { display: block; font-size: .68rem; direction: ltr; font-variant-numeric: tabular-nums; }
.hidden { padding: 0 .2em; border: 1px dashed var(--soft); border-radius: .2em; color: var(--soft); font-size: .72em;
  font-family: ui-monospace, monospace; unicode-bidi: isolate; direction: ltr; }
code, .hash { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .86em; overflow-wrap: anywhere; }
pre { margin: .6rem 0; padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: .5rem;
  background: var(--card); font: .86em/1.55 ui-monospace, "DejaVu Sans Mono", monospace; }
.picture { display: block; width: 100%; max-width: 60rem; height: auto; border-radius: .5rem; }
@media (prefers-color-scheme: dark) { .picture { filter: invert(.91) hue-rotate(180deg); } }
.value { font-weight: 600; }
@media print { nav { display: none; } body { max-width: none; } }
"""
