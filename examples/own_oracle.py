"""Your own rule of what may be measured together: all that is needed is a function from scores to
the best set.

Here: three of nine sensors, no two of them neighbours on the rail (they disturb each other). The
study is kept in a file, and the script may be stopped and started again at any moment: it goes on
where it was.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import combgame as cg

SENSORS, TOGETHER = 9, 3
SIGNAL = [0.2, 0.3, 0.9, 0.3, 0.4, 0.2, 0.5, 0.1, 0.3]


def best_three(scores: np.ndarray) -> list[int]:
    """The three sensors with the largest sum of scores that are not neighbours, by dynamic
    programming along the rail.
    """
    best = {(0, 0): (0.0, ())}  # (sensors looked at, chosen) -> value, which
    for k in range(1, SENSORS + 1):
        for n in range(TOGETHER + 1):
            without = best.get((k - 1, n))
            before = best.get((max(k - 2, 0), n - 1))
            options = [
                one
                for one in (without, before and (before[0] + scores[k - 1], (*before[1], k - 1)))
                if one
            ]
            if options:
                best[k, n] = max(options, key=lambda one: one[0])
    return list(best[SENSORS, TOGETHER][1])


def main(folder: str) -> None:
    problem = cg.Problem(cg.Oracle(best_three, SENSORS), cg.Arms(SENSORS), cg.Gaussian(0.2))
    settings = {
        "delta": 0.05,
        "storage": f"sqlite:///{folder}/rail.db",
        "name": "rail",
        "client": "me",
        "if_exists": "resume",
    }
    rng = np.random.default_rng(5)
    while True:
        with cg.Study(problem, **settings) as study:  # as if the script had been started again
            for _ in range(10):
                if study.done:
                    print(study.decision)
                    assert study.decision.answer == (2,)
                    return
                todo = study.ask()
                study.tell(
                    todo,
                    {
                        sensor: SIGNAL[sensor] + 0.2 * rng.standard_normal()
                        for sensor in todo.remaining
                    },
                )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as place:
            main(place)
