# SPDX-License-Identifier: Apache-2.0
"""Deliveries over MQTT 5. The broker's acknowledgement does not mean that the gateway has stored anything, so
each delivery is answered: by a receipt once its attempt is complete and stored, by a problem if it is
refused.

Topics and users are those of broker_files.py. The answer goes to the response topic, if that is the device's
own, with the correlation data; its user property "status" is kept (no payload), receipt, or refused (a
problem, as over HTTP). Each message is answered, because the broker limits a device's messages in flight
(python/src/broker.c).

The subscription is shared: each message goes to one of the broker's gateways. What goes to one that has died
has no answer, so its device sends it again, and the broker gives it to the next.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ciphermote.base import number_text
from ciphermote.gateway.access import UPLINK
from ciphermote.gateway.broker_gate import BrokerGate
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.intake import MOST_PENDING
from ciphermote.gateway.logs import log
from ciphermote.gateway.refusals import Refusal, failed, of_storage
from ciphermote.gateway.settings import Broker

SUBSCRIPTION = "$share/gateways/ciphermote/+/up"
_MOST_AT_ONCE = MOST_PENDING
_AGAIN_SECONDS = (0.2, 5.0)
_SESSION_SECONDS = 60
"""How long the broker keeps messages for a gateway that is away, and gives it its share of further ones."""
_QUIET_SECONDS = 0.5
_LEAVE_SECONDS = 5.0


class Subscriber:
    """Runs until it is cancelled, and reconnects whenever the broker is available."""

    def __init__(self, gateway: Gateway, broker: Broker, trusted: ssl.SSLContext, gate: BrokerGate) -> None:
        self._gateway = gateway
        self._gate = gate
        self._broker = broker
        self._trusted = trusted
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(_MOST_AT_ONCE)

    async def run(self) -> None:
        self._gateway.metrics.broker_connected.set(0)
        wait = _AGAIN_SECONDS[0]
        while True:
            try:
                async with self._client() as client:
                    await client.subscribe(SUBSCRIPTION, qos=1)
                    self._gateway.metrics.broker_connected.set(1)
                    log.info("broker connected", host=self._broker.host, port=self._broker.port)
                    wait = _AGAIN_SECONDS[0]
                    try:
                        async for message in client.messages:
                            await self._begin(client, message)
                    except asyncio.CancelledError:
                        await self._leave(client)
                        raise
            except (aiomqtt.MqttError, OSError) as error:
                log.warning("broker away", error=str(error), again_in=wait)
            finally:
                self._gateway.metrics.broker_connected.set(0)
            await asyncio.sleep(wait)
            wait = min(2 * wait, _AGAIN_SECONDS[1])

    async def _begin(self, client: aiomqtt.Client, message: aiomqtt.Message) -> None:
        await self._room.acquire()
        task = asyncio.create_task(self._take(client, message))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def _leave(self, client: aiomqtt.Client) -> None:
        """Have the broker give further messages to its other gateways, and answer those that this one has."""
        with suppress(aiomqtt.MqttError, TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await client.unsubscribe(SUBSCRIPTION)
                with suppress(TimeoutError):
                    while True:
                        message = await asyncio.wait_for(anext(client.messages), _QUIET_SECONDS)
                        await self._begin(client, message)
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()

    def _client(self) -> aiomqtt.Client:
        files = self._gateway.broker_files
        properties = _properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = _SESSION_SECONDS
        client = aiomqtt.Client(
            self._broker.host,
            self._broker.port,
            protocol=aiomqtt.ProtocolVersion.V5,
            username=files.user,
            password=files.password,
            identifier=files.user,
            clean_start=False,
            properties=properties,
            tls_context=self._trusted,
            max_queued_outgoing_messages=10_000,
        )
        client.pending_calls_threshold = _MOST_AT_ONCE  # of which it would warn
        return client

    async def _take(self, client: aiomqtt.Client, message: aiomqtt.Message) -> None:
        user = str(message.topic).split("/")[1]
        answer, status = b"", "kept"
        fleet: Fleet | None = None
        data = message.payload if isinstance(message.payload, bytes) else b""
        stated = message.properties
        try:
            fleet, device = self._addressed(user)
            with self._gateway.intake.room_for(fleet, device) as take:
                take(len(data))
                outcome = await self._gateway.intake.take(fleet, device, data, _measured(stated))
            self._gateway.metrics.over_mqtt.inc()
            if outcome.receipt is not None:
                answer, status = outcome.receipt, "receipt"
        except Refusal as refusal:
            if refusal.status == 404 and fleet is None:  # it was deleted while the user was connected
                self._gate.turn_out(user)
            log.warning(
                "refused", user=user, status=refusal.status, reason=refusal.name, detail=refusal.sentence
            )
            answer, status = _problem(refusal), "refused"
        except Exception as error:
            log.error("failed", user=user, error=repr(error))
            answer, status = _problem(of_storage(error) or failed()), "refused"
        with suppress(aiomqtt.MqttError):  # the device sends it again, and is answered then
            await client.publish(
                _reply_topic(user, stated), answer, qos=1, properties=_answering(stated, status)
            )

    def _addressed(self, user: str) -> tuple[Fleet, int | None]:
        """Return (fleet, device or None for an uplink) of a user that the broker let publish."""
        parts = user.split(".")
        if len(parts) != 3 or not (parts[2] == UPLINK or number_text.is_natural(parts[2])):
            raise Refusal(404, "no-such-user", f"The topic names no device's user: {user[:60]}.")
        registry = self._gateway.registry
        fleet = registry.fleet(registry.tenant(parts[0]), parts[1])
        return fleet, None if parts[2] == UPLINK else int(parts[2])


def _problem(refusal: Refusal) -> bytes:
    return refusal.problem.model_dump_json().encode()


def _reply_topic(user: str, stated: Properties | None) -> str:
    """Return the topic for a reply, which is always the device's own, whatever it asks for."""
    own = f"ciphermote/{user}/down"
    asked = getattr(stated, "ResponseTopic", own)
    if "+" in asked or "#" in asked:  # a filter, to which nothing can be published
        return own
    return asked if asked == own or asked.startswith(f"{own}/") else own


def _measured(stated: Properties | None) -> float | None:
    for name, value in getattr(stated, "UserProperty", []):
        if name == "measured":
            with suppress(ValueError):
                seconds = number_text.real(value)
                return seconds if 0 <= seconds <= 1e11 else None
    return None


def _answering(stated: Properties | None, status: str) -> Properties:
    properties = _properties(PacketTypes.PUBLISH)
    properties.UserProperty = ("status", status)
    if stated is not None and hasattr(stated, "CorrelationData"):
        properties.CorrelationData = stated.CorrelationData
    return properties


def _properties(kind: int) -> Properties:
    return Properties(kind)  # type: ignore[no-untyped-call]
