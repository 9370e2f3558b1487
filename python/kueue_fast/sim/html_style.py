"""The page's style sheet: light or dark as the reader has it, and fit for paper."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5c6675; --line: #cfd5dd; --page: #ffffff; --box: #f3f5f8;
  --leaf: #ffffff; --bad: #b3261e; --good: #1b7f4b; --waits: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa4b2; --line: #3a424e; --page: #15191f;
  --box: #1e242c; --leaf: #0f1318; --bad: #ff8a80; --good: #6fd19f; --waits: #e6b45c; } }
body { margin: 2rem auto; max-width: 74rem; padding: 0 1rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.headline { color: var(--soft); margin-top: .3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; border-bottom: 1px solid var(--line); vertical-align: bottom; }
th, td { padding: .15rem .9rem .15rem 0; }
td { vertical-align: top; overflow-wrap: break-word; max-width: 45rem; }
.number { text-align: right; white-space: nowrap; }
.bad { color: var(--bad); } .good { color: var(--good); } .waits { color: var(--waits); }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; }
figure { margin: 1rem 0; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(33rem, 100%), 1fr)); gap: 0 1.5rem; }
.charts figure { margin: .5rem 0; }
svg { max-width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.rule { stroke: var(--soft); stroke-width: 1; }
.domain { fill: var(--box); stroke: var(--line); }
.leaf { fill: var(--leaf); stroke: var(--line); }
.down { stroke: var(--bad); }
.cross { stroke: var(--bad); fill: none; }
svg .name { font-size: 9px; fill: var(--ink); paint-order: stroke; stroke: var(--leaf); stroke-width: 2.5px; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; padding: 0; margin: .3rem 0;
  font-size: .85rem; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } figure { break-inside: avoid; } }
"""
