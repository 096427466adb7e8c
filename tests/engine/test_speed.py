"""A round of every combination of the covering matrix may not take more than three times what is
recorded, in turns of a loop of plain Python in the same process: a slow compiler cannot go
unnoticed. It took 20 times as long under every numba but one.

python -m tests.engine.test_speed prints the figures of today.
"""

import time

import pytest

from combgame.simulation.runner import InitialState, Run
from tests.engine.test_matrix import MATRIX, instance

TURNS, ROUNDS, MOST = 200_000, 4_000, 3.0
RECORDED = {
    "a list, each its own sigma": 28.3,
    "almost all sets": 14.7,
    "arms": 4.18,
    "best arm of sets": 11.4,
    "matchings, sigmas not known": 301,
    "parts, one sigma": 11,
    "paths": 135,
    "plates": 6.72,
    "product form": 15.4,
    "sets of coins": 92.9,
    "trees, bounded values": 17,
}


def turn():
    """Processor seconds of one turn of the loop."""
    began, x = time.process_time(), 0.0
    for k in range(TURNS):
        x += 0.5 * k
    return (time.process_time() - began) / TURNS


def figure(name):
    """A round in turns: each the least of several, because others are at work, too."""
    problem, means, rule, stopping, deltas = instance(name)
    means = 1e-9 * means + 0.5 * (name != "paths")  # all alike, so that it does not stop
    run = Run(InitialState(problem, rule.bind(problem), stopping, deltas, "compiled"), means, 0, 0)
    run.advance(500)
    rounds, turns = [], []
    for k in range(1, 6):
        turns.append(turn())
        began = time.process_time()
        run.advance(500 + k * ROUNDS)
        rounds.append((time.process_time() - began) / ROUNDS)
    assert run.stats.n_rounds[0] == 500 + 5 * ROUNDS  # all of them were played
    return min(rounds) / min(turns)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(MATRIX) - {"an oracle"}))
def test_a_round_takes_no_longer_than_it_did(name):
    assert figure(name) <= MOST * RECORDED[name]


if __name__ == "__main__":
    for name in sorted(set(MATRIX) - {"an oracle"}):
        print(f'    "{name}": {figure(name):.3g},')
