# SPDX-License-Identifier: Apache-2.0
"""Access control for the broker.

The plugin that Mosquitto loads (python/src/broker.c) asks the gateway at each connection; several times a
second it also asks which tokens have ended, and disconnects their users. It asks over a local socket in the
gateway's folder, which nobody else can open. Threads answer, so that the broker never waits for a busy event
loop.
"""

from __future__ import annotations

import contextlib
import hmac
import importlib.util
import os
import socket
import threading
import time
from pathlib import Path

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.access import Access
from ciphermote.gateway.broker_files import is_gateway
from ciphermote.gateway.logs import log
from ciphermote.gateway.refusals import Refusal

_QUESTION_BYTES = 65536
_MOST_ENDED = 500
"""The most users in an answer; their names have at most 92 bytes."""
_OVERLAP_SECONDS = 10.0
"""Overlap of two periods of ended tokens, because a step of the clock may hide one, and the clocks of other
gateways, which end tokens too, may differ by so much."""
_LONGEST_PATH = 107
"""The most bytes in a local socket's name."""


def plugin_path() -> Path:
    """Return the path of the plugin that this package was built with. Raises KeyFileError if there is
    none."""
    found = importlib.util.find_spec("ciphermote.gateway._broker")
    if found is None or found.origin is None:
        raise KeyFileError(
            "This build of Ciphermote has no plugin for Mosquitto, which is built on Linux: install it "
            "there, or serve without --broker."
        )
    return Path(found.origin)


class BrokerGate:
    """Listens at path from its creation until close. password: that of its gateways at the broker."""

    def __init__(self, access: Access, path: Path, password: str) -> None:
        self._access = access
        self._password = password.encode()
        self._links: set[socket.socket] = set()
        self._unwelcome: set[str] = set()
        self._lock = threading.Lock()
        name = os.fsencode(path.absolute())
        if len(name) > _LONGEST_PATH:
            raise KeyFileError(
                f"{path.absolute()} is too long for the name of a local socket, which has at most "
                f"{_LONGEST_PATH} bytes: name a shorter directory (--data)."
            )
        path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(name)
        self._listening.listen()
        threading.Thread(target=self._accept, name="broker-gate", daemon=True).start()

    def close(self) -> None:
        with self._lock:
            for each in (self._listening, *self._links):
                with contextlib.suppress(OSError):  # it is gone already
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def turn_out(self, user: str) -> None:
        """Make the broker disconnect a user, who may reconnect if the token is still valid."""
        with self._lock:
            if self._links:  # another gateway's broker finds the token among those that have ended
                self._unwelcome.add(user)

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listening.accept()
            except OSError:  # closed
                return
            with self._lock:
                self._links.add(link)
            threading.Thread(target=self._serve, args=(link,), name="broker-gate", daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        """Answer one broker's questions."""
        ended = _Ended(self._access)
        try:
            while question := link.recv(_QUESTION_BYTES):
                link.send(self._answer(question, ended))
        except (OSError, ValueError):
            pass  # it is gone, or speaks another language: it may connect again
        except Exception as error:
            log.error("broker gate", error=repr(error))
        finally:
            with self._lock:
                self._links.discard(link)
            link.close()

    def _answer(self, question: bytes, ended: _Ended) -> bytes:
        if question[:1] == b"R":
            users = ended.users(int(question[1:]) / 1000)
            with self._lock:
                while self._unwelcome and len(users) < _MOST_ENDED:
                    users.append(self._unwelcome.pop())
            return "\n".join(["R", *users]).encode()
        if question[:1] != b"C":
            raise ValueError("neither a connection nor what has ended")
        user, _, rest = question[1:].partition(b"\n")
        password, _, address = rest.rpartition(b"\n")
        return b"y" if self._lets_in(user.decode(), password, address.decode()) else b"n"

    def _lets_in(self, user: str, password: bytes, address: str) -> bool:
        if is_gateway(user):
            return hmac.compare_digest(password, self._password)
        try:
            found = self._access.of_token(password.decode(errors="replace"))
        except Refusal as refusal:
            log.warning("refused by the broker", user=user, address=address, reason=refusal.name)
            return False
        if found.broker_user != user:
            log.warning(
                "refused by the broker", user=user, address=address, reason="other-user", **found.named
            )
            return False
        log.info("let in by the broker", address=address, **found.named)
        return True


class _Ended:
    """Users whose tokens have ended, each once, for one link."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._since: float | None = None
        self._told: set[str] = set()

    def users(self, age: float) -> list[str]:
        """Return the users since the last call; the first time, those since another gateway process may have
        stopped."""
        now = time.time()
        since = (now - age if self._since is None else min(self._since, now)) - _OVERLAP_SECONDS
        found = dict(self._access.ended(since, now))
        fresh = [token for token in found if token not in self._told]
        if fresh:  # or another gateway's revocation might not be known yet when they come again
            self._access.forget()
        told, left = fresh[:_MOST_ENDED], fresh[_MOST_ENDED:]
        self._told = found.keys() - set(left)
        self._since = since + _OVERLAP_SECONDS if left else now
        return [found[token] for token in told]
