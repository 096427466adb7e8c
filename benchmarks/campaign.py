"""Two workers against one, what scheduling costs, and how long Figure 1 takes: python
benchmarks/campaign.py [--out FILE]

Scaling: Figure 1 of the paper for d = 10, 20, 30 (five rules); modes are interleaved and repeated;
the best of each counts. Figure 1: all of it but the two learners on the simplex for d > 30, with a
share of its 750 runs, on two processes.
"""

import argparse
import tempfile
import time
from pathlib import Path

from made import save

from combgame._display.text import markdown
from combgame.research.campaign import Campaign
from combgame.research.campaign.report import rows
from combgame.research.campaign.store import open_store
from combgame.research.instances.alt2021 import DIMENSIONS, matroid
from reproduction.experiments import FIVE

MODES = {
    "one process": (1, None),
    "joblib, 2 processes": (2, None),
    "dask, 1 worker": (1, "local"),
    "dask, 2 workers": (2, "local"),
}


def figure1(runs: int) -> str:
    """How long Figure 1 takes, but for Hedge and AdaHedge beyond d = 30."""
    small, large = (
        [matroid(d) for d in DIMENSIONS if d <= 30],
        [matroid(d) for d in DIMENSIONS if d > 30],
    )
    campaign = Campaign.cross(
        "figure1",
        small,
        FIVE,
        delta=0.1,
        threshold="stylised",
        runs=runs,
        seed=0,
        max_rounds=10**7,
        shuffle_arms=True,
    )
    campaign += Campaign.cross(
        "figure1",
        large,
        ("uniform", "ofw", "lloo"),
        delta=0.1,
        threshold="stylised",
        runs=runs,
        seed=0,
        max_rounds=10**7,
        shuffle_arms=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        campaign.run(Path(folder) / "figure1.db", 2)
        seconds = time.perf_counter() - began
    return (
        f"Figure 1 without Hedge and AdaHedge for d > 30, {runs} of 750 runs, two processes: "
        f"{seconds:.0f} s; all 750 at that rate: "
        f"{seconds * 750 / runs / 60:.1f} minutes."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument(
        "--figure1",
        type=int,
        default=75,
        help="how many of the 750 runs of Figure 1 to make; 0: none",
    )
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    campaign = Campaign.cross(
        "scaling",
        [matroid(d) for d in (10, 20, 30)],
        FIVE,
        delta=0.1,
        threshold="stylised",
        runs=options.runs,
        seed=0,
        max_rounds=10**7,
        shuffle_arms=True,
    )
    found: dict[str, tuple[float, float]] = {}
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        campaign.run(Path(folder) / "warm.db", 2)  # compiles
        for repeat in range(options.repeats):
            for mode, (jobs, cluster) in MODES.items():
                path = Path(folder) / f"{repeat}-{jobs}-{cluster}.db"
                began = time.perf_counter()
                campaign.run(path, jobs, cluster)
                whole = time.perf_counter() - began
                with open_store(path)[0] as store:
                    first, last = store.db.execute(
                        "SELECT MIN(at - busy), MAX(at) FROM chunks"
                    ).fetchone()
                    span, busy = last - first, store.busy()
                    tables.append(
                        [{k: v for k, v in row.items() if "second" not in k} for row in rows(store)]
                    )
                print(
                    f"{mode}: {whole:.1f} s, of which {span:.1f} s with workers ready; busy "
                    f"{busy:.1f} s",
                    flush=True,
                )
                if mode not in found or span < found[mode][0]:
                    found[mode] = span, busy
    same = all(table == tables[0] for table in tables)
    base = found["one process"][0]
    cells = [
        [mode, f"{span:.1f}", f"{base / span:.2f}x", f"{1.0 - busy / (span * MODES[mode][0]):.1%}"]
        for mode, (span, busy) in found.items()
    ]
    head = [
        "",
        "seconds, workers ready",
        "against one process",
        "idle: scheduling, storing, waiting at the end",
    ]
    text = (
        f"{campaign.runs} runs. Rows of all modes identical: {'yes' if same else 'NO'}.\n\n"
        + markdown(head, cells)
        + "\n"
    )
    if options.figure1:
        text += "\n" + figure1(options.figure1) + "\n"
    print(text)
    save(options.out, text)


if __name__ == "__main__":
    main()
