"""The command `combgame bench`."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..errors import invalid_argument
from ._common import AsJson, Cluster, Jobs, Quiet, Seed, finite, how_far, say, stopped

Suite = Annotated[
    str, typer.Option(help="Which instances: paper, trees, arms, sets, random, or all.")
]
Rules = Annotated[
    list[str] | None,
    typer.Option(help="A rule by its name; may be repeated.", show_default="all of them"),
]
Mine = Annotated[
    list[str] | None,
    typer.Option(help="A rule of your own, module:Rule, in a module that can be imported here."),
]
Runs = Annotated[int, typer.Option(min=1, help="Runs of every rule on every instance.")]
Folder = Annotated[
    Path, typer.Option("--out", "-o", help="The folder of the page and the campaign file.")
]


def bench(
    suite: Suite = "all",
    rules: Rules = None,
    mine: Mine = None,
    runs: Runs = 300,
    delta: Annotated[float, typer.Option(help="The error probability that is allowed.")] = 0.1,
    threshold: Annotated[
        str,
        typer.Option(
            help="Which stopping rule all have, by its name, or one of your own, module:Stopping; "
            "stylised is a heuristic."
        ),
    ] = "stylised",
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    out: Folder = Path("bench-results"),
    quiet: Quiet = False,
    so_far: Annotated[
        bool, typer.Option("--so-far", help="Make no more runs: the page of what is there.")
    ] = False,
    decide: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Where these runs cannot tell who is near the best, so many of those who may be.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare rules on the instances of the literature, under one stopping rule, with the limit.

    Writes a page in Markdown and in HTML. The same command again goes on where the last one ended.
    """
    from ..research.benchmark import bench as run
    from ..research.benchmark import contest
    from ..research.benchmark.contest import imported_rule, imported_threshold
    from ..research.benchmark.report import as_text

    if mine and len(mine) > 1:
        what = "one rule: the others can be added to the same folder one by one"
        raise invalid_argument("mine", mine, what, of="bench")
    own = mine[0] if mine else None
    made = contest(
        suite,
        rules,
        imported_rule(own) if own else None,
        runs=runs,
        seed=seed,
        delta=delta,
        threshold=imported_threshold(threshold),
    )
    said: dict[str, object] = {"--suite": suite, "--mine": own, "--runs": runs, "--seed": seed}
    said |= {"--delta": delta, "--threshold": threshold, "--decide": decide}
    words = [str(word) for pair in said.items() if pair[1] is not None for word in pair]
    words += [word for rule in rules or () for word in ("--rules", rule)]
    command = shlex.join(["combgame", "bench", *words, *["--so-far"] * so_far])
    with stopped():
        rows = run(
            made,
            out,
            jobs,
            cluster,
            command=command,
            say=say,
            progress=how_far(quiet, as_json),
            so_far=so_far,
            decide=decide,
        )
    typer.echo(json.dumps(finite(rows), indent=1) if as_json else as_text(made, rows))
    say(f"the page is {out / 'bench.md'}, and {out / 'bench.html'} is one file that stands alone.")
