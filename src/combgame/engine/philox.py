"""Random numbers by counting: the n-th block of a run is a function of the seed, the run and n.

Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
ten rounds of multiplying and mixing turn a counter of 128 bits into as many random ones. No run has
to wait for another one's numbers, so a run is the same wherever and beside whichever others it is
played. A part like any other: interpreted, compiled or on a card, it draws the same numbers, up to
the last bit of logarithms and cosines.
"""

import math
from typing import NamedTuple

import numpy as np

from .state import Floats, Ints

LOW = 0xFFFFFFFF
ROUNDS = 10


class Philox(NamedTuple):
    """What the parts ask of `numpy.random.Generator`, from counted blocks."""

    place: Ints  # int64[3]: seed, run, blocks drawn
    block: Ints  # int64[5]: the last one in four words of 32 bits; how many are left
    spare: Floats  # float64[2]: a normal number that is left over, and 1 if there is one

    def next_block(self) -> None:
        """The next block."""
        drawn, run, seed = int(self.place[2]), int(self.place[1]), int(self.place[0])
        a, b, c, d = drawn & LOW, (drawn >> 32) & LOW, run & LOW, (run >> 32) & LOW
        k, m = seed & LOW, (seed >> 32) & LOW
        for _ in range(ROUNDS):
            one, two = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = (
                ((two >> 32) & LOW) ^ b ^ k,
                two & LOW,
                ((one >> 32) & LOW) ^ d ^ m,
                one & LOW,
            )
            k, m = (k + 0x9E3779B9) & LOW, (m + 0xBB67AE85) & LOW
        self.block[0], self.block[1], self.block[2], self.block[3] = a, b, c, d
        self.block[4] = 4
        self.place[2] += 1

    def random(self) -> float:
        """Uniform on [0, 1), a multiple of 2^-53."""
        if self.block[4] < 2:
            self.next_block()
        at = 4 - self.block[4]
        self.block[4] -= 2
        high, low = self.block[at] >> 5, self.block[at + 1] >> 6
        return float((high * 67108864.0 + low) * 1.1102230246251565e-16)

    def standard_normal(self) -> float:
        """Two at a time (Box and Muller)."""
        if self.spare[1] > 0.5:
            self.spare[1] = 0.0
            return float(self.spare[0])
        far = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        angle = 6.283185307179586 * self.random()
        self.spare[0], self.spare[1] = far * math.sin(angle), 1.0
        return far * math.cos(angle)


def philox(seed: int, run: int) -> Philox:
    """The numbers of run `run` of a seed, from the first one on.

    >>> rng = philox(seed=1, run=0)
    >>> [round(rng.random(), 6) for _ in range(3)]
    [0.890259, 0.585726, 0.671998]
    """
    place = np.array([seed, run, 0], dtype=np.uint64).astype(np.int64)
    return Philox(place, np.zeros(5, np.int64), np.zeros(2))
