"""Errors that only a service raises, and the HTTP status of every error."""

from ...errors import AccessError, CombGameError, InputError, StoreError, StudyError
from ...storage.files import read_only

MISSING = ("no-study", "no-study-file", "no-page", "no-token-named")
DAMAGED = (  # repeating the request does not help
    "damaged",
    "event-changed",
    "event-unusable",
    "foreign-file",
    "other-version",
    "settings-unreadable",
    "unknown-event",
    "unreadable-event",
)
CODES = {  # of errors whose class does not determine the status
    "no-token": 401,
    "bad-token": 401,
    "too-many-tries": 429,
    "too-many": 429,
    "body-too-large": 413,
    "body-too-slow": 408,
    "headers-too-large": 431,
    "too-many-headers": 431,
    "too-much-at-once": 503,
    "read-only": 403,
    "no-method": 405,
    "not-json": 400,
    "one-host": 400,
    "events-missing": 409,
    "other-history": 409,
    **dict.fromkeys(MISSING, 404),
    **dict.fromkeys(DAMAGED, 500),
}


def code_of(error: CombGameError) -> int:
    """Return the HTTP status of an error."""
    if error.code in CODES:
        return CODES[error.code]
    if isinstance(error, AccessError):
        return 403
    if isinstance(error, StudyError):
        return 409
    return 503 if isinstance(error, StoreError) else 422


def served(error: CombGameError) -> CombGameError:
    """Return an error in the words for users of a service, who have no access to its files."""
    if error.code != "read-only":
        return error
    return read_only("what this service keeps", error.arguments["why"], "service")


def too_many(what: str, most: int) -> StudyError:
    """Return the error that there are too many of something."""
    text = "there are {most} {what} already"
    return StudyError("too-many", text, remedy="try again later", what=what, most=most)


def no_token() -> AccessError:
    """Return the error that a request has no token."""
    text = "this service answers to tokens only"
    remedy = "send one as Authorization: Bearer ...; `combgame token make` makes one"
    return AccessError("no-token", text, remedy=remedy)


def bad_token() -> AccessError:
    """Return the error that a token is unknown or revoked."""
    remedy = "ask whoever runs the service for another"
    return AccessError("bad-token", "this token is not known, or was revoked", remedy=remedy)


def too_many_tries(seconds: int) -> AccessError:
    """Return the error that too many log-ins have failed."""
    text, remedy = "too many log-ins have failed from here", "try again in {seconds} seconds"
    return AccessError("too-many-tries", text, remedy=remedy, seconds=seconds)


def role_missing(has: str, needs: str) -> AccessError:
    """Return the error that the role of a token does not suffice."""
    text = "this needs the role {needs}, and the token has the role {has}"
    remedy = "ask whoever runs the service"
    return AccessError("role-missing", text, remedy=remedy, needs=needs, has=has)


def other_origin() -> AccessError:
    """Return the error that a request comes from a page of another site."""
    text = "this request comes from another page than this service's"
    return AccessError("other-origin", text, remedy="use the service's own address")


def one_host(n: int) -> InputError:
    """Return the error that a request does not have exactly one Host header."""
    text = "the request has {n:count header} Host, and must have one"
    return InputError("one-host", text, remedy="send the name of the service in it", n=n)


def half_character() -> InputError:
    """Return the error that a body has an unpaired surrogate."""
    text = "the body has half of a character, such as \\ud800 without the other half"
    remedy = "write whole characters: in UTF-8, or as pairs such as \\ud83d\\ude00"
    return InputError("half-character", text, remedy=remedy)


def form_expired() -> AccessError:
    """Return the error that a form belongs to another log-in."""
    text, remedy = "this form is not of your log-in, or has expired", "load the page again"
    return AccessError("form-expired", text, remedy=remedy)


def too_much_at_once(most: int) -> StudyError:
    """Return the error that the bodies of all requests together are too large."""
    text = "what is being sent to the service is above its limit of {most:,} bytes at a time"
    remedy = "try again in some seconds"
    return StudyError("too-much-at-once", text, remedy=remedy, most=most)


def too_many_headers(most: int) -> InputError:
    """Return the error that a request has too many headers."""
    text = "the request has more than {most} headers"
    return InputError("too-many-headers", text, remedy="send fewer of them", most=most)


def headers_too_large(most: int) -> InputError:
    """Return the error that the headers of a request are too large."""
    text = "the headers of the request are above the limit of {most:,} bytes"
    remedy = "send less in them: shorter cookies, a shorter address"
    return InputError("headers-too-large", text, remedy=remedy, most=most)
