"""Pieces of HTML: every text is escaped here, and nowhere else. A page stands alone: no script,
nothing fetched, light or dark as the reader has it, and made for printing too.

A figure as SVG inside a page: in the page's own colours, light or dark, and without a trace
outside itself.
"""

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .plotting import BEST, GRID, NEEDED, OTHER, RIVAL, drawing

SHORT = 25  # rows of a table that is printed on one sheet
COLOURS = """
.combgame { --best: #0072b2; --rival: #d55e00; --other: #808080; --needed: #b22222;
  --grid: #8884; --line: #8885; --soft: #8881; --warn: #d55e0022; }
@media screen and (prefers-color-scheme: dark) {
  .combgame.page { --best: #5ab4ec; --rival: #f0894a; --other: #9a9a9a; --needed: #ff7b72; } }
"""
PIECES = """
.combgame { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.combgame table { border-collapse: collapse; margin: .6em 0; font-size: .93em; }
.combgame th, .combgame td { padding: .18em .7em; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); background: none; }
.combgame th { font-weight: 600; }
.combgame .scroll { overflow-x: auto; }
.combgame:not(.page) td { white-space: nowrap; }
.combgame .left { text-align: left; }
.combgame tr.best td { color: var(--best); font-weight: 600; }
.combgame tr.rival td { color: var(--rival); }
.combgame p.lead { font-size: 1.12em; margin: .5em 0; }
.combgame .warn { border-left: 4px solid var(--rival); background: var(--warn);
  padding: .5em .9em; margin: .7em 0; }
.combgame .small { font-size: .87em; opacity: .8; }
.combgame .state { display: inline-block; border: 1px solid currentColor; border-radius: 1em;
  padding: 0 .7em; font-size: .8em; font-weight: 600; vertical-align: middle; }
.combgame .state.certified { color: var(--best); }
.combgame svg { display: block; margin: .4em 0 1em; max-width: 100%; height: auto; }
"""
SHEET = """
:root { color-scheme: light dark; }
body { margin: 0; background: Canvas; color: CanvasText; }
.combgame.page { max-width: 62em; margin: 0 auto; padding: 1.5em 1.5em 4em; }
.page h1 { font-size: 1.6em; margin: .2em 0; overflow-wrap: anywhere; }
.page h2 { font-size: 1.15em; margin: 2em 0 .3em; border-bottom: 2px solid var(--line); }
.page td { overflow-wrap: break-word; }
@media print {
  :root { color-scheme: light; }
  .combgame.page { max-width: none; padding: 0; font-size: 10.5pt; }
  .page h2 { break-after: avoid; }
  .page svg, .page table.short, .page tr, .page li, .page .warn { break-inside: avoid; }
  .page thead { display: table-header-group; }
  .page .scroll { overflow: visible; }
  @page { margin: 16mm; }
}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole document."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{COLOURS}{PIECES}{SHEET}</style>\n</head>\n"
        '<body>\n<main class="combgame page">\n'
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def fragment(parts: Iterable[str]) -> str:
    """Something for a page that is there already, such as a notebook."""
    return (
        f'<div class="combgame"><style>{COLOURS}{PIECES}</style>\n' + "\n".join(parts) + "\n</div>"
    )


def element(tag: str, text: Any, kind: str = "") -> str:
    """
    >>> element("p", "a < b", "lead")
    '<p class="lead">a &lt; b</p>'
    """
    said = f' class="{escape(kind)}"' if kind else ""
    return f"<{tag}{said}>{escape(str(text))}</{tag}>"


def section(title: str, parts: Iterable[str]) -> list[str]:
    """A heading and what is under it; nothing if nothing is."""
    inside = [part for part in parts if part]
    return [element("h2", title), *inside] if inside else []


def listed(items: Iterable[Any]) -> str:
    lines = [element("li", one) for one in items]
    return "<ul>\n" + "\n".join(lines) + "\n</ul>" if lines else ""


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    left: int = 1,
    kinds: Sequence[str] | None = None,
) -> str:
    """A table, the first columns to the left, the others to the right; kinds: one per row."""

    def cells(tag: str, row: Sequence[Any]) -> str:
        return "".join(element(tag, one, "left" if i < left else "") for i, one in enumerate(row))

    body = []
    for place, row in enumerate(rows):
        kind = kinds[place] if kinds else ""
        body.append(f'<tr class="{escape(kind)}">' if kind else "<tr>")
        body.append(cells("td", row) + "</tr>")
    short = ' class="short"' if len(body) <= 2 * SHORT else ""
    return (
        f'<div class="scroll"><table{short}>\n<thead><tr>'
        + cells("th", head)
        + "</tr></thead>\n<tbody>\n"
        + "\n".join(body)
        + "\n</tbody></table></div>"
    )


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """What is known, under its names."""
    lines = [
        f'<tr><th class="left">{escape(name)}</th><td class="left">{escape(str(value))}</td></tr>'
        for name, value in pairs
        if value not in (None, "")
    ]
    return "<table><tbody>\n" + "\n".join(lines) + "\n</tbody></table>" if lines else ""


ROLES = {BEST: "best", RIVAL: "rival", OTHER: "other", NEEDED: "needed", GRID: "grid"}


def inline(made: Any, label: str) -> str:
    """An <svg> element. label: what it shows, for those who cannot see it.

    Colours are looked up in the page (--best, --rival, ...), with the usual ones where it has none;
    black is the colour of the text around it.
    """
    out = io.StringIO()
    with drawing():
        made.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # a rule for * would hold for the whole page
    text = re.sub(r"<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", "", text)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r' style="([^"]*)"', lambda one: _themed(one.group(1)), text)
    text = re.sub(r"<text (?![^>]*\bfill=)", '<text fill="currentColor" ', text)
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    width = float(view.group(1)) if view else 460.0
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" viewBox="0 0 {width:g} {float(view.group(2)) if view else 300.0:g}" '
        f'width="{1.333 * width:.0f}" stroke-linejoin="round" stroke-linecap="butt">'
        f"<title>{escape(label)}</title>"
    )
    return re.sub(r"\n\s*", "\n", head + text[text.index(">") + 1 :]).strip()


def _themed(style: str) -> str:
    """A style as attributes, in the page's colours and letters: a page that allows no styles but
    its own sheet shows it too.

    >>> _themed("fill: #0072b2; stroke: #000000; font-family: Sans")
    ' fill="var(--best, #0072b2)" stroke="currentColor" font-family="inherit"'
    """
    for colour, role in ROLES.items():
        style = style.replace(f": {colour}", f": var(--{role}, {colour})")
    style = style.replace(": #000000", ": currentColor")
    style = re.sub(r"font-family: [^;\"]*", "font-family: inherit", style)
    pairs = (one.split(":", 1) for one in style.split(";") if ":" in one)
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in pairs)
