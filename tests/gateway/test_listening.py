# SPDX-License-Identifier: Apache-2.0
"""Whoever opens connections and says nothing shuts nobody out, is logged, and whoever is refused is named."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ciphermote.gateway import listening
from ciphermote.gateway.listening import Connections, network_of, room_for_connections
from gateway_support import Server, accepted, define_full, device_token, free_port, full_owner, wait_until

ENOUGH_SECONDS = 30.0
"""Half of what it took when silent connections had to end first."""


@contextlib.contextmanager
def limited(data: Path, soft: int, hard: int) -> Iterator[Server]:
    """A gateway that may have so many files open."""
    server = Server(data, free_port(), ("--workers", "0"))
    try:
        yield server.start(prefix=("prlimit", f"--nofile={soft}:{hard}"))
    finally:
        server.stop()


@contextlib.contextmanager
def silent(server: Server, count: int) -> Iterator[list[socket.socket]]:
    """So many connections that say nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * count + 100)), hard))
    with contextlib.ExitStack() as stack:
        place = ("127.0.0.1", server.port)
        yield [stack.enter_context(socket.create_connection(place, ENOUGH_SECONDS)) for _ in range(count)]


def logged(server: Server, event: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log().splitlines() if f'"event": "{event}"' in line]


@pytest.mark.parametrize(
    ("soft", "hard", "count"),
    [(1024, 4096, 1100), (64, 64, 120)],
    ids=["a soft limit of 1024", "64 files in all"],
)
def test_silent_connections_shut_nobody_out(tmp_path: Path, soft: int, hard: int, count: int) -> None:
    with limited(tmp_path / "data", soft, hard) as server, silent(server, count):
        started = time.monotonic()
        for _ in range(3):
            accepted(server.owner().get("/v1/fleets"))
        assert time.monotonic() - started < ENOUGH_SECONDS
        if count > hard:
            wait_until(lambda: logged(server, "silent connections dropped"), "a line in the log")
            (line, *_) = logged(server, "silent connections dropped")
            assert line["address"] == "127.0.0.1" and line["connections"] > 0
        assert not logged(server, "no connection can be taken")


def test_connections_without_a_handshake_end_and_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with limited(tmp_path / "data", 1024, 1024) as server, silent(server, 2) as connections:
        connections[0].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: logged(server, "connections without a handshake"), "a line in the log")
        connections[1].settimeout(listening.HANDSHAKE_SECONDS + ENOUGH_SECONDS)
        assert connections[1].recv(1) == b""


@pytest.mark.parametrize(
    ("ciphers", "is_taken"),
    [
        ("DEFAULT", True),
        ("ECDHE-ECDSA-AES128-CCM8:@SECLEVEL=0", True),
        ("ECDHE-ECDSA-AES128-SHA", False),
        ("AES128-GCM-SHA256", False),
        ("ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0", False),
        ("AECDH-AES128-SHA:@SECLEVEL=0", False),
    ],
)
def test_tls_has_forward_secrecy_and_authenticated_encryption(
    server: Server, *, ciphers: str, is_taken: bool
) -> None:
    context = ssl.create_default_context(cafile=server.authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    with socket.create_connection(("127.0.0.1", server.port), ENOUGH_SECONDS) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="localhost") as connection:
                assert is_taken, connection.cipher()
                name = connection.cipher()[0]
                assert name.startswith("ECDHE-") and ("GCM" in name or "CCM" in name or "CHACHA" in name)
        except ssl.SSLError as error:
            assert not is_taken, error


def pair() -> socket.socket:
    return socket.socket()


def test_an_address_has_as_many_as_are_free() -> None:
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(pair()) for _ in range(20)]
        connections = Connections(8)
        for each in made[:4]:
            assert connections.add(each, "a") is None
            connections.has_spoken(each)
        assert connections.add(made[4], "a") is made[4], "half of all, and none of them silent"
        for each in made[5:7]:
            assert connections.add(each, "b") is None
        assert connections.add(made[7], "b") is made[5], "the oldest that is silent goes"
        assert (connections.of("a"), connections.of("b")) == (4, 2)
        assert connections.add(made[8], "c") is None
        for each in made:
            connections.remove(each)
            connections.remove(each)
        assert [connections.of(name) for name in "abc"] == [0, 0, 0]
        assert connections.add(made[9], "a") is None


def test_the_networks_of_addresses() -> None:
    for address, network in (
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ):
        assert network_of(address) == network


def test_the_room_follows_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = [0, 0]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limit))
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limit.__setitem__(slice(None), new))
    for soft, hard, raised, room in (
        (1024, 4096, 4096, 3840),
        (64, 64, 64, 32),
        (1024, 1 << 20, 65_536, 10_000),
        (1 << 20, 1 << 20, 1 << 20, 10_000),
        (1024, resource.RLIM_INFINITY, 65_536, 10_000),
    ):
        limit[:] = soft, hard
        assert (room_for_connections(), limit[0]) == (room, raised)


def test_the_log_names_who_is_refused(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "named", full_owner())
    token = device_token(owner, "named", 7)
    client = server.client(token)
    client.post("/v1/fleets/named/deliveries", content=b"x")
    client.get("/v1/fleets")
    server.client(f"{token}x").get("/v1/fleets")
    server.client("nonsense").post("/v1/fleets/named/deliveries", content=b"x")
    found = logged(server, "refused")[-4:]
    whose = {"token": token.split("_")[1], "scope": "device", "tenant": "home", "fleet": "named", "device": 7}
    for line, named in zip(found, (whose, whose, {}, {}), strict=True):
        assert line["address"] == "127.0.0.1"
        assert {name: line[name] for name in named} == named
        assert ("token" in line) == bool(named)
    (defined,) = logged(server, "fleet defined")
    assert (defined["address"], defined["scope"], defined["tenant"]) == ("127.0.0.1", "owner", "home")
    assert token.split("_")[2] not in server.log()
