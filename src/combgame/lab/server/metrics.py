"""Counts of a service, as Prometheus reads them."""

from bisect import bisect_left
from collections import Counter
from typing import Any

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class Metrics:
    """Requests by method, route and status, and how long they took; it belongs to one loop."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.times: dict[str, list[int]] = {}
        self.totals: Counter[str] = Counter()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS") else "other"
        self.requests[method, route, status] += 1
        counts = self.times.setdefault(route, [0] * (len(BOUNDS) + 1))
        counts[bisect_left(BOUNDS, seconds)] += 1
        self.totals[route] += seconds  # type: ignore[assignment]

    def text(self, **gauges: float) -> str:
        """All of it, as text; gauges: what is counted elsewhere."""
        lines = [*_head("combgame_requests_total", "counter", "Requests by route and status.")]
        for (method, route, status), n in sorted(self.requests.items()):
            lines.append(
                _line("combgame_requests_total", n, method=method, route=route, status=status)
            )
        name = "combgame_request_seconds"
        lines += _head(name, "histogram", "How long requests took.")
        for route, counts in sorted(self.times.items()):
            total = 0
            for bound, n in zip((*BOUNDS, "+Inf"), counts, strict=True):
                total += n
                lines.append(_line(f"{name}_bucket", total, route=route, le=bound))
            lines.append(_line(f"{name}_sum", self.totals[route], route=route))
            lines.append(_line(f"{name}_count", total, route=route))
        for gauge, value in gauges.items():
            lines += [
                *_head(f"combgame_{gauge}", "gauge", gauge.replace("_", " ") + "."),
                _line(f"combgame_{gauge}", value),
            ]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _line(name: str, value: float, **labels: Any) -> str:
    """
    >>> _line("x", 2, route='a"b')
    'x{route="a\\\\"b"} 2'
    """
    said = ",".join(f'{key}="{_escaped(str(one))}"' for key, one in labels.items())
    return f"{name}{{{said}}} {value}" if said else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
