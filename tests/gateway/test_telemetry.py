# SPDX-License-Identifier: Apache-2.0
"""Traces and metrics as a collector gets them; no secret in them, in logs, in errors or in what ps shows."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ciphermote.gateway import telemetry
from demos.fleet.site import serving
from door import Door
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    full_owner,
    run_job,
    wait_until,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from postgres_support import new_database, postgres_server
from store_support import moto

FLEET = "fleet"
WINDOWS = 5
PASSWORD = "the-databases-password-5f1c"
HEADER = "the-collectors-token-77aa"
STORE_SECRET = "the-stores-secret-9e0d"


@dataclass
class Collector:
    """What was sent to it, by path."""

    port: int
    bodies: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def spans(self) -> list[Any]:
        return [span for found in self._traces() for scope in found.scope_spans for span in scope.spans]

    @property
    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for found in self._traces()
            for attribute in found.resource.attributes
            if attribute.key == "service.name"
        }

    def _traces(self) -> list[Any]:
        bodies = [body for path, body in self.bodies if path == "/v1/traces"]
        requests = map(ExportTraceServiceRequest.FromString, bodies)
        return [found for request in requests for found in request.resource_spans]

    @property
    def metrics(self) -> dict[str, Any]:
        """The newest of each name."""
        found = {}
        for path, body in self.bodies:
            if "metrics" in path:
                for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for scope in resource.scope_metrics:
                        found.update({metric.name: metric for metric in scope.metrics})
        return found


@contextmanager
def collector() -> Iterator[Collector]:
    """An OTLP/HTTP receiver on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found.bodies.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Collector(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Place:
    server: Server
    door: Door
    collector: Collector
    token: str
    shown: set[str]
    """Command lines of the gateway and its workers."""

    @property
    def secrets(self) -> dict[str, str]:
        names = {each: self.server.token(each).split("_")[2] for each in ("owner", "operator")}
        return {
            "the database's password": PASSWORD,
            "the collector's token": HEADER,
            "the store's secret": STORE_SECRET,
            "the device's token": self.token.split("_")[2],
            **names,
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A gateway that has stored windows, computed a job, and lost its database once."""
    postgres = postgres_server()
    name = new_database().partition("@/")[2].partition("?")[0]
    door = Door(str(postgres.folder / ".s.PGSQL.5432"))
    with moto() as s3, collector() as found:
        environment = {
            **s3.environment,
            "AWS_SECRET_ACCESS_KEY": STORE_SECRET,
            "PGPASSWORD": PASSWORD,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{found.port}",
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{HEADER}",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }
        url = f"postgresql://ciphermote@127.0.0.1:{door.port}/{name}"
        options = ("--database", url, "--store", s3.new_url())
        with serving(tmp_path_factory.mktemp("telemetry") / "data", *options, **environment) as server:
            owner = server.owner()
            define_full(owner, FLEET, full_owner())
            device = FullDevice(full_owner(), 1).enroll(owner, FLEET)
            token = device_token(owner, FLEET, 1)
            client = server.client(token)
            octets = {"Content-Type": "application/octet-stream"}
            path = f"/v1/fleets/{FLEET}/deliveries"
            for _ in range(WINDOWS):
                device.receipt(client.post(path, content=device.encrypt([1.0]), headers=octets))
            job, _ = run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
            assert job["state"] == "done"
            processes = [server.process.pid if server.process else 0, *server.workers()]
            shown = {Path(f"/proc/{number}/cmdline").read_text() for number in processes}
            door.shut()
            assert client.post(path, content=device.encrypt([1.0]), headers=octets).status_code == 503
            time.sleep(1.0)
            door.reopen()
            wait_until(lambda: client.get("/readyz").status_code == 200, "readiness")
            device.receipt(client.post(path, content=device.encrypt([1.0]), headers=octets))
            time.sleep(1.5)
            yield Place(server, door, found, token, shown)
    door.close()


def test_spans_of_rounds_jobs_transactions_and_requests_arrive(place: Place) -> None:
    spans = place.collector.spans
    by_id = {span.span_id: span for span in spans}
    pairs = {(span.name, by_id[span.parent_span_id].name) for span in spans if span.parent_span_id in by_id}
    assert {"round", "job", "transaction", "store put"} <= {span.name for span in spans}
    assert {("transaction", "round"), ("store put", "round")} <= pairs
    assert {("transaction", "job"), ("store get", "job")} <= pairs
    assert place.collector.services == {"ciphermote-gateway", "ciphermote-worker"}
    rounds = [span for span in spans if span.name == "round"]
    stored = [a.value.int_value for span in rounds for a in span.attributes if a.key == "deliveries"]
    assert sum(stored) >= WINDOWS + 1
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)


def test_a_span_that_failed_names_the_kind_of_error_alone(place: Place) -> None:
    failed = [span for span in place.collector.spans if span.status.code == 2]
    assert failed
    assert {a.value.string_value for span in failed for a in span.attributes if a.key == "error.type"} == {
        "StatementError"
    }
    assert not any(span.events or span.status.message for span in failed)


def test_the_metrics_are_those_of_prometheus(place: Place) -> None:
    metrics = place.collector.metrics
    assert metrics["ciphermote_windows"].sum.data_points[0].as_double == WINDOWS + 1
    assert metrics["ciphermote_windows"].sum.is_monotonic
    rounds = metrics["ciphermote_round_deliveries"].histogram.data_points[0]
    assert rounds.count == sum(rounds.bucket_counts) >= WINDOWS + 1
    assert len(rounds.bucket_counts) == len(rounds.explicit_bounds) + 1
    text = accepted(place.server.operator().get("/metrics")).text
    types = [line.split() for line in text.splitlines() if line.startswith("# TYPE")]
    named = {words[2].removesuffix("_total") for words in types if not words[2].endswith("_created")}
    assert named <= metrics.keys()


def test_no_secret_shows(place: Place) -> None:
    reason = place.server.client().get("/readyz").text
    sent = {path: b"" for path, _ in place.collector.bodies}
    for path, body in place.collector.bodies:
        sent[path] += body
    assert sent.keys() == {"/v1/traces", "/v1/metrics"}
    places = {
        **sent,
        "the log": place.server.log().encode(),
        "what ps shows": "".join(place.shown).encode(),
        "readiness": reason.encode(),
    }
    assert "ciphermote.gateway.worker" in "".join(place.shown)
    for name, secret in place.secrets.items():
        for where, text in places.items():
            assert secret.encode() not in text, f"{name} is in {where}"


@pytest.mark.parametrize(
    "options",
    [
        ("--database", f"postgresql://me:{PASSWORD}@localhost/gateway"),
        ("--database", f"postgresql://me@localhost/gateway?password={PASSWORD}"),
        ("--store", f"s3://me:{PASSWORD}@bucket/prefix"),
        ("--store", f"s3://bucket/prefix?aws_secret_access_key={PASSWORD}"),
    ],
)
def test_a_url_with_a_password_is_refused_and_not_shown(tmp_path: Path, options: tuple[str, str]) -> None:
    command = (sys.executable, "-m", "ciphermote", "serve", "--data", str(tmp_path / "data"), *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr
    assert PASSWORD not in "".join((done.stdout + done.stderr).split())


def test_nothing_is_imported_while_it_is_off() -> None:
    program = (
        "import sys; from ciphermote.gateway import intake, telemetry; telemetry.configure('x');"
        "assert telemetry.begin('round') is telemetry.NOTHING is telemetry.span('job', job=1);"
        "assert telemetry.carried(len) is len;"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_off_it_costs_a_round_no_more_than_microseconds() -> None:
    begun = time.perf_counter()
    for _ in range(10_000):
        span = telemetry.begin("round", deliveries=1)
        for _ in range(3):
            with span.current():
                pass
        with telemetry.span("transaction", system="sqlite"):
            pass
        span.end()
    microseconds = (time.perf_counter() - begun) * 100
    print(f"{microseconds:.2f} us a round")
    assert microseconds < 50
