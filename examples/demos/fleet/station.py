# SPDX-License-Identifier: Apache-2.0
"""A device at a broker: it publishes its frames, and keeps them until the receipt comes."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import paho.mqtt.client as paho
from ciphermote.base.errors import Error
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

SECONDS = 60.0
RESEND_SECONDS = 1.0


def wait_until(true: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
    """Wait until true() holds; raises Error after a timeout."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise Error(f"Waited {seconds:g} s for {what}, in vain.")
        time.sleep(0.05)


@dataclass(frozen=True)
class Answer:
    topic: str
    payload: bytes
    status: str
    correlation: bytes | None


class Station:
    """A device's connection to the broker; it comes back by itself. refused: why it was not let in, if so;
    connections: how often it was. client_id: what it asks for, whatever the broker makes of it."""

    def __init__(self, port: int, ca: Path, user: str, token: str, client_id: str = "") -> None:
        self.user, self.token, self.client_id = user, token, client_id
        self.down = f"ciphermote/{user}/down"
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.refused: str | None = None
        self.connections = 0
        self._granted: queue.Queue[str] = queue.Queue()
        self._subscribed = False
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5)
        client.username_pw_set(user, token)
        client.tls_set(ca_certs=str(ca))
        client.reconnect_delay_set(0.1, 0.5)  # type: ignore[arg-type]  # floats do as well
        client.on_connect = self._connected
        client.on_subscribe = self._has_subscribed
        client.on_disconnect = self._gone
        client.on_message = self._arrived
        self.client = client
        with suppress(OSError):  # it tries again by itself
            client.connect("localhost", port)
        client.loop_start()

    def _connected(self, client: paho.Client, _: object, __: object, code: object, ___: object) -> None:
        if str(code) == "Success":
            self.connections += 1
            client.subscribe(f"{self.down}/#", qos=1)
        else:
            self.refused = str(code)

    def _has_subscribed(
        self, _: paho.Client, __: object, ___: int, granted: list[ReasonCode], ____: object
    ) -> None:
        if self._subscribed:
            self._granted.put(str(granted[0]))
        self._subscribed = True

    def _gone(self, *_: object) -> None:
        self._subscribed = False

    def _arrived(self, _: paho.Client, __: object, message: paho.MQTTMessage) -> None:
        stated = dict(getattr(message.properties, "UserProperty", []))
        correlation = getattr(message.properties, "CorrelationData", None)
        answer = Answer(message.topic, bytes(message.payload), stated.get("status", ""), correlation)
        self.answers.put(answer)

    @property
    def is_ready(self) -> bool:
        """Whether answers would arrive."""
        return self._subscribed and self.client.is_connected()

    def ready(self) -> Station:
        wait_until(lambda: self._subscribed, f"{self.user}'s subscription")
        return self

    def subscribe(self, topic: str) -> str:
        """Subscribe to another topic, and return the broker's answer."""
        self.client.subscribe(topic, qos=1)
        return self._granted.get(timeout=SECONDS)

    def publish(
        self,
        data: bytes,
        correlation: bytes | None = None,
        response: str | None = None,
        user: str | None = None,
        *,
        wait: bool = True,
        measured: float | None = None,
    ) -> paho.MQTTMessageInfo:
        """wait: until the broker has acknowledged it. measured: when, in seconds since 1970."""
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if measured is not None:
            properties.UserProperty = ("measured", repr(measured))
        if correlation is not None:
            properties.CorrelationData = correlation
        if response is not None:
            properties.ResponseTopic = response
        sent = self.client.publish(f"ciphermote/{user or self.user}/up", data, qos=1, properties=properties)
        if wait:
            sent.wait_for_publish(SECONDS)
        return sent

    def answer(self, seconds: float = SECONDS) -> Answer:
        return self.answers.get(timeout=seconds)

    def send_until_receipt(self, data: bytes, seconds: float = SECONDS) -> Answer:
        """Send the same bytes again, as devices do, until a receipt arrives."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            tried = os.urandom(4)
            if self.client.is_connected():
                self.publish(data, tried, f"{self.down}/receipts", wait=False)
            with suppress(queue.Empty):
                while True:
                    found = self.answers.get(timeout=RESEND_SECONDS)
                    if found.status == "receipt":
                        return found
        raise Error(f"{self.user} had no receipt within {seconds:g} s.")

    def leave(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
