"""Counter-based random numbers: block n of a run is a function of the seed, the run and n.

Philox 4x32-10 [1]_: ten rounds of multiplications and mixing turn a counter of 128 bits into as
many random bits. A run does not depend on the random numbers of other runs, so it is the same
wherever it is played and beside whichever others. The generator is a kernel like any other: it
draws the same numbers interpreted, compiled and on a GPU, up to the last bit of logarithms and
cosines.

References
----------
.. [1] Salmon, Moraes, Dror and Shaw. *Parallel random numbers: as easy as 1, 2, 3*. SC 2011.
"""

import math
from typing import NamedTuple

import numpy as np

from .state import Floats, Ints

LOW = 0xFFFFFFFF
ROUNDS = 10


class Philox(NamedTuple):
    """The methods of `numpy.random.Generator` that kernels use, from counted blocks.

    Attributes
    ----------
    place : int64[3]
        Seed, run, and number of blocks drawn.
    block : int64[5]
        The last block as four words of 32 bits, and how many of them are left.
    spare : float64[2]
        A normal number that is left over, and 1 if there is one.
    """

    place: Ints
    block: Ints
    spare: Floats

    def next_block(self) -> None:
        """Draw the next block."""
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
        """Return a uniform number in [0, 1), a multiple of 2^-53."""
        if self.block[4] < 2:
            self.next_block()
        at = 4 - self.block[4]
        self.block[4] -= 2
        high, low = self.block[at] >> 5, self.block[at + 1] >> 6
        return float((high * 67108864.0 + low) * 1.1102230246251565e-16)

    def standard_normal(self) -> float:
        """Return a standard normal number; they are made in pairs (Box and Muller)."""
        if self.spare[1] > 0.5:
            self.spare[1] = 0.0
            return float(self.spare[0])
        far = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        angle = 6.283185307179586 * self.random()
        self.spare[0], self.spare[1] = far * math.sin(angle), 1.0
        return far * math.cos(angle)


def philox(seed: int, run: int) -> Philox:
    """Return the generator of a run at its first number.

    >>> rng = philox(seed=1, run=0)
    >>> [round(rng.random(), 6) for _ in range(3)]
    [0.890259, 0.585726, 0.671998]
    """
    place = np.array([seed, run, 0], dtype=np.uint64).astype(np.int64)
    return Philox(place, np.zeros(5, np.int64), np.zeros(2))
