"""Arrays that may turn out too short. On the processor they grow; on a card nothing does, and a run
that would need it is marked (a field `outgrown` of a part, int64[1]) and played on the processor.
"""

from typing import TypeVar

import numpy as np

from .marks import jitable
from .records import Floats, Ints

Numbers = TypeVar("Numbers", Floats, Ints)


@jitable(allocates=True)
def longer(x: Numbers) -> Numbers:
    """Twice as long, with the same beginning; on a card, x itself.

    >>> longer(np.ones(2)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    return np.append(x, np.zeros_like(x))
