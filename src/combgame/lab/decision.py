"""The decision of a study: why it stopped, and under which assumptions."""

from dataclasses import asdict, dataclass
from typing import Any

from .._display.text import weighed
from .._messages import PYTHON, CallHint, Message, OptionHint, Renderer
from ..problem import Problem
from ..stopping.base import Validity
from . import corrections as carrying
from .analysis import batch_warning, noise, outliers_of
from .corrections import conditions, correction_note
from .diagnostics import NoiseCheck
from .estimates import Estimate, LeadInterval
from .outliers import Outlier
from .policy import StudyState
from .settings import by_another, not_vouched, version_of


@dataclass(frozen=True)
class Decision:
    """The result of a study; print it to read it.

    Attributes
    ----------
    answer : tuple of int
        Arms of the recommended answer.
    names : tuple of str
        Names of these arms.
    reason : {"certified", "budget", "deadline", "by hand"}
        Why the study stopped. Only "certified" has the confidence that was asked for.
    headline : Message
        The result in one sentence.
    confidence : float or None
        1 - delta if the answer is certified.
    p_value : float or None
        If the answer is not certified: the smallest delta at which the evidence would have been
        enough. It is valid no matter how often the study was evaluated. It is not a confidence: a
        delta that is chosen after looking at the data has no guarantee.
    evidence : float
        Evidence against the nearest rival.
    threshold : float
        Evidence that is required.
    rival : tuple of int
        Arms of the nearest rival.
    rounds : int
        Number of rounds with results, even if these were retracted.
    values : int
        Number of values.
    assumptions : tuple of Message
        What the answer rests on.
    proved : bool
        True if the threshold is proved. Otherwise confidence and p-value are those of a heuristic.
    outliers : tuple of Outlier
        Values that are hard to believe. Check them before you rely on the answer.
    retractions : int
        Number of retractions.
    corrections : int
        Number of times that retracted values were replaced.
    delta : float
        Error probability at which the study was evaluated. It is less than that of the settings
        after retractions, corrections and transfers.
    audit_hash : str
        Number and hash of the last event, for `Study.replay`; "" for a study in memory.
    lead : LeadInterval or None
        Lead over the nearest rival, if there is one.
    estimates : tuple of Estimate
        One estimate per arm.
    noise_check : NoiseCheck or None
        Comparison of the variation of the values with the sigma that was stated.
    """

    answer: tuple[int, ...]
    names: tuple[str, ...]
    reason: str
    headline: Message
    confidence: float | None
    p_value: float | None
    evidence: float
    threshold: float
    rival: tuple[int, ...]
    rounds: int
    values: int
    assumptions: tuple[Message, ...]
    proved: bool
    outliers: tuple[Outlier, ...] = ()
    retractions: int = 0
    corrections: int = 0
    delta: float = 0.0
    audit_hash: str = ""
    lead: LeadInterval | None = None
    estimates: tuple[Estimate, ...] = ()
    noise_check: NoiseCheck | None = None

    @property
    def certified(self) -> bool:
        """Return True if the study ended with a certificate."""
        return self.reason == "certified"

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the decision as plain data that JSON can represent.

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
            "headline": self.headline.to_data(surface),
            "assumptions": [one.to_data(surface) for one in self.assumptions],
            "certified": self.certified,
            "outliers": [one.to_dict(surface) for one in self.outliers],
            "lead": None if self.lead is None else self.lead.to_dict(surface),
            "estimates": [one._asdict() for one in self.estimates],
            "noise_check": None if self.noise_check is None else self.noise_check.to_dict(surface),
        }

    def render(self, surface: Renderer = PYTHON) -> str:
        """Return the decision as text: the headline, then one line per assumption and outlier.

        Parameters
        ----------
        surface : Renderer
            Syntax in which messages name calls and options.

        Returns
        -------
        str
            Several lines.
        """
        listed: list[Message | Outlier] = [*self.assumptions, *self.outliers]
        if self.audit_hash:
            listed.append(
                Message(
                    "head",
                    "The last event is {head}: note it; {replay} says whether the record still "
                    "has it",
                    head=self.audit_hash,
                    replay=CallHint("replay", head=...),
                )
            )
        return "\n".join(
            [self.headline.render(surface), *(f"- {one.render(surface)}" for one in listed)]
        )

    def __str__(self) -> str:
        return self.render()


def make_decision(state: StudyState, facts: dict[str, Any], head: str = "") -> Decision:
    """Return the decision of a study.

    Parameters
    ----------
    state : StudyState
        State of the study.
    facts : dict
        Result of `StudyState.ending`.
    head : str
        Number and hash of the last event.
    """
    setting, answer = state.setting, facts["answer"]
    return Decision(
        tuple(answer),
        tuple(setting.problem.label([a]) for a in answer),
        facts["why"],
        headline(state, facts),
        1.0 - setting.delta if facts["why"] == "certified" else None,
        facts["p_value"],
        facts["evidence"],
        facts["threshold"],
        tuple(facts["rival"]),
        facts["rounds"],
        facts["values"],
        tuple(assumptions(state, facts)),
        setting.stopping.validity.proved and not_vouched(facts) is None,
        outliers_then(state, facts),
        facts["retractions"],
        facts["corrections"],
        facts["delta"],
        head,
        LeadInterval.of(facts["margin"]),
        tuple(Estimate(*one) for one in facts["estimates"]),
        sigma_then(state, facts),
    )


def validity_note(validity: Validity) -> Message:
    """Return a message about the basis of a certificate, in the words of its threshold."""
    text = "The threshold is {label}: {reason}"
    return Message("threshold", text, label=validity.label, reason=validity.reason)


def threshold_owner(validity: Validity) -> str:
    """Return the attribute of a threshold that is not proved."""
    return "user's" if validity.user_stated else "heuristic"


SPENT = "after {rounds:count round} and {values:count value}"
NUMBERS = "evidence against {rival}: {weighed}"


def headline(state: StudyState, facts: dict[str, Any]) -> Message:
    """Return the reason for the end of a study, in one sentence."""
    setting, why = state.setting, facts["why"]
    problem, validity = setting.problem, setting.stopping.validity
    proved = validity.proved
    known: dict[str, Any] = {
        "answer": problem.label(facts["answer"]) if facts["answer"] else "nobody",
        "rival": (problem.label(facts["rival"]) if facts["answer"] else "") or "none",
        **{key: facts[key] for key in ("why", "rounds", "values", "evidence", "threshold")},
        "weighed": weighed(facts["evidence"], facts["threshold"]),
        "percent": 100.0 * (1.0 - setting.delta),
        "asked": 100.0 * (1.0 - setting.delta),
        "whose": threshold_owner(validity),
        "name": setting.stopping.name,
        "delta": setting.delta,
        "epsilon": setting.epsilon,
    }
    lead = LeadInterval.of(facts["margin"])
    misfit, numbers = sigma_then(state, facts), " (" + NUMBERS
    wrong = misfit is not None and misfit.contradicted
    if misfit is not None and wrong:
        known["misfit"] = misfit.clause
    if facts["retractions"]:
        numbers += "; {level}"
        known["level"] = correction_note(facts["retractions"], facts["corrections"], facts["delta"])
    numbers += ")"
    if (levels := batch_warning(state.monitor, state.policy.variance_components())) is not None:
        numbers += ", but {levels}"
        known["levels"] = levels
    if why == "certified":
        text = "{answer} is the best answer"
        if setting.epsilon:
            text += ", to within {epsilon:g},"
        if proved and wrong and not_vouched(facts) is None:
            text += " with confidence {percent:g}% only if sigma were as stated, but {misfit}, "
        elif not_vouched(facts) is not None:
            text += " as combgame {version} certified at delta = {delta:g}, "
            known["version"] = version_of(facts["version"])
        elif proved:
            text += " with confidence {percent:g}%, "
        else:
            text += " by the {whose} threshold {name} at delta = {delta:g}, "
        text += SPENT + numbers
        if lead is not None:
            text += "; {lead}"
            known["lead"] = lead.sentence
        remedy = ""
        if wrong:
            remedy = "do not rely on it: a study with {unknown} takes sigma from the data"
            plates = problem.rewards.has_batch_effect()
            known["unknown"] = "Gaussian(batch_effect=True)" if plates else "Gaussian()"
            if not plates:
                remedy += ", and may have these values"
        return Message("certified", text, remedy=remedy, **known)
    text, remedy = "Not certified: ", ""
    if why == "budget":
        text += "{max_rounds} was reached "
    elif why == "deadline":
        text += "the deadline passed "
    else:
        text += "it was stopped by hand ({reason}) "
    if why != "by hand":
        remedy = "{more} lets it go on"
        known["more"] = CallHint("extend", **{"max_rounds" if why == "budget" else "deadline": ...})
        if facts["pending"]:
            remedy += "; results that still come are counted, and may yet certify it"
    text += SPENT + "; {answer} {size:leads|lead}"
    if lead is not None:
        text += ": {lead:by ; }"
        known["lead"] = lead.leading()
        if chance := lead.likely():
            text += ". {chance:capital}"
            known["chance"] = chance
    text += ". {proof:capital}" + numbers
    return Message(
        "not-certified",
        text,
        remedy=remedy,
        proof=proof_so_far(state, facts),
        size=max(len(facts["answer"]), 1),
        max_rounds=OptionHint("max_rounds"),
        reason=state.history.stopped,
        **known,
    )


def sigma_then(state: StudyState, facts: dict[str, Any]) -> NoiseCheck | None:
    """Return the noise check as it was when the study stopped."""
    if "noise" not in facts:
        return noise(state.monitor)
    return None if facts["noise"] is None else NoiseCheck(**facts["noise"])


def outliers_then(state: StudyState, facts: dict[str, Any]) -> tuple[Outlier, ...]:
    """Return the outliers as they were when the study stopped."""
    if "doubts" not in facts:
        return outliers_of(state.monitor)
    return tuple(Outlier(*one)._replace(instead=tuple(one[-1])) for one in facts["doubts"])


def proof_so_far(state: StudyState, facts: dict[str, Any]) -> Message:
    """Return a message about the p-value of a study that ended without a certificate."""
    setting, p_value, misfit = state.setting, facts["p_value"], sigma_then(state, facts)
    validity = setting.stopping.validity
    known: dict[str, Any] = {
        "p_value": p_value,
        "delta": setting.delta,
        "whose": threshold_owner(validity),
        "name": setting.stopping.name,
        "epsilon": setting.epsilon,
    }
    if not facts["answer"]:
        text = "nothing is proved"
    else:
        text = "the hypothesis that another answer is better"
        if setting.epsilon:
            text += " by more than {epsilon:g}"
        text += " has the p-value {p_value:.3g}"
        if not validity.proved:
            text += " by the {whose} threshold {name}, which is not proved"
        if misfit is not None and misfit.contradicted:
            text += ", but only if sigma were as stated, and {misfit}"
            known["misfit"] = misfit.clause
        text += "; a certificate needs {delta:g}"
    return Message("proved-so-far", text, **known)


def rests_on(problem: Problem, single: list[Any], most: int = 5) -> Message:
    """Warn that the answer rests on arms with a single value, in which an error would not show.

    Parameters
    ----------
    problem : Problem
        Problem of the study.
    single : list
        Result of `Monitor.single_replicate_arms`.
    most : int, default=5
        Number of values that the message lists.
    """
    parts = [
        Message(
            "single-value",
            "of {arm}, {value:g} in the data from outside, number {round}"
            if outside
            else "of {arm}, {value:g} in round {round}",
            arm=problem.label([arm]),
            value=value,
            round=number,
        )
        for arm, value, number, outside in single[:most]
    ]
    if len(single) > most:
        parts.append(Message("more-arms", "of {n:count more arm}", n=len(single) - most))
    return Message(
        "single-values",
        "The answer rests on a single value {parts:and}",
        remedy="measure {n:it|them} again before you rely on it ({twice} asks for two values of "
        "every arm)",
        parts=parts,
        n=len(single),
        twice=OptionHint("min_replicates", 2),
    )


LATENESS = "the guarantee holds if how long a value takes has nothing to do with what it is"


def assumptions(state: StudyState, facts: dict[str, Any]) -> list[Message]:
    """Return what the answer rests on: the threshold's validity, then the events of this study."""
    setting, before = state.setting, state.history.carried.get("happened", {})
    happened = dict(state.history.happened)
    for what, n in before.items():
        happened[what] = happened.get(what, 0) + n
    single = {arm for arm, _, _, _ in facts["single"]}
    lone = [
        a
        for a in (state.monitor.needed & (state.history.stats.counts == 1.0)).nonzero()[0]
        if a not in single
    ]
    validity = setting.stopping.validity
    made = [not_vouched(facts) or validity_note(validity), *by_another(facts)]
    misfit = sigma_then(state, facts)
    told = {"too small", "too large"}
    if facts["why"] == "certified":
        told.add("not enough data")
    if misfit is not None and misfit.verdict in told:
        made.append(misfit.sentence)
    if setting.problem.rewards.has_batch_effect():
        made.append(compared(state))
    if n := facts["pending"]:
        text = "{n:count value} {n:was|were} still out when it stopped: "
        made.append(Message("values-out", text + LATENESS, n=n))
    if n := happened.get("overtaking"):
        text = "{n:count round} {n:was|were} told before others that had been asked earlier: "
        made.append(Message("overtaken", text + LATENESS, n=n))
    if n := happened.get("overdue"):
        text = "{n:count round} {n:was|were} asked again because a lease had ended: "
        made.append(Message("lease-ended", text + LATENESS, n=n))
    if n := happened.get("failed"):
        text = (
            "{n:count round} failed: the guarantee holds if failing had nothing to do with any "
            "values, those of other rounds included"
        )
        made.append(Message("rounds-failed", text, n=n))
    if n := happened.get("started-over"):
        text = (
            "{n:count value} {n:does|do} not count: {n:its round|their rounds} had been told in "
            "part and {n:was|were} asked again, and all values of a round are of one play"
        )
        made.append(Message("started-over", text, n=n))
    if n := happened.get("missing"):
        text = (
            "{n:count value} {n:is|are} missing: the guarantee holds if that had nothing to do "
            "with what {n:it was|they were}, nor with other values"
        )
        made.append(Message("values-missing", text, n=n))
    retracted = facts["retractions"] + before.get("retracted", 0)
    if retracted:
        anew = facts["corrections"] + before.get("anew", 0)
        made.append(conditions(retracted, anew, facts["delta"], validity.proved))
    if carried := state.history.carried:
        made.append(carrying.assumption(carried, facts["delta"]))
    if n := facts["unplanned"] + before.get("unplanned", 0):
        text = (
            "{n:count value} {n:was|were} measured outside the study: the guarantee holds if "
            "{n:it comes|they come} from the same arms, and nothing that was measured is left out"
        )
        made.append(Message("values-outside", text, n=n))
    if n := facts["planned"] + before.get("planned", 0):
        text = (
            "{n:count value} {n:was|were} measured outside the study as planned: the guarantee "
            "holds if {n:it comes|they come} from the same arms, and which arms were measured, "
            "and how often, was decided before anybody saw a value"
        )
        made.append(Message("values-planned", text, n=n))
    if n := happened.get("beyond"):
        text = (
            "{n:count reading} beyond the replicates that were asked for {n:does|do} not count: "
            "whether a well is read again may depend on what it read. The guarantee holds if "
            "readings were told in the order in which they were taken"
        )
        made.append(Message("readings-beyond", text, n=n))
    if n := happened.get("averaged"):
        text = (
            "{n:,} {n:entry was|entries were} told as means of several values: each counts as "
            "that many independent ones"
        )
        made.append(Message("means-told", text, n=n))
    if n := happened.get("extended"):
        text = (
            "The budget was extended {n:count time}: nothing rests on that, because the threshold "
            "allows for a look after every round, however many there are"
        )
        made.append(Message("extended", text, n=n))
    if facts["why"] == "certified":
        if single:
            made.append(rests_on(setting.problem, facts["single"]))
        if lone:
            made.append(single_value_note([setting.problem.label([a]) for a in lone], bool(single)))
    if state.monitor.n_late:
        made.append(came_later(state, facts))
    return made


def came_later(state: StudyState, facts: dict[str, Any]) -> Message:
    """Return a message about results that arrived after the decision."""
    text = "{n:count result} came after the decision: stored, but not part of it. With {n:it|them} "
    now, known = state.monitor.facts("running"), dict[str, Any](n=state.monitor.n_late)
    if now["answer"] == facts["answer"]:
        text += "the evidence is {weighed}"
        known["weighed"] = weighed(now["evidence"], now["threshold"])
    else:
        text += "{answer} would lead"
        known["answer"] = state.setting.problem.label(now["answer"]) or "nobody"
    if facts["why"] == "certified":
        text += "; the certificate stays as it was given"
    return Message("results-late", text, **known)


def compared(state: StudyState) -> Message:
    """Return a message about how arms were compared if plays have batch effects."""
    text = (
        "Arms were compared within rounds only, so it does not matter how high or low the values "
        "of a round are as a whole, provided that they are of one play"
    )
    if waiting := len(state.history.held_back):
        text += (
            "; {n:count round} {n:was|were} told but {n:does|do} not count, because others of "
            "{n:its|their} block are missing"
        )
    return Message("levels-cancel", text, n=waiting)


def single_value_note(arms: list[str], more: bool) -> Message:
    """Return a message about arms with a single value on which the answer does not rest.

    If ``more`` is True, another message has named arms with a single value already.
    """
    if len(arms) == 1:
        text = "Arm {arms:list} has a single value, so a mistake in it would not show"
    else:
        text = "{n:,} more" if more else "{n:,}"
        text += " arms have a single value each, so a mistake in it would not show"
    return Message(
        "lone-values",
        text,
        remedy="{twice} asks for two",
        arms=arms,
        n=len(arms),
        twice=OptionHint("min_replicates", 2),
    )
