"""Binary heaps of numbered items: the item with the smallest key is on top, ties by number.

``heap[:n]`` holds items, ``place[item]`` is the position of an item plus 1 (0 if it is not in the
heap), and ``key[item]`` is its key. The functions call no others, so that a call costs nothing in
compiled code.
"""

from .jit import jitable
from .state import Floats, Ints


@jitable
def rise(heap: Ints, place: Ints, key: Floats, at: int) -> None:
    """Move the item at a position up to its place."""
    item = heap[at]
    while at > 0:
        up = (at - 1) >> 1
        other = heap[up]
        if key[item] > key[other] or (key[item] == key[other] and item > other):
            break
        heap[at] = other
        place[other] = at + 1
        at = up
    heap[at] = item
    place[item] = at + 1


@jitable
def sink(heap: Ints, place: Ints, key: Floats, n: int, at: int) -> None:
    """Move the item at a position of a heap of n items down to its place."""
    item = heap[at]
    while 2 * at + 1 < n:
        down = 2 * at + 1
        other = heap[down]
        if down + 1 < n:
            sibling = heap[down + 1]
            if key[sibling] < key[other] or (key[sibling] == key[other] and sibling < other):
                down, other = down + 1, sibling
        if key[item] < key[other] or (key[item] == key[other] and item < other):
            break
        heap[at] = other
        place[other] = at + 1
        at = down
    heap[at] = item
    place[item] = at + 1


@jitable
def drop(heap: Ints, place: Ints, key: Floats, n: int, at: int) -> int:
    """Remove the item at a position from a heap of n items, and return n - 1."""
    last = n - 1
    place[heap[at]] = 0
    if at < last:
        moved = heap[last]
        heap[at] = moved
        rise(heap, place, key, at)
        sink(heap, place, key, last, place[moved] - 1)
    return last


@jitable
def ascend(value: Floats) -> None:
    """Sort numbers in place, in ascending order.

    >>> import numpy as np
    >>> some = np.array([3.0, 1.0, 2.0])
    >>> ascend(some)
    >>> some.tolist()
    [1.0, 2.0, 3.0]
    """
    n = value.size
    for k in range(n + n):  # a heap with the largest on top; then the largest goes to the end
        at, end = n - 1 - k, n
        if k >= n:
            at, end = 0, n + n - 1 - k
            value[0], value[end] = value[end], value[0]
        while 2 * at + 1 < end:
            down = 2 * at + 1
            if down + 1 < end and value[down + 1] > value[down]:
                down += 1
            if value[at] >= value[down]:
                break
            value[at], value[down] = value[down], value[at]
            at = down
