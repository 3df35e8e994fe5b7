# SPDX-License-Identifier: Apache-2.0
"""Limits on what an unauthenticated client can consume: how long and how large a request's head is, how long
a body goes on after the answer, how large a body of JSON is, how many requests wait for their answers, and
how long those wait to be read.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ciphermote.base import json_text
from ciphermote.base.files import MOST_JSON_BYTES
from ciphermote.gateway.access import Access
from ciphermote.gateway.logs import bind_caller
from ciphermote.gateway.refusals import Refusal

MOST_HEAD_BYTES = 64 << 10
BODY_SECONDS = 60.0
_HEAD_SECONDS = 20.0
_LINGER_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
_MOST_FRAMING = 8
"""Bytes around each byte of a body: a chunk of one byte takes six."""
_MOST_WAITING = 4
_MOST_UNREAD_BYTES = 64 << 10
_READS_ITSELF = re.compile(r"/v1/fleets/[^/]+/(deliveries|keys/[^/]+|devices/[^/]+/rekey)")


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's, which puts no bound on heads, trailers and pipelines, reads on after it has answered, and
    keeps answers that nobody reads."""

    _in_head = True
    _is_complete = False
    _head_bytes = 0
    _framing = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(_MOST_UNREAD_BYTES)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux alone drops whoever reads nothing for so long
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * BODY_SECONDS))
        self._close_after(_HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep_open()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
        else:
            self._framing += len(data)
        if self._head_bytes > MOST_HEAD_BYTES + len(data) or self._framing > MOST_HEAD_BYTES + len(data):
            self.send_400_response(f"The head or the trailers go on after {MOST_HEAD_BYTES} bytes.")
            return
        super().data_received(data)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _MOST_WAITING:
            # An answer would be taken for that of an earlier request. The error ends the parsing.
            self.transport.abort()
            raise ConnectionAbortedError(f"more than {_MOST_WAITING} requests wait for their answers")
        super().on_message_begin()
        self._in_head, self._is_complete, self._head_bytes, self._framing = True, False, 0, 0
        self._close_after(_HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes = False, 0
        self._keep_open()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._framing -= (1 + _MOST_FRAMING) * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_complete, self._framing = True, 0
        self._keep_open()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_complete and self.cycle.response_complete:
            # Closing at once could cost the client the answer, which it reads only once it has sent.
            self._close_after(_LINGER_SECONDS)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():  # TLS would wait for clients that are asleep
            self.loop.call_later(_CLOSE_SECONDS, self.transport.abort)

    def _close_after(self, seconds: float) -> None:
        self._keep_open()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _keep_open(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def log_caller(scope: Scope, access: Access) -> None:
    """Have what is logged of a request name its sender."""
    client = scope.get("client")
    named = access.named(Headers(scope=scope).get("authorization"))
    bind_caller("local" if client is None else client[0], named)


class Bodies:
    """Reads no body of JSON for a stranger, nor an endless one. (Uploads see to theirs themselves.)"""

    def __init__(self, app: ASGIApp, access: Access, refused: Callable[[Request, Refusal], Response]) -> None:
        self._app = app
        self._access = access
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            log_caller(scope, self._access)
        if (
            scope["type"] != "http"
            or scope["method"] in ("GET", "HEAD")
            or not scope["path"].startswith("/v1/")
        ):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            self._access.principal(request.headers.get("authorization"), "device", "owner", "operator")
        except Refusal as refusal:
            await self._refused(request, refusal)(scope, receive, send)
            return
        if _READS_ITSELF.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
        else:
            await self._app(scope, _bounded(receive), send)


def _bounded(receive: Receive) -> Receive:
    size = 0
    end = asyncio.get_running_loop().time() + BODY_SECONDS

    async def bounded() -> Message:
        nonlocal size
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            raise HTTPException(
                408, f"The body has not ended within {BODY_SECONDS:g} s: send it again."
            ) from None
        size += len(message.get("body", b""))
        if size > MOST_JSON_BYTES:
            raise HTTPException(413, f"The body goes on after {MOST_JSON_BYTES} bytes: that is the most.")
        return message

    return bounded


class StrictRoute(APIRoute):
    """Its JSON means one thing to every reader: no name twice, no NaN, no depth that overflows a stack."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return json_text.parse_large(await self.body())
        except ValueError as error:
            raise HTTPException(
                400, f"The body is not JSON as it is taken here: {str(error)[:200]}."
            ) from None
