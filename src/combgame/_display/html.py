"""Pages and pieces of pages, from Jinja2 templates, in which every text is escaped.

A figure as SVG inside a page: in the page's own colours, light or dark, and without a trace
outside itself.
"""

import io
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .plotting import BEST, GRID, NEEDED, OTHER, RIVAL, drawing

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def environment(*folders: Path) -> "Environment":
    """Return the templates of some folders, which may use the shared ones."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["css"] = lambda: Markup((TEMPLATES / "combgame.css").read_text())
    return made


@cache
def _environment(folder: Path) -> "Environment":
    return environment(folder)


def render(template: str, folder: Path = TEMPLATES, **known: Any) -> str:
    """Return a template filled in; what is known is escaped, but for pictures."""
    return _environment(folder).get_template(template).render(known)


ROLES = {BEST: "best", RIVAL: "rival", OTHER: "other", NEEDED: "needed", GRID: "grid"}


def inline(made: Any, label: str) -> "Markup":
    """Return an <svg> element. label: what it shows, for those who cannot see it.

    Colours are looked up in the page (--best, --rival, ...), with the usual ones where it has none;
    black is the colour of the text around it.
    """
    from markupsafe import Markup

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
    return Markup(re.sub(r"\n\s*", "\n", head + text[text.index(">") + 1 :]).strip())


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
