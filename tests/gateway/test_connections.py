# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as the gateway's server speaks it: framing, order, back-pressure, limits, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import uvloop
from ciphermote.gateway import connections, http_server
from ciphermote.gateway.http_server import Connect, Listening, Server
from starlette.types import ASGIApp, Receive, Scope, Send

SECONDS = 20.0
"""Far more than anything here takes."""
SMALL_BUFFER = 64 << 10


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Any:
    return request.param


class Client:
    """A connection that sends bytes as they are given."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        """The status and the header of an answer."""
        async with asyncio.timeout(SECONDS):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:-2])

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """One with a Content-Length."""
        status, header = await self.head()
        async with asyncio.timeout(SECONDS):
            return status, header, await self.reader.readexactly(int(header.get("content-length", 0)))

    async def rest(self) -> bytes:
        """All that comes before the server closes."""
        found = b""
        async with asyncio.timeout(SECONDS):
            with contextlib.suppress(ConnectionError):
                while data := await self.reader.read(65536):
                    found += data
        return found


@contextlib.asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[tuple[Server, Callable[[], Awaitable[Client]]]]:
    """A server of an application without TLS, and what connects to it."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    place = listening.getsockname()

    async def listen(connect: Connect) -> Listening:
        return await asyncio.get_running_loop().create_server(lambda: connect(None), sock=listening)

    writers: list[asyncio.StreamWriter] = []

    async def client() -> Client:
        connection = socket.create_connection(place)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
        reader, writer = await asyncio.open_connection(sock=connection)
        writers.append(writer)
        return Client(reader, writer)

    server = Server(app, listen)
    task = asyncio.create_task(server.serve())
    waiting = asyncio.create_task(server.started.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        waiting.cancel()
        await task
    try:
        yield server, client
    finally:
        server.stop()
        for writer in writers:
            writer.close()
        await task


async def body_of(receive: Receive) -> bytes:
    found, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise EOFError
        found += message["body"]
        more = message["more_body"]
    return found


async def answer(send: Send, content: bytes, *header: tuple[bytes, bytes], status: int = 200) -> None:
    stated = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [stated, *header]})
    await send({"type": "http.response.body", "body": content})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what came, by its path."""
    if scope["type"] == "http":
        said = f"{scope['method']} {scope['path']} {len(scope['headers'])} ".encode()
        await answer(send, said + await body_of(receive))


def echo_that_waits() -> tuple[asyncio.Event, ASGIApp]:
    """Return an application that answers once the event is set."""
    goes_on = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await goes_on.wait()
            await echo(scope, receive, send)

    return goes_on, slow


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    """Two parts, and no Content-Length."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"one ", "more_body": True})
    await send({"type": "http.response.body", "body": b"two", "more_body": False})


def post(body: bytes, *header: bytes, path: bytes = b"/") -> bytes:
    lines = (b"POST " + path + b" HTTP/1.1", b"Host: x", b"Content-Length: %d" % len(body), *header)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(framed: bytes, path: bytes = b"/") -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + framed


# --- framing ------------------------------------------------------------------------------------------------


def test_requests_of_one_connection_are_answered_in_order(run: Any) -> None:
    async def main() -> None:
        async with serving(echo) as (_, connect):
            client = await connect()
            for number in range(3):
                await client.send(post(b"%d" % number))
                assert (await client.answer())[2] == b"POST / 2 %d" % number
            await client.send(b"".join(post(b"%d" % number, path=b"/%d" % number) for number in range(5)))
            for number in range(5):
                assert (await client.answer())[2] == b"POST /%d 2 %d" % (number, number)
            await client.send(
                chunked(b"2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nTrailer: field\r\n\r\n") + post(b"next")
            )
            assert (await client.answer())[2] == b"POST / 2 abcde"
            assert (await client.answer())[2] == b"POST / 2 next"
            closing = b"GET /a%20b?c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            await client.send(closing + b"GET /more HTTP/1.1\r\nHost: x\r\n\r\n")
            status, header, said = await client.answer()
            assert (status, header["connection"], said) == (200, "close", b"GET /a b 2 ")
            assert "date" in header and await client.rest() == b""

    run(main())


def test_an_answer_without_a_length_is_chunked(run: Any) -> None:
    async def main() -> None:
        async with serving(stream) as (_, connect):
            client = await connect()
            await client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await client.head())[0] == 200
            assert (await client.head())[1]["transfer-encoding"] == "chunked"
            assert await client.reader.readexactly(22) == b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"
            client = await connect()
            await client.send(b"GET / HTTP/1.0\r\n\r\n")
            assert (await client.head())[1]["connection"] == "close"
            assert await client.rest() == b"one two"

    run(main())


def test_head_has_the_header_and_no_body(run: Any) -> None:
    async def main() -> None:
        async with serving(echo) as (_, connect):
            client = await connect()
            await client.send(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await client.head())[1]["content-length"] == str(len("HEAD /a 0 "))
            assert (await client.answer())[2] == b"GET /b 1 "

    run(main())


def test_a_body_is_asked_for_when_it_is_read(run: Any) -> None:
    async def choosy(scope: Scope, receive: Receive, send: Send) -> None:
        await (echo(scope, receive, send) if scope["path"] == "/read" else answer(send, b"no", status=403))

    async def main() -> None:
        async with serving(choosy) as (_, connect):
            client = await connect()
            head = post(b"", b"Expect: 100-continue", path=b"/%s").replace(b"Length: 0", b"Length: 4")
            await client.send(head % b"read")
            assert (await client.head())[0] == 100
            await client.send(b"body")
            assert (await client.answer())[2].endswith(b"body")
            await client.send(head % b"other")
            status, header, _ = await client.answer()
            assert (status, header["connection"]) == (403, "close")

    run(main())


BAD_CHUNKS = [
    b"x\r\nab\r\n0\r\n\r\n",
    b"-1\r\nab\r\n0\r\n\r\n",
    b"0x2\r\nab\r\n0\r\n\r\n",
    b"2 \r\nab\r\n0\r\n\r\n",
    b"2\r\nabc\r\n0\r\n\r\n",
    b"2\r\nab0\r\n\r\n",
    b"2\nab\n0\n\n",
    b"ffffffffffffffff1\r\nab\r\n0\r\n\r\n",
    b"2\r\nab\r\n\r\n",
]


@pytest.mark.parametrize("framed", BAD_CHUNKS, ids=range(len(BAD_CHUNKS)))
def test_bad_chunks_end_the_connection(run: Any, framed: bytes) -> None:
    paths, ends = [], []

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            paths.append(scope["path"])
            try:
                await echo(scope, receive, send)
            except EOFError:
                ends.append(scope["path"])

    async def main() -> None:
        async with serving(noting) as (_, connect):
            client = await connect()
            await client.send(chunked(framed, b"/bad") + b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n")
            status, header, said = await client.answer()
            assert (status, header["connection"]) == (400, "close")
            assert json.loads(said)["type"] == "urn:ciphermote:problem:malformed"
            assert await client.rest() == b""

    run(main())
    assert (paths, ends) == (["/bad"], ["/bad"])


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 505),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (post(b"", b"Authorization: Bearer a", b"Authorization: Bearer b"), 400),
        (post(b"", b"Content-Type: a/b", b"content-type: a/b"), 400),
        (post(b"", b"Idempotency-Key: 12345678", b"Idempotency-Key: 87654321"), 400),
        (b"GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /a%2Fb HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET \xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (post(b"abc", b"Connection: upgrade", b"Upgrade: x"), 400),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\n" + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 128 + b"\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * (64 << 10) + b"\r\n\r\n", 400),
        (b"GET /" + b"x" * (64 << 10) + b" HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (chunked(b"1;" + b"x" * (70 << 10) + b"\r\na\r\n" + b"1;" + b"x" * (70 << 10)), 400),
        (chunked(b"80000\r\n" + bytes(0x80000) + b"\r\n0\r\nA: " + b"x" * (150 << 10)), 400),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_no_request_is_refused(run: Any, request_: bytes, status: int) -> None:
    async def main() -> None:
        async with serving(echo) as (_, connect):
            client = await connect()
            sending = asyncio.create_task(client.send(request_))
            found, header, said = await client.answer()
            assert (found, header["connection"]) == (status, "close")
            assert len(json.loads(said)["detail"]) > 20
            with contextlib.suppress(ConnectionError):
                await sending
            client = await connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 127 + b"\r\n")
            assert (await client.answer())[2] == b"GET / 128 "

    run(main())


def test_no_refusal_stands_in_the_place_of_an_earlier_answer(run: Any) -> None:
    goes_on, slow = echo_that_waits()

    async def main() -> None:
        async with serving(slow) as (_, connect):
            client = await connect()
            await client.send(post(b"1") + post(b"2") + chunked(b"nonsense\r\n"))
            await asyncio.sleep(0.1)
            goes_on.set()
            assert (await client.answer())[2] == b"POST / 2 1"
            _, header, said = await client.answer()
            assert (header["connection"], said) == ("close", b"POST / 2 2")
            assert await client.rest() == b""

    run(main())


def test_a_flood_of_requests_at_once_is_answered_as_far_as_it_is_taken(run: Any) -> None:
    goes_on, slow = echo_that_waits()

    async def main() -> None:
        async with serving(slow) as (_, connect):
            client = await connect()
            await client.send(b"".join(post(b"%d" % number) for number in range(300)))
            await asyncio.sleep(0.1)
            goes_on.set()
            answers = [await client.answer() for _ in range(5)]
            assert [said for *_, said in answers] == [b"POST / 2 %d" % number for number in range(5)]
            assert answers[-1][1]["connection"] == "close" and await client.rest() == b""

    run(main())


# --- back-pressure ------------------------------------------------------------------------------------------


def test_no_more_is_read_than_the_application_reads(run: Any) -> None:
    reads = asyncio.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await reads.wait()
            await answer(send, b"%d" % len(await body_of(receive)))

    async def main() -> None:
        async with serving(later) as (_, connect):
            client = await connect()
            client.writer.transport.set_write_buffer_limits(0)
            size, sent = 8 << 20, 0
            await client.send(post(b"").replace(b"Length: 0", b"Length: %d" % size))
            with contextlib.suppress(TimeoutError):
                while sent < size:
                    sent += 1 << 16
                    async with asyncio.timeout(1):
                        await client.send(bytes(1 << 16))
            assert sent < size // 4, "the socket's buffers, and little more"
            reads.set()
            await client.send(bytes(size - sent))
            assert (await client.answer())[2] == b"%d" % size

    run(main())


def test_no_more_is_written_than_the_client_reads(run: Any) -> None:
    sent = 0

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sent
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while (sent := sent + 1) < 1000:
                await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})

    async def main() -> None:
        async with serving(endless) as (_, connect):
            client = await connect()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            before = -1
            async with asyncio.timeout(SECONDS):
                while before != sent or not sent:
                    before = sent
                    await asyncio.sleep(0.5)
            assert sent < 300
            client.writer.transport.abort()

    run(main())


# --- what applications do wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["raises", "returns", "length", "header", "order"])
def test_an_application_that_fails_is_answered_for(
    run: Any, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or fault == "returns":
            return
        if fault == "raises":
            raise KeyError("secret")
        if fault == "header":
            await answer(send, b"", (b"x", b"a\r\nb: c"))
        if fault == "order":
            await send({"type": "http.response.body", "body": b""})
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
        await send({"type": "http.response.body", "body": b"1234"})

    async def main() -> None:
        async with serving(faulty) as (_, connect):
            client = await connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            status, header, said = await client.answer()
            assert (status, header["connection"]) == (500, "close")
            assert json.loads(said)["type"] == "urn:ciphermote:problem:failed" and b"secret" not in said

    run(main())
    assert ("Traceback" in capsys.readouterr().out) == (fault != "returns")


def test_an_answer_that_breaks_off_does_not_seem_whole(run: Any) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
            await asyncio.sleep(0.1)
            raise OSError("no more")

    async def main() -> None:
        async with serving(broken) as (_, connect):
            client = await connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await client.head())[0] == 200
            assert not (await client.rest()).endswith(b"0\r\n\r\n")

    run(main())


# --- time ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "sent", "answers"),
    [
        ("_HEAD_SECONDS", b"", 0),
        ("_HEAD_SECONDS", b"GET / HTTP/1.1\r\nHost: x\r\n", 0),
        ("_HEAD_SECONDS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /", 1),
        ("_IDLE_SECONDS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1),
        ("_IDLE_SECONDS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n\r\n", 1),
        ("_LINGER_SECONDS", b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1", 1),
    ],
)
def test_time_is_limited(
    run: Any, monkeypatch: pytest.MonkeyPatch, limit: str, sent: bytes, answers: int
) -> None:
    for name in ("_HEAD_SECONDS", "_IDLE_SECONDS", "_LINGER_SECONDS"):
        monkeypatch.setattr(connections, name, 0.2 if name == limit else 1000.0)
    monkeypatch.setattr(http_server, "_OVERDUE_SECONDS", 0.05)

    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        await (answer(send, b"") if scope.get("path") == "/early" else echo(scope, receive, send))

    async def main() -> None:
        async with serving(early) as (_, connect):
            client = await connect()
            if sent:
                await client.send(sent)
            assert (await client.rest()).count(b"HTTP/1.1 200") == answers

    run(main())


def test_whoever_sends_on_after_the_answer_gets_it(run: Any) -> None:
    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await (
                answer(send, b"no", status=413) if scope["method"] == "POST" else echo(scope, receive, send)
            )

    async def main() -> None:
        async with serving(early) as (_, connect):
            client = await connect()
            await client.send(post(bytes(4 << 20)) + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await client.answer())[0] == 413
            assert (await client.answer())[2] == b"GET / 1 "
            client = await connect()
            await client.send(post(bytes(4 << 20), b"Connection: close"))
            assert (await client.answer())[0] == 413
            assert await client.rest() == b""

    run(main())


# --- beginning and end --------------------------------------------------------------------------------------


def test_what_was_taken_is_answered_before_the_end(run: Any) -> None:
    goes_on, slow = echo_that_waits()

    async def main() -> None:
        async with serving(slow) as (server, connect):
            busy, idle = await connect(), await connect()
            await busy.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo")
            await asyncio.sleep(0.1)
            server.stop()
            assert await idle.rest() == b""
            with pytest.raises(OSError):
                await (await connect()).rest()
                raise OSError("it is closed")
            await busy.send(b"dyGET / HTTP/1.1\r\nHost: x\r\n\r\n")
            goes_on.set()
            _, header, said = await busy.answer()
            assert (header["connection"], said) == ("close", b"POST / 2 body")
            assert await busy.rest() == b""

    run(main())


def test_the_end_waits_only_so_long(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_STOP_SECONDS", 0.3)

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await asyncio.Event().wait()

    async def main() -> None:
        async with serving(never) as (server, connect):
            client = await connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.1)
            server.stop()
            status, header, _ = await client.answer()
            assert (status, header["retry-after"]) == (503, "1")
            assert await client.rest() == b""

    run(main())


def test_an_application_is_told_of_its_beginning_and_end(run: Any) -> None:
    told = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await answer(send, scope["state"]["left"])
            return
        for what in ("startup", "shutdown"):
            told.append((await receive())["type"])
            scope["state"]["left"] = b"state"
            await send({"type": f"lifespan.{what}.complete"})

    async def main() -> None:
        async with serving(app) as (_, connect):
            client = await connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await client.answer())[2] == b"state"
            assert told == ["lifespan.startup"]

    run(main())
    assert told == ["lifespan.startup", "lifespan.shutdown"]


def test_an_application_that_does_not_start_serves_nobody(run: Any) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "there is no disk"})

    async def main() -> None:
        async with serving(app):
            raise AssertionError("it serves")

    with pytest.raises(RuntimeError, match="there is no disk"):
        run(main())


def test_heads_of_all_clients_have_a_bound(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_MOST_HEADS_BYTES", 200_000)
    ended = asyncio.Event()

    async def held(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await ended.wait()
            await answer(send, b"kept")

    async def main() -> None:
        async with serving(held) as (server, connect):
            large = b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 60_000 + b"\r\n\r\n"
            first = [await connect() for _ in range(3)]
            for client in first:
                await client.send(large)
            while server._served.heads_bytes < 180_000:
                await asyncio.sleep(0.01)
            late = await connect()
            await late.send(large)
            status, header, said = await late.answer()
            assert (status, header["connection"]) == (503, "close")
            assert json.loads(said)["type"] == "urn:ciphermote:problem:overloaded"
            small = await connect()
            await small.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            ended.set()
            for client in (*first, small):
                assert (await client.answer())[2] == b"kept"
            left = await connect()
            await left.send(large[:50_000])
            while not server._served.heads_bytes:
                await asyncio.sleep(0.01)
            left.writer.close()
            while server._served.heads_bytes:
                await asyncio.sleep(0.01)

    run(main())


def test_only_so_many_clients_leave_answers_unread(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that has read nothing for the longest time is ended, and the others get theirs."""
    monkeypatch.setattr(connections, "_MOST_UNREAD", 2)

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await answer(send, bytes(8 << 20))

    async def main() -> None:
        async with serving(large) as (server, connect):
            clients = []
            for count in (1, 2, 2):
                clients.append(await connect())
                await clients[-1].send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                async with asyncio.timeout(SECONDS):
                    while len(server._served.unread) < count or len(server._served.connections) < count:
                        await asyncio.sleep(0.01)
            assert len(await clients[0].rest()) < 8 << 20
            for client in clients[1:]:
                assert len((await client.answer())[2]) == 8 << 20
            assert not server._served.unread

    run(main())
