"""FWS as published: Frank-Wolfe sampling (Wang, Tzeng, Proutiere, *Fast Pure Exploration via
Frank-Wolfe*, NeurIPS 2021, Algorithm 1).

x(t) is a mixture of plays, and F(x) = min_J f_J(x). In rounds t for which floor(t / |X_0|) is a
perfect square, or where the best answer is not unique, z(t) is uniform over X_0, a covering. In all
others z(t) maximises the least <z - x(t-1), h> over the gradients h of all f_J with f_J(x(t-1)) <
F(x(t-1)) + r_t, r_t = t^(-9/10) / |X_0|: a linear programme. Then x(t) = x(t-1) + (z(t) - x(t-1)) /
t, and A_t = argmax_A x_A(t) / N_A(t-1), which is C-tracking of z.

It is published for plays of one arm, X_0 being all of them; here for any plays. The rivals within
r_t are found by listing the answers. The linear programme is a matrix game against them, in which
plays and rivals enter as they are best responses (a double oracle), so that plays are not listed.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import (
    Catalogue,
    Mixture,
    enlarge_catalogue,
    fill_catalogue,
    make_mixture,
)
from ..engine.kernels import Original, grown
from ..engine.likelihood_ratio import alike, differ
from ..engine.protocols import Game, Tracker
from ..engine.state import Fixed, Floats, Ints, Random, View, vector
from ..engine.statistics import Seen
from ..errors import InputError, TooManySetsError
from ..stopping.base import Question
from ._exploration import padded, square, start_sets
from ._matrix_game import MatrixGame, make_matrix
from ._trackers import make_tracker
from .base import RuleBase

LISTED = 50_000  # answers
CRUMB = 1e-9  # a weight this small in a solution is rounding
EXACT = 1e-9  # of F + r: a gap this small is none


class FWSPart(NamedTuple):
    lists: Fixed  # float64[answers, d]: all answers
    home: Ints  # the numbers of X_0 in the catalogue
    catalogue: Catalogue  # the plays met so far
    mixture: Mixture  # z(t)
    tracker: Tracker
    past: Floats  # float64[d]: the sum of all z~, with the start's
    steps: Ints  # int64[1]: of how many; in a study, plays may be another's
    share: Floats  # x~(t-1)
    near: Ints  # int64[answers]: the rivals within r, [:number]
    value: Floats  # float64[answers]: their f_J
    matrix: MatrixGame
    met: Ints  # int64[room]: which rivals are its columns
    arms: Ints  # scratch of `gradient`
    sign: Floats
    slope: Floats  # h
    trial: Floats  # z~, or a mixture of gradients

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        t, cover = seen.clock[0] + 1, self.home.size
        for a in range(self.share.size):
            self.share[a] = self.past[a] / self.steps[0]
        self.steps[0] += 1
        least, radius, number = 0.0, t**-0.9 / cover, 0
        forced = square(t // cover)
        if not forced:
            least = self.appraise(game, seen, view)
            number = self.below(least + radius)
        if forced or least <= 0.0 or number == 0:  # 0: the best answer is not unique
            self.spread()
        else:
            self.climb(game, seen, view, number, least + radius)
        self.catalogue.enter(self.mixture)
        for a in range(self.past.size):
            self.past[a] += self.mixture.arms[a]
        chosen = self.tracker.track(self.catalogue, self.mixture, rng)
        self.catalogue.played[chosen] += 1.0
        self.catalogue.write(chosen, view.action)

    def spread(self) -> None:
        """z: uniform over X_0."""
        for i in range(self.home.size):
            self.mixture.ids[i] = self.home[i]
            self.mixture.weight[i] = 1.0 / self.home.size
        self.mixture.size[0] = self.home.size

    def appraise(self, game: Game, seen: Seen, view: View) -> float:
        """f_J at x~(t-1) for all answers, infinite for the leader; returns F."""
        least = math.inf
        for j in range(self.value.size):
            self.value[j] = math.inf
            if not alike(self.lists[j], view.best):
                self.value[j] = self.apart(game, seen, view, j)
                least = min(least, self.value[j])
        return least

    def apart(self, game: Game, seen: Seen, view: View, j: int) -> float:
        """f_J, with the means at which J is as good in view.alternative[arms]."""
        n = differ(view.best, self.lists[j], self.arms, self.sign)
        return game.rewards.distance(
            seen.mean, self.share, self.arms, self.sign, n, view.alternative
        )

    def below(self, bar: float) -> int:
        """List the rivals below a bar in `near`, and return how many there are."""
        number = 0
        for j in range(self.value.size):
            if self.value[j] < bar:
                self.near[number] = j
                number += 1
        return number

    def gradient(self, game: Game, seen: Seen, view: View, j: int) -> None:
        """Write h, the gradient of f_J at x~(t-1)."""
        for a in range(self.slope.size):
            view.alternative[a] = seen.mean[a]
        self.apart(game, seen, view, j)
        for a in range(self.slope.size):
            self.slope[a] = 0.0
            if self.lists[j, a] != view.best[a]:
                self.slope[a] = game.rewards.divergence(seen.mean[a], view.alternative[a], a)

    def climb(self, game: Game, seen: Seen, view: View, number: int, bar: float) -> None:
        """z: max over plays, min over near rivals, of <z, h_J> - f_J + bar."""
        matrix, rival = self.matrix, self.near[0]
        matrix.used[0], matrix.used[1] = 0, 0
        for i in range(number):
            if self.value[self.near[i]] < self.value[rival]:
                rival = self.near[i]
        self.gradient(game, seen, view, rival)
        game.actions.argmax(self.slope, view.action)
        while True:
            new = matrix.enter(view.action)
            if not self.known(rival):
                self.met[matrix.used[1]] = rival
                matrix.meet(self.slope, bar - self.value[rival])
            elif not new:
                break
            matrix.match(bar)
            matrix.blend(matrix.mine, matrix.used[0], matrix.rows, self.trial)
            low = math.inf  # the least that this mixture is paid, and by whom
            for i in range(number):
                self.gradient(game, seen, view, self.near[i])
                pays = bar - self.value[self.near[i]]
                for a in range(self.slope.size):
                    pays += self.trial[a] * self.slope[a]
                if pays < low:
                    low, rival = pays, self.near[i]
            high = 0.0  # the most that any play is paid by the rivals' mixture
            for j in range(matrix.used[1]):
                high += matrix.theirs[j] * matrix.ground[j]
            matrix.blend(matrix.theirs, matrix.used[1], matrix.columns, self.trial)
            game.actions.argmax(self.trial, view.action)
            for a in range(self.trial.size):
                high += view.action[a] * self.trial[a]
            if high <= low + EXACT * bar or matrix.used[1] == self.met.size:
                break
            self.gradient(game, seen, view, rival)
        self.take()

    def known(self, rival: int) -> bool:
        """Whether a rival is in the matrix game."""
        for j in range(self.matrix.used[1]):  # noqa: SIM110  (compiled)
            if self.met[j] == rival:
                return True
        return False

    def take(self) -> None:
        """The game's mixture of plays becomes z."""
        matrix, size, total = self.matrix, 0, 0.0
        for i in range(matrix.used[0]):
            if matrix.mine[i] > CRUMB:
                total += matrix.mine[i]
        for i in range(matrix.used[0]):
            if matrix.mine[i] > CRUMB:
                self.mixture.ids[size] = self.catalogue.find(matrix.rows[i])
                self.mixture.weight[size] = matrix.mine[i] / total
                size += 1
        self.mixture.size[0] = size

    def full(self) -> bool:
        return bool(self.catalogue.size[0] + self.mixture.ids.size > self.catalogue.length.size)


class FWSSetup:
    """FWS on a problem."""

    alike = True

    def __init__(self, problem: Question) -> None:
        d, actions = problem.actions.d, problem.actions
        sets = start_sets("covering", actions, None)
        room = len(sets) + 4 * d + 32
        catalogue = fill_catalogue(sets, 2 * room, actions.largest())
        catalogue.played[: len(sets)] = catalogue.owed[: len(sets)] = 1.0
        lists = np.array([vector(chosen, d) for chosen in _listed(problem)])
        part = FWSPart(
            lists,
            np.arange(len(sets)),
            catalogue,
            make_mixture(room, d),
            make_tracker("C", 2 * room),
            sum((vector(chosen, d) for chosen in sets), np.zeros(d)),
            np.array([len(sets)]),
            np.zeros(d),
            np.zeros(len(lists), np.int64),
            np.zeros(len(lists)),
            make_matrix(room, d),
            np.zeros(room, np.int64),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
        )
        self.original, self.rows = Original(part), padded(sets)

    def fresh(self, rng: Random) -> tuple[FWSPart, Ints]:
        return self.original.copy(), self.rows

    def enlarge(self, rule: FWSPart) -> FWSPart:
        room = 4 * rule.catalogue.played.size
        return rule._replace(
            catalogue=enlarge_catalogue(rule.catalogue, room),
            tracker=grown(rule.tracker, make_tracker("C", room)),
        )

    def figures(self, rule: FWSPart) -> dict[str, int]:
        return {"support": int(rule.mixture.size[0]), "met": int(rule.catalogue.size[0])}


def _listed(problem: Question) -> list[tuple[int, ...]]:
    try:
        return problem.answers.sets(LISTED)
    except TooManySetsError as error:
        raise TooManySetsError(
            "fws-lists",
            "FWS lists the answers to find all that are nearly nearest, and {answers} has more "
            "than {limit:,}",
            remedy="use the rule 'p-fws' or 'frank-wolfe', which list none",
            answers=str(problem.answers),
            limit=LISTED,
        ) from error


@dataclass(frozen=True, eq=False, repr=False)
class FWS(RuleBase):
    """FWS as published, for any plays and up to 50,000 answers; `FrankWolfe` is what we made of it.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=FWS(), runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    impartial: ClassVar[bool] = True

    def setup(self, problem: Question) -> FWSSetup:
        if problem.rewards.levels():
            raise InputError(
                "fws-levels",
                "FWS is not defined where every play has a level of its own",
                remedy="use the rule 'frank-wolfe'",
            )
        return FWSSetup(problem)
