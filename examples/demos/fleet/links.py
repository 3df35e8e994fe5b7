# SPDX-License-Identifier: Apache-2.0
"""The two ways from a modem to the gateway. Neither keeps anything: what brings no receipt is sent again."""

from __future__ import annotations

import json
import os
import queue
import time
from collections.abc import Sequence
from typing import Protocol

from ciphermote.base.errors import Error, GatewayError
from ciphermote.fleet import Connection, GatewayClient

from demos.fleet.site import Site
from demos.fleet.station import Answer

_BUSY = (429, 503)
_ANSWER_SECONDS = 3.0


class Link(Protocol):
    def deliver(self, parts: Sequence[bytes], measured: float) -> bytes | None:
        """Send the frames or packets of an attempt, once: the receipt's bytes, or None if none came. Raises
        Error if the gateway refuses them for good."""

    def close(self) -> None:
        """The connection."""


class WebLink:
    """HTTPS."""

    def __init__(self, connection: Connection) -> None:
        self._fleet = connection.fleet
        self._client = GatewayClient(connection.gateway, connection.token, ca=connection.ca, seconds=10)

    def deliver(self, parts: Sequence[bytes], measured: float) -> bytes | None:
        try:
            return self._client.deliver(self._fleet, b"".join(parts), measured)
        except GatewayError as error:
            if error.name == "unreachable" or error.http_status in _BUSY:
                return None
            raise

    def close(self) -> None:
        self._client.close()


class BrokerLink:
    """MQTT."""

    def __init__(self, site: Site, connection: Connection) -> None:
        self._station = site.station(connection.mqtt_user, connection.token)

    def deliver(self, parts: Sequence[bytes], measured: float) -> bytes | None:
        station = self._station
        if station.refused is not None:
            raise Error(f"The broker does not let {station.user} in: {station.refused}.")
        if not station.is_ready:
            return None
        while not station.answers.empty():
            station.answers.get()  # to tries that were given up
        sent = set()
        for part in parts:
            sent.add(number := os.urandom(8))
            station.publish(part, number, wait=False, measured=measured)
        receipt = None
        end = time.monotonic() + _ANSWER_SECONDS
        while sent and (left := end - time.monotonic()) > 0:
            try:
                answer = station.answer(left)
            except queue.Empty:
                break
            if answer.correlation in sent:
                sent.discard(answer.correlation)
                receipt = _receipt(answer) or receipt
        return receipt

    def close(self) -> None:
        self._station.leave()


def _receipt(answer: Answer) -> bytes | None:
    if answer.status == "refused":
        fields = json.loads(answer.payload)
        if fields["status"] not in _BUSY:
            raise Error(f"The gateway refused a window: {fields['detail']}")
    return answer.payload if answer.status == "receipt" else None


def connect(site: Site, connection: Connection, *, over_mqtt: bool) -> Link:
    return BrokerLink(site, connection) if over_mqtt else WebLink(connection)
