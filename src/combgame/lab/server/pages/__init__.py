"""The page of the service: made on the server, with a little script that keeps it up to date. It
works without script too.
"""

from .router import refused, router

__all__ = ["refused", "router"]
