"""The paper's k = 3 means (appendix, uniform matroid), as far as the benchmarks need them."""

FIRST = [0.3, 0.29, 0.28]
FIVE = [0.23, 0.2]
TEN = [0.232, 0.224, 0.207, 0.200, 0.192, 0.182, 0.176]
ADDED = [
    [0.214, 0.199, 0.195, 0.190, 0.164],  # d = 15
    [0.185, 0.19, 0.195, 0.199, 0.214],  # 20
    [0.158, 0.172, 0.211, 0.228, 0.244],  # 25
    [0.174, 0.18, 0.194, 0.202, 0.23, 0.242],  # 30: one too many as printed
    [0.17, 0.178, 0.219, 0.222, 0.226],  # 35
    [0.197, 0.198, 0.201, 0.203, 0.205],  # 40
    [0.193, 0.206, 0.208, 0.21],  # 45: one fewer, right again
    [0.188, 0.189, 0.191, 0.212, 0.213],  # 50
]


def means(d: int) -> list[float]:
    """mu^(d) of the paper. Its lists for d = 30, 35, 40 are one too long as printed: there the last value is dropped."""
    if d == 5:
        return FIRST + FIVE
    found = FIRST + TEN
    for added in ADDED[: (d - 10) // 5]:
        found = found + added
    return found[:d]
