"""Studies of a service, with the verbs and the results of a `Study`."""

from .study import Client, RemoteStudy

__all__ = ["Client", "RemoteStudy"]
