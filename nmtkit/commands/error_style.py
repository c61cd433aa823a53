"""What the error report adds to the style of pages: systems, differences, lines, and the form that finds them."""

STYLE = """
:root { --s0: #0f6cbd; --s1: #c2500a; --s2: #12805c; --s3: #a03a8c; --s4: #6b6f00; --s5: #5a4fcf;
  --only: #ffd9b8; --only-ink: #6d2c00; --moved: #cfe3ff; --moved-ink: #0b3d78; --near-line: #b45a12; --gone: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --s0: #6cb2ff; --s1: #ff9d5c; --s2: #4fcf9f; --s3: #e58bd2; --s4: #cdd15a;
  --s5: #a9a2ff; --only: #5a3214; --only-ink: #ffd9b8; --moved: #173a63; --moved-ink: #cfe3ff; --near-line: #e8a15f;
  --gone: #ff8a80; } }
.s0 { --own: var(--s0); } .s1 { --own: var(--s1); } .s2 { --own: var(--s2); } .s3 { --own: var(--s3); }
.s4 { --own: var(--s4); } .s5 { --own: var(--s5); }
.badge { width: .8em; height: .8em; margin-inline-end: .35em; vertical-align: -.04em; overflow: visible; }
.badge path, .points path { fill: var(--own); stroke: var(--own); fill-opacity: 1; }
.badge path, .points path { stroke-width: 1; } .points path.hollow { fill: var(--paper); stroke-width: 1.6; }
.points line:not(.grid) { stroke: var(--own); stroke-width: 1.8; }
.points polyline { fill: none; stroke: var(--own); stroke-width: 1.2; stroke-opacity: .4; }
.points .size { fill: var(--line); } .points .few { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
.figure .strong { fill: var(--ink); }
.areas path { fill: var(--own); stroke: var(--own); fill-opacity: .1; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .2rem 0 .8rem; font-size: .93em; }
.legend span { overflow-wrap: anywhere; }
figure { margin: 0; min-width: 0; break-inside: avoid; } figcaption { margin-bottom: .3rem; font-weight: 500; }
figcaption small { display: block; font-weight: 400; }
td .badge { margin-inline-end: .5em; } td a { text-decoration-thickness: .06em; }
.none { color: var(--soft); } td .meaning { display: block; max-width: 34rem; }
.chips { display: flex; flex-wrap: wrap; gap: .3rem; margin: .2rem 0 .6rem; }
.chips > * { padding: .05rem .5rem; border-radius: 1rem; background: var(--card); font-size: .93em;
  text-decoration: none; overflow-wrap: anywhere; max-width: 100%; }
.chips > small { background: none; padding: .15rem 0; width: 3.4rem; } .chips > * small { margin-inline-start: .3em; }

mark { padding: .03em .12em; border-radius: .2em; background: var(--only); color: var(--only-ink);
  -webkit-box-decoration-break: clone; box-decoration-break: clone; }
mark.m { background: var(--moved); color: var(--moved-ink); outline: 1px dashed currentColor; outline-offset: -1px; }
mark.n { background: none; color: inherit; border-bottom: 1.5px dotted var(--near-line); border-radius: 0;
  padding: 0; }
mark.n b { font-weight: inherit; background: var(--only); color: var(--only-ink); border-radius: .15em; }
.line u { text-decoration: underline solid 2px; text-decoration-color: var(--own, currentColor);
  text-underline-offset: .28em; text-decoration-skip-ink: none; }
.no-pairs u { text-decoration: none; }
del { text-decoration: underline dotted 1.5px var(--gone); text-underline-offset: .22em;
  text-decoration-skip-ink: none; }
del.all { text-decoration-style: solid; }
.key-marks { display: flex; flex-wrap: wrap; gap: .25rem 1.4rem; margin: .4rem 0; font-size: .93em; }

.line { margin-top: .9rem; padding: .7rem .9rem .8rem; border-radius: .5rem; background: var(--card);
  content-visibility: auto; contain-intrinsic-size: auto 9rem; scroll-margin-top: 1rem; break-inside: avoid; }
.line:target { box-shadow: 0 0 0 2px var(--source); }
.line h4 { display: flex; flex-wrap: wrap; gap: 0 .9rem; margin: 0 0 .35rem; font-size: .85rem; font-weight: 500;
  color: var(--soft); }
.line h4 b { color: var(--ink); font-weight: 600; }
.row { display: grid; grid-template-columns: 8.5rem minmax(0, 1fr) 3.4rem; gap: 0 1rem; padding: .1rem 0; }
.row > .who { color: var(--soft); font-size: .87rem; padding-top: .14rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.row > .points-of { text-align: end; font-size: .87rem; font-variant-numeric: tabular-nums; padding-top: .14rem; }
.points-of::after { content: ""; display: block; height: 3px; border-radius: 2px; background:
  linear-gradient(to right, var(--own) var(--part), var(--line) var(--part)); }
.row.source .sentence { color: var(--soft); } .row + .row.system { border-top: 1px dotted var(--line); }
.line .fault { grid-column: 2; display: block; color: var(--gone); font-size: .82rem; overflow-wrap: anywhere; }
.fault::before { content: "▸ "; }
.blank { color: var(--soft); font-style: italic; }
.of-list { margin-top: 2rem; } .of-list + p { margin-top: 0; }
.sorted .of-list, .sorted .of-list + p { display: none; }

#find { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: end;
  margin: 1rem -1rem 0; padding: .7rem 1rem; background: var(--paper); border-bottom: 1px solid var(--line); }
#find[hidden] { display: none; }
#find label { display: grid; gap: .1rem; font-size: .78rem; color: var(--soft); min-width: 0; }
#find input, #find select, #find button { font: inherit; font-size: .9rem; color: var(--ink); background: var(--card);
  border: 1px solid var(--line); border-radius: .35rem; padding: .25rem .45rem; min-width: 0; max-width: 15rem; }
#find input[type="number"] { width: 3.6rem; } #find input[type="search"] { width: 9rem; }
#find select { max-width: 11rem; } #find .both { display: flex; gap: .3rem; align-items: center; }
#find :focus-visible, a:focus-visible { outline: 2px solid var(--source); outline-offset: 1px; }
#find output { font-size: .87rem; padding-bottom: .35rem; }
@media (max-width: 44rem) { .row { grid-template-columns: minmax(0, 1fr) 3.4rem; } .row > .who { grid-row: 1; }
  .row > .sentence { grid-column: 1 / -1; } .line .fault { grid-column: 1 / -1; } #find { position: static; }
  .row > .points-of { grid-row: 1; grid-column: 2; } .wide > .figure { min-width: 30rem; } }
@media print { .figures { grid-template-columns: 1fr 1fr; } #find, .rest { display: none !important; }
  .line { background: none; border: 1px solid var(--line); content-visibility: visible; }
  mark, mark.n b, .points-of::after { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
