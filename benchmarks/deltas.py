"""tau / ln(1/delta) falls towards 1/D_nu: python benchmarks/deltas.py [--runs 200] [--out FILE]
[--plot FILE.svg]

frank-wolfe; all deltas are answered from the same runs.
"""

import argparse
import math
from pathlib import Path

from limit import instances
from made import save

import combgame as cg
from combgame._display.text import markdown

DELTAS = [10.0**-k for k in range(1, 13)]
CHOSEN = (
    ("figure1", "d = 10"),
    ("figure1", "d = 50"),
    ("line3", "n_l = 4"),
    ("best action", "spanning trees, 8 nodes, 20 edges, sigma = 0.2"),
)
THRESHOLDS = ("stylised", "mixture", "gaussian")


def draw(cells: list[list[str]], path: Path) -> None:
    """A panel per instance, a line per threshold."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    panels = list(dict.fromkeys((row[0], row[1]) for row in cells))
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(13, 3.6), sharex=True, sharey=True, layout="constrained"
    )
    for (family, name), ax in zip(panels, axes, strict=True):
        for row in (row for row in cells if row[:2] == [family, name]):
            ax.plot(
                [math.log10(1 / delta) for delta in DELTAS],
                list(map(float, row[4 : 4 + len(DELTAS)])),
                marker=".",
                label=row[2],
            )
        ax.axhline(1.0, color="0.5", linewidth=0.8)
        ax.set_title(f"{family}, {name.split(',')[0]}", fontsize=9)
        ax.set_xlabel("log10(1/delta)")
        ax.set_yscale("log")
        ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axes[0].set_ylabel("mean tau / ln(1/delta), in units of 1/D_nu")
    axes[0].legend(frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--plot", type=Path, default=None)
    options = parser.parse_args()
    cells = []
    for family, instance in instances():
        for threshold in THRESHOLDS if (family, instance.name) in CHOSEN else ():
            sim = cg.simulate(
                instance.problem,
                instance.means,
                rule="frank-wolfe",
                delta=DELTAS,
                threshold=threshold,
                runs=options.runs,
                jobs=options.jobs,
                shuffle_arms=True,
            )
            time = sim.complexity.characteristic_time
            each = [sim.at(delta) for delta in DELTAS]
            values = [
                one.rounds.mean() / math.log(1 / delta) / time
                for one, delta in zip(each, DELTAS, strict=True)
            ]
            errors = sum(int((~one.correct & ~one.capped).sum()) for one in each)
            cells.append(
                [
                    family,
                    instance.name,
                    threshold,
                    f"{time:,.1f}",
                    *(f"{x:.2f}" for x in values),
                    errors,
                    sum(int(one.capped.sum()) for one in each),
                ]
            )
            print(*cells[-1], sep=" | ", flush=True)
    if options.plot:
        draw(cells, options.plot)
    head = [
        "family",
        "instance",
        "threshold",
        "1/D_nu",
        *(f"1e-{k}" for k in range(1, 13)),
        "errors",
        "capped",
    ]
    text = (
        f"{options.runs} runs each. Columns 1e-k: mean stopping round over ln(1/delta) for "
        "delta = 1e-k, in units of 1/D_nu.\n\n"
    )
    save(options.out, text + markdown(head, cells, left=3))


if __name__ == "__main__":
    main()
