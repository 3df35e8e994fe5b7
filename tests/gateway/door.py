# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy before a server on this machine, which holds up what passes, or cuts it off."""

from __future__ import annotations

import contextlib
import socket
import threading


class Door:
    """A proxy that can hold up what goes through, and that can be shut. inside: the server's port, or the
    path of its local socket."""

    def __init__(self, inside: int | str) -> None:
        self._inside = inside
        self._open, self._shut = threading.Event(), threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Let nothing through until release."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def shut(self) -> None:
        """End every connection, and take no other."""
        self._shut.set()
        self._open.set()
        self._end()

    def reopen(self) -> None:
        self._shut.clear()

    def _end(self) -> None:
        for each in self._connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def close(self) -> None:
        self.shut()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                outside, _ = self._listener.accept()
                if self._shut.is_set():
                    outside.close()
                    continue
                try:
                    inside = self._reach()
                except OSError:  # the server is down
                    outside.close()
                    continue
                self._connections += [outside, inside]
                for ends in ((outside, inside), (inside, outside)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _reach(self) -> socket.socket:
        if isinstance(self._inside, int):
            return socket.create_connection(("127.0.0.1", self._inside))
        found = socket.socket(socket.AF_UNIX)
        found.connect(self._inside)
        return found

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._open.wait()
                target.sendall(data)
        for each in (source, target):  # closing would tell nobody while the other thread reads
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
