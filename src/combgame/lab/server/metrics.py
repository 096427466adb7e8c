"""What a service counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")


class Metrics:
    """The requests of one application and how long they took, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        name, text = "combgame_requests", "Requests by route and status."
        self._requests = Counter(name, text, ["method", "route", "status"], registry=own)
        name, text = "combgame_request_seconds", "How long requests took."
        self._seconds = Histogram(name, text, ["route"], registry=own)
        self._gauges: dict[str, Gauge] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self, **gauges: float) -> bytes:
        """Return everything in the text format; gauges: what is counted elsewhere."""
        for name, value in gauges.items():
            if name not in self._gauges:
                text = name.replace("_", " ").capitalize() + "."
                self._gauges[name] = Gauge(f"combgame_{name}", text, registry=self._registry)
            self._gauges[name].set(value)
        return generate_latest(self._registry)
