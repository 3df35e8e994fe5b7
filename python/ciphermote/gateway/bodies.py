# SPDX-License-Identifier: Apache-2.0
"""Limits on queries and JSON bodies: their form, and the size and time of a body."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ciphermote.base import json_text
from ciphermote.base.files import MOST_JSON_BYTES
from ciphermote.gateway.access import Access
from ciphermote.gateway.connections import BODY_SECONDS
from ciphermote.gateway.database.interface import ERRORS
from ciphermote.gateway.logs import bind_caller
from ciphermote.gateway.refusals import Refusal, failed, of_storage
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
        except ERRORS as error:
            await self._refused(request, of_storage(error) or failed())(scope, receive, send)
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


def check_query(query: QueryParams, names: Collection[str]) -> None:
    """Raises Refusal for a parameter that is not among these, or is there twice."""
    found = Counter(name for name, _ in query.multi_items())
    for name, count in found.items():
        if name not in names:
            takes = f"the parameters here are {', '.join(sorted(names))}" if names else "none is taken here"
            raise Refusal(422, "invalid", f"The query has {name[:40]!r}: {takes}.")
        if count > 1:
            raise Refusal(422, "invalid", f"The query has {name} {count} times: give it once.")


class StrictRoute(APIRoute):
    """A route whose input is unambiguous: no unknown or repeated parameter in the query and, in JSON, no
    repeated name, no NaN, and no depth that overflows a stack."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        names = _query_names(self.dependant)

        async def strict(request: Request) -> Response:
            check_query(request.query_params, names)
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


def _query_names(dependant: Dependant) -> set[str]:
    """Return the parameters that a route and its dependencies take from the query."""
    own = {field.alias for field in dependant.query_params}
    return own.union(*map(_query_names, dependant.dependencies))


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return json_text.parse_large(await self.body())
        except ValueError as error:
            raise HTTPException(
                400, f"The body is not JSON as it is taken here: {str(error)[:200]}."
            ) from None
