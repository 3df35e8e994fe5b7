# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 over one connection, with limits on what a client can consume: the time and size of a request's
head, the time that a body continues after the answer, the number of requests that wait for answers, and the
time that answers wait to be read.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import re
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any, NoReturn, cast
from urllib.parse import unquote

import httptools
from starlette.types import ASGIApp, Message, Scope

from ciphermote.gateway.logs import log
from ciphermote.gateway.refusals import PROBLEM, Refusal, failed, overloaded

MOST_HEAD_BYTES = 64 << 10
BODY_SECONDS = 60.0
_HEAD_SECONDS = 20.0
_IDLE_SECONDS = 75.0
_LINGER_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
_MOST_FIELDS = 128
"""The most fields in a head: each takes more memory than its bytes."""
_SINGLE_FIELDS = frozenset((b"authorization", b"content-type", b"host", b"idempotency-key"))
"""Fields that would be ambiguous if a head had them twice."""
_MOST_FRAMING = 8
"""The most framing bytes for each byte of a body: a chunk of one byte has six."""
_MOST_WAITING = 4
_MOST_HEADS_BYTES = 64 << 20
"""The most bytes of all clients' heads that arrive or wait for their answers."""
_FIELD_BYTES = 200
"""What a field takes in memory beside its bytes."""
_MOST_UNREAD = 256
"""The most connections whose clients have left more than _MOST_UNREAD_BYTES unread. Beyond them the one that
has not read for the longest time is ended."""
_MOST_UNREAD_BYTES = 64 << 10
_MOST_BODY_BYTES = 64 << 10
"""The most bytes of a body that wait for the application; beyond them nothing is read from the client."""
_MOST_PIECES = 64
"""The most pieces of these bytes: each takes more memory than its bytes."""
_STATUSES = frozenset(HTTPStatus)
_NO_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_WITHOUT_BODY = (204, 304)


class Served:
    """An application with the connections and tasks that serve it. state: set by the application's lifespan
    for its requests."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.state: dict[str, Any] = {}
        self.connections: set[HttpConnection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.heads_bytes = 0
        """Bytes of the heads that arrive or wait."""
        self.unread: dict[HttpConnection, None] = {}
        """Connections whose clients read too slowly, the slowest first."""

    def end_overdue(self) -> None:
        """End connections whose time is up. Call it periodically, because a timer for each would cost
        more."""
        now = asyncio.get_running_loop().time()
        for connection in [each for each in self.connections if each.deadline < now]:
            connection.abort()


class HttpConnection(asyncio.Protocol):
    """Parses a client's requests and passes them to the application, one after the other. left: called when
    the connection has ended."""

    def __init__(self, served: Served, left: Callable[[], None] | None = None) -> None:
        self._served = served
        self._left = left
        self._loop = asyncio.get_running_loop()
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._exchanges: deque[_Exchange] = deque()
        """The exchange that the application is answering, and those that wait."""
        self._arriving: _Exchange | None = None
        """The exchange whose body has not ended; the application may have answered it already."""
        self._is_in_head = False
        self._is_ending = False
        """Whether input is no longer parsed."""
        self._is_reading = True
        self._overhead = 0
        """Bytes since the head began, or framing bytes beyond those allowed for the body."""
        self._held = 0
        """Bytes of the head that arrives, as Served.heads_bytes counts them."""
        self._refusal: Refusal | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.deadline = math.inf

    # --- the transport --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own kind
        self._transport.set_write_buffer_limits(_MOST_UNREAD_BYTES)
        connection = transport.get_extra_info("socket")
        if connection.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
            # Linux alone drops whoever reads nothing for so long.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * BODY_SECONDS))
        self._client = _place(transport.get_extra_info("peername"))
        self._server = _place(transport.get_extra_info("sockname"))
        self._scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"
        self._served.connections.add(self)
        self._end_within(_HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._served.connections.discard(self)
        self._is_ending = True
        self._release()
        self._served.unread.pop(self, None)
        for exchange in self._exchanges:
            exchange.end()
        self._exchanges.clear()
        self._arriving = self._parser = None
        self._writable.set()
        if self._left is not None:
            self._left()

    def pause_writing(self) -> None:
        self._writable.clear()
        unread = self._served.unread
        unread[self] = None
        if len(unread) > _MOST_UNREAD:
            slowest = next(iter(unread))
            del unread[slowest]
            slowest.abort()

    def resume_writing(self) -> None:
        self._served.unread.pop(self, None)
        self._writable.set()

    def shut_down(self) -> None:
        """Close once all accepted requests are answered."""
        self._is_ending = self._is_ending or self._arriving is None
        if self._exchanges:
            self._exchanges[-1].keep_alive = False
        else:
            self.close()
            self._end_within(_CLOSE_SECONDS)  # TLS would wait for clients that are asleep

    def close(self) -> None:
        """Close once all output is sent."""
        self._is_ending = True
        self._transport.close()

    def abort(self) -> None:
        self._is_ending = True
        self._transport.abort()

    def _end_within(self, seconds: float) -> None:
        self.deadline = self._loop.time() + seconds

    def pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_reading and not self._transport.is_closing():
            self._is_reading = True
            self._transport.resume_reading()

    # --- requests -------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if len(data) <= MOST_HEAD_BYTES:
            self._feed(data)
            return
        view = memoryview(data)
        for at in range(0, len(data), MOST_HEAD_BYTES):
            self._feed(view[at : at + MOST_HEAD_BYTES])

    def _feed(self, data: bytes | memoryview) -> None:
        if self._is_ending or self._parser is None:
            return
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self._is_ending:  # such as by a request that is to be the last one
                self._refuse(
                    self._refusal or Refusal(400, "malformed", "The request is no HTTP/1.1: correct it.")
                )
            return
        if self._overhead > MOST_HEAD_BYTES and not self._is_ending:
            self._refuse(_too_long())

    def on_message_begin(self) -> None:
        if len(self._exchanges) > _MOST_WAITING:
            # The requests so far are answered, the last of them with "Connection: close".
            self._is_ending = True
            self._exchanges[-1].keep_alive = False
            raise ConnectionAbortedError(f"more than {_MOST_WAITING} requests wait for their answers")
        self._is_in_head, self._overhead = True, 0
        self._release()  # of a request that was refused
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._seen: set[bytes] = set()
        """Those of the single fields that the head has had."""
        self._head_bytes = 0
        self._expects_continue = self._is_chunked = False
        self._end_within(_HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        self._hold(len(url))
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:
            return  # a trailer
        if len(self._headers) == _MOST_FIELDS:
            self._reject(400, f"The head has more than {_MOST_FIELDS} fields: that is the most.")
        name = name.lower()
        self._head_bytes += len(name) + len(value)
        self._hold(len(name) + len(value) + _FIELD_BYTES)
        if name == b"expect":
            self._expects_continue = value.strip().lower() == b"100-continue"
        elif name == b"transfer-encoding":
            if self._is_chunked or value.strip().lower() != b"chunked":
                self._reject(400, "Transfer-Encoding is not chunked: that is the only one taken here.")
            self._is_chunked = True
        elif name in _SINGLE_FIELDS:
            if name in self._seen:
                self._reject(400, f"The head has {name.decode()} more than once: send it once.")
            self._seen.add(name)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        version = self._parser.get_http_version()
        if version not in ("1.1", "1.0"):
            self._reject(505, f"The request is of HTTP {version}: HTTP/1.1 is taken here.")
        if self._parser.should_upgrade():
            self._reject(400, "The request asks for another protocol: HTTP/1.1 alone is spoken here.")
        if version == "1.1" and b"host" not in self._seen:
            self._reject(400, "The head has no host: HTTP/1.1 needs one.")
        if self._is_chunked and version == "1.0":
            self._reject(400, "HTTP/1.0 has no Transfer-Encoding: send Content-Length.")
        if self._head_bytes + len(self._url) > MOST_HEAD_BYTES:
            self._refusal = _too_long()
            raise self._refusal
        url = httptools.parse_url(self._url)
        if url.fragment is not None or b"%2f" in url.path.lower():
            self._reject(400, "The path has a fragment or an encoded slash: no path here has either.")
        path = url.path.decode("ascii")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "scheme": self._scheme,
            "path": unquote(path) if "%" in path else path,
            "raw_path": url.path,
            "query_string": url.query or b"",
            "root_path": "",
            "headers": self._headers,
            "client": self._client,
            "server": self._server,
            "state": self._served.state.copy(),
        }
        keep_alive = version == "1.1" and self._parser.should_keep_alive()
        expects_continue = self._expects_continue and version == "1.1"
        exchange = _Exchange(self, scope, keep_alive=keep_alive, expects_continue=expects_continue)
        exchange.held, self._held = self._held, 0
        self._is_in_head, self._overhead, self.deadline = False, 0, math.inf
        self._arriving = exchange
        self._exchanges.append(exchange)
        if len(self._exchanges) == 1:
            self._start(exchange)
        else:
            self.pause_reading()

    def on_body(self, body: bytes) -> None:
        self._overhead = max(0, self._overhead - (1 + _MOST_FRAMING) * len(body))
        if self._arriving is not None and self._arriving.take(body) > _MOST_BODY_BYTES:
            self.pause_reading()

    def on_message_complete(self) -> None:
        exchange, self._arriving = self._arriving, None
        self._overhead = 0
        assert exchange is not None
        exchange.take_end()
        if not exchange.keep_alive:
            self._is_ending = True
        if exchange.is_over:
            self._go_on(exchange)

    def _hold(self, size: int) -> None:
        """Account for bytes of the head that arrives."""
        if self._served.heads_bytes + size > _MOST_HEADS_BYTES:
            self._refusal = overloaded("The gateway has as many requests as it can take")
            raise self._refusal
        self._served.heads_bytes += size
        self._held += size

    def _release(self) -> None:
        self._served.heads_bytes -= self._held
        self._held = 0

    def release(self, exchange: _Exchange) -> None:
        """Account for the end of an exchange, whose head is no longer needed."""
        self._served.heads_bytes -= exchange.held
        exchange.held = 0

    def _reject(self, status: int, sentence: str) -> NoReturn:
        """Record an error in a callback of the parser, which does not pass errors on."""
        self._refusal = Refusal(status, "malformed", sentence)
        raise self._refusal

    def _refuse(self, refusal: Refusal) -> None:
        """Answer a request that cannot be parsed, after earlier ones, and close."""
        self._is_ending = True
        arriving, self._arriving = self._arriving, None
        if arriving is not None and arriving in self._exchanges:
            if arriving.is_answered_in_part:
                self.abort()
                return
            self._exchanges.remove(arriving)
            arriving.end()
        elif arriving is not None:  # it is answered already
            self.close()
            return
        address = self._client[0] if self._client else "local"
        log.warning(
            "refused", address=address, status=refusal.status, reason=refusal.name, detail=refusal.sentence
        )
        if self._exchanges:
            self._exchanges[-1].keep_alive = False
            return
        self._transport.write(_answer(refusal))
        self.close()

    # --- answers --------------------------------------------------------------------------------------------

    def _start(self, exchange: _Exchange) -> None:
        # In a context of its own: what is bound for one request's log is not for another's.
        task = self._loop.create_task(exchange.run(self._served.app), context=contextvars.Context())
        self._served.tasks.add(task)
        task.add_done_callback(self._served.tasks.discard)

    async def writable(self) -> None:
        """Wait until the client has read most of the output."""
        if not self._writable.is_set():
            await self._writable.wait()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def answered(self, exchange: _Exchange) -> None:
        """End the first exchange."""
        self._exchanges.popleft()
        if not exchange.keep_alive:
            for waiting in self._exchanges:
                self.release(waiting)
            self._exchanges.clear()
        if exchange.is_complete:
            self._go_on(exchange)
        else:
            # Closing at once could cost the client the answer, which it reads only once it has sent.
            self._end_within(_LINGER_SECONDS)
            self.resume_reading()

    def _go_on(self, exchange: _Exchange) -> None:
        """Begin the next request once one is answered and was received completely."""
        if not exchange.keep_alive:
            self.close()
            return
        if self._exchanges:
            self._start(self._exchanges[0])
        elif not self._is_in_head:
            self._end_within(_IDLE_SECONDS)
        if len(self._exchanges) < 2:
            self.resume_reading()


class _Exchange:
    """A request and its answer, in the terms of ASGI."""

    def __init__(
        self, connection: HttpConnection, scope: Scope, *, keep_alive: bool, expects_continue: bool
    ) -> None:
        self._connection = connection
        self.held = 0
        """Bytes of the head, as Served.heads_bytes counts them."""
        self._scope = scope
        self._expects_continue = expects_continue
        self._pieces: list[bytes] = []
        self._size = 0
        self._changed: asyncio.Event | None = None
        self._has_read_end = False
        self._status = 0
        self._head: list[bytes] | None = None
        """The head of the answer, which is sent with the first part of the body."""
        self._is_chunked = self._is_bodiless = False
        self._to_come = 0
        """Remaining bytes of the answer's body, if it is not chunked."""
        self.keep_alive = keep_alive
        self.is_complete = False
        """Whether the request's body has ended."""
        self.is_over = False
        """Whether the request is answered, or the client has disconnected."""

    @property
    def is_answered_in_part(self) -> bool:
        return self._status != 0 and self._head is None

    # --- the request ----------------------------------------------------------------------------------------

    def take(self, body: bytes) -> int:
        """Add a part of the body, and return how many bytes wait to be read."""
        self._expects_continue = False
        if self.is_over:
            return 0
        self._pieces.append(body)
        self._size += len(body)
        if len(self._pieces) > _MOST_PIECES:
            self._pieces = [b"".join(self._pieces)]
        self._wake()
        return self._size

    def take_end(self) -> None:
        self.is_complete = True
        self._wake()

    def end(self) -> None:
        """End the exchange: nothing more is read or sent."""
        self._connection.release(self)
        self.is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()

    async def receive(self) -> Message:
        if self._expects_continue and not (self.is_over or self.is_complete or self._status):
            self._expects_continue = False
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not self.is_over and not self._pieces and (self._has_read_end or not self.is_complete):
            self._connection.resume_reading()
            if self._changed is None:
                self._changed = asyncio.Event()  # which several of the application's tasks may await
            self._changed.clear()
            await self._changed.wait()
        if self.is_over:
            return {"type": "http.disconnect"}
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._has_read_end = self.is_complete
        return {"type": "http.request", "body": body, "more_body": not self.is_complete}

    # --- the answer -----------------------------------------------------------------------------------------

    async def run(self, app: ASGIApp) -> None:
        """Run the application, and answer even if it fails."""
        try:
            await app(self._scope, self.receive, self.send)
        except asyncio.CancelledError:
            self._fail(overloaded("The gateway is stopping"))
            raise
        except Exception as error:
            log.error(
                "failed",
                path=self._scope["path"],
                error=repr(error),
                traceback="".join(traceback.format_exception(error, limit=-5)),
            )
        self._fail(failed())

    def _fail(self, refusal: Refusal) -> None:
        """Answer in place of the application, unless it has answered."""
        if self.is_over:
            return
        self.keep_alive = False
        if self.is_answered_in_part:
            self._connection.abort()
        else:
            self._connection.write(_answer(refusal))
            self._finish()

    def _finish(self) -> None:
        self.end()
        self._connection.answered(self)

    async def send(self, message: Message) -> None:
        await self._connection.writable()
        if self.is_over:
            return  # to nobody
        kind = message["type"]
        if kind == "http.response.start" and not self._status:
            self._begin(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self._status:
            self._go_on(message.get("body", b""), more=message.get("more_body", False))
        else:
            raise RuntimeError(f"The application sends {kind}: an answer has one start, and then its body.")

    def _begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        head = [_status_line(status), _date(int(time.time()))]
        stated = None
        for name, value in headers:
            name = name.lower()
            if _NO_NAME.search(name) or _NO_VALUE.search(value):
                raise RuntimeError(f"The application sends the header {name!r} with what no header may hold.")
            if name == b"connection":
                self.keep_alive = self.keep_alive and b"close" not in value.lower()
            elif name != b"transfer-encoding":
                if name == b"content-length":
                    stated = int(value)
                head += (name, b": ", value, b"\r\n")
        self._is_bodiless = self._scope["method"] == "HEAD" or status in _WITHOUT_BODY
        if stated is not None:
            self._to_come = 0 if self._is_bodiless else stated
        elif not self._is_bodiless:
            if self._scope["http_version"] == "1.1":
                head.append(b"transfer-encoding: chunked\r\n")
            self._is_chunked = True
        if self._expects_continue and not self.is_complete:
            self.keep_alive = False  # the client may send the body, or not
        if not self.keep_alive:
            head.append(b"connection: close\r\n")
        head.append(b"\r\n")
        self._head, self._status = head, status

    def _go_on(self, body: bytes, *, more: bool) -> None:
        pieces = self._head or []
        if self._is_bodiless:
            pass
        elif not self._is_chunked:
            self._to_come -= len(body)
            if self._to_come < 0 or (self._to_come and not more):
                raise RuntimeError("The application sends a body of another length than its Content-Length.")
            pieces.append(body)
        elif self._scope["http_version"] != "1.1":
            pieces.append(body)  # which ends with the connection
        else:
            if body:
                pieces += (b"%x\r\n" % len(body), body, b"\r\n")
            if not more:
                pieces.append(b"0\r\n\r\n")
        self._head = None
        self._connection.write(b"".join(pieces))
        if not more:
            self._finish()


def _too_long() -> Refusal:
    return Refusal(
        400, "malformed", f"The head or the trailers go on after {MOST_HEAD_BYTES} bytes: that is the most."
    )


def _answer(refusal: Refusal) -> bytes:
    """Return a complete answer that also ends the connection."""
    body = refusal.problem.model_dump_json().encode()
    retry = () if refusal.retry_after is None else (f"retry-after: {refusal.retry_after:.0f}\r\n".encode(),)
    return b"".join(
        (
            *(_status_line(refusal.status), _date(int(time.time())), *retry),
            f"content-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\n".encode(),
            *(b"connection: close\r\n\r\n", body),
        )
    )


@cache
def _status_line(status: int) -> bytes:
    phrase = HTTPStatus(status).phrase if status in _STATUSES else ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()


def _place(address: Any) -> tuple[str, int] | None:
    """Return host and port; None for a socket in the file system."""
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
