"""How the HTML report looks and what draws its figures: constants, no text from data."""

from __future__ import annotations

from observatory.figures import theme

_LIGHT, _DARK = theme.LIGHT, theme.DARK

STYLE = f"""
:root {{ --paper: {_LIGHT.paper}; --ink: {_LIGHT.ink}; --muted: {_LIGHT.muted}; --lines: {_LIGHT.lines}; --accent: {_LIGHT.accent}; color-scheme: light dark; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: {_DARK.paper}; --ink: {_DARK.ink}; --muted: {_DARK.muted}; --lines: {_DARK.lines}; --accent: {_DARK.accent}; }}
}}
* {{ box-sizing: border-box; }}
html {{ scroll-behavior: smooth; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 {theme.FONT}; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
main {{ max-width: 1160px; margin: 0 auto; padding: 40px 24px 80px; }}
a {{ color: var(--accent); }}
h1 {{ font-size: 2.1rem; line-height: 1.2; margin: 0 0 8px; }}
h2 {{ font-size: 1.45rem; margin: 64px 0 12px; padding-top: 14px; border-top: 2px solid var(--ink); }}
h3 {{ font-size: 1.05rem; margin: 32px 0 6px; }}
.subtitle {{ font-size: 1.1rem; color: var(--muted); margin: 0 0 28px; }}
dl {{ display: grid; grid-template-columns: minmax(120px, 180px) 1fr; gap: 6px 20px; margin: 0; padding: 18px 0; border-top: 2px solid var(--ink); border-bottom: 1px solid var(--lines); }}
dt {{ color: var(--muted); }} dd {{ margin: 0; }}
nav ol, .limits {{ padding-left: 1.4em; }} nav li {{ margin: 2px 0; }}
.plot {{ background: {_LIGHT.paper}; border: 1px solid var(--lines); border-radius: 6px; overflow: hidden; }}
.foot {{ font-size: .92rem; margin: 8px 0 2px; }}
.against {{ font-size: .8rem; color: var(--muted); margin: 0; }}
.note {{ font-size: .85rem; color: var(--muted); margin: 6px 0 0; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .88rem; min-width: 100%; }}
th, td {{ overflow-wrap: break-word; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--lines); text-align: right; vertical-align: top; }}
th {{ font-weight: 600; border-bottom: 1.5px solid var(--ink); vertical-align: bottom; }}
tbody th {{ font-weight: 500; border-bottom: 1px solid var(--lines); vertical-align: top; }}
.word {{ text-align: left; min-width: 6em; max-width: 40em; }}
.number + .word {{ min-width: 15em; padding-left: 12px; }}
.number {{ white-space: nowrap; }}
pre {{ font: .82rem/1.5 ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre-wrap; border: 1px solid var(--lines); border-radius: 6px; padding: 10px 14px; margin: 10px 0; }}
details {{ border: 1px solid var(--lines); border-radius: 6px; padding: 10px 14px; margin: 10px 0; }}
summary {{ cursor: pointer; font-weight: 600; }} details details {{ border: 0; padding: 6px 0; margin: 0; }} details details summary {{ font-weight: 400; color: var(--accent); }}
.badge {{ font-size: .78rem; font-weight: 500; border: 1px solid var(--muted); color: var(--muted); border-radius: 10px; padding: 1px 9px; margin-left: 8px; white-space: nowrap; }}
.id {{ font-size: .8rem; color: var(--muted); }}
@media (max-width: 640px) {{
  main {{ padding: 24px 14px 60px; }} h1 {{ font-size: 1.55rem; }} h2 {{ margin-top: 44px; }} dl {{ grid-template-columns: 1fr; gap: 0; }} dd {{ margin-bottom: 10px; }}
}}
@page {{ margin: 14mm 12mm; }}
@media print {{
  :root {{ --paper: #fff; --ink: #000; --muted: #444; --lines: #bbb; --accent: #000; }}
  main {{ max-width: none; padding: 0; }} body {{ font-size: 10.5pt; }} h2 {{ margin-top: 26pt; break-after: avoid; }} h3 {{ break-after: avoid; }}
  figure, tr, .foot {{ break-inside: avoid; }} thead {{ display: table-header-group; }} nav {{ display: none; }}
  table {{ font-size: 7.6pt; }} th, td {{ padding: 3px 6px 3px 0; }} .number {{ white-space: normal; }} .word, .number + .word {{ min-width: 0; overflow-wrap: anywhere; }} p:has(+ pre) {{ break-after: avoid; }}
  .scroll {{ overflow: visible; }} .plot {{ border: 0; }} details {{ border: 0; padding: 0; }} .yaml {{ display: none; }} .record table {{ font-size: 7pt; }}
}}
figure {{ margin: 26px 0; }} figcaption {{ font-weight: 600; margin-bottom: 6px; }}
"""

SCRIPT = """
(function () {
  'use strict';
  var plots = Array.prototype.slice.call(document.querySelectorAll('.plot'));
  var touch = window.matchMedia('(pointer: coarse)').matches;
  var config = {displaylogo: false, responsive: true, scrollZoom: false, doubleClick: 'reset', displayModeBar: touch ? false : 'hover',
    modeBarButtons: [['zoomIn2d', 'zoomOut2d', 'resetScale2d']]};
  plots.forEach(function (plot) {
    var spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
    spec.layout.dragmode = touch ? false : 'zoom';
    plot.textContent = '';
    Plotly.newPlot(plot, spec.data, spec.layout, config);
  });
  var cards = document.querySelectorAll('details.record'), open = [];
  function rows(plot) {
    var axis = plot.layout.yaxis || {};
    return axis.showticklabels === false || (axis.tickvals && axis.type !== 'log');
  }
  function paper() {
    open = Array.prototype.map.call(cards, function (card) { return card.open; });
    cards.forEach(function (card) { card.open = true; });
    plots.forEach(function (plot) {
      plot.dataset.height = plot.dataset.height || plot.layout.height;
      var height = Number(plot.dataset.height), shorter = !rows(plot) && height <= 560;
      plot.style.minHeight = '0';
      Plotly.relayout(plot, {width: 690, height: shorter ? Math.min(height, 350) : height});
    });
  }
  function screen() {
    cards.forEach(function (card, i) { card.open = open[i]; });
    plots.forEach(function (plot) { Plotly.relayout(plot, {width: null, height: Number(plot.dataset.height), autosize: true}); });
  }
  window.addEventListener('beforeprint', paper);
  window.addEventListener('afterprint', screen);
})();
"""
