"""Study: a durable experiment. Ask what to measure, measure it, tell what came out, until it is
sure.
"""

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
from .settings import StudySettings, check_same, check_setting, past, setting_from
from .versions import here, made_by
from .view import StudyReader

IF_EXISTS = ("error", "resume", "replace")
NO_CALLS = (None, None, None)


class Study(StudyReader):
    """A durable ask/tell experiment.

    storage: None keeps it in memory; "sqlite:///lab.db" and "postgresql+psycopg://..." keep it
    there, under its `name`. if_exists: what to do if there is one of that name: "error", "resume"
    (it must have been made with the same settings), "replace". epsilon: any answer within epsilon
    of the best will do. min_pulls: every arm that matters gets so many values first; with two, a
    gross mistake in one of them shows. replicates: a round measures each of its arms so often,
    unless `ask` says otherwise; where plays have levels, later readings of the same round do not
    count (docs/plates.md). max_rounds, deadline: give up after so many rounds, at that
    time (`extend` gives more). mode: who may read a new file, its owner alone (0o600), or its group
    too (0o640, 0o660). expects: how many rounds a plan expects, kept to be compared with what
    happened. client: who asks and tells, unless a call says otherwise. on_asked, on_told,
    on_certified: called with a Round, a Round's number and the Decision, after they are stored.

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
        StudyState(setting, engine)  # whatever does not fit is said before anything is stored
        by, storing = client_of(client), open_storage(storage, name, timeout, mode)
        try:
            event = Event(1, "created", storing.now(), client=by, data=described, version=here())
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
        """A stored study by its name, with the settings that are stored with it."""
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
        """A study in memory with the same settings, and nothing in it."""
        storing, made = open_storage(None, self.name, 30.0), Study.__new__(Study)
        event = Event(1, "created", clock.now(), data=self._setting.described(), version=here())
        storing.begin(ChainedEvent(event, chain_hash("", event)), "error")
        made._set_up(self._setting, storing, self.name, None, self._session.engine, *NO_CALLS)
        return made

    def close(self) -> None:
        """Let go of the file or the connection; what SQLite keeps beside a file goes into it.
        (Nothing is lost without.) `stop` ends it.
        """
        self._session.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- asking and telling

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
        """What to measure next: a round, or up to n of them. They are stored before this returns.

        A client that asks again gets its open rounds back first; then come rounds that failed or
        whose lease has ended; then new ones. Without a client, rounds that others have are never
        given out. lease: seconds after which a round may be given to somebody else. When the study
        is done (or all of its budget is out) a list is empty, and ask() says so. replicates: how
        often each arm of a new round is measured, if not as the study has it. It is fixed here,
        before a value is seen: a reading that is repeated because of what it was is one more.
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
        given: dict[int, None] = {}  # in their order
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
            if history.blocks:  # plays have levels
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
        """What came out of a round, by arm: a number, a list of replicates, (mean, n), or None (or
        NaN) where it is missing.

        final=False: more is to come; otherwise the arms that are not told are missing. The same
        again is harmless; something else is refused until the round is retracted. Nothing is stored
        of what is refused.
        """
        self._tell({todo_of(round): values}, final, client)

    def tell_many(
        self,
        told: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | Any,
        final: bool = True,
        client: str | None = None,
        allow_duplicates: bool = False,
    ) -> dict[int, dict[int, Entry]]:
        """Tell several rounds (or their numbers) at once: all of it is stored, or nothing, and it
        is judged as a whole.

        told: values by round, as for `tell`, such as {one: {"a": 0.3}, two: {"b": 0.5}}; or a list
        of pairs (round, values); or a data frame with the columns round, arm and value, or round
        and a column per arm (lines that it seems to have twice are refused, but for again=True).
        Returns what was new of it, by round and arm.
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
        """Tell a round and ask for the next one, in one transaction: both are stored or neither,
        and the disk syncs once instead of twice.

        It does what `tell` and then `ask(1)` do. None: there is nothing to ask, because the study
        is done, or because all of its budget is out.

        >>> import combgame as cg
        >>> study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
        >>> todo = study.ask()
        >>> while todo is not None:
        ...     todo = study.step(todo, {arm: 0.5 if arm == 1 else 0.2 for arm in todo.arms})
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
        """What is new of some rounds, which is entered."""
        news = {todo.id: self._read(batch, todo, values, final) for todo, values in rounds.items()}
        fresh = {number: new for number, new in news.items() if new is not None}
        for k, (number, new) in enumerate(fresh.items(), start=1):
            # judged after the last of them
            more: dict[str, Any] = {"more": True} if k < len(fresh) else {}
            last = final and number in batch.state.history.open
            said = {str(arm): entry for arm, entry in new.items()}
            batch.add("told", number, values=said, final=last, **more)
        return fresh

    def _meant(self, batch: StudyTransaction, todo: Todo) -> RoundRecord:
        """The round that somebody names, if it is still the same."""
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
        """What is new of a round; None if nothing is."""
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
        """What was not told before."""
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
        """A round did not work. retry: it is asked again; otherwise it is given up."""
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
        """Take back what was told of a round, or of an arm (arm=...). The round is open again: tell
        it anew, or fail it.

        Every retraction, and every `tell` or `tell_many` with values in the place of retracted
        ones, has its price: after k of them the study is judged at delta/((k + 1) (k + 2)). Retract
        what was a mistake, whatever its value: what is left is otherwise a selection. Data from
        outside are taken back by their number, for good: observe them anew if they were mistyped.
        The values of an arm may be told anew in their rounds, also where a round had ended; such a
        round does not ask for it.
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
        # it is heard first: no certificate is given on what is being taken back
        self._call(certified=self._session.write(by, act, certify=False))

    def observe(
        self,
        values: Any,
        reason: str | None = None,
        client: str | None = None,
        allow_duplicates: bool = False,
        planned: bool = False,
    ) -> int:
        """Data that were measured outside the study, by arm, or as a data frame with the columns
        arm and value; the number by which they can be retracted. Data that were observed before,
        to the last of many digits, are refused unless again=True says that they were measured
        twice.

        planned=True: which arms were measured, and how often, was decided before any of these
        values was seen. Then they say more of a sigma that is not known, and sets of arms are
        weighed better; without it, they count just as much for the means, and nothing that is
        proved depends on how they were chosen.
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
        """Take over the data of an old study, to which this one's problem adds arms: a variant
        that arrived later. It comes first in a study; the values count from the start. Returns how
        many they are.

        It has its price (docs/your-data.md): with one more arm, and a question about the best arm,
        the study is judged at a quarter of delta. The old study stays as it is.
        """
        reason = reason_of(reason or f"carried over from the study {old.name!r}")
        with old.moment(history=True) as then:
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
        """More rounds in all, or a later deadline, whether or not the old one has passed; math.inf:
        no limit any longer.

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
        """End the study by hand, if it is not certified; stopping it twice is harmless."""
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
        """The decision that this transaction has made, if it has and `on_certify` wants it;
        taken before anybody else can write.
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
        """Call back, after it is stored. An error in one keeps no other from being called; the
        first is raised at the end.
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
    """state: of the study."""
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
