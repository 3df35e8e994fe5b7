# SPDX-License-Identifier: Apache-2.0
"""Limits on JSON bodies: their size, the time that they may take to arrive, and their form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ciphermote.base import json_text
from ciphermote.base.files import MOST_JSON_BYTES
from ciphermote.gateway.access import Access
from ciphermote.gateway.connections import BODY_SECONDS
from ciphermote.gateway.logs import bind_caller
from ciphermote.gateway.refusals import Refusal
from ciphermote.rest import routes

_READ_THEMSELVES = tuple(each.pattern() for each in (routes.DELIVERIES, routes.KEYS, routes.REKEY_KEY))
"""Routes whose bodies are bytes, which limit those themselves."""


def log_caller(scope: Scope, access: Access) -> None:
    """Name the sender of a request in all of its log entries."""
    client = scope.get("client")
    named = access.named(Headers(scope=scope).get("authorization"))
    bind_caller("local" if client is None else client[0], named)


class Bodies:
    """Reads JSON bodies only for valid tokens, and up to a limit. (Uploads limit theirs themselves.)"""

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
            or not scope["path"].startswith(f"{routes.API}/")
        ):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            self._access.principal(request.headers.get("authorization"), "device", "owner", "operator")
        except Refusal as refusal:
            await self._refused(request, refusal)(scope, receive, send)
            return
        if any(each.fullmatch(scope["path"]) for each in _READ_THEMSELVES):
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
    """A route whose JSON is unambiguous: no repeated name, no NaN, and no depth that overflows a stack."""

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
