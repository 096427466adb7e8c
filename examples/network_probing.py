"""Where is the bottleneck? A probe travels a path and measures the throughput of every link on it;
the weakest link is wanted.

combgame looks for the largest mean, so the weakest link is found by telling the throughputs with a
minus. Two probers work at the same time and are not always heard of again: their leases end, and
somebody else gets their paths.
"""

import numpy as np

import combgame as cg

LINKS = [
    ("in", "a"),
    ("in", "b"),
    ("a", "c"),
    ("a", "d"),
    ("b", "c"),
    ("b", "d"),
    ("c", "out"),
    ("d", "out"),
]
THROUGHPUT = [9.0, 8.5, 7.0, 9.5, 3.0, 8.0, 7.5, 9.0]  # Mbit/s; b -> c is the bottleneck


def main() -> None:
    problem = cg.Problem(
        actions=cg.Paths(LINKS, "in", "out"),
        answers=cg.Arms(len(LINKS)),
        rewards=cg.Gaussian(2.0),
        names=[f"{u}->{v}" for u, v in LINKS],
    )
    study, rng = cg.Study(problem, delta=0.01, seed=1), np.random.default_rng(3)
    while not study.done:
        for prober in ("north", "south"):
            for path in study.ask(2, client=prober, lease=60.0):
                if rng.random() < 0.03:
                    study.fail(path, "the probe did not come back")
                    continue
                study.tell(
                    path,
                    {
                        link: -(THROUGHPUT[link] + 2.0 * rng.standard_normal())
                        for link in path.remaining
                    },
                )
        if study.status.rounds % 20 == 0:
            print(
                f"{study.status.rounds} probes: weakest so far {study.status.leader_name}; "
                f"{study.status.next_step}"
            )
    print(study.decision)
    assert study.decision.names == ("b->c",)


if __name__ == "__main__":
    main()
