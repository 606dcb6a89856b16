"""The style sheet of a report: dark on light, fluid, readable on a phone, plain on paper."""

CSS = """
:root { color-scheme: light; --ink: #22262b; --soft: #555b64; --line: #d5d8dc; --pale: #f6f7f8;
  --match: #1f6f52; --far: #9b3f76; --open: #6b5300; }
* { box-sizing: border-box; }
html { font: 100%/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1.25rem; color: var(--ink); background: #fff;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, ul, ol { margin: .5rem 0; max-width: 46rem; }
li { margin: .25rem 0; }
a { color: #00507d; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; max-width: none; }
.banner { border: 2px solid #8a1c1c; border-radius: .3rem; background: #fdf1f0; color: #6d1414;
  padding: .6rem .9rem; margin: 0 0 1rem; max-width: none; }
.verdict { border: 2px solid var(--open); border-left-width: .6rem; border-radius: .3rem;
  padding: .8rem 1.1rem; background: var(--pale); }
.verdict.match { border-color: var(--match); } .verdict.far { border-color: var(--far); }
.word { font-size: 2rem; font-weight: 700; line-height: 1.1; margin: 0 0 .3rem; color: var(--open); }
.match .word { color: var(--match); } .far .word { color: var(--far); }
.wide { overflow-x: auto; margin: .75rem 0; }
.wide:focus-visible { outline: 3px solid #00507d; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: 0 0 .35rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--ink); }
tbody th { font-weight: 600; }
.num { text-align: right; font-variant-numeric: tabular-nums; }
code, .exact { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9em;
  overflow-wrap: anywhere; }
.exact { min-width: 9rem; display: inline-block; }
.rule { display: block; padding: .5rem .8rem; background: var(--pale); border-left: .3rem solid var(--line); }
.soft { color: var(--soft); }
figure { margin: .75rem 0; }
figcaption { font-size: .9rem; color: var(--soft); max-width: 46rem; }
svg { display: block; font-size: 13px; fill: var(--ink); }
svg.fluid { overflow: visible; margin: .5rem 0; }
svg .name { font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 3px;
  stroke-linejoin: round; }
svg.map { width: 100%; height: auto; font-size: 11.5px; }
svg.swatch { display: inline-block; vertical-align: -.15em; }
figure.map { flex: 1 1 17rem; max-width: 25rem; margin: .25rem 0; }
.row { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: flex-start; }
.key { margin-right: 1.2rem; }
.what { display: block; min-width: 13rem; }
footer { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: .5rem; font-size: .9rem;
  color: var(--soft); }
@media (max-width: 34rem) { body { padding: .9rem; } .word { font-size: 1.7rem; } }
@media print {
  @page { margin: 1.6cm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  a { color: inherit; text-decoration: none; }
  .wide { overflow: visible; }
  h2, h3, caption { break-after: avoid; }
  figure, tr, .verdict, .banner, svg { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
