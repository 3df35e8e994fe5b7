# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL elsewhere: with a password from a file, and TLS with a certificate that is checked, by what
deploy/compose/prepare.sh makes. The password shows nowhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from demos.cluster.services import Postgres
from demos.fleet.site import Server, serving
from gateway_support import FullDevice, accepted, define_full, device_token, free_port, full_owner

PREPARE = Path(__file__).resolve().parents[2] / "deploy" / "compose" / "prepare.sh"


@dataclass
class Place:
    """A server on a port of this machine, whose certificate has the name postgres."""

    secrets: Path
    port: int

    @property
    def password(self) -> str:
        return (self.secrets / "database_password").read_text().strip()

    def url(self, host: str = "postgres", authority: str = "ca.pem") -> str:
        """Return the URL as the compose file has it, but for the address."""
        checked = f"sslmode=verify-full&sslrootcert={self.secrets / authority}"
        return f"postgresql://ciphermote@{host}:{self.port}/postgres?hostaddr=127.0.0.1&{checked}"

    def passwords(self, host: str = "postgres", password: str | None = None) -> dict[str, str]:
        path = self.secrets / f"pgpass-{host}-{password is None}"
        path.write_text(f"{host}:{self.port}:*:ciphermote:{password or self.password}\n")
        path.chmod(0o600)
        return {"PGPASSFILE": str(path)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run((PREPARE, folder), check=True, timeout=60)
    found = Place(folder / "secrets", free_port())
    server = Postgres(found.port)
    try:
        server.start()
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER USER ciphermote PASSWORD '{found.password}'".encode())
        server.stop("fast")
        data = server.folder / "data"
        for name in ("postgres.pem", "postgres.key"):
            shutil.copy(found.secrets / name, data)
            shutil.chown(data / name, data.owner(), data.group())
            (data / name).chmod(0o600)
        (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n")
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.write("ssl = on\nssl_cert_file = 'postgres.pem'\nssl_key_file = 'postgres.key'\n")
        server.start()
        yield found
    finally:
        server.remove()


def test_a_gateway_works_on_it_with_the_wrapping_key_that_it_is_given(place: Place) -> None:
    data = place.secrets.parent / "data" / "gateway-a"
    wrap_key = (data / "wrap.key").read_bytes()
    options = ("--database", place.url(), "--workers", "0")
    with serving(data, *options, **place.passwords()) as server:
        owner = server.owner()
        define_full(owner, "fleet", full_owner())
        device = FullDevice(full_owner(), 1).enroll(owner, "fleet")
        client = server.client(device_token(owner, "fleet", 1))
        octets = {"Content-Type": "application/octet-stream"}
        path = "/v1/fleets/fleet/deliveries"
        device.receipt(client.post(path, content=device.encrypt([1.0]), headers=octets))
        assert len(accepted(owner.get("/v1/fleets/fleet/windows")).json()["items"]) == 1
        assert_hidden(place, server)
    assert (data / "wrap.key").read_bytes() == wrap_key


def assert_hidden(place: Place, server: Server) -> None:
    assert server.process is not None
    shown = Path(f"/proc/{server.process.pid}/cmdline").read_text()
    assert "postgresql://" in shown
    assert place.password not in shown + server.log()


@pytest.mark.parametrize("wrong", ["authority", "name", "password"])
def test_what_is_not_as_it_should_be_is_refused(place: Place, tmp_path: Path, wrong: str) -> None:
    shutil.copy(place.secrets / "gateway.pem", place.secrets / "other.pem")
    url, environment, reason = {
        "authority": (place.url(authority="other.pem"), place.passwords(), "certificate verify failed"),
        "name": (place.url("db.example"), place.passwords("db.example"), "does not match host name"),
        "password": (place.url(), place.passwords(password="another-9c1e"), "password authentication failed"),
    }[wrong]
    command = (sys.executable, "-m", "ciphermote", "serve", "--data", str(tmp_path / "data"))
    options = ("--port", str(free_port()), "--database", url)
    environment["COLUMNS"] = "1000"
    done = subprocess.run(
        (*command, *options), capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1 and reason in said, said
    assert "Traceback" not in said
    assert not any(secret in "".join(said.split()) for secret in (place.password, "another-9c1e"))
