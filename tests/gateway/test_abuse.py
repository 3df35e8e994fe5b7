# SPDX-License-Identifier: Apache-2.0
"""Requests of strangers, other tenants, broken clients and mistyping users are refused by name, and leave the
gateway's database, folder and memory unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import select
import socket
import sqlite3
import ssl
import struct
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from ciphermote import Owner
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A16
from ciphermote.gateway import connections
from ciphermote.gateway.intake import DeviceShares, Shares
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.registry import MOST_KEYS_BYTES
from ciphermote.gateway.uploads import Uploads
from gateway_support import (
    SECONDS,
    FullDevice,
    Server,
    accepted,
    define_compact,
    define_full,
    device_token,
    enrolment,
    frames_of,
    full_owner,
    refused,
    wait_until,
)
from mqtt_support import site

FLEET = "target"
MOST_GROWN_BYTES = 96 << 20


# --- what must stay as it is --------------------------------------------------------------------------------


def state(server: Server) -> dict[str, Any]:
    """All rows but those of the audit log, which notes refused attempts and is bounded, and all files that
    hold what was taken."""
    found: dict[str, Any] = {}
    with contextlib.closing(
        sqlite3.connect(f"file:{server.data / 'gateway.db'}?mode=ro", uri=True)
    ) as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table not in ("audit", "sqlite_sequence"):
                found[table] = database.execute(f"SELECT * FROM {table}").fetchall()
    for folder in ("segments", "objects", "tls"):
        for path in (server.data / folder).iterdir():
            found[f"{folder}/{path.name}"] = path.read_bytes()
    found["names"] = sorted(path.name for path in server.data.iterdir())
    return found


def peak_bytes(server: Server, *, anew: bool = False) -> int:
    """The peak of memory since the last call with anew."""
    assert server.process is not None
    if anew:
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


@contextlib.contextmanager
def unchanged(server: Server, *, logged: str | None = "refused") -> Iterator[None]:
    """Nothing is kept of what the block sends, something is logged, no token is, and memory is bounded."""
    before, size, log = state(server), peak_bytes(server, anew=True), len(server.log())
    yield
    assert state(server) == before
    assert peak_bytes(server) - size < MOST_GROWN_BYTES
    said = server.log()[log:]
    assert logged is None or logged in said, said
    assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def fleet(server: Server) -> str:
    owner = server.owner()
    define_full(owner, FLEET, full_owner())
    define_full(owner, "own-keys", Owner.generate("n4096_q26x3_p27"), own_keys=True)
    define_compact(owner, "meters", _compact(), 8)
    return FLEET


@pytest.fixture(scope="module", autouse=True)
def silent(server: Server) -> Iterator[ssl.SSLSocket]:
    """Somebody who begins a request and never goes on, while the other tests run."""
    with raw(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        yield connection


_COMPACT: list[CompactKeys] = []


def _compact() -> CompactKeys:
    if not _COMPACT:
        _COMPACT.append(CompactKeys.generate(A16).enroll(1)[0])
    return _COMPACT[0]


@pytest.fixture(scope="module")
def device(server: Server, fleet: str) -> tuple[FullDevice, httpx.Client]:
    found = FullDevice(full_owner(), 1).enroll(server.owner(), fleet)
    client = server.client(device_token(server.owner(), fleet, 1))
    found.receipt(client.post(f"/v1/fleets/{fleet}/deliveries", content=found.encrypt([1.0])))
    return found, client


Device = tuple[FullDevice, httpx.Client]


# --- tenants ------------------------------------------------------------------------------------------------


def test_another_tenants_token_opens_nothing(server: Server, fleet: str, device: Device) -> None:
    made = accepted(server.operator().post("/v1/operator/tenants", json={"name": "rival"})).json()
    rival = server.client(made["token"])
    define_full(rival, "theirs", full_owner())
    FullDevice(full_owner(), 1).enroll(rival, "theirs")
    stranger = server.client(device_token(rival, "theirs", 1))
    with unchanged(server):
        for method, path, name in (
            ("GET", "", "no-such-fleet"),
            ("GET", "/devices", "no-such-fleet"),
            ("GET", "/windows", "no-such-fleet"),
            ("GET", "/jobs", "no-such-fleet"),
            ("GET", "/jobs/1/results/0", "no-such-fleet"),
            ("POST", "/devices/1/revoke", "no-such-fleet"),
            ("DELETE", "/streams/all", "no-such-fleet"),
        ):
            refused(rival.request(method, f"/v1/fleets/{fleet}{path}"), 404, name)
        refused(rival.put(f"/v1/fleets/{fleet}/keys/relin", content=b"x" * 100), 404, "no-such-fleet")
        data = device[0].encrypt([1.0])
        refused(stranger.post(f"/v1/fleets/{fleet}/deliveries", content=data), 404, "no-such-fleet")
        refused(stranger.post("/v1/fleets/theirs/deliveries", content=data), 403, "forged")
        listed = accepted(server.owner().get("/v1/tokens")).json()["items"]
        mine = next(token["id"] for token in listed if token["scope"] == "device")
        refused(rival.delete(f"/v1/tokens/{mine}"), 404, "no-such-token")
        refused(rival.get("/v1/operator/tenants"), 403, "wrong-scope")
        refused(rival.get("/metrics"), 403, "wrong-scope")
        refused(device[1].get("/v1/fleets"), 403, "wrong-scope")
        asked = {"scope": "device", "fleet": fleet}
        refused(rival.post("/v1/tokens", json=asked), 404, "no-such-fleet")


# --- bodies -------------------------------------------------------------------------------------------------


def test_odd_bodies_are_refused(server: Server, fleet: str, device: Device) -> None:
    sender, client = device
    path = f"/v1/fleets/{fleet}/deliveries"
    data = sender.encrypt([1.0])
    frames = frames_of(data)
    with unchanged(server):
        refused(client.post(path, content=b""), 400, "malformed")
        refused(client.post(path, content=data[:-1]), 400, "malformed")
        refused(client.post(path, content=data + b"\0"), 400, "malformed")
        refused(client.post(path, content=data * 2000), 413, "too-large")
        refused(client.post(path, content=iter([data] * 2000)), 413, "too-large")
        squeezed = {"Content-Encoding": "gzip"}
        refused(client.post(path, content=gzip.compress(data), headers=squeezed), 415, "compressed")
        refused(client.post(path, content=gzip.compress(data)), 400, "malformed")
        refused(client.post(path, json={"frames": data.hex()}), 415, "wrong-type")
        refused(client.post("/v1/fleets/meters/deliveries", content=data), 403, "other-fleet")
        for query in ("measured=nan", "measured=1&measured=2", "mesured=1"):
            refused(client.post(f"{path}?{query}", content=data), 422, "invalid")
        for at in (2, 3, 12, 20, 44, 48, 56, 100, len(frames[0]) - 1, len(data) - 6):
            altered = bytearray(data)
            altered[at] ^= 1
            assert client.post(path, content=bytes(altered)).status_code in (400, 403, 422)
    # What was replayed is answered as before, and changes nothing but when the device was heard.
    receipt = sender.receipt(client.post(path, content=data))
    windows = state(server)["windows"]
    assert sender.receipt(client.post(path, content=data)) == receipt
    assert state(server)["windows"] == windows


def test_a_delivery_that_never_ends_is_cut_off(server: Server, fleet: str, device: Device) -> None:
    token = device[1].headers["authorization"]
    head = (
        f"POST /v1/fleets/{fleet}/deliveries HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
        "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with unchanged(server), raw(server) as connection:
        connection.sendall(head.encode())
        assert b" 413 " in _flood(connection, b"10000\r\n" + bytes(0x10000) + b"\r\n", 30)


def test_slow_deliveries_shut_nobody_out(server: Server, fleet: str, device: Device) -> None:
    """Sixteen and more that have begun, and go no further: their length is nowhere said."""
    with contextlib.ExitStack() as slow:
        for _ in range(40):
            _begin(slow.enter_context(raw(server)), fleet, device[1].headers["authorization"], 1)
        sender, client = device
        sender.receipt(client.post(f"/v1/fleets/{fleet}/deliveries", content=sender.encrypt([1.0])))


def test_a_device_that_fills_its_room_leaves_others_theirs(
    server: Server, fleet: str, device: Device
) -> None:
    made = accepted(server.operator().post("/v1/operator/tenants", json={"name": "calm"})).json()
    owner = server.client(made["token"])
    define_full(owner, "calm", full_owner())
    calm = FullDevice(full_owner(), 1).enroll(owner, "calm")
    client = server.client(device_token(owner, "calm", 1))
    sibling = FullDevice(full_owner(), 2).enroll(server.owner(), fleet)
    at_sibling = server.client(device_token(server.owner(), fleet, 2))
    (sender, hurried), log = device, len(server.log())
    with contextlib.ExitStack() as slow:
        begun = [slow.enter_context(raw(server)) for _ in range(20)]
        for connection in begun:
            _begin(connection, fleet, hurried.headers["authorization"], 4 << 20)
        wait_until(lambda: "as much to do" in server.log()[log:], "a refusal of some")
        for _ in range(3):
            calm.receipt(client.post("/v1/fleets/calm/deliveries", content=calm.encrypt([1.0])))
            sibling.receipt(at_sibling.post(f"/v1/fleets/{fleet}/deliveries", content=sibling.encrypt([1.0])))
    data = sender.encrypt([1.0])
    path = f"/v1/fleets/{fleet}/deliveries"
    wait_until(lambda: hurried.post(path, content=data).status_code == 200, "room again")


def test_no_tenant_has_more_than_is_free() -> None:
    shares = Shares(100)
    for tenant, most in ((1, 50), (2, 25), (3, 12)):
        shares.add(tenant, most - 1)
        shares.add(tenant, 1)
        with pytest.raises(Refusal, match="as much to do"):
            shares.add(tenant, 1)
    shares.remove(1, 50)
    shares.add(3, 25)
    with pytest.raises(Refusal):
        shares.add(3, 1)
    for tenant, has in ((2, 25), (3, 37)):
        shares.remove(tenant, has)
    shares.add(4, 50)


def test_no_device_has_more_than_is_free_of_its_tenants() -> None:
    shares = DeviceShares(100)
    shares.add(1, "a", 25)
    with pytest.raises(Refusal):
        shares.add(1, "a", 1)
    shares.add(1, "b", 12)
    shares.add(2, "a", 25)
    with pytest.raises(Refusal):
        shares.add(2, "b", 12)  # which is free of the tenant's, but not of the whole
    for device, has in (("a", 25), ("b", 12)):
        shares.remove(1, device, has)
    shares.add(2, "b", 12)
    with pytest.raises(Refusal):
        shares.add(2, "b", 1)


def _begin(connection: ssl.SSLSocket, fleet: str, token: str, size: int) -> None:
    """The first bytes of a delivery, after which more are to come."""
    head = (
        f"POST /v1/fleets/{fleet}/deliveries HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
        "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with contextlib.suppress(OSError):  # it is refused already
        connection.sendall(head.encode() + f"{size:x}\r\n".encode() + bytes(size) + b"\r\n")


def test_a_tenants_slow_upload_keeps_no_other_tenant_waiting(server: Server, fleet: str) -> None:
    made = accepted(server.operator().post("/v1/operator/tenants", json={"name": "prompt"})).json()
    prompt, owner = server.client(made["token"]), server.owner()
    define_full(prompt, "prompt", full_owner())
    path = f"/v1/fleets/{fleet}/keys/relin"
    head = (
        f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {owner.headers['authorization']}\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n"
    )

    def second() -> httpx.Response:
        return owner.put(path, content=b"x" * 100, timeout=10)

    with contextlib.ExitStack() as slow:

        def is_under_way() -> bool:
            """Otherwise one more begins, for one that came while the second was under way is refused."""
            if second().status_code == 503:
                return True
            slow.enter_context(raw(server)).sendall(head.encode() + bytes(1000))
            return False

        wait_until(is_under_way, "the slow upload")
        answer = second()
        refused(answer, 503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        answer = prompt.put("/v1/fleets/prompt/keys/relin", content=b"x" * 100, timeout=10)
        refused(answer, 422, "bad-keys")
    wait_until(lambda: second().status_code == 422, "the next upload")


def test_all_uploads_have_a_bound_together() -> None:
    uploads = Uploads()
    with uploads.room_for(1) as first, uploads.room_for(2) as other:
        first(MOST_KEYS_BYTES)
        other(MOST_KEYS_BYTES // 2)
        with pytest.raises(Refusal, match="as much to do"):
            other(1)
    with uploads.room_for(2) as other:
        other(MOST_KEYS_BYTES)


@pytest.mark.parametrize("what", ["header", "headers", "url", "trailer", "json"])
def test_no_stranger_fills_the_memory(server: Server, fleet: str, device: Device, what: str) -> None:
    """A head, a trailer or a body of JSON that goes on for 200 MB."""
    start = {
        "header": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ",
        "headers": b"GET /healthz HTTP/1.1\r\nHost: x\r\n",
        "url": b"GET /",
        "trailer": b"POST /v1/fleets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        "json": b"PUT /v1/fleets/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 10000000000\r\n\r\n",
    }[what]
    piece = b"a: b\r\n" * 10_000 if what == "headers" else b"a" * 60_000
    size = peak_bytes(server, anew=True)
    with raw(server) as connection:
        connection.sendall(start)
        answer = _flood(connection, piece, 25, most=200 << 20)
        assert any(status in answer for status in (b" 400 ", b" 401 ", b" 405 ")) or not answer
    assert peak_bytes(server) - size < 32 << 20


def _flood(connection: ssl.SSLSocket, piece: bytes, seconds: float, most: int = 1 << 40) -> bytes:
    """Send a flood, and return the bytes received before the connection was closed."""
    found, sent, end = b"", 0, time.monotonic() + seconds
    connection.settimeout(seconds)
    with contextlib.suppress(OSError):
        while time.monotonic() < end and sent < most:
            connection.sendall(piece)
            sent += len(piece)
            if select.select([connection], [], [], 0)[0]:
                connection.settimeout(0.01)
                with contextlib.suppress(TimeoutError, ssl.SSLWantReadError):
                    found += connection.recv(65536)
                connection.settimeout(seconds)
    assert time.monotonic() < end, f"{sent} bytes were read without an end"
    return found + _answer(connection)


def _answer(connection: ssl.SSLSocket) -> bytes:
    found = b""
    with contextlib.suppress(OSError):
        while data := connection.recv(65536):
            found += data
    return found


def test_a_connection_has_few_requests_that_wait(server: Server) -> None:
    with raw(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 4 + b"GET /healthz HTTP/1.0\r\n\r\n")
        assert _answer(connection).count(b'"status":"ok"') == 5
    with raw(server) as connection:
        connection.settimeout(SECONDS)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 400 + b"GET / HTTP/1.0\r\n\r\n")
        assert _answer(connection).count(b"HTTP/1.1 ") <= 5


def test_whoever_reads_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 1.0)
    asyncio.run(_drop_whoever_reads_nothing())


async def _drop_whoever_reads_nothing() -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
            await asyncio.sleep(0)

    loop = asyncio.get_running_loop()
    served = connections.Served(endless)
    listening = await loop.create_server(lambda: connections.HttpConnection(served), "127.0.0.1", 0)
    with socket.create_connection(listening.sockets[0].getsockname()) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(SECONDS):
            while not served.tasks:
                await asyncio.sleep(0.01)
            while served.connections:
                await asyncio.sleep(0.01)
    listening.close()
    for task in served.tasks:
        task.cancel()


@contextlib.contextmanager
def raw(server: Server) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cafile=server.data / "tls" / "ca.pem")
    with (
        socket.create_connection(("127.0.0.1", server.port), 30) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        yield connection


def test_the_description_takes_no_other_method(server: Server) -> None:
    answer = server.client("x").post("/openapi.json")
    refused(answer, 405, "no-such-method")
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: +4\r\n",
        b"Content-Length: -4\r\n",
        b"Content-Length: 4, 4\r\n",
        b"Content-Length: 0x4\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"X: y\r\n Content-Length: 4\r\n",
        b"X: \0\r\n",
    ],
)
def test_no_request_hides_in_another(server: Server, fleet: str, device: Device, head: bytes) -> None:
    token = device[1].headers["authorization"].encode()
    path = f"/v1/fleets/{fleet}/deliveries".encode()
    hidden = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with unchanged(server, logged=None), raw(server) as connection:
        connection.sendall(
            b"POST "
            + path
            + b" HTTP/1.1\r\nHost: x\r\nAuthorization: "
            + token
            + b"\r\n"
            + head
            + b"\r\n"
            + hidden
        )
        connection.settimeout(3)
        answer = _answer(connection)
        assert b'"status":"ok"' not in answer, answer
        assert answer.startswith(b"HTTP/1.1 4") or not answer, answer


# --- JSON ---------------------------------------------------------------------------------------------------

SPEC = '{"spec": {"kind": "sum"'


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        (b'{"spec": ', 400, "malformed"),
        (b"\xff\xfe", 400, "malformed"),
        (b'{"spec": {"kind": "sum", "kind": "mean"}}', 400, "malformed"),
        (b'{"spec": {"kind": "weighted-sum", "weights": {"1": NaN}}}', 400, "malformed"),
        (b'{"spec": {"kind": "linear", "bound": Infinity, "model": {}}}', 400, "malformed"),
        (b'{"spec": {"kind": "sum"}, "ends": 1e999}', 422, "invalid"),
        (b'{"spec": {"kind": "sum"}, "begins": -1}', 422, "invalid"),
        (b'{"spec": {"kind": "sum"}, "more": 1}', 422, "invalid"),
        (b'{"spec": {"kind": "drop table jobs"}}', 422, "invalid"),
        (b'{"spec": {"kind": "sum", "devices": ["1; DROP TABLE jobs"]}}', 422, "invalid"),
        (b'{"spec": {"kind": "sum", "devices": [4294967296]}}', 422, "invalid"),
        (b'{"spec": {"kind": "linear", "bound": 1, "model": {"a": "\\ud800"}}}', 422, "invalid"),
        (b'{"spec": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "malformed"),
        (b'{"spec": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}", 422, "invalid"),
        (b'{"spec": ' + b"9" * 10_000 + b"}", 400, "malformed"),
        (b'{"a": "' + b"x" * (17 << 20) + b'"}', 413, "too-large"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_odd_json_is_refused(server: Server, fleet: str, body: bytes, status: int, name: str) -> None:
    with unchanged(server):
        headers = {"Content-Type": "application/json"}
        answer = server.owner().post(f"/v1/fleets/{fleet}/jobs", content=body, headers=headers)
        refused(answer, status, name)


TRICKS = [
    "' OR 1=1 --",
    "x'; DROP TABLE devices; --",
    "../../etc/passwd",
    "..%2f..%2fgateway.db",
    "%2e%2e/%2e%2e/wrap.key",
    "a\0b",
    "a\r\nb",
    "A" * 5000,
    "{fleet}",
    "home.target.1",
    "+/#",
    "a\n",
    "\ud800",
    "ａ",
    "",
    "-",
]


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_tricks_in_names_stay_names(server: Server, fleet: str, device: Device, trick: str) -> None:
    owner, operator = server.owner(), server.operator()
    quoted = urllib.parse.quote(trick.encode(errors="replace"), safe="")
    with unchanged(server):
        answers = [
            _post(operator, "/v1/operator/tenants", {"name": trick}),
            _post(owner, "/v1/tokens", {"scope": "device", "fleet": trick}),
            _post(owner, f"/v1/fleets/{fleet}/streams", {"name": trick, "spec": {"job": {}, "every": 5}}),
            owner.get(f"/v1/fleets/{quoted}/devices") if quoted else None,
            owner.delete(f"/v1/tokens/{quoted}") if quoted else None,
            owner.delete(f"/v1/fleets/{fleet}/streams/{quoted}"),
            owner.get(f"/v1/fleets/{fleet}/jobs/{quoted}/contributors"),
            owner.put(f"/v1/fleets/{fleet}/keys/{quoted}", content=b"x"),
            owner.put(f"/v1/fleets/{fleet}/devices/{quoted}", json=enrolment(device[0].tag_keys, 1)),
            owner.get(f"/v1/fleets/{fleet}/windows", params={"device": quoted or "x", "after": quoted}),
        ]
        for answer in answers:
            if answer is not None:
                assert 400 <= answer.status_code < 500, answer.text
                assert answer.headers["content-type"] in (
                    "application/problem+json",
                    "text/plain; charset=utf-8",
                )


def _post(client: httpx.Client, path: str, body: Any) -> httpx.Response:
    return client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})


# --- secrets and bombs --------------------------------------------------------------------------------------


def test_secret_keys_are_refused_wherever_they_are_uploaded(
    server: Server, fleet: str, device: Device
) -> None:
    owner = server.owner()
    keys = full_owner()
    secrets = {
        "seal": keys.secret_key.to_seal(),
        "compact": _compact().to_bytes(),
        "blob": b"CMPV" + bytes(200),
        "header": b"/*\n * One device's compact keys" + bytes(200),
        "pem": b"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n",
    }
    uplink = server.client(device_token(owner, fleet))
    for name, secret in secrets.items():
        with unchanged(server):
            for path in (f"{fleet}/keys/galois", f"{fleet}/keys/relin"):
                refused(owner.put(f"/v1/fleets/{path}", content=secret), 422, "secret-key")
            for path in ("meters/keys/relin", "own-keys/devices/1/rekey", f"{fleet}/devices/1/rekey"):
                answer = owner.put(f"/v1/fleets/{path}", content=secret)
                wanted = ("secret-key",) if name != "seal" else ("secret-key", "no-keys", "bad-keys")
                assert answer.status_code == 422 and answer.json()["type"].split(":")[-1] in wanted, (
                    answer.text
                )
            answer = uplink.post(f"/v1/fleets/{fleet}/deliveries", content=secret)
            assert answer.status_code in (400, 422), answer.text
            assert name == "seal" or answer.json()["type"].endswith(":secret-key")


def _zeros(count: int) -> bytes:
    """Zstandard that unpacks to so many zeros: one byte said 2^17 times, again and again."""
    blocks = count >> 17
    frame = b"\x28\xb5\x2f\xfd\x00\x68"
    for number in range(blocks):
        header = int(number == blocks - 1) | 1 << 1 | (1 << 17) << 3
        frame += header.to_bytes(3, "little") + b"\0"
    return frame


def test_keys_that_unpack_to_gigabytes_are_refused(server: Server, fleet: str) -> None:
    packed = _zeros(4 << 30)
    bomb = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 1, 2, 0, 16 + len(packed)) + packed
    assert len(bomb) < 1 << 20
    with unchanged(server):
        for path in (f"{fleet}/keys/galois", f"{fleet}/keys/relin", "own-keys/devices/1/rekey"):
            started = time.monotonic()
            answer = server.owner().put(f"/v1/fleets/{path}", content=bomb)
            refused(answer, 422, "bad-keys")
            assert time.monotonic() - started < 20


def test_whoever_stays_silent_is_shown_out(silent: ssl.SSLSocket) -> None:
    silent.settimeout(25)
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        assert silent.recv(100) == b""


# --- logs ---------------------------------------------------------------------------------------------------


def test_no_token_is_ever_logged(server: Server, fleet: str, device: Device) -> None:
    owner = server.owner()
    token = owner.headers["authorization"].removeprefix("Bearer ")
    for answer in (
        owner.delete(f"/v1/tokens/{token}"),
        owner.get(f"/v1/fleets/{token}"),
        owner.get(f"/v1/{token}"),
        owner.get("/v1/fleets", params={"token": token}),
        server.client(token + "0").get("/v1/fleets"),
        server.client(token).post(f"/v1/{token}/x", json={token: token}),
    ):
        assert answer.status_code in (200, 401, 404, 422)
    log = server.log()
    for path in ("owner.token", "operator.token"):
        assert (server.data / path).read_text().strip().split("_")[2] not in log
    assert device[1].headers["authorization"].split("_")[2] not in log


# --- MQTT ---------------------------------------------------------------------------------------------------


def test_oversized_and_odd_messages_are_refused(tmp_path: Path) -> None:
    with site(tmp_path / "data") as here:
        owner = here.server.owner()
        define_full(owner, FLEET, full_owner())
        sender = FullDevice(full_owner(), 1).enroll(owner, FLEET)
        user, token = f"home.{FLEET}.1", device_token(owner, FLEET, 1)
        station = here.station(user, token).ready()
        with unchanged(here.server):
            for data in (
                b"",
                b"CM",
                bytes(1 << 20),
                b"-----BEGIN PRIVATE KEY-----",
                sender.encrypt([1.0])[:-1],
            ):
                station.publish(data, b"id")
                found = station.answer()
                assert (found.status, found.correlation) == ("refused", b"id")
                assert json.loads(found.payload)["status"] in (400, 422)
            with contextlib.suppress(RuntimeError):
                station.publish(bytes(5 << 20), wait=False).wait_for_publish(1)  # the broker hangs up
        wait_until(lambda: not station.client.is_connected() or station._subscribed, "an end")
        station.leave()
        again = here.station(user, token).ready()
        again.send_until_receipt(sender.encrypt([1.0]))
        again.leave()
