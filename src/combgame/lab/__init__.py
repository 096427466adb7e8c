"""Durable experiments: ask for rounds, report their results, until the answer is certain."""

from ..storage.events import Event
from .decision import Decision
from .outliers import Outlier
from .round import Round
from .snapshot import Replay
from .status import Rival, Status
from .study import Study

__all__ = ["Decision", "Event", "Outlier", "Replay", "Rival", "Round", "Status", "Study"]
