"""Problems: actions, answers and rewards, with names of the arms and bounds on the means."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ._messages import LONGEST, Message
from ._validation import check_list
from ._values import Description
from .engine.likelihood_ratio import NEVER, ratio
from .engine.protocols import ProblemKernel
from .engine.state import Floats, Ints, arms_of
from .engine.user_code import own_errors
from .errors import InputError, check_text, error_from, invalid_argument, unknown_name
from .rewards import Gaussian
from .rewards.base import RewardsBase, spread_of
from .structures import StructureBase
from .structures.partition import check_comparable

# relative to a value: a smaller stated sigma is refused; a mean of 10^9 values would be off by
# 0.7% of its standard error
FINEST = 1e-9
GOALS = {"maximise": "maximise", "maximize": "maximise"}
GOALS |= {"minimise": "minimise", "minimize": "minimise"}
LABEL = 1000  # maximal number of characters of the name of an arm
Bounds = tuple[float, float] | Sequence[tuple[float, float]]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem(Description):
    """A combinatorial identification problem.

    Parameters
    ----------
    actions : StructureBase
        The sets of arms that can be measured together in one round.
    answers : StructureBase, optional
        The sets of arms among which the best one is sought. Defaults to `actions`.
    rewards : RewardsBase
        Model of the measurements, for example ``Gaussian(0.1)`` or ``Bernoulli()``.
    names : sequence of str, optional
        One name per arm. Names can be used instead of indices everywhere. `Arms` and similar
        structures take names too.
    bounds : (float, float) or sequence of such pairs, optional
        Range in which the means are known to lie before any data, for all arms or for each arm: the
        set M of the paper, a box.
    goal : {"maximise", "minimise"}, default="maximise"
        Whether the best answer has the largest or the smallest sum of means. Values, estimates and
        bounds are given and shown unchanged.

    Attributes
    ----------
    low, high : tuple of float
        The range of the mean of each arm.

    Raises
    ------
    InputError
        If the arguments are inconsistent, for example if no action contains an arm in which answers
        differ, there is a single answer, or names disagree.

    Notes
    -----
    Problems are immutable and compare by value: two problems are equal if their arguments are.

    Examples
    --------
    >>> import combgame as cg
    >>> pairs, singles = cg.Subsets(4, 2), cg.Arms(4)
    >>> problem = cg.Problem(pairs, singles, cg.Gaussian(0.1), names=["a", "b", "c", "d"])
    >>> problem.label((2,))
    'c'
    """

    actions: StructureBase
    answers: StructureBase
    rewards: RewardsBase
    names: tuple[str, ...] | None
    bounds: Bounds | None  # None allows all means that the rewards can have
    goal: str  # "maximise" or "minimise"
    low: tuple[float, ...] = field(init=False)
    high: tuple[float, ...] = field(init=False)

    def __init__(
        self,
        actions: StructureBase,
        answers: StructureBase | None = None,
        rewards: RewardsBase | None = None,
        names: Sequence[str] | None = None,
        bounds: Bounds | None = None,
        goal: str = "maximise",
    ) -> None:
        if not isinstance(actions, StructureBase):
            raise invalid_argument(
                "actions", actions, "a structure, such as Subsets(10, 3)", of="Problem"
            )
        if not isinstance(rewards, RewardsBase):
            raise invalid_argument(
                "rewards",
                rewards,
                "the rewards of a pull, such as Gaussian(0.1) or Bernoulli()",
                of="Problem",
            )
        answers = actions if answers is None else answers
        if not isinstance(answers, StructureBase):
            raise invalid_argument(
                "answers", answers, "a structure, such as Arms(10), or None", of="Problem"
            )
        if not isinstance(goal, str) or goal not in GOALS:
            raise invalid_argument("goal", goal, "'maximise' or 'minimise'", of="Problem")
        actions, answers, names = by_name(actions, answers, names)
        d = actions.d
        if answers.d != d:
            raise InputError(
                "arms-disagree",
                "Problem: the actions have {actions:count arm} but the answers have {answers}",
                remedy="give both the same arms",
                actions=d,
                answers=answers.d,
            )
        if answers.n_sets() == 1:
            raise InputError(
                "single-answer",
                "Problem: {answers} has a single answer, so there is nothing to find",
                remedy="give at least two",
                answers=str(answers),
            )
        unseen = sorted(answers.relevant_arms() - actions.observable_arms())
        if unseen:
            raise InputError(
                "arms-unobserved",
                "Problem: no action observes the arms {arms}, in which answers differ",
                remedy="add actions that contain them",
                arms=unseen[:10],
            )
        labels = _names(names if names is not None else _own_names(actions, answers), d)
        rewards = rewards.with_names(labels)
        rewards.check_arms(d)
        low, high = _box(rewards, d, bounds)
        if rewards.has_batch_effect():
            _check_batch_effect(actions, answers, bounds, labels)
        vars(self).update(
            actions=actions, answers=answers, rewards=rewards, names=labels, low=low, high=high
        )
        vars(self).update(bounds=self._bounds(), goal=GOALS[goal])
        self.as_maximisation  # noqa: B018  (raises an error if minimising is impossible)

    def _bounds(self) -> Bounds | None:
        """Return the bounds that make the same box again."""
        low, high = self.rewards.mean_range(self.d)
        if (self.low, self.high) == (tuple(low.tolist()), tuple(high.tolist())):
            return None
        box = tuple(zip(self.low, self.high, strict=True))
        return box[0] if len(set(box)) == 1 else box

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same problem."""
        answers = None if self.answers == self.actions else self.answers
        own = _own_names(self.actions, self.answers)
        names = None if own is not None and self.names == tuple(own) else self.names
        return {
            "actions": self.actions,
            "answers": answers,
            "rewards": self.rewards,
            "names": names,
            "bounds": self.bounds,
            "goal": self.goal,
        }

    # ---- the only place where values are reflected: all computations maximise

    @property
    def as_maximisation(self) -> "Problem":
        """Return the equivalent problem that asks for the largest sum.

        Every value x becomes pivot - x. A problem that maximises returns itself.

        Returns
        -------
        Problem
            A problem with ``goal="maximise"``.

        Examples
        --------
        >>> import combgame as cg
        >>> problem = cg.Problem(cg.Arms(2), rewards=cg.Bounded(0, 3), goal="minimise")
        >>> problem.as_maximisation
        Problem(Arms(2), rewards=Bounded(-3.0, 0.0))
        >>> problem.to_internal([1.0, 2.0]).tolist()
        [-1.0, -2.0]
        """
        return self if self.goal == "maximise" else self._as_maximisation

    @cached_property
    def _as_maximisation(self) -> "Problem":
        rewards, pivot = self._reflected_rewards
        low, high = (tuple(pivot - x for x in ends) for ends in (self.high, self.low))
        other = self._with(rewards=rewards, low=low, high=high, goal="maximise")
        vars(other).update(bounds=other._bounds())
        return other

    def to_internal(self, values: Any) -> Floats:
        """Convert values to those of the `as_maximisation` problem, or back.

        Parameters
        ----------
        values : array_like of float
            Values of this problem, or of the `as_maximisation` problem.

        Returns
        -------
        ndarray of float64
            The values themselves if this problem maximises, else pivot - values.
        """
        given = np.asarray(values, dtype=float)
        return given if self.goal == "maximise" else self._reflected_rewards[1] - given

    @property
    def reflection(self) -> float | None:
        """Return the pivot from which `to_internal` subtracts values; None if none is used."""
        return None if self.goal == "maximise" else self._reflected_rewards[1]

    @cached_property
    def _reflected_rewards(self) -> tuple[RewardsBase, float]:
        """Return the rewards of the `as_maximisation` problem, and the pivot."""
        own = self.rewards.reflected() if "reflected" in vars(type(self.rewards)) else None
        if own is None:
            raise InputError(
                "cannot-minimise",
                "Problem: {rewards} does not say what the rewards of -x are, so nothing can be "
                "minimised",
                remedy="give its class the method `reflected`, or negate the values yourself",
                rewards=str(self.rewards),
            )
        if own[1] != 0.0 and len(self._extreme(1.0)) != len(self._extreme(-1.0)):
            raise InputError(
                "sizes-differ",
                "Problem: {rewards} can be minimised only where all answers have as many arms",
                remedy="use Bounded(0, 1), which needs a few more rounds",
                rewards=str(self.rewards),
            )
        return own

    def _extreme(self, score: float) -> tuple[int, ...]:
        """Return the best answer for equal scores: a largest one, or a smallest one."""
        return self.answers.argmax(np.full(self.d, score))

    @property
    def d(self) -> int:
        """Return the number of arms."""
        return self.actions.d

    def kernel(self) -> ProblemKernel:
        """Return fresh kernels for a run that does not stop.

        `Stopping.on` adds a stopping rule. This method is for `as_maximisation` problems only,
        since kernels always maximise.

        Returns
        -------
        ProblemKernel
            The kernels of the actions, answers and rewards.
        """
        assert self.goal == "maximise", "kernels are made of problem.as_maximisation"
        answers, rewards = (
            self.answers.answer_kernel(),
            self.rewards.kernel(np.array(self.low), np.array(self.high)),
        )
        return ProblemKernel(self.actions.kernel(), answers, rewards, ratio(NEVER, self.d))

    def permuted(self, order: Ints) -> "Problem | None":
        """Return the same problem with arm ``order[i]`` called i, and without names.

        Parameters
        ----------
        order : ndarray of int64, shape (d,)
            A permutation of the arms.

        Returns
        -------
        Problem or None
            The problem itself if nothing changes; None if a structure or the rewards cannot be
            permuted.
        """
        actions, rewards = _permuted(self.actions, order), _permuted(self.rewards, order)
        answers = actions if self.answers is self.actions else _permuted(self.answers, order)
        if actions is None or answers is None or rewards is None:
            return None
        low, high, bounds = self.low, self.high, self.bounds
        if not self._equal_bounds:
            low, high = (tuple(ends[a] for a in order) for ends in (low, high))
            bounds = None if bounds is None else tuple(zip(low, high, strict=True))
        alike = actions is self.actions and answers is self.answers
        if alike and (rewards, low, high) == (self.rewards, self.low, self.high):
            return self
        return self._with(
            actions=actions,
            answers=answers,
            rewards=rewards,
            names=None,
            bounds=bounds,
            low=low,
            high=high,
        )

    @cached_property
    def _equal_bounds(self) -> bool:
        """Return whether all arms have the same bounds."""
        return len(set(self.low)) == len(set(self.high)) == 1

    def without_labels(self) -> "Problem":
        """Return the same problem without names of arms, nodes, edges, rows and columns.

        Runs do not depend on them.

        Returns
        -------
        Problem
            The problem without labels.

        Examples
        --------
        >>> import combgame as cg
        >>> nets = [cg.Paths([(a, b), (b, c), (a, c)], a, c) for a, b, c in ("stu", "xyz")]
        >>> one, two = (cg.Problem(net, rewards=cg.Gaussian(1)).without_labels() for net in nets)
        >>> one == two
        True
        """
        actions = self.actions.without_labels()
        answers = actions if self.answers == self.actions else self.answers.without_labels()
        own = _own_names(actions, answers)
        return self._with(
            actions=actions, answers=answers, names=None if own is None else tuple(own)
        )

    def _with(self, **fields: Any) -> "Problem":
        """Return the problem with some fields changed; the others are not checked again."""
        new = object.__new__(Problem)
        kept = ("actions", "answers", "rewards", "names", "bounds", "goal", "low", "high")
        vars(new).update({name: vars(self)[name] for name in kept} | fields)
        return new

    def label(self, arms: Iterable[int | str] | None) -> str:
        """Return a set of arms as text.

        Parameters
        ----------
        arms : iterable of int or str, or None
            The arms, by index or name. None stands for the answer of a capped run.

        Returns
        -------
        str
            The names or indices of the arms; "none" for None.
        """
        if arms is None:
            return "none"
        given = check_list("arms", arms, "a list of arms, such as [0, 2]", of="label")
        said = [
            self.names[self.arm_index(a)] if self.names else str(self.arm_index(a)) for a in given
        ]
        return ("; " if any("," in name for name in said) else ", ").join(said)

    def arm_index(self, name: str | int) -> int:
        """Return the index of an arm.

        Parameters
        ----------
        name : str or int
            The name of the arm, or its index.

        Returns
        -------
        int
            The index.

        Raises
        ------
        UnknownNameError
            If there is no such arm.
        """
        if isinstance(name, str):
            if name not in self._numbers:
                raise unknown_name("arm", name, self.names or [f"0 to {self.d - 1}"])
            return self._numbers[name]
        if (
            isinstance(name, bool)
            or not isinstance(name, int | np.integer)
            or not 0 <= name < self.d
        ):
            raise unknown_name("arm", name, [f"0 to {self.d - 1}", *(self.names or ())])
        return int(name)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: arm for arm, name in enumerate(self.names or ())}

    def check_vector(self, values: Any, what: str) -> Floats:
        """Return one finite number per arm.

        Parameters
        ----------
        values : array_like of float, shape (d,), or mapping
            The numbers in the order of the arms, or by their names or indices.
        what : str
            Name of the argument, for error messages.

        Returns
        -------
        ndarray of float64, shape (d,)
            The numbers in the order of the arms.

        Raises
        ------
        InputError
            If the values are not d finite numbers of at most 1e100 in absolute value.
        """
        given = self._aligned(values, what)
        if given is None or any(
            isinstance(x, bool) or not isinstance(x, int | float | np.number) for x in given
        ):
            raise invalid_argument(what, values, "{d} numbers, one per arm, in order", d=self.d)
        try:
            numbers = np.array(given, dtype=float)
        except (TypeError, ValueError, OverflowError):  # complex numbers, or too large ones
            numbers = np.zeros(0)
        if numbers.shape != (self.d,):
            raise invalid_argument(what, values, "{d} numbers, one per arm, in order", d=self.d)
        if bool((np.abs(numbers[np.isfinite(numbers)]) > 1e100).any()):
            raise invalid_argument(what, values, "at most 1e100", remedy="scale the values")
        if not np.all(np.isfinite(numbers)):
            bad = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise InputError(
                "not-finite",
                "{what}: arm {arm} has the value {value}",
                remedy="give a finite number",
                what=what,
                arm=self.label([bad]),
                value=numbers[bad],
            )
        return numbers

    def _aligned(self, values: Any, what: str) -> list[Any] | None:
        """Return values in the order of the arms.

        Values with labels (a dict, a pandas Series) go to the arms with these labels; other values
        are taken by position.
        """
        if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
            return None
        if not hasattr(values, "keys"):
            return check_list(what, values, "{d} numbers, one per arm, in order", d=self.d)
        labelled: Any = values
        labels = list(labelled.keys())
        given = [labelled[key] for key in labels]
        if labels == list(range(self.d)):
            return given
        arms = [self.arm_index(label) for label in labels]
        if sorted(arms) != list(range(self.d)):
            missing = sorted(set(range(self.d)).difference(arms))
            raise InputError(
                "not-each-arm",
                "{what}: the labels {labels} do not name each of the {d} arms once",
                remedy="missing: {missing}",
                what=what,
                labels=labels[:10],
                d=self.d,
                missing=self.label(missing[:10]),
            )
        return [one for _, one in sorted(zip(arms, given, strict=True), key=lambda pair: pair[0])]

    def precision_problem(self, arm: int, value: float, n: float = 1.0) -> Message | None:
        """Return a message if the rounding of a mean could pass for a lead.

        Parameters
        ----------
        arm : int
            Index of the arm.
        value : float
            The size of its values.
        n : float, default=1.0
            The number of values in the mean.

        Returns
        -------
        Message or None
            A message if the rounding of the mean is above 1% of its standard error.
        """
        sigma = self._sigma[arm]
        if abs(value) * max(FINEST, 100.0 * 2.0**-52 * math.sqrt(n)) <= sigma:
            return None
        return Message(
            "too-coarse",
            "{value:g} is too large beside sigma = {sigma:g}: the rounding of a mean of "
            "{n:count value} would count as evidence",
            remedy="subtract the same number from all values, or state a larger sigma",
            value=value,
            sigma=sigma,
            n=round(n),
        )

    def sigma(self) -> Floats:
        """Return the standard deviations of the arms.

        Returns
        -------
        ndarray of float64, shape (d,)
            The sub-Gaussian scales of the rewards. They are 1 for rewards without a scale, in which
            case no stopping rule uses them.
        """
        spread = spread_of(self.rewards, self.d)
        return np.ones(self.d) if spread is None else spread

    @cached_property
    def _sigma(self) -> Floats:
        """Return the stated standard deviations; infinity if none is stated."""
        stated = spread_of(self.rewards, self.d) if self.rewards.variance_known else None
        return np.full(self.d, np.inf) if stated is None else stated

    def precision(self) -> Floats | None:
        """Return the precisions of the arms if rounds have batch effects.

        Returns
        -------
        ndarray of float64, shape (d,), or None
            1/sigma^2 per arm, or 1 if sigma is not known; None without batch effects.
        """
        if not self.rewards.has_batch_effect():
            return None
        return (
            self.rewards.sub_gaussian_scale(self.d) ** -2.0
            if self.rewards.variance_known
            else np.ones(self.d)
        )

    def check_means(self, values: Iterable[float], what: str = "means") -> Floats:
        """Return true means, checked against the rewards and the bounds.

        Parameters
        ----------
        values : array_like of float, shape (d,), or mapping
            The means in the order of the arms, or by their names or indices.
        what : str, default="means"
            Name of the argument, for error messages.

        Returns
        -------
        ndarray of float64, shape (d,)
            The means.

        Raises
        ------
        InputError
            If a mean is not finite, too large compared to sigma, or impossible for these rewards
            and bounds.
        """
        mean = self.check_vector(values, what)
        for a in np.flatnonzero(np.abs(mean) * FINEST > self._sigma).tolist():
            if (why := self.precision_problem(a, float(mean[a]))) is not None:
                why = why.with_context("{what}: arm {arm}", what=what, arm=self.label([a]))
                raise error_from(InputError, why)
        outside = np.flatnonzero((mean < np.array(self.low)) | (mean > np.array(self.high)))
        if outside.size:
            a = int(outside[0])
            raise InputError(
                "mean-outside",
                "{what}: arm {arm} has the mean {mean}, outside [{low}, {high}]",
                remedy="change the mean, or the bounds of the problem",
                what=what,
                arm=self.label([a]),
                mean=mean[a],
                low=self.low[a],
                high=self.high[a],
            )
        return mean

    def best_two(self, means: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Find the best answer, and the answer that is nearest to it after one value of each arm.

        Parameters
        ----------
        means : array_like of float, shape (d,)
            The means, as they are given for this problem.

        Returns
        -------
        best, rival : tuple of int
            The arms of the two answers. They are equally good if the best answer is not unique.

        Examples
        --------
        >>> import combgame as cg
        >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
        >>> problem.best_two([0.5, 0.1, 0.4, 0.3])
        ((0,), (2,))
        """
        mean, problem = self.to_internal(self.check_vector(means, "means")), self.as_maximisation
        known, one = problem.rewards.variance_known, np.ones(self.d)
        spread = problem.sigma() if known else one
        # sort the arms by value, so that their indices do not change the result
        order = np.lexsort([-np.array(problem.high), -np.array(problem.low), -spread, -mean])
        mine = problem.permuted(order)
        if mine is None:
            mine, order = problem, np.arange(self.d)
        mean, kernel = mean[order], mine.kernel()
        if not known:
            rewards = Gaussian(one.tolist()).kernel(np.array(mine.low), np.array(mine.high))
            kernel = kernel._replace(rewards=rewards)
        best, rival, alternative = np.zeros((3, self.d))
        feasible = np.array([kernel.rewards.project(float(x), a) for a, x in enumerate(mean)])
        with own_errors():
            kernel.answers.argmax(feasible, best)
            kernel.answers.nearest_alternative(kernel.rewards, mean, one, best, rival, alternative)
        first, second = (tuple(sorted(order[list(arms_of(x))].tolist())) for x in (best, rival))
        return first, second


def _permuted(kernel: Any, order: Ints) -> Any:
    """Return a permuted structure or permuted rewards.

    The result is None unless the class itself defines `permuted`, since a subclass may have more to
    permute.
    """
    return kernel.permuted(order) if "permuted" in vars(type(kernel)) else None


def _box(
    rewards: RewardsBase, d: int, bounds: Bounds | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = rewards.mean_range(d)
    if bounds is not None:
        try:
            box = np.asarray(bounds, dtype=float)
        except Exception:  # whatever was given
            box = np.zeros(0)
        if box.shape == (2,):
            box = np.tile(box, (d, 1))
        if box.shape != (d, 2):
            raise invalid_argument(
                "bounds", bounds, "(low, high), or {d} such pairs, one per arm", d=d, of="Problem"
            )
        if np.isnan(box).any() or (box[:, 0] >= box[:, 1]).any():
            raise invalid_argument(
                "bounds", bounds, "pairs with low below high, neither of them NaN", of="Problem"
            )
        low, high = np.maximum(low, box[:, 0]), np.minimum(high, box[:, 1])
        if (low >= high).any():
            raise InputError(
                "no-mean-left",
                "Problem: bounds = {bounds!r} leave no mean that {rewards} can have",
                remedy="widen them",
                bounds=bounds,
                rewards=str(rewards),
            )
    return tuple(low.tolist()), tuple(high.tolist())


def by_name(
    actions: StructureBase, answers: StructureBase, names: Sequence[str] | None
) -> tuple[StructureBase, StructureBase, Sequence[str] | None]:
    """Return structures without names of arms, and those names.

    A problem is the same whether its structures or the problem itself were given the names.
    """
    own = [one.arm_names for one in (actions, answers) if one.arm_names is not None]
    if not own:
        return actions, answers, names
    arms = tuple(own[0] if names is None else names)

    def aligned(structure: StructureBase) -> StructureBase:
        called = structure.arm_names
        if called is None or called == arms:
            return structure.without_labels() if called else structure
        place = {name: a for a, name in enumerate(called)}
        if set(called) == set(arms) and len(arms) == len(called):
            order = np.array([place[name] for name in arms])
            other = _permuted(structure, order)
            if other is not None and getattr(other, "_original", None) is None:
                return other  # type: ignore[no-any-return]
        raise InputError(
            "names-disagree",
            "Problem: {structure} calls its arms {called:list 5}, and the problem {arms:list 5}",
            remedy="give the same names, in the same order",
            structure=type(structure).__name__,
            called=list(called)[:LONGEST],
            arms=list(arms)[:LONGEST],
        )

    mine = aligned(actions)
    return mine, mine if answers is actions else aligned(answers), arms


def _check_batch_effect(
    actions: StructureBase,
    answers: StructureBase,
    bounds: Bounds | None,
    names: tuple[str, ...] | None,
) -> None:
    """Raise an error unless arms can be compared within actions."""
    if bounds is not None:
        raise InputError(
            "level-bounds",
            "Problem: where every play has a level of its own, values say nothing of means alone, "
            "so bounds are of no use",
            remedy="leave bounds out",
        )
    if (why := check_comparable(actions, answers, names)) is not None:
        raise error_from(InputError, why.with_context("Problem: batch_effect=True"))


def _own_names(actions: StructureBase, answers: StructureBase) -> Sequence[str] | None:
    """Return the names of the edges or pairs of a structure, if it has any."""
    own: Sequence[str] | None = getattr(actions, "names", None) or getattr(answers, "names", None)
    return own


def _names(names: Sequence[str] | None, d: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    what = "a list of {d} non-empty texts, one per arm"
    ordered = isinstance(names, Sequence | np.ndarray)
    texts = tuple(check_list("names", names, what, of="Problem", d=d) if ordered else ())
    if len(texts) != d or not all(isinstance(n, str) and n.strip() for n in texts):
        raise invalid_argument("names", names, what, d=d, of="Problem")
    texts = tuple(check_text("a name", n, "a text", of="Problem", most=LABEL) for n in texts)
    if len(set(texts)) < d:
        twice = Counter(texts).most_common(1)[0][0]
        raise InputError(
            "name-repeated",
            "Problem: the name {name!r} is used for two arms",
            remedy="give each a name of its own",
            name=twice,
        )
    return texts


def check_deltas(delta: float | Sequence[float]) -> list[float]:
    """Return one or more confidence parameters strictly between 0 and 1.

    Raises an error for other values.
    """
    try:
        given = np.asarray(delta)
    except Exception:  # a ragged list, or an object of the user
        given = np.zeros(0, dtype=object)
    if given.dtype.kind not in "fiu" or given.ndim > 1:
        raise invalid_argument(
            "delta", delta, "a number between 0 and 1, or a list of them, such as 0.05"
        )
    deltas = [float(x) for x in np.atleast_1d(given).tolist()]
    if not deltas or any(not 0.0 < x < 1.0 for x in deltas):
        raise invalid_argument(
            "delta",
            delta,
            "strictly between 0 and 1: the probability of a wrong answer, such as 0.05",
        )
    return deltas
