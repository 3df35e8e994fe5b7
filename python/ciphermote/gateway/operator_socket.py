# SPDX-License-Identifier: Apache-2.0
"""The operator's door on this machine: a socket in the gateway's directory, over which the API is served
without TLS. Whoever may open the directory (mode 0700: the gateway's user and root) is an operator.
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from ciphermote.gateway.access import Access
from ciphermote.gateway.gateway_files import operator_socket


class OperatorSocket:
    """Serves the API of a gateway to whoever may open its directory."""

    def __init__(self, folder: Path, app: ASGIApp, access: Access) -> None:
        self._folder = folder
        self._app = app
        self._authorization = f"Bearer {access.local_token}".encode()
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._as_operator,
                interface="asgi3",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
            )
        )

    async def serve(self) -> None:
        """Until stop is called."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with operator_socket(self._folder) as path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # of a gateway that was killed: the directory has one
            listener.bind(path)
            os.chmod(path, 0o600)
        await self._server._serve(sockets=[listener])

    def stop(self) -> None:
        self._server.should_exit = True

    async def _as_operator(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [pair for pair in scope.get("headers", ()) if pair[0] != b"authorization"]
        headers.append((b"authorization", self._authorization))
        await self._app({**scope, "headers": headers}, receive, send)
