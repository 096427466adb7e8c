"""How numbers are said."""


def count(n: int, what: str) -> str:
    """
    >>> count(1, "round"), count(2000, "value")
    ('1 round', '2,000 values')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"
