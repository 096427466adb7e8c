"""The durable experiment: ask what to measure, report the results, until the answer is certain."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from .._display.files import PRIVATE
from .._messages import CallHint, OptionHint, PhraseHint
from ..errors import (
    StudyError,
    UnknownNameError,
    check_bool,
    check_positive,
    invalid_argument,
    unknown_name,
)
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions
from ..rules import RuleBase
from ..stopping.base import StoppingBase
from ..storage import clock
from ..storage.base import open_storage
from ..storage.events import ChainedEvent, Event, chain_hash
from . import corrections
from .block_effects import replicates_of
from .decision import Decision, make_decision
from .history import History
from .inputs import (
    Todo,
    asked_of,
    check_means,
    check_one_play,
    check_play,
    check_replicates,
    check_todo,
    check_whole,
    client_of,
    is_probably_chance,
    limits_of,
    name_of,
    observed_of,
    read_values,
    reason_of,
    round_or_arm,
    rounds_of,
    todo_of,
)
from .policy import StudyState
from .round import Entry, Round, RoundRecord, as_round, fingerprint, values_of
from .session import StudySession, StudyTransaction
from .settings import (
    StudySettings,
    check_same,
    check_setting,
    made_by,
    past,
    running_version,
    setting_from,
)
from .view import StudyReader

IF_EXISTS = ("error", "resume", "replace")
NO_CALLS = (None, None, None)


class Study(StudyReader):
    """A durable experiment with an ask/tell interface.

    A study assigns rounds of measurements, stores their results, and stops as soon as the stopping
    rule certifies the best answer.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    delta : float, default=0.05
        Error probability. If the threshold is proved, the certified answer is wrong with
        probability at most ``delta``, no matter how often the study is evaluated.
    rule : str or RuleBase, default="frank-wolfe"
        Sampling rule, by its name or as an object.
    threshold : str or StoppingBase, default="mixture"
        Stopping rule, by its name or as an object.
    storage : str, optional
        Address of a database, such as ``"sqlite:///lab.db"`` or ``"postgresql+psycopg://..."``. By
        default the study is kept in memory and ends with the process.
    name : str, default="study"
        Name of the study in its storage.
    seed : int, default=0
        Seed of the permutation of the arms and of randomised sampling rules.
    if_exists : {"error", "resume", "replace"}, default="error"
        Action to take if the storage has a study of that name. A study can only be resumed with the
        settings with which it was created.
    epsilon : float, default=0.0
        Tolerance: any answer whose total mean is within ``epsilon`` of the best one may be
        certified.
    min_replicates : int, default=2
        Number of values that every relevant arm needs before the study can stop. With two values
        per arm, a gross error in one of them can be detected.
    replicates : int, default=1
        Number of measurements of each arm in a round, unless `ask` specifies another one. If plays
        have batch effects, readings beyond this number do not count (docs/plates.md).
    max_rounds : int, optional
        Budget: the study stops after this number of rounds. `extend` can raise it.
    deadline : datetime, str or float, optional
        Time at which the study stops: a datetime, an ISO 8601 text, or seconds since 1970. `extend`
        can move it.
    client : str, optional
        Default name of the person or instrument that asks and reports.
    engine : {"auto", "python", "compiled"}, default="auto"
        Interpreted or compiled execution. "auto" compiles large problems only.
    timeout : float, default=30.0
        Number of seconds that a call waits for a storage that others use.
    mode : int, default=0o600
        Permissions of a new database file. By default only its owner can read it; 0o640 and 0o660
        admit the group.
    planned_rounds : float, optional
        Number of rounds that a plan predicts. It is stored, to be compared with the actual number.
    on_ask : callable, optional
        Called with each `Round` that was assigned, after it is stored.
    on_tell : callable, optional
        Called with the number of each round that was reported, after its results are stored.
    on_certify : callable, optional
        Called with the `Decision`, after the certificate is stored.

    Attributes
    ----------
    name : str
        Name of the study.
    client : str or None
        Default name of the person or instrument that asks and reports.
    problem : Problem
        The problem to solve.

    Raises
    ------
    InputError
        If an argument is invalid, or the stopping rule requires complete rounds.
    StudyError
        If a study of that name exists and ``if_exists`` is "error", or its settings differ.

    See Also
    --------
    Study.open : Open a stored study by its name.
    combgame.plan : Predict the number of rounds of a study.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1), names=["old", "new"])
    >>> study = cg.Study(problem, delta=0.05)
    >>> while not study.done:
    ...     todo = study.ask()
    ...     study.tell(todo, {arm: 0.5 if arm == 1 else 0.2 for arm in todo.arms})
    >>> study.decision.names
    ('new',)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float = 0.05,
        rule: str | RuleBase = "frank-wolfe",
        threshold: str | StoppingBase = "mixture",
        storage: str | None = None,
        name: str = "study",
        seed: int = 0,
        if_exists: str = "error",
        epsilon: float = 0.0,
        min_replicates: int = 2,
        replicates: int = 1,
        max_rounds: int | None = None,
        deadline: Any = None,
        client: str | None = None,
        engine: str = "auto",
        timeout: float = 30.0,
        mode: int = PRIVATE,
        planned_rounds: float | None = None,
        on_ask: Callable[[Round], Any] | None = None,
        on_tell: Callable[[int], Any] | None = None,
        on_certify: Callable[[Decision], Any] | None = None,
    ) -> None:
        setting = check_setting(
            problem,
            rule,
            delta,
            threshold,
            seed,
            epsilon,
            min_replicates,
            replicates,
            max_rounds,
            deadline,
        )
        if not isinstance(if_exists, str) or if_exists not in IF_EXISTS:
            raise unknown_name("if_exists", if_exists, IF_EXISTS)
        name = name_of(name)
        described = setting.described()
        if planned_rounds is not None:
            described["planned_rounds"] = check_positive("planned_rounds", planned_rounds)
        StudyState(setting, engine)  # raises errors before anything is stored
        by, storing = client_of(client), open_storage(storage, name, timeout, mode)
        try:
            event = Event(
                1, "created", storing.now(), client=by, data=described, version=running_version()
            )
            stored = storing.begin(ChainedEvent(event, chain_hash("", event)), if_exists)
            if stored != event:
                check_same(stored.data, described, name)
        except BaseException:
            storing.close()
            raise
        self._set_up(setting, storing, name, client, engine, on_ask, on_tell, on_certify)

    @classmethod
    def open(
        cls,
        storage: str,
        name: str = "study",
        *,
        client: str | None = None,
        engine: str = "auto",
        timeout: float = 30.0,
        on_ask: Callable[[Round], Any] | None = None,
        on_tell: Callable[[int], Any] | None = None,
        on_certify: Callable[[Decision], Any] | None = None,
    ) -> "Study":
        """Open a stored study with the settings that are stored with it.

        Parameters
        ----------
        storage : str
            Address of the database, such as ``"sqlite:///lab.db"``.
        name : str, default="study"
            Name of the study.
        client, engine, timeout, on_ask, on_tell, on_certify
            See `Study`.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        UnknownNameError
            If there is no such study.
        StudyError
            If its problem, rule or threshold is your own object, which cannot be stored. Open it
            with ``Study(..., if_exists="resume")`` then.
        StoreError
            If the stored settings cannot be read.

        Notes
        -----
        If another version of combgame created the study, a `Notice` is issued as a warning.
        """
        name = name_of(name)
        if storage is None:
            raise invalid_argument(
                "storage", storage, "where the study is stored, such as sqlite:///lab.db"
            )
        storing = open_storage(storage, name, timeout)
        try:
            created = storing.created()
            setting = setting_from(created.data, name)
        except BaseException:
            storing.close()
            raise
        study = cls.__new__(cls)
        study._set_up(setting, storing, name, client, engine, on_ask, on_tell, on_certify)
        study._session.say(made_by(created))
        return study

    def _set_up(
        self,
        setting: StudySettings,
        storing: Any,
        name: str,
        client: str | None,
        engine: str,
        *calls: Any,
    ) -> None:
        self.name, self.client = name, client_of(client)
        self._setting, self._session = setting, StudySession(setting, storing, name, engine)
        self.problem = setting.problem
        self._calls = calls

    def clone(self) -> "Study":
        """Return an empty study in memory with the same settings.

        Returns
        -------
        Study
            A study without rounds and without callbacks.
        """
        storing, made = open_storage(None, self.name, 30.0), Study.__new__(Study)
        event = Event(
            1, "created", clock.now(), data=self._setting.described(), version=running_version()
        )
        storing.begin(ChainedEvent(event, chain_hash("", event)), "error")
        made._set_up(self._setting, storing, self.name, None, self._session.engine, *NO_CALLS)
        return made

    def close(self) -> None:
        """Release the file or the connection.

        The study itself does not end (see `stop`), and nothing is lost if this method is never
        called. SQLite merges its auxiliary files into the database file.
        """
        self._session.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- ask and tell

    @overload
    def ask(
        self,
        n: None = None,
        client: str | None = None,
        lease: float | None = None,
        replicates: int | None = None,
    ) -> Round: ...

    @overload
    def ask(
        self,
        n: int,
        client: str | None = None,
        lease: float | None = None,
        replicates: int | None = None,
    ) -> list[Round]: ...

    def ask(
        self,
        n: int | None = None,
        client: str | None = None,
        lease: float | None = None,
        replicates: int | None = None,
    ) -> Round | list[Round]:
        """Assign the next round, or up to ``n`` rounds.

        Parameters
        ----------
        n : int, optional
            Maximal number of rounds. By default, one round is returned instead of a list.
        client : str, optional
            Name of the person or instrument that measures the rounds. Defaults to the study's
            client.
        lease : float, optional
            Number of seconds after which a round may be assigned to another client.
        replicates : int, optional
            Number of measurements of each arm in a new round. Defaults to the study's
            ``replicates``.

        Returns
        -------
        Round or list of Round
            One round if ``n`` is None; otherwise a list, which may be shorter than ``n``. The list
            is empty if the study is done or its budget is fully allocated.

        Raises
        ------
        StudyError
            If ``n`` is None and no round can be assigned, or if the number of replicates is fixed
            at present (during the initial design, and within a block).
        InputError
            If an argument is invalid.

        Notes
        -----
        The rounds are stored before the call returns. A client that asks again first receives its
        own open rounds, then rounds that failed or whose lease has expired, and then new rounds.
        Without a client, rounds that others hold are never assigned.

        The number of replicates is fixed here, before any value is seen. A measurement that is
        repeated because of its value is an additional replicate.

        Examples
        --------
        >>> import combgame as cg
        >>> study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1)))
        >>> [todo.id for todo in study.ask(2)]
        [1, 2]
        """
        most = asked_of(n, lease, replicates)

        def act(batch: StudyTransaction) -> tuple[list[Round], str, Decision | None]:
            rounds = self._give(batch, most, lease, replicates)
            batch.answer = [vars(one) for one in rounds]
            return rounds, batch.state.phase(batch.at), self._certified(batch)

        by = client_of(client) or self.client
        rounds, phase, decision = self._session.write(by, act)
        self._call(asked=rounds, certified=decision)
        if n is not None:
            return rounds
        if not rounds:
            raise nothing_to_ask(self.name, phase)
        return rounds[0]

    def _give(
        self, batch: StudyTransaction, most: int, lease: float | None, replicates: int | None = None
    ) -> list[Round]:
        state, history = batch.state, batch.state.history
        if state.phase(batch.at) != "running":
            return []
        given: dict[int, None] = {}  # an ordered set
        until = None if lease is None else batch.at + lease

        def again(number: int) -> None:
            batch.add("asked", number, arms=history.open[number].arms, until=until, again=True)

        for number, one in sorted(history.open.items()):
            if len(given) < most and batch.client is not None and one.client == batch.client:
                if one.expired(batch.at) or lease is not None:
                    again(number)
                given[number] = None
        left = [
            (number, one) for number, one in sorted(history.open.items()) if number not in given
        ]
        for number, one in sorted(left, key=lambda pair: not pair[1].waiting):
            if len(given) < most and (
                (one.waiting and history.affordable) or one.expired(batch.at)
            ):
                again(number)
                given[number] = None
        while len(given) < most and history.affordable:
            usual, number = self._setting.replicates, history.last + 1
            times = usual if replicates is None else replicates
            if history.blocks:  # plays have batch effects
                times = replicates_of(history.blocks, number, usual, replicates)
            if times != history.usual and Assumption.NORMAL in claimed_assumptions(
                self.problem.rewards
            ):
                check_replicates(history, times)
            chosen = batch.choose(most - len(given))
            if times != 1:
                chosen["replicates"] = times
            given[number] = None
            batch.add("asked", number, until=until, chosen=True, **chosen)
        return [as_round(self.problem, history.open[number]) for number in given]

    def tell(
        self,
        round: Round | Todo | int | str,
        values: Any,
        final: bool = True,
        client: str | None = None,
    ) -> None:
        """Report the results of a round.

        Parameters
        ----------
        round : Round, int or str
            The round returned by `ask`, its number, or its number and mark as a text
            ("3#kqzmtwfb").
        values : mapping
            Results by arm (index or name). Each result is a number, a list of replicates, a pair
            ``(mean, n)``, or None (or NaN) if the measurement is missing.
        final : bool, default=True
            If False, more results will follow. If True, arms without a result are recorded as
            missing.
        client : str, optional
            Name of the person or instrument that reports. Defaults to the study's client.

        Raises
        ------
        StudyError
            If a different result was reported before (call `retract` first), or if the round was
            abandoned.
        UnknownNameError
            If the study does not know the round or an arm.
        InputError
            If an arm is not part of the round, or a value is impossible for the reward model.

        See Also
        --------
        tell_many : Report several rounds in one transaction.
        observe : Add measurements that were made outside the study.

        Notes
        -----
        The call is atomic: either every result is stored, durably, or none is. Repeating a call
        with the same results has no effect.

        Examples
        --------
        >>> import combgame as cg
        >>> study = cg.Study(cg.Problem(cg.Arms(["old", "new"]), rewards=cg.Gaussian(0.1)))
        >>> todo = study.ask()
        >>> study.tell(todo, {"old": [0.21, 0.19]} if "old" in todo.names else {"new": 0.48})
        """
        self._tell({todo_of(round): values}, final, client)

    def tell_many(
        self,
        told: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | Any,
        final: bool = True,
        client: str | None = None,
        allow_duplicates: bool = False,
    ) -> dict[int, dict[int, Entry]]:
        """Report the results of several rounds in one transaction.

        Parameters
        ----------
        told : mapping, iterable of pairs or data frame
            Results by round, each as for `tell`, such as ``{one: {"a": 0.3}, two: {"b": 0.5}}``; or
            pairs ``(round, values)``; or a data frame with the columns round, arm and value, or
            with the column round and one column per arm.
        final, client
            See `tell`.
        allow_duplicates : bool, default=False
            If True, rows of a data frame that appear to be repeated are accepted.

        Returns
        -------
        dict of int to dict
            Results that were not reported before, by round and arm.

        Raises
        ------
        StudyError, UnknownNameError, InputError
            See `tell`.

        Notes
        -----
        Either all results are stored or none is. The stopping rule is evaluated once, after the
        last round.
        """
        return self._tell(rounds_of(told, self.problem, self.name, allow_duplicates), final, client)

    def _tell(
        self, rounds: Mapping[Todo, Any], final: bool, client: str | None
    ) -> dict[int, dict[int, Entry]]:
        final = check_bool("final", final)

        def act(batch: StudyTransaction) -> tuple[dict[int, dict[int, Entry]], Decision | None]:
            fresh = batch.answer = self._enter(batch, rounds, final)
            return fresh, self._certified(batch)

        fresh, decision = self._session.write(client_of(client) or self.client, act)
        self._call(told=list(fresh), certified=decision)
        return fresh

    def tell_and_ask(
        self,
        round: Round | Todo | int | str,
        values: Any,
        client: str | None = None,
        lease: float | None = None,
    ) -> Round | None:
        """Report a round and ask for the next one, in one transaction.

        This does what `tell` and then ``ask(1)`` do, but either both are stored or neither is, and
        the disk is synchronised once instead of twice.

        Parameters
        ----------
        round, values, client
            See `tell`.
        lease : float, optional
            See `ask`.

        Returns
        -------
        Round or None
            The next round; None if the study is done or its budget is fully allocated.

        Raises
        ------
        StudyError, UnknownNameError, InputError
            See `tell`.

        Examples
        --------
        >>> import combgame as cg
        >>> study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
        >>> todo = study.ask()
        >>> while todo is not None:
        ...     values = {arm: 0.5 if arm == 1 else 0.2 for arm in todo.arms}
        ...     todo = study.tell_and_ask(todo, values)
        >>> study.decision.answer
        (1,)
        """
        todo = todo_of(round)
        asked_of(None, lease)

        def act(batch: StudyTransaction) -> tuple[list[int], Decision | None, list[Round]]:
            fresh = self._enter(batch, {todo: values}, final=True)
            decision, asked = self._certified(batch), self._give(batch, 1, lease)
            batch.answer = [vars(one) for one in asked]
            return list(fresh), decision, asked

        told, decision, asked = self._session.write(client_of(client) or self.client, act)
        self._call(asked, told, decision)
        return asked[0] if asked else None

    def _enter(
        self, batch: StudyTransaction, rounds: Mapping[Todo, Any], final: bool
    ) -> dict[int, dict[int, Entry]]:
        """Add the results of some rounds that are new, and return them."""
        news = {todo.id: self._read(batch, todo, values, final) for todo, values in rounds.items()}
        fresh = {number: new for number, new in news.items() if new is not None}
        for k, (number, new) in enumerate(fresh.items(), start=1):
            # the stopping rule is evaluated after the last round
            more: dict[str, Any] = {"more": True} if k < len(fresh) else {}
            last = final and number in batch.state.history.open
            said = {str(arm): entry for arm, entry in new.items()}
            batch.add("told", number, values=said, final=last, **more)
        return fresh

    def _meant(self, batch: StudyTransaction, todo: Todo) -> RoundRecord:
        """Return the round that a caller means, or refuse it if another round has its number."""
        try:
            known = batch.look_up(todo.id)
        except UnknownNameError:
            check_todo(todo, "", self.name)
            raise
        check_play(known, todo, batch.client)
        check_todo(todo, known.mark, self.name)
        return known

    def _read(
        self, batch: StudyTransaction, todo: Todo, values: Any, final: bool
    ) -> dict[int, Entry] | None:
        """Return the new results of a round; None if the call changes nothing."""
        known, number = self._meant(batch, todo), todo.id
        if known.state == "given up":
            raise StudyError(
                "round-given-up",
                "round {round} was given up",
                remedy="what was measured nevertheless can be told with {observe}",
                round=number,
                observe=CallHint("observe"),
            )
        if known.state == "observed":
            raise StudyError(
                "from-outside",
                "number {round} is data from outside, not a round",
                remedy="it can only be retracted",
                round=number,
            )
        given = read_values(self.problem, values, known.arms, number)
        check_means(self.problem, number, known.replicates, given)
        check_one_play(self.problem, number, known, given)
        if not final:
            check_whole(self.problem, number, known.replicates, given)
        new = self._news(number, known, given)
        return new if new or (final and known.left) else None

    def _news(self, number: int, known: RoundRecord, given: dict[int, Entry]) -> dict[int, Entry]:
        """Return the results that are new; refuse those that contradict earlier ones."""
        for arm, entry in given.items():
            if arm in known.told and known.told[arm].entry != entry and arm not in known.again:
                old = "missing" if known.told[arm].entry is None else known.told[arm].entry
                raise StudyError(
                    "told-otherwise",
                    "round {round}, arm {arm} was told to be {before}, and now {now}; nothing was "
                    "changed",
                    remedy="{retract} first if it was wrong"
                    + (
                        ""
                        if known.block
                        else "; if the round was measured twice, {observe} adds the second"
                    ),
                    round=number,
                    arm=self.problem.label([arm]),
                    before=old,
                    now="missing" if entry is None else entry,
                    retract=CallHint("retract", number, "reason"),
                    observe=CallHint("observe"),
                )
        return {
            arm: entry
            for arm, entry in given.items()
            if arm not in known.told or arm in known.again
        }

    def fail(
        self,
        round: Round | Todo | int | str,
        reason: str,
        retry: bool = True,
        client: str | None = None,
    ) -> None:
        """Report that a round did not work.

        Parameters
        ----------
        round : Round, int or str
            The round, as for `tell`.
        reason : str
            Explanation. It is stored with the event.
        retry : bool, default=True
            If True, the round will be assigned again. If False, it is abandoned.
        client : str, optional
            Name of the person or instrument that reports. Defaults to the study's client.

        Raises
        ------
        StudyError
            If the results of the round were reported already (call `retract` then).
        UnknownNameError
            If the study does not know the round.
        """
        todo, reason, retry = todo_of(round), reason_of(reason), check_bool("retry", retry)

        def act(batch: StudyTransaction) -> Decision | None:
            known, number = self._meant(batch, todo), todo.id
            again = known.waiting and retry and not (known.block and known.told)
            done = known.state == "given up" or again
            if known.state != "open" and not done:
                raise StudyError(
                    "round-told",
                    "round {round} has been told",
                    remedy="{retract} takes that back",
                    round=number,
                    retract=CallHint("retract", number, "reason"),
                )
            if not done:
                batch.add("failed", number, reason, retry=retry)
            return self._certified(batch)

        by = client_of(client) or self.client
        self._call(certified=self._session.write(by, act))

    def retract(
        self,
        round: Round | Todo | int | str | None = None,
        reason: str = "",
        *,
        arm: int | str | None = None,
        client: str | None = None,
    ) -> None:
        r"""Retract the results of a round, or all results of an arm.

        Parameters
        ----------
        round : Round, int or str, optional
            The round, as for `tell`, or the number of data from outside.
        reason : str
            Explanation. It is stored with the event.
        arm : int or str, optional
            Index or name of the arm, if the results of an arm are retracted instead of a round.
        client : str, optional
            Name of the person or instrument that reports. Defaults to the study's client.

        Raises
        ------
        StudyError
            If there is no result to retract.
        UnknownNameError
            If the study does not know the round or the arm.
        InputError
            If neither or both of ``round`` and ``arm`` are given, or no reason.

        Notes
        -----
        A retracted round is open again: report it anew, or call `fail`. Data from outside are
        retracted by their number, for good: add them anew if they contained an error. The results
        of an arm can be reported anew in their rounds, even if these had ended, but the rounds are
        not assigned again.

        Retracting or correcting data changes the data set and gives the stopping rule another
        chance to err. After :math:`k` retractions and corrections (calls of `tell` or `tell_many`
        that replace retracted results) the study is therefore evaluated at :math:`\delta / ((k +
        1)(k + 2))`. Retract what was an error, whatever its value: otherwise the remaining data are
        a selection.
        """
        reason = reason_of(reason)
        round_or_arm(round, arm)

        def act(batch: StudyTransaction) -> Decision | None:
            if round is None:
                which = self.problem.arm_index(arm)  # type: ignore[arg-type]
                if batch.state.history.stats.counts[which] == 0.0:
                    text = "no value of arm {arm} was told, so there is nothing to retract"
                    raise StudyError("arm-not-told", text, arm=self.problem.label([which]))
                batch.add("retracted", None, reason, arm=which)
            else:
                todo = todo_of(round)
                number = todo.id
                if not self._meant(batch, todo).told:
                    text = (
                        "nothing that was told of round {round} is left, so there is nothing to "
                        "retract"
                    )
                    raise StudyError("round-not-told", text, round=number)
                batch.add("retracted", number, reason)
            return self._certified(batch)

        by = client_of(client) or self.client
        # no certificate may rest on results that are being retracted
        self._call(certified=self._session.write(by, act, certify=False))

    def observe(
        self,
        values: Any,
        reason: str | None = None,
        client: str | None = None,
        allow_duplicates: bool = False,
        planned: bool = False,
    ) -> int:
        """Add measurements that were made outside the study.

        Parameters
        ----------
        values : mapping or data frame
            Results by arm, as for `tell`, or a data frame with the columns arm and value.
        reason : str, optional
            Explanation. It is stored with the event.
        client : str, optional
            Name of the person or instrument that reports. Defaults to the study's client.
        allow_duplicates : bool, default=False
            If False, data that agree in all digits with data that were added before are refused.
            Set it to True if they were measured twice.
        planned : bool, default=False
            True if the choice of the arms, and of the number of their measurements, was made before
            any of these values was seen.

        Returns
        -------
        int
            Number by which the data can be retracted.

        Raises
        ------
        StudyError
            If the same data were added before, or if plays have batch effects: values from outside
            cannot be compared with those of the study then.
        InputError
            If there is no value, or a value is impossible for the reward model.

        Notes
        -----
        Planned data contribute more to the estimate of an unknown sigma, and receive better weights
        where answers are sets. For the means, data count equally in both cases. No guarantee
        depends on how unplanned data were chosen.
        """
        reason = None if reason is None else reason_of(reason)
        if self.problem.rewards.has_batch_effect():
            raise StudyError(
                "level-outside",
                "where every play has a level of its own, values from outside cannot be compared "
                "with those of the study",
                remedy="ask for rounds, and tell those",
            )
        given = observed_of(values, self.problem, self.name, allow_duplicates)
        about: dict[str, Any] = {"planned": True} if check_bool("planned", planned) else {}

        def act(batch: StudyTransaction) -> tuple[int, Decision | None]:
            number = batch.state.history.last + 1
            before = batch.state.history.fingerprints.get(fingerprint(given))
            if (
                before is not None
                and not allow_duplicates
                and not is_probably_chance(self.problem, given)
            ):
                raise StudyError(
                    "observed-before",
                    "these are the very values of number {before}, which was observed before; "
                    "nothing was stored",
                    remedy="give {again} if they were measured twice",
                    before=before,
                    again=PhraseHint("again"),
                )
            said = {str(arm): entry for arm, entry in given.items()}
            batch.add("observed", number, reason, values=said, **about)
            batch.answer = number
            return number, self._certified(batch)

        number, decision = self._session.write(client_of(client) or self.client, act)
        self._call(certified=decision)
        return number

    def transfer_from(
        self, old: "Study", reason: str | None = None, client: str | None = None
    ) -> int:
        """Transfer the data of an old study whose problem has fewer arms.

        Use it if a variant arrives after a study has begun. It must be the first call for the new
        study. The old study does not change.

        Parameters
        ----------
        old : Study
            A study of the same problem with some of the arms.
        reason : str, optional
            Explanation. It is stored with the events.
        client : str, optional
            Name of the person or instrument that reports. Defaults to the study's client.

        Returns
        -------
        int
            Number of values that were transferred.

        Raises
        ------
        StudyError
            If the problems do not fit, the old study has no values or has pending rounds, or this
            study has begun.

        Notes
        -----
        The transfer reduces delta (docs/your-data.md): with one additional arm, and the best arm as
        the question, the study is evaluated at a quarter of delta.
        """
        if not isinstance(old, StudyReader):
            raise invalid_argument("old", old, "a study whose arms this one has, too")
        reason = reason_of(reason or f"carried over from the study {old.name!r}")
        with old.view(history=True) as then:
            corrections.check_fits(old.problem, self.problem, [one.id for one in then.pending])
            history = History.of(old.problem.d, then.events, old._setting.first())
            observed = corrections.observations(history, old.problem, self.problem)
            left = then.status.delta / old._setting.delta
        given = sum(values_of(entry) for one in observed for entry in one["values"].values())
        if not observed:
            text = "study {name!r} has no values to carry over"
            raise StudyError("nothing-to-carry", text, name=old.name)
        carried = {
            "study": old.name,
            "share": left * corrections.share(old.problem, self.problem),
            "values": given,
            "m": self.problem.d - old.problem.d,
            "covered": corrections.covered(old.problem, self.problem),
            "happened": corrections.happened(history),
        }

        def act(batch: StudyTransaction) -> Decision | None:
            if batch.state.history.last:
                text = "study {name!r} has begun already"
                remedy = "carry data over into a new study"
                raise StudyError("has-begun", text, remedy=remedy, name=self.name)
            for k, data in enumerate(observed, start=1):
                more: dict[str, Any] = {"more": True} if k < len(observed) else {}
                if k == 1:
                    more["carried"] = carried
                batch.add("observed", k, reason, **data, **more)
            return self._certified(batch)

        by = client_of(client) or self.client
        self._call(certified=self._session.write(by, act))
        return given

    def extend(
        self,
        max_rounds: float | None = None,
        deadline: Any = None,
        *,
        reason: str,
        client: str | None = None,
    ) -> None:
        """Raise the budget or move the deadline, also after the old limit has been reached.

        Parameters
        ----------
        max_rounds : int, optional
            Total number of rounds, more than before. ``math.inf`` removes the limit.
        deadline : datetime, str or float, optional
            Time after the old deadline. ``math.inf`` removes the limit.
        reason : str
            Explanation. It is stored with the event.
        client : str, optional
            Name of the person or instrument that extends the study. Defaults to the study's client.

        Raises
        ------
        StudyError
            If the study is certified or was stopped, had no such limit, or the new one is not
            beyond the old one.
        InputError
            If no limit is given, or it is invalid.

        Notes
        -----
        The guarantee does not depend on budgets, so they may be extended whatever the data look
        like.
        """
        reason = reason_of(reason)
        given = limits_of(max_rounds, deadline)

        def act(batch: StudyTransaction) -> None:
            state = batch.state
            if state.monitor.ended is not None:
                text = "study {name!r} has ended ({why}), so there is nothing to extend"
                raise StudyError("ended", text, name=self.name, why=state.monitor.ended["why"])
            for what, new in given.items():
                old = state.history.limits[what]
                if old is None:
                    raise StudyError(
                        "no-limit",
                        "study {name!r} has no {limit}, so there is nothing to extend",
                        remedy="{stop} ends it",
                        name=self.name,
                        limit=OptionHint(what),
                        stop=CallHint("stop"),
                    )
                if new is not None and new <= old:
                    raise StudyError(
                        "not-more",
                        "{limit} is not more than {before!r}, which it has",
                        remedy="give more, or {stop} it",
                        limit=OptionHint(what, new),
                        before=old,
                        stop=CallHint("stop"),
                    )
            if (given.get("deadline") or math.inf) <= batch.at:
                raise past(deadline)
            batch.add("extended", None, reason, **given)

        self._session.write(client_of(client) or self.client, act)

    def stop(self, reason: str, client: str | None = None) -> None:
        """End the study without a certificate.

        Parameters
        ----------
        reason : str
            Explanation. It is stored with the event.
        client : str, optional
            Name of the person or instrument that stops the study. Defaults to the study's client.

        Raises
        ------
        StudyError
            If the study is certified.

        Notes
        -----
        Stopping a study twice has no further effect.
        """
        reason = reason_of(reason)

        def act(batch: StudyTransaction) -> None:
            ended = batch.state.monitor.ended
            if ended is not None and ended["why"] == "certified":
                text = "study {name!r} is certified; there is nothing to stop"
                raise StudyError("certified-already", text, name=self.name)
            if batch.state.history.stopped is None:
                batch.add("closed", None, reason)

        self._session.write(client_of(client) or self.client, act)

    def _certified(self, batch: StudyTransaction) -> Decision | None:
        """Return the decision if this transaction certified and `on_certify` is set.

        The decision is made here, before another client can write.
        """
        if self._calls[2] is None or not batch.certified:
            return None
        facts = batch.state.ending("certified")
        return make_decision(batch.state, facts, self._session.head(batch.state))

    def _call(
        self,
        asked: Sequence[Round] = (),
        told: Sequence[int] = (),
        certified: Decision | None = None,
    ) -> None:
        """Call the callbacks, after everything is stored.

        All of them are called, even if some raise errors; the first error is raised at the end.
        """
        errors = []
        for call, news in zip(
            self._calls, (asked, told, () if certified is None else (certified,)), strict=True
        ):
            for one in news if call is not None else ():
                try:
                    call(one)
                except Exception as error:
                    errors.append(error)
        if errors:
            raise errors[0]


def nothing_to_ask(name: str, state: str) -> StudyError:
    """Return the error of `Study.ask` if no round can be assigned in this state of the study."""
    text = "study {name!r} asks for nothing: " + (
        "its whole budget is out: tell the rounds that are pending"
        if state == "running"
        else "it has stopped ({state})"
    )
    remedy = "look at `done` before you ask, or use {several}"
    several = CallHint("ask", "n")
    return StudyError(
        "nothing-to-ask", text, remedy=remedy, name=name, state=state, several=several
    )
