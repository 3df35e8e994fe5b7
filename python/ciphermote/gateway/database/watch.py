# SPDX-License-Identifier: Apache-2.0
"""Notices within seconds that PostgreSQL does not answer, so that requests are refused early instead of
waiting for it.

TCP notices a server that is gone after ten seconds, and one that is stopped, or behind a proxy that is,
never. So a thread asks the server once a second on a separate connection, and waits three seconds for the
answer; without one, statements that wait are broken off, too.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import ExecStatus

PERIOD_SECONDS = 1.0
ANSWER_SECONDS = 3.0


class Watch:
    """Watches from its creation until close. connect: makes a connection. trouble: None, or why the database
    cannot be used."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], sentence: Callable[[psycopg.Error], str]
    ) -> None:
        self.trouble: str | None = None
        self._connect = connect
        self._sentence = sentence
        self._connection: psycopg.Connection[Any] | None = None
        self._peers: WeakKeyDictionary[psycopg.Connection[Any], object] = WeakKeyDictionary()
        """Whom each connection that statements use is connected to."""
        self._turn = threading.Condition()
        self._begun = self._done = 0
        self._is_wanted = self._is_closed = False
        threading.Thread(target=self._run, name="database-watch", daemon=True).start()

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            self._turn.notify_all()

    def add(self, connection: psycopg.Connection[Any]) -> None:
        """Have the statements of this connection broken off when the database does not answer."""
        with contextlib.suppress(OSError), _socket_of(connection) as own, self._turn:
            self._peers[connection] = own.getpeername()

    def ask(self) -> str | None:
        """Return None if the database answers now, or why it cannot be used."""
        with self._turn:
            if self.trouble is None and not self._is_closed:
                awaited = self._begun + 1
                self._is_wanted = True
                self._turn.notify_all()
                self._turn.wait_for(lambda: self._done >= awaited, 2 * ANSWER_SECONDS)
            return self.trouble

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._is_wanted or self._is_closed, PERIOD_SECONDS)
                self._is_wanted = False
                self._begun += 1
                if self._is_closed:
                    break
            trouble = self._ask()
            with self._turn:
                self.trouble = trouble
                self._done = self._begun
                self._turn.notify_all()
            if trouble is not None:
                self._break_off()
        self._drop()

    def _ask(self) -> str | None:
        try:
            if self._connection is None:
                self._connection = self._connect()
            _answered(self._connection)
        except psycopg.Error as error:
            self._drop()
            return f"the database does not answer ({self._sentence(error)})"
        except TimeoutError:
            self._drop()
            return f"the database does not answer (within {ANSWER_SECONDS:g} s)"
        return None

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _break_off(self) -> None:
        with self._turn:
            known = list(self._peers.items())
            self._peers.clear()
        for connection, peer in known:
            with contextlib.suppress(OSError, psycopg.Error), _socket_of(connection) as own:
                # A connection that was closed just now may have left its number to something else.
                if own.getpeername() == peer:
                    own.shutdown(socket.SHUT_RDWR)


def _socket_of(connection: psycopg.Connection[Any]) -> socket.socket:
    """Return another handle of a connection's socket."""
    return socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM)


def _answered(connection: psycopg.Connection[Any]) -> None:
    """Ask the server, and wait for its answer. Raises TimeoutError if it takes too long."""
    link = connection.pgconn
    waiting = select.poll()
    waiting.register(link.socket, select.POLLIN)
    end = time.monotonic() + ANSWER_SECONDS
    link.send_query(b"SELECT 1")
    link.flush()
    while link.is_busy():
        left = end - time.monotonic()
        if left <= 0 or not waiting.poll(left * 1000):
            raise TimeoutError
        link.consume_input()
    while (result := link.get_result()) is not None:
        if result.status != ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(result.error_message.decode(errors="replace").strip())
