"""Web pages of the service, rendered on the server.

A small script keeps the pages up to date; they also work without it.
"""

from .router import refused, router

__all__ = ["refused", "router"]
