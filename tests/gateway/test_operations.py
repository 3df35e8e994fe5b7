# SPDX-License-Identifier: Apache-2.0
"""The procedures of docs/operations.md work as described: backup, restore, upgrade, stop."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ciphermote.cli import app
from ciphermote.gateway.tls import check_pair, own_certificate
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    free_port,
    full_owner,
    run_job,
    serving,
)
from typer.testing import CliRunner

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text()


def send(server: Server, device: FullDevice, value: float) -> None:
    client = server.client(device_token(server.owner(), "fleet", device.number))
    device.receipt(client.post("/v1/fleets/fleet/deliveries", content=device.encrypt([value])))


def total(server: Server) -> float:
    _, (result,) = run_job(server.owner(), "fleet", {"kind": "sum", "per_device": 100})
    return float(full_owner().decrypt(result)[0])


def test_a_backup_made_while_it_runs_restores(tmp_path: Path) -> None:
    section = PAGE.partition("## Backup and restore")[2].partition("## ")[0]
    backup, *restoring = re.findall(r"^    (.*)$", section, re.M)
    assert "gateway backup" in backup and "gateway restore" in restoring[0] and "verify" in restoring[1]
    data, restored = tmp_path / "data", tmp_path / "restored"

    def run(command: str, folder: Path) -> None:
        command = command.replace("ciphermote gateway", f"{sys.executable} -m ciphermote gateway", 1)
        command = command.replace(" /backup", f" {tmp_path}/backup")
        command = command.replace("/var/lib/ciphermote", str(folder))
        subprocess.run(["bash", "-ec", command], check=True, timeout=120)

    with serving(data) as server:
        define_full(server.owner(), "fleet", full_owner())
        device = FullDevice(full_owner(), 1).enroll(server.owner(), "fleet")
        for value in (1.0, 2.0):
            send(server, device, value)
        run(backup, data)
        send(server, device, 4.0)
        authority = (data / "tls/ca.pem").read_bytes()
    for command in restoring:
        run(command, restored)
    again = Server(restored, free_port()).start()
    try:
        assert (restored / "tls/ca.pem").read_bytes() == authority
        np.testing.assert_allclose(total(again), 3, atol=0.1)
        send(again, device, 8.0)
        np.testing.assert_allclose(total(again), 11, atol=0.1)
    finally:
        again.stop()


@pytest.mark.parametrize(("lost", "opens"), [("wrap.key", "tag keys"), ("tls", "--certificate and --key")])
def test_a_restored_directory_without_what_devices_rely_on_is_refused(
    tmp_path: Path, lost: str, opens: str
) -> None:
    data = tmp_path / "data"
    with serving(data) as server:
        define_full(server.owner(), "fleet", full_owner())
        FullDevice(full_owner(), 1).enroll(server.owner(), "fleet")
    (data / lost).rename(tmp_path / lost)
    program = (sys.executable, "-m", "ciphermote", "serve", "--data", data, "--port", free_port())
    ended = subprocess.run([*map(str, program)], capture_output=True, text=True, timeout=60, check=False)
    said = " ".join(ended.stderr.split())
    assert ended.returncode == 1 and f"{lost} is missing" in said and opens in said, said
    assert not (data / lost).exists()


def test_it_stops_on_sigterm_and_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        define_full(server.owner(), "fleet", full_owner())
        device = FullDevice(full_owner(), 1).enroll(server.owner(), "fleet")
        send(server, device, 1.0)
        assert server.stop() == 0
        assert '"stopped"' in server.log()
        server.start()
        send(server, device, 2.0)
        np.testing.assert_allclose(total(server), 3, atol=0.1)


@pytest.mark.parametrize("name", ["healthz", "readyz", "metrics", "openapi.json", "v1/operator/quarantine"])
def test_the_paths_that_the_page_names_answer(server: Server, name: str) -> None:
    assert name.removeprefix("v1/operator/") in PAGE
    accepted(server.operator().get(f"/{name}"))


def test_the_alerts_name_metrics_that_there_are(server: Server) -> None:
    table = PAGE.partition("| Alert on")[2].partition("\n\n")[0]
    alerts = set(re.findall(r"ciphermote_\w+", table))
    assert alerts
    shown = server.operator().get("/metrics").text
    defined = set(re.findall(r"^# TYPE (\w+)", shown, re.M))
    assert {name for name in alerts if name not in defined} == set()


def test_a_directory_that_is_too_deep_for_the_brokers_socket_is_refused(tmp_path: Path) -> None:
    data = tmp_path / ("d" * 100) / "data"
    command = (sys.executable, "-m", "ciphermote", "serve", "--data", str(data), "--broker", "localhost")
    done = subprocess.run(
        (*command, "--port", str(free_port())), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "name a shorter directory (--data)" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_directory_has_one_gateway(server: Server) -> None:
    """Two would write over each other's segments."""
    for options, sentence in (
        (("--port", str(free_port())), "another gateway's that runs"),
        (("--port", str(server.port)), "Nobody can listen"),
    ):
        command = (sys.executable, "-m", "ciphermote", "serve", "--data", str(server.data), *options)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and sentence in done.stderr, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr and "Serving" not in done.stdout


def test_a_certificate_needs_its_own_key(tmp_path: Path) -> None:
    """Anything else is told before the gateway begins, in words of its own."""
    made = own_certificate(tmp_path / "one", "localhost"), own_certificate(tmp_path / "two", "localhost")
    (certificate, key), (_, other) = made
    text = tmp_path / "text"
    text.write_text("a letter")
    check_pair(certificate, key)
    for given, words in (
        ((certificate, other), "do not belong together"),
        ((text, key), "text holds no PEM certificate"),
        ((certificate, certificate), "holds no PEM private key"),
        ((certificate, tmp_path / "none"), "none cannot be read"),
    ):
        options = ("--data", tmp_path / "data", "--certificate", given[0], "--key", given[1])
        result = CliRunner().invoke(app, ["serve", *map(str, options)])
        assert result.exit_code == 1 and words in result.stderr.replace("\n", " "), result.output
        assert "_ssl.c" not in result.output and result.stderr.count("error:") == 1


def test_what_was_given_is_said_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing between colons becomes an emoji; and each option has a variable."""
    monkeypatch.setenv("CIPHERMOTE_BROKER", "a:b:c")
    assert "--broker is a:b:c: give" in CliRunner().invoke(app, ["serve"]).stderr
