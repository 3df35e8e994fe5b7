# SPDX-License-Identifier: Apache-2.0
"""A server for an ASGI application: its lifespan, its connections, and a shutdown that answers accepted
requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from starlette.types import ASGIApp, Message

from ciphermote.gateway.connections import HttpConnection, Served
from ciphermote.gateway.listening import Listener, bound
from ciphermote.gateway.logs import log

_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AESCCM"
"""TLS 1.2's: authenticated encryption with forward secrecy, CCM for small devices. TLS 1.3 has no others."""
_STOP_SECONDS = 10.0
_OVERDUE_SECONDS = 0.5
_POLL_SECONDS = 0.05


class Listening(Protocol):
    """Accepts connections: asyncio's Server, or a Listener."""

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...


Connect = Callable[[Callable[[], None] | None], HttpConnection]
"""Makes the protocol of a connection. Its argument is called once the connection has ended."""
Listen = Callable[[Connect], Awaitable[Listening]]
"""Starts to accept connections."""


class Server:
    """Serves an application until stop is called."""

    def __init__(self, app: ASGIApp, listen: Listen) -> None:
        self._served = Served(app)
        self._listen = listen
        self._stopping = asyncio.Event()
        self._lifespan = _Lifespan(app)
        self.started = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def serve(self) -> None:
        """Serve until stop is called and all accepted requests are answered. Raises OSError if it cannot
        listen, or RuntimeError if the application does not start."""
        self._served.state = await self._lifespan.start()
        watching = asyncio.create_task(self._end_overdue())
        try:
            await self._serve()
        finally:
            watching.cancel()
            await self._lifespan.stop()

    async def _serve(self) -> None:
        listening = await self._listen(lambda left: HttpConnection(self._served, left))
        self.started.set()
        try:
            await self._stopping.wait()
        finally:
            listening.close()
            await self._answer_all()
            await listening.wait_closed()

    async def _end_overdue(self) -> None:
        while True:
            await asyncio.sleep(_OVERDUE_SECONDS)
            self._served.end_overdue()

    async def _answer_all(self) -> None:
        connections, tasks = self._served.connections, self._served.tasks
        for connection in list(connections):
            connection.shut_down()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                while connections or tasks:
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            log.warning("requests cut off", connections=len(connections), requests=len(tasks))
            cut = list(tasks)
            for task in cut:
                task.cancel()
            await asyncio.gather(*cut, return_exceptions=True)
            for connection in list(connections):
                connection.abort()


class _Lifespan:
    """An application's startup and shutdown, if it handles them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._answered = asyncio.Event()
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._state: dict[str, Any] = {}
        self._knows = False

    async def start(self) -> dict[str, Any]:
        """Start the application, and return the state for its requests."""
        self._task = asyncio.create_task(self._run())
        await self._tell("startup")
        return self._state

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            await self._tell("shutdown")
            await self._task

    async def _tell(self, what: str) -> None:
        self._answered.clear()
        self._events.put_nowait({"type": f"lifespan.{what}"})
        await self._answered.wait()
        if self._failure is not None:
            raise RuntimeError(f"The application fails at its {what}: {self._failure}")

    async def _run(self) -> None:
        asgi = {"version": "3.0", "spec_version": "2.0"}
        scope = {"type": "lifespan", "asgi": asgi, "state": self._state}
        try:
            await self._app(scope, self._events.get, self._send)
        except Exception as error:
            if self._knows:  # one that does not know of lifespans may raise as well as return
                log.error("failed", lifespan=repr(error))
        self._answered.set()

    async def _send(self, message: Message) -> None:
        self._knows = True
        if message["type"].endswith(".failed"):
            self._failure = message.get("message") or "it does not say why"
        self._answered.set()


def https_server(app: ASGIApp, host: str, port: int, certificate: Path, key: Path) -> Server:
    """Make a server with the gateway's limits on connections."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.set_ciphers(_CIPHERS)
    tls.load_cert_chain(certificate, key)

    async def listen(connect: Connect) -> Listener:
        return Listener(bound(host, port), connect, tls)

    return Server(app, listen)
