# SPDX-License-Identifier: Apache-2.0
"""The gateway's metrics for Prometheus."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

_MILLISECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """The metrics of one gateway, in a separate registry."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.ready = Gauge(
            "ciphermote_ready", "1 while the gateway takes deliveries, else 0", registry=registry
        )
        self.windows = Counter("ciphermote_windows", "Windows that count", registry=registry)
        self.windows_missing = Gauge(
            "ciphermote_windows_missing",
            "Windows of active devices that were expected and have not come",
            ["tenant", "fleet", "why"],
            registry=registry,
        )
        self.bytes_kept = Counter("ciphermote_bytes_kept", "Bytes of deliveries", registry=registry)
        self.deliveries = Counter(
            "ciphermote_deliveries", "Deliveries that were kept or known", ["over"], registry=registry
        )
        self.over_http, self.over_mqtt = self.deliveries.labels("http"), self.deliveries.labels("mqtt")
        self.refused = Counter(
            "ciphermote_refused", "Deliveries that were refused", ["reason"], registry=registry
        )
        self.quarantined = Counter(
            "ciphermote_quarantined", "Deliveries that wait for the operator", ["kind"], registry=registry
        )
        self.storage_failures = Counter(
            "ciphermote_storage_failures", "Rounds that could not be stored", registry=registry
        )
        self.rounds = Histogram(
            "ciphermote_round_deliveries",
            "Deliveries that are stored at once",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
            registry=registry,
        )
        self.round_seconds = Histogram(
            "ciphermote_round_seconds", "Time to store them", buckets=_MILLISECONDS, registry=registry
        )
        self.workers = Gauge("ciphermote_workers", "Worker processes that run", registry=registry)
        self.jobs_queued = Gauge("ciphermote_jobs_queued", "Jobs that wait or run", registry=registry)
        self.broker_connected = Gauge(
            "ciphermote_broker_connected",
            "1 while the MQTT broker is there, else 0; NaN without --broker",
            registry=registry,
        )
        self.broker_connected.set(math.nan)
        self.windows_deleted = Counter(
            "ciphermote_windows_deleted", "Windows older than their fleet keeps them", registry=registry
        )
        self.bytes_deleted = Counter(
            "ciphermote_bytes_deleted", "Bytes of segments and objects", registry=registry
        )
        self.damaged = Gauge(
            "ciphermote_damaged",
            "What is not as it was stored",
            ["kind"],
            registry=registry,
        )
        self.free_bytes = Gauge("ciphermote_free_bytes", "Room on the disk", registry=registry)
        # From zero on: the increase of a counter that begins at one does not show.
        self.refused.labels("forged")
        for kind in ("jump", "mixed"):
            self.quarantined.labels(kind)

    def show_ended_jobs(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Show the jobs ended by workers, which are other processes. read: returns how many have ever ended,
        by state."""
        self.registry.register(_EndedJobs(read))


class _EndedJobs(Collector):
    """A counter that is read from the database at each scrape."""

    def __init__(self, read: Callable[[], Mapping[str, int]]) -> None:
        self._read = read

    def collect(self) -> Iterator[CounterMetricFamily]:
        found = CounterMetricFamily("ciphermote_jobs", "Jobs that ended", labels=["state"])
        for state, number in self._read().items():
            found.add_metric([state], number)
        yield found
