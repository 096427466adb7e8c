"""The networks of the paper's experiments, with the best link where its figure has it."""

from .._validation import check_size
from ..errors import check_int, invalid_argument
from .paths import Paths


def grid_network(n_s: int) -> Paths:
    """The grid network (binomial bridge) with n_s stages: n_s/2 + 1 nodes on a side, links right
    and down.

    Arm 0 is the link a* of the paper's figure: in the last row, from the corner below the source to
    its right-hand neighbour; one path alone has it (all the way down, then right).

    >>> net = grid_network(6)
    >>> net.d, net.size()
    (24, 20)
    """
    side = check_int("n_s", n_s, 2, of="grid_network") // 2
    check_size(2 * side * (side + 1), "links", of="grid_network")
    if n_s % 2:
        raise invalid_argument(
            "n_s", n_s, "even: half of the stages go right, half go down", of="grid_network"
        )
    edges = [((side, 0), (side, 1))]  # (row, column): a* first
    for row in range(side + 1):
        for column in range(side + 1):
            for head in ((row, column + 1), (row + 1, column)):
                edge = ((row, column), head)
                if max(head) <= side and edge != edges[0]:
                    edges.append(edge)
    return Paths(edges, source=(0, 0), sink=(side, side))


def line_network(n_n: int, n_l: int) -> Paths:
    """The line network: n_l layers of n_n nodes, all links between neighbouring layers.

    Arm 0 is the link a* of the paper's figure: between the first nodes of the first two layers.

    >>> net = line_network(2, 4)
    >>> net.d, net.size()
    (16, 16)
    """
    width, layers = (
        check_int("n_n", n_n, 1, of="line_network"),
        check_int("n_l", n_l, 2, of="line_network"),
    )
    check_size(2 * width + (layers - 1) * width**2, "links", of="line_network")
    edges: list[tuple[object, object]] = [((1, 0), (2, 0))]
    edges += [("s", (1, j)) for j in range(width)]
    for layer in range(1, layers):
        edges += [
            ((layer, i), (layer + 1, j))
            for i in range(width)
            for j in range(width)
            if (layer, i, j) != (1, 0, 0)
        ]
    edges += [((layers, j), "t") for j in range(width)]
    return Paths(edges, source="s", sink="t")
