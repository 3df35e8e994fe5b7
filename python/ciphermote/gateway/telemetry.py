# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry: spans of rounds, jobs, transactions and requests to the object store, and the metrics, sent
by OTLP over HTTP.

It is off, and imports nothing, unless the environment names a collector (OTEL_EXPORTER_OTLP_ENDPOINT, or the
one for traces or metrics). Attributes are numbers and words of this package: never a URL, a statement's
values, a token, or the message of an error.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from ciphermote.base.errors import ParameterError
from ciphermote.base.words import how_to_install
from ciphermote.gateway.logs import log

_SWITCH = "OTEL_EXPORTER_OTLP{}ENDPOINT"
_INTERVAL_MS = "OTEL_METRIC_EXPORT_INTERVAL"
_DEFAULT_INTERVAL_MS = 60_000
_SCOPE = "ciphermote"
_LONGEST_REASON = 200
_Answer = TypeVar("_Answer")


class Span(Protocol):
    """A span that begins in one thread and ends in another."""

    def current(self) -> contextlib.AbstractContextManager[object]:
        """A block whose spans are part of this one."""

    def fail(self, error: BaseException) -> None: ...
    def end(self) -> None: ...


class _Nothing(contextlib.AbstractContextManager[None]):
    """Both a span and a block, while nothing is recorded."""

    def __exit__(self, *_: object) -> None: ...
    def current(self) -> _Nothing:
        return self

    def fail(self, error: BaseException) -> None: ...
    def end(self) -> None: ...


NOTHING = _Nothing()
_tracer: Any = None


def begin(name: str, **attributes: str | int) -> Span:
    """Begin a span that someone ends later."""
    return NOTHING if _tracer is None else _Recorded(_tracer.start_span(name, attributes=attributes))


def span(name: str, **attributes: str | int) -> contextlib.AbstractContextManager[None]:
    """A span for a block, of which further spans in it are part."""
    return NOTHING if _tracer is None else _during(name, attributes, is_current=True)


def request(system: str, operation: str) -> contextlib.AbstractContextManager[None]:
    """A span for one request to a server."""
    if _tracer is None:
        return NOTHING
    return _during(f"{system} {operation}", {"operation": operation}, is_current=False)


def carried(call: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Return a function for another thread, whose spans are part of the present one."""
    if _tracer is None:
        return call
    own = contextvars.copy_context()
    return lambda *given: own.copy().run(call, *given)


def configure(service: str) -> None:
    """Begin to record spans, if the environment names a collector. Raises ParameterError without the packages
    for it."""
    global _tracer
    if not _is_on("TRACES"):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise _not_installed(error) from None
    _log_faults()
    provider = TracerProvider(resource=_resource(service))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = provider.get_tracer(_SCOPE)


def export_metrics(service: str, registry: CollectorRegistry, measure: Callable[[], None]) -> None:
    """Send the metrics now and then, if the environment names a collector. measure: called before."""
    if not _is_on("METRICS"):
        return
    interval = int(os.environ.get(_INTERVAL_MS, _DEFAULT_INTERVAL_MS)) / 1000
    given = service, registry, measure, interval
    threading.Thread(target=_export_all, args=given, name="metrics-export", daemon=True).start()


def _is_on(signal: str) -> bool:
    return any(os.environ.get(_SWITCH.format(part)) for part in ("_", f"_{signal}_"))


def _not_installed(error: ModuleNotFoundError) -> ParameterError:
    return ParameterError(
        f"The environment names an OpenTelemetry collector, and its packages are not installed ({error.name} "
        f"is missing): {how_to_install('telemetry')}."
    )


def _resource(service: str) -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": service})


def _log_faults() -> None:
    """Have OpenTelemetry's own complaints logged as all others are."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log.warning("telemetry", reason=record.getMessage().splitlines()[0][:_LONGEST_REASON])

    logger = logging.getLogger("opentelemetry")
    if not logger.handlers:
        logger.addHandler(Handler())
        logger.propagate = False


# --- spans --------------------------------------------------------------------------------------------------


class _Recorded:
    """A span of OpenTelemetry's."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def current(self) -> contextlib.AbstractContextManager[object]:
        from opentelemetry.trace import use_span

        return use_span(self._own, record_exception=False, set_status_on_exception=False)

    def fail(self, error: BaseException) -> None:
        from opentelemetry.trace import StatusCode

        self._own.set_status(StatusCode.ERROR)
        self._own.set_attribute("error.type", type(error).__name__)

    def end(self) -> None:
        self._own.end()


@contextlib.contextmanager
def _during(name: str, attributes: dict[str, str | int], *, is_current: bool) -> Iterator[None]:
    found = _Recorded(_tracer.start_span(name, attributes=attributes))
    try:
        with found.current() if is_current else contextlib.nullcontext():
            yield
    except BaseException as error:
        found.fail(error)
        raise
    finally:
        found.end()


# --- metrics ------------------------------------------------------------------------------------------------


def _export_all(
    service: str, registry: CollectorRegistry, measure: Callable[[], None], interval: float
) -> None:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    _log_faults()
    exporter, resource, began = OTLPMetricExporter(), _resource(service), time.time_ns()
    export = partial(_export, exporter, resource, registry, measure, began)
    atexit.register(export)
    while True:
        time.sleep(interval)
        export()


def _export(
    exporter: Any, resource: Any, registry: CollectorRegistry, measure: Callable[[], None], began: int
) -> None:
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    try:
        measure()
        found = list(converted(registry.collect(), began, time.time_ns()))
        scoped = ScopeMetrics(InstrumentationScope(_SCOPE), found, "")
        exporter.export(MetricsData([ResourceMetrics(resource, [scoped], "")]))
    except Exception as error:  # the database is away, say: the next time may be luckier
        log.warning("telemetry", reason=type(error).__name__)


def converted(families: Iterable[Metric], began: int, now: int) -> Iterator[Any]:
    """Yield Prometheus's metrics as OpenTelemetry's. began, now: nanoseconds since 1970."""
    from opentelemetry.sdk.metrics import export

    cumulative = export.AggregationTemporality.CUMULATIVE
    for family in families:
        if family.type == "histogram":
            data: Any = export.Histogram(list(_histogram_points(family, began, now)), cumulative)
        else:
            name = f"{family.name}_total" if family.type == "counter" else family.name
            points = [
                export.NumberDataPoint(sample.labels, began, now, sample.value)
                for sample in family.samples
                if sample.name == name
            ]
            is_sum = family.type == "counter"
            data = export.Sum(points, cumulative, is_monotonic=True) if is_sum else export.Gauge(points)
        yield export.Metric(family.name, family.documentation, family.unit, data)


def _histogram_points(family: Metric, began: int, now: int) -> Iterator[Any]:
    """Yield a point for each set of labels."""
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    by_labels: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for sample in family.samples:
        labels = {name: value for name, value in sample.labels.items() if name != "le"}
        found = by_labels.setdefault(tuple(labels.items()), {"buckets": []})
        if sample.name.endswith("_bucket"):
            found["buckets"].append((float(sample.labels["le"]), int(sample.value)))
        else:
            found[sample.name.rpartition("_")[2]] = sample.value
    for labels_, found in by_labels.items():
        buckets = sorted(found["buckets"])
        counts = [count for _, count in buckets]
        single = [after - before for before, after in zip([0, *counts], counts, strict=False)]
        bounds = [bound for bound, _ in buckets[:-1]]
        yield HistogramDataPoint(
            dict(labels_), began, now, int(found["count"]), found["sum"], single, bounds, 0.0, 0.0
        )
