"""HTML pages from Jinja2 templates, which escape every text, and figures as inline SVG.

Figures use the colours of the page, light or dark, and change nothing outside themselves.
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
    """Return the environment of the templates in some folders and of the shared ones."""
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
    """Return a template filled in; all values except pictures are escaped."""
    return _environment(folder).get_template(template).render(known)


ROLES = {BEST: "best", RIVAL: "rival", OTHER: "other", NEEDED: "needed", GRID: "grid"}


def inline(made: Any, label: str) -> "Markup":
    """Return a figure as an <svg> element.

    Colours are looked up in the page (--best, --rival, ...), with defaults. Black becomes the
    colour of the surrounding text. The label describes the figure for people who cannot see it.
    """
    from markupsafe import Markup

    out = io.StringIO()
    with drawing():
        made.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # a style for * would apply to the whole page
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
    """Return a style as attributes that use the colours and fonts of the page.

    They also work on a page that allows no styles except its own sheet.

    >>> _themed("fill: #0072b2; stroke: #000000; font-family: Sans")
    ' fill="var(--best, #0072b2)" stroke="currentColor" font-family="inherit"'
    """
    for colour, role in ROLES.items():
        style = style.replace(f": {colour}", f": var(--{role}, {colour})")
    style = style.replace(": #000000", ": currentColor")
    style = re.sub(r"font-family: [^;\"]*", "font-family: inherit", style)
    pairs = (one.split(":", 1) for one in style.split(";") if ":" in one)
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in pairs)
