"""Where a study stands, and what to do next."""

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
from .analysis import batch_warning, doubts, estimates, margin, noise
from .block_effects import apart
from .corrections import correction_note
from .decision import proof_so_far, validity_note, whose
from .diagnostics import NoiseCheck
from .estimates import Estimate, LeadInterval
from .forecast import MANY, forecast_rounds, forecast_with_batches
from .outliers import Outlier
from .policy import StudyState
from .versions import due, mixed, not_vouched, other_sources

PROVED = "proved"  # the label of a threshold of which no more is to be said


class Rival(NamedTuple):
    """An answer that could still be the best, the evidence against it, what is needed, and by how
    much it is behind, in the unit of measurement; None: nothing compares it with the leader yet.
    """

    answer: tuple[int, ...]
    name: str
    evidence: float
    threshold: float
    lead: float | None


@dataclass(frozen=True)
class Status:
    """Print it to read it. `forecast_rounds`: rounds still to come, at least and at most; None while there
    is too little data to say. `evidence`, the likelihood ratio against the nearest rival, and
    `threshold`, all that is asked of it, are on the scale of `cg.evidence`.
    """

    name: str
    state: str  # "running", "certified", "budget", "deadline" or "by hand"
    # () before the first value; where plays have levels, before the first block is complete
    leader: tuple[int, ...]
    leader_name: str
    evidence: float
    threshold: float
    rivals: tuple[Rival, ...]  # the closest first: against which most evidence is missing
    rounds: int  # of which something was told, even if it was retracted
    values: int
    pending: tuple[int, ...]  # rounds that are out
    expired: tuple[int, ...]  # of them, those whose lease has ended
    waiting: tuple[int, ...]  # rounds that failed and are asked again next
    forecast: tuple[int, int] | None
    next_step: Message  # what to do now
    clients: tuple[str | None, ...] = ()  # who has the pending rounds
    outliers: tuple[Outlier, ...] = ()  # values that are hard to believe, as a heuristic has it
    # the limits as they are now; the deadline in local time
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    # results that came after it had stopped: everything above is without them, but for `doubts`
    n_late: int = 0
    retractions: int = 0
    corrections: int = 0  # how often retracted values were told anew
    delta: float = 0.0  # at which it is judged: less than the settings' if values were retracted
    audit_hash: str = (
        ""  # the number and the seal of the last event, for `replay`; "" for a study in memory
    )
    lead: LeadInterval | None = None  # over the nearest rival; None while there is none
    # what a tolerance would save, where the nearest rival is close
    early_stop: Message | None = None
    estimates: tuple[Estimate, ...] = ()  # one per arm
    noise_check: NoiseCheck | None = None  # how the values vary, against the sigma that was stated
    batch_warning: Message | None = None  # if rounds seem to have levels that nobody stated
    # the p-value of the hypothesis that the leader is not the best, once it ended without a
    # certificate
    proof_so_far: Message | None = None
    threshold_note: Message | None = None  # while it runs: why `threshold` grows as values come
    # what a certificate rests on: whether the threshold is proved, heuristic or the user's
    validity: Message | None = None
    # on the versions of combgame that wrote it, and on this machine's clock
    notes: tuple[Message, ...] = ()
    # where rounds have levels of their own: which arms cannot be compared with the leader yet
    compared: Message | None = None

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """As plain data, which JSON can carry; sentences with code, arguments, text and remedy."""
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
        """All of it, as a surface says it."""
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
        """What is known of the leader: its lead, the chance that it is best, the p-value."""
        made = [] if self.lead is None else self.lead.standing()
        return made + ([] if self.proof_so_far is None else [self.proof_so_far])

    @property
    def label(self) -> str:
        """What the threshold is, as `Validity.label` says it; "" where that is not known."""
        return "" if self.validity is None else str(self.validity.arguments["label"])

    @property
    def weighed(self) -> Message:
        """The evidence against what is needed; while it runs, with what it waits for."""
        least = self.settings.get("min_replicates", 0) if self.state == "running" else 0
        return weighed(self.evidence, self.threshold, least)

    def _behind(self, rival: Rival) -> str:
        """By how much, where that is known."""
        unseen = {one.arm for one in self.estimates if one.n == 0}
        if unseen & set(rival.answer):
            return "not measured yet"
        return "not compared yet" if rival.lead is None else f"{rival.lead:.3g} behind"

    def __str__(self) -> str:
        return self.render()

    def _who(self, most: int = 10) -> str:
        """The first pending rounds, and who has them."""
        pairs = list(zip(self.pending, self.clients, strict=False))
        words = [str(number) if who is None else f"{number} ({who})" for number, who in pairs]
        return f": {join_truncated(words, most)}" if words else ""


def settings(state: StudyState) -> dict[str, Any]:
    """What the study was made with, as plain data; max_rounds and deadline as they are now."""
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
    """A moment in the time zone of this machine.

    >>> local(1e99)
    '1e+99 seconds after 1970'
    """
    try:
        return datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return f"{at:g} seconds after 1970"


def listed(settings: dict[str, Any]) -> str:
    """
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
        "level": "rounds with levels of their own",
    }
    words = {"delta": "delta {:g}", "rule": "rule {}", "threshold": "threshold {}", **words}
    return ", ".join(text.format(settings[key]) for key, text in words.items() if settings.get(key))


def rivals(state: StudyState, most: int = 5) -> tuple[Rival, ...]:
    """The closest rivals first, that is those against which most evidence is missing, ties by name;
    of more than `MANY` arms, only one. Another answer lacks an arm of the
    leader or has one more, so forcing each arm in turn meets them.
    """
    problem, side = state.setting.problem, state.monitor.told
    stats, best, kernel, trial = (
        state.history.stats,
        side.state.leader,
        side.kernel,
        np.zeros(problem.d),
    )
    least, weakest = state.monitor.weakest()
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
    """The status of a study at a moment."""
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
    leader, doubtful = tuple(facts["answer"]), doubts(state.monitor)
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
    if state.monitor.n_late and close:  # what is known now is not what it stopped with
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
    """On the versions of combgame that wrote it."""
    by, turns = state.history.versions, state.history.turns
    said = mixed(by, turns) or other_sources(by, turns)
    return tuple(one for one in (said, due() if state.monitor.due else None) if one is not None)


def compared(state: StudyState, leader: tuple[int, ...]) -> Message | None:
    history = state.history
    return apart(
        state.setting.problem, history.stats.batch, history.blocks, history.held_back, leader
    )


FEE = 0.1  # what is asked for beyond the level, from which on it is said why


def threshold_note(state: StudyState, needed: float) -> Message | None:
    """Why what is needed grows, with the same delta: a mixture over all leads pays for the looks
    that it allows, and for a sigma that it has to find out. The rest of it does not change.
    """
    correction_note = float(
        state.monitor.told.kernel.stopping.critical_value(int(state.history.stats.n_rounds[0]), 0)
    )
    if not FEE <= needed - correction_note < math.inf:
        return None
    text = "{level} for the confidence and all rivals, and {fee} for looking after every round"
    if state.problem.rewards.variance_known:
        text += ": the latter grows slowly with values and evidence"
    else:
        text += " with a sigma that is not known: the latter changes with values and evidence"
    return Message(
        "needed", text, level=f"{correction_note:.2f}", fee=f"{needed - correction_note:.2f}"
    )


def early_stop(
    within: float,
    half: float,
    sooner: tuple[int, int] | None,
    left: tuple[int, int] | None,
    rounds: int,
) -> Message | None:
    """What `epsilon` would save; None where the end is near: fewer rounds than half of those so
    far. sooner: the forecast for an epsilon of `half`; left: as it is.

    >>> print(good_enough(0.05, 0.025, (10, 40), (90, 400), 60))
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
    """What to do next. doubtful: how many values are hard to believe."""
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
        known = {"whose": whose(validity), "name": state.setting.stopping.name}
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
