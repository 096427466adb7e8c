"""Write docs/paper.md from the tables in a folder: verdicts, numbers and pictures."""

import textwrap
from collections.abc import Sequence

from combgame._display.text import markdown

from .experiments import experiments
from .findings import ClaimResult
from .results import Tables
from .sections import AFTER, SECTIONS, ConditionalBlock, FigureBlock, GridBlock, Section

WIDTH = 100
INTRODUCTION = """# The paper, reproduced

Jourdan, Mutný, Kirschner, Krause, *Efficient Pure Exploration for Combinatorial Bandits with
Semi-Bandit Feedback*, ALT 2021. Everything on this page is written by
`python -m reproduction findings`, in a clone of the repository, from the tables in
[{folder}/]({folder}/), which `python -m reproduction all` makes (runs, tables, pictures, verdicts;
`python -m reproduction list` names the parts). delta = 0.1, stylised threshold and bonus unless a
line says otherwise. Means and quartiles are of the stopping time in rounds; rates of errors have
exact 95 % intervals.

How the instances follow the paper, and where its text leaves a choice:

- k = 3 and k = 2 uniform matroids: the means as printed. The lists for d = 30, 35, 40 are one value
  too long; the last added value is dropped.
- Grid and line networks: random means, from a published seed (2021), stored in the package; the
  largest belongs to the link a* of the paper's figure.
- Hedge and AdaHedge start with every action once, in random order; stopping is tested during the
  start too.
- In every run the arms are relabelled at random (`shuffle_arms=True`), and the run numbers them for
  itself: the order in which the paper lists them decides nothing.
- The paper's figures are pictures, without their numbers; its text has GCB-PE's four means, which
  are *published* here. The marks of Figure 1 were read off the authors' talk before this project
  began (rounds within 150), and no reference to the recording was kept: take them as approximate.
  They are drawn and printed beside ours; finding 1 says which of them noise cannot explain.

Every mean is printed with its standard error, and drawn with its 95 % interval (quartiles are the
pale bars). A verdict accounts for those: a test *holds* or *fails* where that is beyond doubt at a
level of 5 % for all comparisons of the test together (normal, Bonferroni), and *cannot be told*
otherwise. Ratios have errors to first order, as if runs of different rules were independent.
Explanations are marked: *computed* ones change with the tables, *tested* ones have an experiment on
this page, the others are *conjectures*."""

VERDICTS = """## Verdicts

{verdicts}

{runs} {spent}"""

FINDING = """## {number}. {claim}

**{verdict}.** {evidence}.

*Our test:* {test}."""


def page(tables: Tables, verdicts: Sequence[ClaimResult]) -> str:
    """Return the whole page, with links relative to a place beside the folder of the tables."""
    links = {f"finding_{one.number}": f"#{anchor(one)}" for one in verdicts}
    blocks = [INTRODUCTION.format(folder=tables.folder.name), _summary(tables, verdicts)]
    for one in verdicts:
        said = one.evidence[0].upper() + one.evidence[1:]
        filled = one._asdict() | {"verdict": one.verdict.capitalize(), "evidence": said}
        blocks += [FINDING.format(**filled), *one.reasons]
        blocks += _shown(SECTIONS[one.number], tables, links)
    for section in AFTER:
        blocks += _section(section, tables, links)
    return "\n\n".join(wrapped(block) for block in blocks) + "\n"


def _summary(tables: Tables, verdicts: Sequence[ClaimResult]) -> str:
    cells = [
        [f"[{one.number}](#{anchor(one)})", one.claim.replace("|", "\\|"), one.verdict]
        for one in verdicts
    ]
    grid = markdown(["", "finding", "verdict"], cells, left=3)
    return VERDICTS.format(verdicts=grid, runs=_runs(tables), spent=_spent(tables))


def _runs(tables: Tables) -> str:
    """Describe how many runs the rows have, and which have fewer."""
    lines = [(name, row) for name in experiments() for row in tables[name]]
    if not lines:
        return "Nothing has been run yet."
    most = max(row["runs"] for _, row in lines)
    few: dict[tuple[str, int], dict[str, list[str]]] = {}
    for name, row in lines:
        if row["runs"] < most:
            found = few.setdefault((name, row["runs"]), {})
            found.setdefault(row["rule"], []).append(f"{row['x']:g}")
    said = f"{sum(row['runs'] == most for _, row in lines)} of {len(lines)} lines have {most} runs"
    fewer = "; ".join(
        f"{name}, {runs} runs: "
        + ", ".join(f"{rule} ({' '.join(at)})" for rule, at in found.items())
        for (name, runs), found in few.items()
    )
    return said + (f". Fewer: {fewer}." if fewer else ".")


def _spent(tables: Tables) -> str:
    """Describe how long the experiments took."""
    made = tables["made"]
    if not made:
        return ""
    total, jobs = sum(row["worker_seconds"] for row in made), max(row["jobs"] for row in made)
    each = ", ".join(f"{row['experiment']} {row['worker_seconds'] / 60:.0f}" for row in made)
    return (
        f"All of it took {total / 60:,.0f} minutes of one core (two cores shared with other work), "
        f"in minutes: {each}; the last calls used up to {jobs} processes at a time."
    )


def _section(section: Section, tables: Tables, links: dict[str, str]) -> list[str]:
    parts = _shown(section.parts, tables, links)
    return [f"## {section.title}", *parts] if parts else []


def _shown(parts: Sequence[ConditionalBlock], tables: Tables, links: dict[str, str]) -> list[str]:
    """Render parts as Markdown; parts whose tables are missing or empty are left out."""
    blocks = []
    for part in parts:
        if not all(tables[name] for name in part.needs):
            continue
        if isinstance(part.what, FigureBlock):
            text = part.what.text or experiments()[part.what.name].title
            blocks.append(f"![{text}]({tables.folder.name}/{part.what.name}.png)")
        elif isinstance(part.what, str):
            last = tables[part.needs[-1]][-1] if part.needs else {}
            blocks.append(part.what.format(**last | links))
        else:
            made = part.what(tables)
            if isinstance(made, GridBlock):
                blocks += [markdown(*made)] if made.cells else []
            else:
                blocks += [reason.said() for reason in made]
    return blocks


def anchor(one: ClaimResult) -> str:
    """Return the anchor of the heading of a finding."""
    words = "".join(c for c in f"{one.number}. {one.claim}".lower() if c.isalnum() or c in " -_")
    return words.replace(" ", "-")


def wrapped(text: str) -> str:
    """Wrap the paragraphs and list items of Markdown to WIDTH characters.

    Headings, tables and pictures cannot be broken and stay as they are.

    >>> len(wrapped("word " * 30).splitlines()), wrapped("# " + "word " * 30).count(chr(10))
    (2, 0)
    """
    return "\n\n".join(_block(block) for block in text.split("\n\n"))


def _block(block: str) -> str:
    if block.startswith(("#", "|", "![")):
        return block
    items = [" ".join(item.split()) for item in block.removeprefix("- ").split("\n- ")]
    if not block.startswith("- "):
        return _filled(" ".join(block.split()))
    return "\n".join(_filled(f"- {item}", "  ") for item in items)


def _filled(text: str, indent: str = "") -> str:
    """Fill a paragraph so that no line begins with - or =, which Markdown would interpret."""
    for sign in "-=":
        text = text.replace(f" {sign} ", f"\0{sign}\0")
    lines = textwrap.fill(
        text,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\0", " ")
