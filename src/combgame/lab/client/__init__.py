"""Studies of a service, with the verbs and the results of a `Study`."""

from .client import Client
from .study import RemoteStudy

__all__ = ["Client", "RemoteStudy"]
