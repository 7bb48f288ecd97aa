"""The style sheet of the report's pages: dense and calm, light or dark as the reader's system is, and for A4 paper."""

from __future__ import annotations

COLOURS = {
    "paper": ("#ffffff", "#0b1120"),
    "ground": ("#f6f8fb", "#111a2c"),
    "rule": ("#d5dce6", "#31405a"),
    "ink": ("#0f172a", "#e5e9f0"),
    "quiet": ("#536072", "#a7b3c6"),
    "link": ("#1d4ed8", "#8ab8ff"),
    "good": ("#15703a", "#4ade80"),
    "good-tint": ("#e3f6ea", "#113822"),
    "warn": ("#8a4304", "#fbbf24"),
    "warn-tint": ("#fdf3d3", "#3a2a0a"),
    "bad": ("#b01a1a", "#ffa0a0"),
    "bad-tint": ("#fde7e7", "#431a1a"),
    "model": ("#2f6fde", "#6ea4ff"),
    "tool": ("#0f8a7e", "#3cc9b8"),
    "person": ("#b4620e", "#f0a54a"),
    "backoff": ("#8b3fc7", "#c795f5"),
    "other": ("#64748b", "#94a3b8"),
    "focus": ("#c2410c", "#fde047"),
}
"""Each colour in light and in dark."""

_RULES = """\
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { color-scheme: light dark; scroll-padding-top: 1rem; }
body { margin: 0; overflow-wrap: break-word; background: var(--paper); color: var(--ink);
  font: 0.94rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, "Liberation Sans", sans-serif; }
a { color: var(--link); text-underline-offset: 2px; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible, input:focus-visible, select:focus-visible,
button:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 2px; }
code, pre, kbd { font: 0.87em/1.45 ui-monospace, "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; }
code { overflow-wrap: anywhere; }
pre { margin: 0.3rem 0; padding: 0.5rem 0.7rem; background: var(--ground); border: 1px solid var(--rule); border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
h1 { margin: 0.15rem 0 0.6rem; font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; text-wrap: balance; }
h2 { margin: 0 0 0.6rem; padding-top: 0.9rem; border-top: 2px solid var(--ink); font-size: 1.2rem; line-height: 1.3; }
header h2 { margin-top: 1.2rem; }
h3 { margin: 1.1rem 0 0.35rem; font-size: 1rem; }
p { margin: 0.35rem 0; max-width: 48rem; }
section { margin-top: 2.2rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 0.5rem; padding: 0.4rem 0.8rem; background: var(--paper); z-index: 2; }
.page { max-width: 88rem; margin: 0 auto; padding: 1.4rem 1.5rem 3rem; display: grid; grid-template-columns: minmax(0, 1fr);
  column-gap: 2.5rem; }
.kind { color: var(--quiet); font-size: 0.85rem; letter-spacing: 0.02em; }
.quiet, .note { color: var(--quiet); }
.note { font-size: 0.9rem; }
.none { color: var(--quiet); margin: 0.2rem 0; }
.contents { margin-top: 1.2rem; }
.contents ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; font-size: 0.9rem; }
.contents a { text-decoration: none; display: inline-block; padding: 0.12rem 0; }
.contents a:hover { text-decoration: underline; }
.contents .count { color: var(--quiet); font-variant-numeric: tabular-nums; }
.verdict { font-size: 1.12rem; line-height: 1.5; max-width: 52rem; margin: 0.5rem 0; }
.badge-word, .word { display: inline-block; padding: 0 0.5em; border-radius: 0.6em; border: 1px solid currentColor;
  font-weight: 650; white-space: nowrap; color: var(--quiet); background: var(--ground); }
.word { font-size: 0.82rem; line-height: 1.45; }
.good { color: var(--good); background: var(--good-tint); }
.warn { color: var(--warn); background: var(--warn-tint); }
.bad { color: var(--bad); background: var(--bad-tint); }
.checks { list-style: none; display: flex; flex-wrap: wrap; gap: 0.4rem 0.6rem; margin: 0.9rem 0; padding: 0;
  font-size: 0.9rem; }
.checks a { display: block; padding: 0.12rem 0.7rem; border: 1px solid var(--rule); border-radius: 1rem;
  background: var(--ground); color: var(--ink); text-decoration: none; }
.checks a:hover { text-decoration: underline; }
.checks .good { color: var(--good); border-color: currentColor; background: var(--good-tint); }
.checks .warn { color: var(--warn); border-color: currentColor; background: var(--warn-tint); }
.checks .bad { color: var(--bad); border-color: currentColor; background: var(--bad-tint); }
dl { margin: 0.8rem 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(13.5rem, 44%), 1fr));
  gap: 0.5rem 1.5rem; }
dt { color: var(--quiet); font-size: 0.82rem; }
dd { margin: 0; overflow-wrap: anywhere; }
dl.rows { display: block; }
dl.rows > div { display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 1rem; padding: 0.18rem 0;
  border-bottom: 1px solid var(--rule); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); font-size: 0.85rem; padding: 0.2rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.28rem 0.9rem 0.28rem 0; border-bottom: 1px solid var(--rule); }
tbody th { font-weight: 600; }
thead th { white-space: nowrap; color: var(--quiet); font-weight: 600; font-size: 0.82rem; }
tr > .number { text-align: right; white-space: nowrap; }
tbody th, td time { white-space: nowrap; }
th .note { font-weight: 400; }
details { margin: 0.15rem 0; }
summary { cursor: pointer; padding: 0.12rem 0; overflow-wrap: anywhere; }
summary:hover { background: var(--ground); }
details > :not(summary) { margin-left: 1.1rem; }
details.plain > :not(summary) { margin-left: 0; }
.warning { border-left: 4px solid var(--bad); background: var(--bad-tint); padding: 0.5rem 0.9rem; margin: 0.8rem 0; }
.warning p { max-width: none; }
.left-out { color: var(--warn); font-size: 0.88rem; }
.line { display: grid; grid-template-columns: 3rem 5.6rem 5.4rem 6rem minmax(0, 1fr); gap: 0 0.6rem; align-items: baseline;
  font-variant-numeric: tabular-nums; }
.line .number { text-align: right; color: var(--quiet); }
.line .at, .line .instance { color: var(--quiet); font-size: 0.88rem; overflow-wrap: anywhere; }
.line .row { font-weight: 650; overflow-wrap: anywhere; }
.line .telling { overflow-wrap: anywhere; }
.decisions details > summary { display: block; list-style: none; border-bottom: 1px solid var(--rule); }
.decisions details > summary::-webkit-details-marker { display: none; }
.decisions details[open] { background: var(--ground); padding-bottom: 0.6rem; }
.decisions .why { scroll-margin-top: 3.5rem; padding-top: 0.4rem; }
.decisions details:has(:target) { box-shadow: -4px 0 0 var(--focus); background: var(--ground); }
.entry { border-top: 1px solid var(--ink); scroll-margin-top: 1rem; }
.answers { margin: 0.2rem 0; padding: 0; list-style: none; font-size: 0.92rem; }
.answers li { padding: 0.06rem 0 0.06rem 1rem; text-indent: -1rem; }
.answers b { white-space: nowrap; }
.message { border-left: 3px solid var(--rule); padding: 0.1rem 0 0.1rem 0.9rem; margin: 0.9rem 0; }
.message.user { border-color: var(--link); }
.message.assistant { border-color: var(--good); }
.message.missing { border-color: var(--bad); }
.message .who { font-weight: 650; font-size: 0.88rem; margin: 0; }
.said > :first-child { margin-top: 0; }
.said p, .said li { max-width: 48rem; overflow-wrap: anywhere; }
.said .heading { font-weight: 700; }
.said .link { text-decoration: underline dotted; overflow-wrap: anywhere; }
.said blockquote { margin: 0.4rem 0; padding-left: 0.8rem; border-left: 3px solid var(--rule); color: var(--quiet); }
.said table { width: auto; }
.said .right { text-align: right; }
.said .center { text-align: center; }
.picture { overflow-x: auto; padding: 0.3rem 0; }
.picture svg { display: block; max-width: 100%; min-width: 44rem; height: auto; }
.times text { font-size: 12px; fill: var(--ink); font-family: inherit; }
.times .quiet { fill: var(--quiet); }
.times .grid { stroke: var(--rule); stroke-width: 1; }
.times .cut { fill: var(--ground); stroke: var(--rule); stroke-dasharray: 3 3; }
.times a:focus-visible rect { stroke: var(--focus); stroke-width: 3; }
.times .model { fill: var(--model); } .times .tool { fill: var(--tool); } .times .person { fill: var(--person); }
.times .backoff { fill: var(--backoff); } .times :is(.run, .nobody, .state) { fill: var(--other); }
.bar { width: 8rem; height: 0.6rem; vertical-align: middle; }
.bar .of { fill: var(--rule); } .bar .used { fill: var(--link); } .bar .spent { fill: var(--bad); }
.filters { display: flex; flex-wrap: wrap; gap: 0.6rem 1.2rem; align-items: end; margin: 0.8rem 0; }
.filters label { display: block; font-size: 0.82rem; color: var(--quiet); }
.filters input, .filters select { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--quiet);
  border-radius: 4px; padding: 0.2rem 0.45rem; min-width: 9rem; }
footer { margin-top: 3rem; padding-top: 0.7rem; border-top: 1px solid var(--rule); color: var(--quiet); font-size: 0.85rem; }
@media (min-width: 72rem) {
  .page:has(.contents) { grid-template-columns: 11.5rem minmax(0, 1fr); }
  .page > :not(.contents) { grid-column: 2; }
  .page:not(:has(.contents)) > * { grid-column: 1; }
  .contents { grid-column: 1; grid-row: 1 / span 9; position: sticky; top: 1.4rem; align-self: start; margin: 0; }
  .contents ol { display: block; }
  .contents li { border-bottom: 1px solid var(--rule); }
  .contents a { display: block; padding: 0.22rem 0; }
}
@media (max-width: 44rem) {
  .page { padding: 1rem 0.9rem 2rem; }
  h1 { font-size: 1.3rem; }
  .line { grid-template-columns: 2.2rem 4.6rem 1fr; }
  .line .telling { grid-column: 1 / -1; padding-left: 2.8rem; }
  .line .instance { text-align: right; }
  dl.rows > div { grid-template-columns: 1fr; gap: 0; }
}
@media print {
  @page { size: A4; margin: 16mm 14mm; }
  html { font-size: 9.5pt; }
  .page, .page:has(.contents) { display: block; max-width: none; padding: 0; }
  .contents, .filters, .skip { display: none; }
  h2, h3, summary { break-after: avoid; }
  section { margin-top: 1.3rem; }
  tr, .message .who, .line, dl > div { break-inside: avoid; }
  .picture svg { min-width: 0; max-height: 235mm; }
  .picture { overflow: visible; break-inside: avoid; }
  .wide { overflow: visible; }
  a { color: inherit; text-decoration: none; }
}
"""


def style_sheet(*more: str) -> str:
    """The whole style sheet; ``more`` are those of drawings."""
    light, dark = (" ".join(f"--{name}: {colours[at]};" for name, colours in COLOURS.items()) for at in (0, 1))
    variables = f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    return "\n".join((variables + _RULES, *more))
