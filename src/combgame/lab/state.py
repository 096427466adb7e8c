"""A study after some events: its history, what it asks next, and when it stops."""

from typing import Any

from ..storage.events import Event
from .analysis import snapshot_at_end
from .history import EventEffect, History, Past, new_round
from .monitor import COMPILED_FROM, Monitor
from .policy import Policy
from .settings import Setting


class StudyState:
    """History, policy and monitor of a study, which go from event to event together.

    Parameters
    ----------
    setting : Setting
        What determines the study.
    engine : str, default="auto"
        "python" or "compiled"; "auto" compiles only large problems.
    whole : bool, default=False
        Whether the history keeps the rounds that have ended.
    """

    def __init__(self, setting: Setting, engine: str = "auto", whole: bool = False) -> None:
        problem = setting.problem.maximised
        self.setting, self.problem = setting, problem  # that of the game
        self.engine = "python" if engine == "auto" and problem.d < COMPILED_FROM else engine
        group, pivot = problem.rewards.groups(problem.d), setting.problem.pivot
        self.history = History(problem.d, whole, group, setting.first(), pivot, problem.precision())
        self.history.limits = {"max_rounds": setting.max_rounds, "deadline": setting.deadline}
        self.policy = Policy(setting, self.history, self.engine)
        self.monitor = Monitor(setting, self.history, self.engine)
        self.differences: list[dict[str, Any]] = []  # asked rounds that it would not have chosen

    def apply(self, event: Event, past: Past | None = None, chosen: bool = False) -> EventEffect:
        """Go on by one event.

        Parameters
        ----------
        chosen : bool, default=False
            Whether `policy.choose` has just chosen what the event asks.
        """
        history, monitor = self.history, self.monitor
        if not chosen and (asked := new_round(event)) is not None:
            self._choose_again(event, asked)
        self.complete_end()
        before, record = (history.n_changes, history.share), history.open.get(event.round or 0)
        effect = history.apply(event, past)
        if record is not None and record.over:
            self.policy.initial_design.keep(record)
        if (history.n_changes, history.share) != before:
            self.reset_stopping()
        monitor.n_late += monitor.ended is not None and effect is EventEffect.VALUES
        if event.kind == "certified":
            monitor.certify(event)
        elif effect is not EventEffect.NOTHING and not event.data.get("more"):
            monitor.evaluate(event, effect)
            if monitor.due and not event.version:  # from before certificates were events
                monitor.certify(event._replace(data=monitor.certificate()))
        return effect

    def _choose_again(self, event: Event, asked: list[int]) -> None:
        """Bring the policy where it was when it chose a round, and note what it would ask now."""
        first, size = event.data.get("block") or (0, 1)
        block = (size, size) if first == event.round else ()
        now = self.policy.choose(*block)
        if list(now) != asked:
            self.differences.append({"round": event.round, "asked": tuple(asked), "now": now})

    def reset_stopping(self) -> None:
        """Judge, and choose, at the delta that is left after the changes so far."""
        self.monitor.reset_stopping()
        self.policy.reset_stopping(self.monitor.delta)

    def phase(self, at: float) -> str:
        """ "running", "certified", "budget", "deadline" or "by hand", at a moment."""
        history, deadline = self.history, self.history.limits["deadline"]
        if self.monitor.ended is not None:
            return str(self.monitor.ended["why"])
        if not history.affordable and not history.open:
            return "budget"
        return "deadline" if deadline is not None and at >= deadline else "running"

    def complete_end(self) -> dict[str, Any] | None:
        """Return what was known when the study stopped, or None.

        What takes long to compute is left out until somebody asks for it, but not for longer than
        until the next event, after which it could not be told any more.
        """
        ended = self.monitor.ended
        if ended is not None and "margin" not in ended:
            ended |= snapshot_at_end(self.monitor, self.policy, ended)
        return ended

    def ending(self, why: str) -> dict[str, Any]:
        """Return what was known when the study stopped; or what is known now, of one that a limit
        has stopped.
        """
        if (ended := self.complete_end()) is not None:
            return ended
        facts = self.monitor.facts(why)
        return facts | snapshot_at_end(self.monitor, self.policy, facts)
