"""The status of a study, and the next step."""

import math
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from .._display.text import count, weighed
from .._messages import (
    LONGEST,
    PYTHON,
    CallHint,
    Message,
    OptionHint,
    PhraseHint,
    Renderer,
    join_truncated,
)
from ..engine.state import arms_of, vector
from ..engine.user_code import own_errors
from .analysis import batch_warning, estimates, margin, noise, outliers_of
from .block_effects import apart
from .corrections import correction_note
from .decision import proof_so_far, threshold_owner, validity_note
from .diagnostics import NoiseCheck
from .estimates import Estimate, LeadInterval
from .forecast import MANY, forecast_rounds, forecast_with_batches
from .outliers import Outlier
from .policy import StudyState
from .settings import certificate_due, not_vouched, other_sources, other_versions

PROVED = "proved"  # the label of a threshold that needs no comment


class Rival(NamedTuple):
    """An answer that could still be the best one.

    Attributes
    ----------
    answer : tuple of int
        Arms of the answer.
    name : str
        Names of the arms.
    evidence : float
        Evidence of the leader against this answer.
    threshold : float
        Evidence that is required.
    lead : float or None
        Lead of the leader in the unit of measurement; None if nothing compares the two yet.
    """

    answer: tuple[int, ...]
    name: str
    evidence: float
    threshold: float
    lead: float | None


@dataclass(frozen=True)
class Status:
    """The state of a study at one moment; print it to read it.

    Attributes
    ----------
    name : str
        Name of the study.
    state : {"running", "certified", "budget", "deadline", "by hand"}
        The state, or the reason for which the study stopped.
    leader : tuple of int
        Arms of the leading answer. Empty before the first value and, if plays have batch effects,
        before the first block is complete.
    leader_name : str
        Names of these arms.
    evidence : float
        Likelihood ratio (natural logarithm) against the nearest rival, on the scale of
        `combgame.evidence`.
    threshold : float
        Evidence that is required in total, on the same scale.
    rivals : tuple of Rival
        The closest rivals. The first is the one against which most evidence is missing.
    rounds : int
        Number of rounds with results, even if these were retracted.
    values : int
        Number of values.
    pending : tuple of int
        Rounds that are assigned.
    expired : tuple of int
        Those of them whose lease has ended.
    waiting : tuple of int
        Rounds that failed and will be assigned again next.
    forecast : (int, int) or None
        Lower and upper end of a range for the number of rounds still to come (a heuristic, 80%);
        None if there is too little data.
    next_step : Message
        What to do now.
    clients : tuple of (str or None)
        Clients of the pending rounds.
    outliers : tuple of Outlier
        Values that are hard to believe, according to a heuristic.
    settings : dict
        Settings of the study, with its present limits. The deadline is in local time.
    n_late : int
        Number of results that arrived after the study had stopped. Only ``outliers`` includes them.
    retractions : int
        Number of retractions.
    corrections : int
        Number of times that retracted values were replaced.
    delta : float
        Error probability at which the study is evaluated. It is less than that of the settings
        after retractions, corrections and transfers.
    audit_hash : str
        Number and hash of the last event, for `Study.replay`; "" for a study in memory.
    lead : LeadInterval or None
        Lead over the nearest rival, if there is one.
    early_stop : Message or None
        What a tolerance would save, if the nearest rival is close.
    estimates : tuple of Estimate
        One estimate per arm.
    noise_check : NoiseCheck or None
        Comparison of the variation of the values with the sigma that was stated.
    batch_warning : Message or None
        Warning that rounds seem to have batch effects, which the problem does not declare.
    proof_so_far : Message or None
        The p-value of the hypothesis that the leader is not the best answer, if the study ended
        without a certificate.
    threshold_note : Message or None
        While the study runs: why ``threshold`` grows with the data.
    validity : Message or None
        Basis of a certificate: whether the threshold is proved, heuristic, or the user's.
    notes : tuple of Message
        Notes on the versions of combgame that wrote the study, and on the clock of this machine.
    compared : Message or None
        If plays have batch effects: arms that cannot be compared with the leader yet.
    """

    name: str
    state: str
    leader: tuple[int, ...]
    leader_name: str
    evidence: float
    threshold: float
    rivals: tuple[Rival, ...]
    rounds: int
    values: int
    pending: tuple[int, ...]
    expired: tuple[int, ...]
    waiting: tuple[int, ...]
    forecast: tuple[int, int] | None
    next_step: Message
    clients: tuple[str | None, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    n_late: int = 0
    retractions: int = 0
    corrections: int = 0
    delta: float = 0.0
    audit_hash: str = ""
    lead: LeadInterval | None = None
    early_stop: Message | None = None
    estimates: tuple[Estimate, ...] = ()
    noise_check: NoiseCheck | None = None
    batch_warning: Message | None = None
    proof_so_far: Message | None = None
    threshold_note: Message | None = None
    validity: Message | None = None
    notes: tuple[Message, ...] = ()
    compared: Message | None = None

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the status as plain data that JSON can represent.

        Parameters
        ----------
        surface : Renderer
            Syntax in which messages name calls and options.

        Returns
        -------
        dict
            The attributes. Messages become dictionaries with code, arguments, text and remedy.
        """
        return {
            **asdict(self),
            "rivals": [one._asdict() for one in self.rivals],
            "next_step": self.next_step.to_data(surface),
            "batch_warning": None
            if self.batch_warning is None
            else self.batch_warning.to_data(surface),
            "outliers": [one.to_dict(surface) for one in self.outliers],
            "lead": None if self.lead is None else self.lead.to_dict(surface),
            "early_stop": None if self.early_stop is None else self.early_stop.to_data(surface),
            "estimates": [one._asdict() for one in self.estimates],
            "noise_check": None if self.noise_check is None else self.noise_check.to_dict(surface),
            "proof_so_far": None
            if self.proof_so_far is None
            else self.proof_so_far.to_data(surface),
            "threshold_note": None
            if self.threshold_note is None
            else self.threshold_note.to_data(surface),
            "validity": None if self.validity is None else self.validity.to_data(surface),
            "notes": [one.to_data(surface) for one in self.notes],
            "compared": None if self.compared is None else self.compared.to_data(surface),
        }

    def render(self, surface: Renderer = PYTHON) -> str:
        """Return the status as text.

        Parameters
        ----------
        surface : Renderer
            Syntax in which messages name calls and options.

        Returns
        -------
        str
            Several lines, which end with the next step.
        """
        left = (
            "too early to say"
            if self.forecast is None
            else f"about {self.forecast[0]:,} to {self.forecast[1]:,} (heuristic; 4 in 5 cases)"
        )
        lines = [f"study {self.name}: {self.state}", f"  settings     {listed(self.settings)}"]
        if self.validity is not None and self.label != PROVED:
            lines[0] += f" (by a threshold that is {self.label})" * (self.state == "certified")
            lines.append(f"  validity     {self.validity.render_inline(surface)}")
        if self.retractions:
            changed = correction_note(self.retractions, self.corrections, self.delta)
            lines.append(f"  level        {changed.render_inline(surface)}")
        elif self.delta < self.settings.get("delta", 0.0):
            lines.append(
                f"  level        judged at delta = {self.delta:.2g}: data were carried over"
            )
        lines += [
            f"  leading      {self.leader_name} (evidence {self.weighed.render_inline(surface)})",
            *(
                []
                if self.threshold_note is None
                else [f"  needed       {self.threshold_note.render_inline(surface)}"]
            ),
            *([] if self.compared is None else [f"  compared     {self.compared.render(surface)}"]),
            *(
                f"  {'lead' if k == 0 else '':<11}  {one.render_inline(surface)}"
                for k, one in enumerate(self.standing())
            ),
            *(
                f"  {'rivals' if k == 0 else '':<11}  {one.name} ({self._behind(one)}; evidence "
                f"{weighed(one.evidence, one.threshold).render_inline(surface)})"
                for k, one in enumerate(self.rivals)
            ),
            f"  spent        {count(self.rounds, 'round')}, {count(self.values, 'value')}",
        ]
        if self.n_late:
            lines.append(
                f"  later        {count(self.n_late, 'result')}: stored, but not part of this"
            )
        lines.append(f"  pending      {count(len(self.pending), 'round')}{self._who()}")
        if self.expired:
            lines[-1] += f"; {len(self.expired)} of them overdue"
        if self.waiting:
            be = "is" if len(self.waiting) == 1 else "are"
            lines[-1] += f"; {len(self.waiting)} that failed and {be} to be asked again"
        if self.audit_hash:
            lines.append(f"  last event   {self.audit_hash}")
        if self.state == "running":
            lines.append(f"  rounds left  {left}")
        if self.early_stop is not None:
            lines.append(f"  good enough  {self.early_stop.render_inline(surface)}")
        if self.noise_check is not None and self.noise_check.verdict != "not enough data":
            lines.append(f"  noise        {self.noise_check.sentence.render(surface)}")
        lines += [f"  look at      {one.render(surface)}" for one in self.notes]
        lines += [
            f"  {'doubtful' if k == 0 else '':<11}  {one.render(surface)}"
            for k, one in enumerate(self.outliers)
        ]
        if self.batch_warning is not None:
            lines.append(f"  levels       {self.batch_warning.render(surface)}")
        return "\n".join([*lines, self.next_step.render(surface)])

    def standing(self) -> list[Message]:
        """Return messages about the leader: its lead, its probability, the p-value."""
        made = [] if self.lead is None else self.lead.standing()
        return made + ([] if self.proof_so_far is None else [self.proof_so_far])

    @property
    def label(self) -> str:
        """Return the label of the threshold, see `Validity.label`; "" if it is not known."""
        return "" if self.validity is None else str(self.validity.arguments["label"])

    @property
    def weighed(self) -> Message:
        """Return the evidence beside the threshold; while the study runs, with what is missing."""
        least = self.settings.get("min_replicates", 0) if self.state == "running" else 0
        return weighed(self.evidence, self.threshold, least)

    def _behind(self, rival: Rival) -> str:
        """Return a text for the distance of a rival from the leader."""
        unseen = {one.arm for one in self.estimates if one.n == 0}
        if unseen & set(rival.answer):
            return "not measured yet"
        return "not compared yet" if rival.lead is None else f"{rival.lead:.3g} behind"

    def __str__(self) -> str:
        return self.render()

    def _who(self, most: int = 10) -> str:
        """Return the first pending rounds with their clients."""
        pairs = list(zip(self.pending, self.clients, strict=False))
        words = [str(number) if who is None else f"{number} ({who})" for number, who in pairs]
        return f": {join_truncated(words, most)}" if words else ""


def settings(state: StudyState) -> dict[str, Any]:
    """Return the settings of a study as plain data, with its present limits."""
    setting, end = state.setting, state.history.limits["deadline"]
    rule = setting.rule if isinstance(setting.rule, str) else repr(setting.rule)
    return {
        "delta": setting.delta,
        "rule": rule,
        "threshold": str(setting.threshold),
        "seed": setting.seed,
        "epsilon": setting.epsilon,
        "min_replicates": setting.min_replicates,
        **({"replicates": setting.replicates} if setting.replicates > 1 else {}),
        "max_rounds": state.history.max_rounds,
        "deadline": None if end is None else local(end),
        **({"goal": setting.problem.goal} if setting.problem.goal != "maximise" else {}),
        **({"batch_effect": True} if setting.problem.rewards.has_batch_effect() else {}),
    }


def local(at: float) -> str:
    """Return a time in the time zone of this machine.

    >>> local(1e99)
    '1e+99 seconds after 1970'
    """
    try:
        return datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return f"{at:g} seconds after 1970"


def listed(settings: dict[str, Any]) -> str:
    """Return the settings as text.

    >>> how = {"delta": 0.05, "rule": "lloo", "threshold": "mixture", "epsilon": 0.0}
    >>> listed({**how, "min_replicates": 2, "max_rounds": 40, "deadline": None})
    'delta 0.05, rule lloo, threshold mixture, at least 2 values of every arm, at most 40 rounds'
    """
    words = {
        "epsilon": "epsilon {:g}",
        "min_replicates": "at least {} values of every arm",
        "replicates": "{} replicates of every arm in a round",
        "max_rounds": "at most {} rounds",
        "deadline": "until {}",
        "goal": "to {}",
        "batch_effect": "rounds with levels of their own",
    }
    words = {"delta": "delta {:g}", "rule": "rule {}", "threshold": "threshold {}", **words}
    return ", ".join(text.format(settings[key]) for key, text in words.items() if settings.get(key))


def rivals(state: StudyState, most: int = 5) -> tuple[Rival, ...]:
    """Return the closest rivals, at most ``most`` of them.

    The order is by the evidence that is missing, most first, then by name. Any other answer lacks
    an arm of the leader or has an additional one, so forcing each arm in turn finds the closest
    rivals. Of more than `MANY` arms, only the nearest rival is returned.
    """
    problem, side = state.setting.problem, state.monitor.told
    stats, best, kernel, trial = (
        state.history.stats,
        side.state.leader,
        side.kernel,
        np.zeros(problem.d),
    )
    least, weakest = state.monitor.least_evidence()
    nearest = arms_of(weakest)
    evidence = {nearest: least}
    if problem.d <= MANY:
        force = 1.0 + 2.0 * np.abs(stats.projected_mean).sum()
        with own_errors():
            for arm in np.flatnonzero(state.monitor.needed):
                score = stats.projected_mean.copy()
                score[arm] = -force if best[arm] > 0.5 else force
                kernel.answers.argmax(score, trial)
                if (trial != best).any() and arms_of(trial) not in evidence:
                    evidence[arms_of(trial)] = float(
                        kernel.stopping.evidence_against(kernel, stats, best, trial)
                    )
    named = {answer: problem.label(answer) for answer in evidence}
    order = sorted(evidence.items(), key=lambda one: (one[0] != nearest, one[1], named[one[0]]))
    mean, leader = stats.mean, arms_of(best)
    return tuple(
        Rival(
            answer,
            named[answer],
            *state.monitor.shown(value, vector(answer, problem.d)),
            float(mean[list(leader)].sum() - mean[list(answer)].sum())
            if state.monitor.comparable(vector(answer, problem.d))
            else None,
        )
        for answer, value in order[:most]
    )


def standing(state: StudyState, name: str, phase: str, now: float, head: str) -> Status:
    """Return the status of a study.

    Parameters
    ----------
    state : StudyState
        State of the study.
    name : str
        Name of the study.
    phase : str
        Result of ``state.phase(now)``.
    now : float
        Time of the storage in seconds since 1970.
    head : str
        Number and hash of the last event.
    """
    problem = state.setting.problem
    running = phase == "running"
    facts = state.monitor.facts() if running else state.ending(phase)
    known = state.history.open
    out = tuple(number for number, one in known.items() if not one.waiting)
    overdue = tuple(number for number in out if known[number].expired(now))
    waiting = tuple(number for number, one in known.items() if one.waiting)
    if running:
        lead, shown = margin(state.monitor), tuple(estimates(state.monitor))
    else:
        lead = LeadInterval.of(facts["margin"])
        shown = tuple(Estimate(*one) for one in facts["estimates"])
    leader, doubtful = tuple(facts["answer"]), outliers_of(state.monitor)
    close = rivals(state) if leader else ()
    left, enough = None, None
    if running:
        within = None if lead is None or lead.sigma_doubted else lead.within
        epsilon = state.setting.epsilon
        half = epsilon if within is None else float(f"{0.5 * within:.2g}")
        if problem.rewards.has_batch_effect():
            left, sooner = forecast_with_batches(state), None
        else:
            left, sooner = forecast_rounds(state, close, [epsilon, half])
        if within is not None and half > epsilon and not doubtful:
            enough = early_stop(within, half, sooner, left, facts["rounds"])
    if state.monitor.n_late and close:  # the present values are not those at the end
        old = tuple(facts["rival"])
        behind = None if lead is None else lead.value
        close = (Rival(old, problem.label(old), facts["evidence"], facts["threshold"], behind),)
    return Status(
        name,
        phase,
        leader,
        problem.label(leader) if leader else "nobody yet",
        facts["evidence"],
        facts["threshold"],
        close,
        facts["rounds"],
        facts["values"],
        out,
        overdue,
        waiting,
        left,
        next_step(state, phase, out, overdue, left, state.history.max_rounds, len(doubtful)),
        tuple(known[number].client for number in out),
        doubtful,
        settings(state),
        state.monitor.n_late,
        facts["retractions"],
        facts["corrections"],
        facts["delta"],
        head,
        lead,
        enough,
        shown,
        noise(state.monitor),
        batch_warning(state.monitor, state.policy.variance_components()),
        proof_so_far(state, facts) if phase not in ("running", "certified") else None,
        threshold_note(state, facts["threshold"]) if running and facts["values"] else None,
        not_vouched(facts) or validity_note(state.setting.stopping.validity),
        notes(state),
        compared(state, leader) if problem.rewards.has_batch_effect() and facts["values"] else None,
    )


def notes(state: StudyState) -> tuple[Message, ...]:
    """Return notes on the versions of combgame that wrote the study."""
    by, turns = state.history.versions, state.history.turns
    said = other_versions(by, turns) or other_sources(by, turns)
    return tuple(
        one for one in (said, certificate_due() if state.monitor.due else None) if one is not None
    )


def compared(state: StudyState, leader: tuple[int, ...]) -> Message | None:
    """Return a message about arms that cannot be compared with the leader yet."""
    history = state.history
    return apart(
        state.setting.problem, history.stats.batch, history.blocks, history.held_back, leader
    )


FEE = 0.1  # excess of the required evidence over the critical value that is worth a note


def threshold_note(state: StudyState, needed: float) -> Message | None:
    """Explain why the required evidence grows at the same delta, if the excess is at least `FEE`.

    A mixture over all leads pays for the looks that it allows, and for an unknown sigma. The other
    part of the threshold does not change.
    """
    critical = float(
        state.monitor.told.kernel.stopping.critical_value(int(state.history.stats.n_rounds[0]), 0)
    )
    if not FEE <= needed - critical < math.inf:
        return None
    text = "{level} for the confidence and all rivals, and {fee} for looking after every round"
    if state.problem.rewards.variance_known:
        text += ": the latter grows slowly with values and evidence"
    else:
        text += " with a sigma that is not known: the latter changes with values and evidence"
    return Message("needed", text, level=f"{critical:.2f}", fee=f"{needed - critical:.2f}")


def early_stop(
    within: float,
    half: float,
    sooner: tuple[int, int] | None,
    left: tuple[int, int] | None,
    rounds: int,
) -> Message | None:
    """Return a message about the rounds that a tolerance would save; None if the end is near.

    Parameters
    ----------
    within : float
        Bound for the amount by which another answer can be better than the leader.
    half : float
        A smaller tolerance.
    sooner : (int, int), optional
        Forecast for the tolerance ``half``.
    left : (int, int), optional
        Forecast without a tolerance. The end is near if its upper end is at most half of
        ``rounds``.
    rounds : int
        Number of rounds so far.

    Examples
    --------
    >>> print(early_stop(0.05, 0.025, (10, 40), (90, 400), 60))
    stop now if a difference of 0.05 does not matter; 0.025 (epsilon) takes some 10 to 40 rounds, \
    the best answer some 90 to 400.
    """
    if left is not None and left[1] <= 0.5 * rounds:
        return None
    text = "stop now if a difference of {within:g} does not matter"
    if sooner is not None:
        text += "; {half:g} ({epsilon}) takes some {low:,} to {high:,} rounds"
        if left is not None:
            text += ", the best answer some {least:,} to {most:,}"
    low, high = sooner or (0, 0)
    least, most = left or (0, 0)
    return Message(
        "good-enough",
        text,
        within=within,
        half=half,
        epsilon=OptionHint("epsilon"),
        low=low,
        high=high,
        least=least,
        most=most,
    )


def next_step(
    state: StudyState,
    phase: str,
    out: tuple[int, ...],
    overdue: tuple[int, ...],
    left: tuple[int, int] | None,
    most: int | None,
    doubtful: int,
) -> Message:
    """Return a message that says what to do next.

    Parameters
    ----------
    state : StudyState
        State of the study.
    phase : str
        Result of `StudyState.phase`.
    out : tuple of int
        Rounds that are assigned.
    overdue : tuple of int
        Those of them whose lease has ended.
    left : (int, int), optional
        Forecast of the rounds still to come.
    most : int, optional
        Budget of rounds.
    doubtful : int
        Number of outliers.
    """
    n, problem = len(out), state.setting.problem
    says, these = PhraseHint("decision says"), "pending round" if n == 1 else "{n:,} pending rounds"
    if phase == "certified":
        text, validity = "Stop: the answer is certified", state.setting.stopping.validity
        if not validity.proved:
            text += " by the {whose} threshold {name}"
        if doubtful:
            text += (
                ", but {doubtful:count value} {doubtful:is|are} hard to believe: look there first"
            )
        misfit = noise(state.monitor)
        if misfit is not None and misfit.contradicted:
            text += ", but the stated sigma does not fit the values"
        text += "; {says} why"
        if out:
            text += ". The " + these + " {n:is|are} not needed"
        known = {"whose": threshold_owner(validity), "name": state.setting.stopping.name}
        return Message("stop", text, doubtful=doubtful, n=n, says=says, **known)
    if phase != "running":
        text = "It has stopped without a certified answer ({says} what is known)"
        if phase == "budget":
            more = CallHint("extend", max_rounds=..., reason=...)
            remedy = "{more} gives it more rounds"
            return Message("budget-spent", text, remedy=remedy, says=says, more=more)
        if phase == "deadline":
            more = CallHint("extend", deadline=..., reason=...)
            remedy = "{more} gives it more time"
            return Message("deadline-passed", text, remedy=remedy, says=says, more=more)
        return Message("stopped", text, says=says)
    later = bool(state.history.late_stats[0].any())
    if later and problem.rewards.variance_shared and not problem.rewards.has_batch_effect():
        late = [number for number in state.history.awaited if number in out]
        if late:
            return Message(
                "start-waits",
                "Tell {n:round|rounds} {rounds:list 5} next, or {fail} if {n:it is|they are} lost: "
                "nothing can be certified before all of the start has been told or has failed, "
                "because sigma is taken from it",
                n=len(late),
                rounds=late[:LONGEST],
                fail=CallHint("fail", late[0], "reason"),
            )
    told = state.history.stats.counts + state.history.pending
    silent = np.flatnonzero(state.monitor.needed & (told == 0.0))
    if silent.size and state.history.n_told >= 2 * len(state.policy.start):
        return Message(
            "silent-arm",
            "Look at arm {arm}: no value of it counts (they are missing, or were retracted); "
            "without one nothing can be certified",
            arm=problem.label([int(silent[0])]),
        )
    if overdue:
        return Message(
            "overdue",
            "{n:Round|Rounds} {rounds:list 5} {n:is|are} overdue: ask again to give {n:it|them} to "
            "somebody else, or tell {n:it|them}",
            n=len(overdue),
            rounds=list(overdue)[:LONGEST],
        )
    if most is not None and state.history.plays >= most and out:
        text = "The budget of {max_rounds:,} rounds is out: tell the " + these
        return Message("budget-out", text, max_rounds=most, n=n)
    if left is not None and most is not None and state.history.n_told + left[0] > most:
        return Message(
            "budget-short",
            "At this rate {limit} will not be enough: expect {low:,} to {high:,} more",
            remedy="{extend} can change it",
            limit=OptionHint("max_rounds", most),
            low=left[0],
            high=left[1],
            extend=CallHint("extend"),
        )
    if out and state.history.held_back:
        first, size, asked, _ = state.history.blocks[0]
        late = [number for number in out if state.history.open[number].block[0] == first]
        if late:
            return Message(
                "block-waits",
                "Tell {n:round|rounds} {rounds:list 5} next"
                + (", and ask for {more:count round} more" if asked < size else "")
                + ": {held:count round} told already {held:counts|count} only when all {size} "
                "rounds of the block have been told or given up, because rounds are compared in "
                "blocks",
                more=size - asked,
                size=size,
                n=len(late),
                rounds=late[:LONGEST],
                held=len(state.history.held_back),
            )
    look = ""
    if doubtful:
        look = "Look first at the {doubtful:count value} that {doubtful:is|are} hard to believe. "
    if out:
        text = look + "Measure and tell the " + these + "; ask for more if you have capacity"
        return Message("measure", text, n=n, doubtful=doubtful)
    text = look + "Ask for the next round, measure it, tell it"
    return Message("ask", text, doubtful=doubtful)
