# SPDX-License-Identifier: Apache-2.0
"""The plugin of Mosquitto: the interface that it declares, floods, and a certificate of one's own."""

from __future__ import annotations

import contextlib
import datetime
import resource
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ciphermote.gateway import broker_gate
from ciphermote.gateway.access import Access
from ciphermote.gateway.broker_gate import BrokerGate
from ciphermote.gateway.database.sqlite import SqliteDatabase, migrate
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from gateway_support import Broker, Server, define_full, device_token, free_port, full_owner, wait_until
from mqtt_support import site

ROOT = Path(__file__).parents[2]


def test_it_declares_what_mosquitto_has(tmp_path: Path) -> None:
    """Where Mosquitto's own headers are installed (Debian: mosquitto-dev)."""
    if not Path("/usr/include/mosquitto_broker.h").exists():
        pytest.skip("mosquitto-dev is not installed")
    compared = tmp_path / "compared.c"
    names = {
        "struct mosquitto_evt_acl_check": ("client", "topic", "access", "payloadlen"),
        "struct mosquitto_evt_basic_auth": ("client", "username", "password"),
        "struct mosquitto_opt": ("key", "value"),
    }
    constants = (
        *("MOSQ_PLUGIN_VERSION", "MOSQ_ACL_READ", "MOSQ_ACL_WRITE", "MOSQ_ACL_SUBSCRIBE"),
        *("MOSQ_ACL_UNSUBSCRIBE", "MOSQ_LOG_NOTICE", "MOSQ_LOG_WARNING", "MOSQ_ERR_SUCCESS"),
        *("MOSQ_ERR_INVAL", "MOSQ_ERR_AUTH", "MOSQ_ERR_ACL_DENIED", "MOSQ_ERR_UNKNOWN"),
        *("MOSQ_EVT_ACL_CHECK", "MOSQ_EVT_BASIC_AUTH", "MOSQ_EVT_TICK"),
    )
    lines = [f'printf("%ld\\n", (long)sizeof({name}));' for name in names]
    lines += [f'printf("%ld\\n", (long)offsetof({a}, {b}));' for a, fields in names.items() for b in fields]
    lines += [f'printf("%ld\\n", (long){name});' for name in constants]
    found = []
    for headers in (["broker_api.h"], ["mosquitto.h", "mosquitto_broker.h", "mosquitto_plugin.h"]):
        included = "".join(f'#include "{name}"\n' for name in ("stddef.h", "stdio.h", *headers))
        compared.write_text(f"{included}int main(void)\n{{\n{' '.join(lines)}\n}}\n")
        program = tmp_path / "compared"
        command = ("gcc", "-Wall", "-Werror", "-I", ROOT / "python/src", compared, "-o", program)
        subprocess.run(command, check=True, timeout=60)
        found.append(subprocess.run((program,), capture_output=True, check=True, timeout=60).stdout)
    assert found[0] == found[1]


def certificate_for(name: str, folder: Path) -> tuple[Path, Path]:
    """(certificate, key) that only that name is in."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    found = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    paths = folder / "chain.pem", folder / "key.pem"
    for path, data in zip(paths, (found.public_bytes(serialization.Encoding.PEM), private), strict=True):
        path.write_bytes(data)
    return paths


def test_the_broker_has_the_certificate_that_the_gateway_was_given(tmp_path: Path) -> None:
    """Its configuration named files that are made only for a gateway without one."""
    certificate, key = certificate_for("gateway.example", tmp_path)
    broker = Broker(tmp_path / "data", free_port())
    given = ("--certificate", str(certificate), "--key", str(key), "--broker", f"localhost:{broker.port}")
    server = Server(tmp_path / "data", free_port(), given)
    server.start_unready()
    try:
        broker.start()
        wait_until(lambda: "broker connected" in server.log(), "the gateway's connection")
        context = ssl.create_default_context(cafile=certificate)
        for port in (server.port, broker.port):
            with (
                socket.create_connection(("127.0.0.1", port), 30) as plain,
                context.wrap_socket(plain, server_hostname="gateway.example") as connection,
            ):
                assert connection.getpeercert() is not None
    finally:
        server.stop()
        broker.kill()


_SILENT = """
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
kept = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10) for _ in range(1100)]
print(len(kept), flush=True)
sys.stdin.read()
"""


def test_silent_connections_shut_no_device_out(tmp_path: Path) -> None:
    """A broker that was started with 1024 files let nobody in for 90 s."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        with site(tmp_path / "data", "--workers", "0") as here:
            owner = here.server.owner()
            define_full(owner, "fleet", full_owner())
            command = (sys.executable, "-c", _SILENT, str(here.broker.port))
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as silent:
                assert silent.stdout is not None and silent.stdout.readline() == b"1100\n"
                station = here.station("home.fleet.1", device_token(owner, "fleet", 1))
                wait_until(lambda: station.is_ready, "the device", 45.0)
                station.leave()
                silent.communicate()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def gate(folder: Path) -> Iterator[tuple[Access, socket.socket]]:
    migrate(folder / "gateway.db")
    access = Access(SqliteDatabase(folder / "gateway.db"))
    found = BrokerGate(access, folder / "gate", "secret")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(10)
        link.connect(str(folder / "gate"))
        try:
            yield access, link
        finally:
            found.close()


def asked(link: socket.socket, question: bytes) -> bytes:
    link.send(question)
    return link.recv(65536)


def test_many_that_are_revoked_at_once_are_all_told_and_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_gate, "_MOST_ENDED", 5)
    with gate(tmp_path) as (access, link):
        database = SqliteDatabase(tmp_path / "gateway.db").connection
        database.execute(
            "INSERT INTO tenants (id, name, created, most_devices, most_bytes) VALUES (1, 't', 0, 1, 1e9)"
        )
        database.execute(
            "INSERT INTO fleets (id, tenant, name, definition, created) VALUES (1, 1, 'f', '{}', 0)"
        )
        tokens = [access.make("device", tenant=1, fleet=1, device=number) for number in range(12)]
        assert asked(link, f"Ct.f.7\n{tokens[7]}\n127.0.0.1".encode()) == b"y"
        assert asked(link, f"Ct.f.8\n{tokens[7]}\n127.0.0.1".encode()) == b"n"
        assert asked(link, b"Cgateway-0\nsecret\n127.0.0.1") == b"y"
        assert asked(link, b"Cgateway-1\nsecret\n127.0.0.1") == b"y"
        for user in ("gateway", "gateway-0.fleet.7", "other-0"):
            assert asked(link, f"C{user}\nsecret\n127.0.0.1".encode()) == b"n"
        assert asked(link, f"Cgateway-0\n{tokens[7]}\n127.0.0.1".encode()) == b"n"
        assert asked(link, b"R0") == b"R"
        with database:
            database.execute("UPDATE tokens SET revoked = ?", (time.time(),))
        found = [line for _ in range(3) for line in asked(link, b"R200").decode().split("\n")[1:]]
        assert sorted(found) == sorted(f"t.f.{number}" for number in range(12))
        assert asked(link, b"R200") == b"R"


def test_whoever_speaks_otherwise_is_hung_up_on(tmp_path: Path) -> None:
    with gate(tmp_path) as (_, link):
        assert asked(link, b"Rsoon") == b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as again:
            again.connect(str(tmp_path / "gate"))
            assert asked(again, b"Cnobody\nx\ny") == b"n"
