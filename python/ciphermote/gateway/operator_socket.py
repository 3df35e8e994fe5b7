# SPDX-License-Identifier: Apache-2.0
"""Local access for operators: a socket in the gateway's directory, over which the API is served without TLS.
Anyone who may open the directory (mode 0700: the gateway's user and root) is an operator.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from ciphermote.gateway.access import Access
from ciphermote.gateway.gateway_files import operator_socket
from ciphermote.gateway.http_server import Connect, Listening, Server


class OperatorSocket:
    """Serves a gateway's API to everyone who may open its directory."""

    def __init__(self, folder: Path, app: ASGIApp, access: Access) -> None:
        self._folder = folder
        self._app = app
        self._authorization = f"Bearer {access.local_token}".encode()
        self._server = Server(self._as_operator, self._listen)

    async def serve(self) -> None:
        """Serve until stop is called."""
        await self._server.serve()

    def stop(self) -> None:
        self._server.stop()

    async def _listen(self, connect: Connect) -> Listening:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with operator_socket(self._folder) as path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # of a gateway that was killed: the directory has one
            listener.bind(path)
            os.chmod(path, 0o600)
        return await asyncio.get_running_loop().create_unix_server(lambda: connect(None), sock=listener)

    async def _as_operator(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return  # the application starts and ends with the server of everybody
        headers = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
        headers.append((b"authorization", self._authorization))
        await self._app({**scope, "headers": headers}, receive, send)
