"""Client of a service, whose studies have the methods and the results of `Study`."""

from .study import Client, RemoteStudy

__all__ = ["Client", "RemoteStudy"]
