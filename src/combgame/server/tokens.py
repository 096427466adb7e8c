"""Tokens: secrets that say who somebody is.

A token is 32 random bytes, so a plain SHA-256 of it is all that is kept: a slow hash protects
passwords, which can be guessed, and nobody guesses 256 bits. Hashes are compared in constant time.
"""

import hashlib
import secrets
import time

from ..errors import plain_text, unknown
from ..storage.shelf import Shelf

ROLES = ("read", "measure", "admin")  # each may do what the one before may, and more


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def make_token(shelf: Shelf, name: str, role: str) -> str:
    """A new token, which is shown once and never again."""
    name = plain_text("name", name, "a text that says whose token it is")
    if role not in ROLES:
        raise unknown("role", role, ROLES)
    token = f"cg_{secrets.token_urlsafe(32)}"
    shelf.add_token(name, role, hashed(token), time.time())
    return token
