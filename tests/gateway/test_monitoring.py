# SPDX-License-Identifier: Apache-2.0
"""The alerts and the dashboard in deploy/, by promtool, and by a Prometheus that watches a gateway."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway_support import (
    FullDevice,
    accepted,
    define_full,
    device_token,
    free_port,
    full_owner,
    run_job,
    serving,
    wait_until,
)

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
BOARD = json.loads((DEPLOY / "grafana" / "ciphermote.json").read_text())
FLEET = "fleet"

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="prometheus is not installed")


def on_board() -> list[str]:
    """The dashboard's expressions, with what Grafana puts in for its variables."""
    targets = [target for panel in BOARD["panels"] for target in panel["targets"]]
    put_in = {"$__rate_interval": "1m", "$instance": ".*"}
    found = []
    for target in targets:
        expression = target["expr"]
        for variable, value in put_in.items():
            expression = expression.replace(variable, value)
        found.append(expression)
    return found


def alerts() -> list[tuple[str, str]]:
    """(name, expression) of each."""
    text = (PROMETHEUS / "alerts.yml").read_text()
    return re.findall(r"- alert: (\w+)\n +expr: (.+)\n", text)


def promtool(*arguments: str, cwd: Path = PROMETHEUS) -> str:
    done = subprocess.run(("promtool", *arguments), cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_accepts_rules_and_configuration() -> None:
    assert f"{len(alerts())} rules found" in promtool("check", "rules", "alerts.yml")
    promtool("check", "config", "--syntax-only", "prometheus.yml")


def test_each_alert_is_seen_to_fire() -> None:
    promtool("test", "rules", "alerts_test.yml")
    tried = (PROMETHEUS / "alerts_test.yml").read_text()
    fired = re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:\n", tried)
    silent = re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts: \[\]\n", tried)
    assert sorted(fired) == sorted(silent) == sorted(name for name, _ in alerts())


def test_promtool_accepts_the_dashboards_expressions(tmp_path: Path) -> None:
    rules = [{"record": f"board:{number}", "expr": expr} for number, expr in enumerate(on_board())]
    (tmp_path / "board.yml").write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))
    promtool("check", "rules", "board.yml", cwd=tmp_path)


class Prometheus:
    """One that scrapes a gateway, by the configuration in deploy/."""

    def __init__(self, port: int) -> None:
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)

    def get(self, path: str, **asked: str) -> Any:
        return accepted(self._client.get(f"/api/v1/{path}", params=asked)).json()["data"]

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.get("query", query=expression)["result"]
        return found

    def is_ready(self) -> bool:
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx.HTTPError:
            return False


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("monitoring")
    with serving(folder / "data") as server:
        owner = server.owner()
        define_full(owner, FLEET, full_owner())
        device = FullDevice(full_owner(), 1).enroll(owner, FLEET)
        client = server.client(device_token(owner, FLEET, 1))
        octets, path = {"Content-Type": "application/octet-stream"}, f"/v1/fleets/{FLEET}/deliveries"
        device.receipt(client.post(path, content=device.encrypt([1.0]), headers=octets))
        run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
        assert server.stop() == 0
        server.start()  # it counts missing windows at once
        configuration = (PROMETHEUS / "prometheus.yml").read_text()
        for old, new in (
            ("gateway-a.example:8443, gateway-b.example:8443", f"localhost:{server.port}"),
            ("scrape_interval: 15s", "scrape_interval: 1s"),
            ("evaluation_interval: 15s", "evaluation_interval: 1s"),
            ("ca_file: ca.pem", f"ca_file: {server.authority}"),
            ("credentials_file: prometheus.token", f"credentials_file: {server.data / 'operator.token'}"),
        ):
            assert old in configuration
            configuration = configuration.replace(old, new)
        (folder / "prometheus.yml").write_text(configuration)
        shutil.copy(PROMETHEUS / "alerts.yml", folder)
        port = free_port()
        command = ("prometheus", "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{port}")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        found = Prometheus(port)
        try:
            wait_until(found.is_ready, "Prometheus")
            wait_until(lambda: found.query("ciphermote_ready == 1"), "a scrape")
            for _ in range(3):  # rates need two scrapes, and something between them
                device.receipt(client.post(path, content=device.encrypt([1.0]), headers=octets))
                client.post(path, content=b"\0" * 100, headers=octets)
                time.sleep(1.5)
            yield found
        finally:
            process.terminate()
            process.wait(30)


def test_each_metric_that_an_expression_names_exists(prometheus: Prometheus) -> None:
    expressions = [expression for _, expression in alerts()] + on_board()
    names = {name for each in expressions for name in re.findall(r"\bciphermote_\w+", each)}
    assert len(names) > 15
    assert {name for name in names if not prometheus.query(name)} == set()


def test_the_labels_that_an_expression_names_exist(prometheus: Prometheus) -> None:
    expressions = [expression for _, expression in alerts()] + on_board()
    grouped = {
        label
        for each in expressions
        for group in re.findall(r"by \(([^)]*)\)", each)
        for label in group.split(", ")
    }
    matched = {label for each in expressions for label in re.findall(r"[{,] ?(\w+)=", each)}
    assert grouped | matched <= set(prometheus.get("labels"))


def test_the_alerts_are_evaluated_and_silent_over_a_gateway_that_is_well(prometheus: Prometheus) -> None:
    def rules() -> list[dict[str, Any]]:
        (group,) = prometheus.get("rules")["groups"]
        return list(group["rules"])

    wait_until(lambda: all(rule["health"] != "unknown" for rule in rules()), "an evaluation")
    found = {rule["name"]: (rule["health"], rule["state"]) for rule in rules()}
    assert found == {name: ("ok", "inactive") for name, _ in alerts()}


def test_each_panel_has_something_to_show(prometheus: Prometheus) -> None:
    empty = [expression for expression in on_board() if not prometheus.query(expression)]
    assert empty == []
