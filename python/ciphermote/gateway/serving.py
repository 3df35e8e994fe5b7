# SPDX-License-Identifier: Apache-2.0
"""Run a gateway: its API, its subscriber, its workers and its clock, until it is stopped."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ciphermote.gateway import telemetry
from ciphermote.gateway.api import Deliveries, application
from ciphermote.gateway.boot import boot_clock
from ciphermote.gateway.broker_gate import BrokerGate, plugin_path
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.gateway_files import TLS
from ciphermote.gateway.http_server import https_server
from ciphermote.gateway.logs import log
from ciphermote.gateway.missing import count_missing
from ciphermote.gateway.mqtt import Subscriber
from ciphermote.gateway.operator_api import operators
from ciphermote.gateway.operator_socket import OperatorSocket
from ciphermote.gateway.retention import STEADY_SECONDS, Steadiness
from ciphermote.gateway.settings import Broker, Settings
from ciphermote.gateway.tls import broker_trust, own_certificate

_TICK_SECONDS = 0.5
_SWEEP_SECONDS = 3600.0
_STEADY_CHECK_SECONDS = 5.0
_SCRUB_SECONDS = 6 * 3600.0
_STOP_SECONDS = 10
_RESTART_SECONDS = 0.5


async def serve(settings: Settings, ready: Callable[[], None]) -> None:
    """Run until SIGTERM or SIGINT; then accepted requests are answered, and workers return their jobs. ready
    is called once the directory is locked and the gateway begins to listen."""
    telemetry.configure("ciphermote-gateway")
    gateway = Gateway(settings)
    telemetry.export_metrics("ciphermote-gateway", gateway.metrics.registry, gateway.measure)
    certificate, key = _certificate(gateway)
    gate = None if settings.broker is None else _gate(gateway, settings.broker, certificate, key)
    gateway.intake.start()
    app = application(gateway, operators)
    local = OperatorSocket(settings.data, app, gateway.access)
    server = https_server(Deliveries(app), settings.host, settings.port, certificate, key)
    tasks = [asyncio.create_task(_clock(gateway)), asyncio.create_task(_sweeps(gateway))]
    tasks.append(asyncio.create_task(_deletions(gateway)))
    tasks.append(asyncio.create_task(_scrub(gateway)))
    tasks.append(asyncio.create_task(count_missing(gateway.database, gateway.metrics)))
    tasks += [asyncio.create_task(_worker(gateway, number)) for number in range(settings.workers)]
    if settings.broker is not None and gate is not None:
        subscriber = Subscriber(gateway, settings.broker, broker_trust(settings.broker, certificate), gate)
        tasks.append(asyncio.create_task(subscriber.run()))
    ready()
    log.info("serving", host=settings.host, port=settings.port, data=str(settings.data))

    loop = asyncio.get_running_loop()

    def stop() -> None:
        app.state.stopping = True
        server.stop()
        local.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await asyncio.gather(server.serve(), local.serve())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if gate is not None:
            gate.close()
        await gateway.close()
        log.info("stopped")


def _certificate(gateway: Gateway) -> tuple[Path, Path]:
    settings = gateway.settings
    if settings.certificate is not None and settings.key is not None:
        return settings.certificate, settings.key
    gateway.check_authority(settings.data / TLS)
    return own_certificate(settings.data / TLS, settings.host)


def _gate(gateway: Gateway, broker: Broker, certificate: Path, key: Path) -> BrokerGate:
    """Open the broker's access control, before the broker's configuration is written."""
    files = gateway.broker_files
    gate = BrokerGate(gateway.access, files.socket, files.password)
    files.write(plugin_path(), broker.port, certificate, key)
    return gate


async def _clock(gateway: Gateway) -> None:
    """Make the streams' jobs."""
    while True:
        try:
            await asyncio.to_thread(gateway.jobs.tick, time.time())
        except Exception as error:  # a full disk, say: the next round may be luckier
            gateway.database.notice(error)
            log.error("clock", error=repr(error))
        await asyncio.sleep(_TICK_SECONDS)


async def _sweeps(gateway: Gateway) -> None:
    """Delete old data once an hour, while the clock runs evenly."""
    steadiness, swept = Steadiness(), -math.inf
    while True:
        _, boot = boot_clock()
        steady = steadiness.seconds(time.time(), boot)
        if steady >= STEADY_SECONDS and boot - swept >= _SWEEP_SECONDS:
            swept = boot
            try:
                await asyncio.to_thread(gateway.retention.sweep, time.time())
            except Exception as error:  # a full disk, say: the next one may be luckier
                gateway.database.notice(error)
                log.error("retention", error=repr(error))
        await asyncio.sleep(_STEADY_CHECK_SECONDS)


async def _scrub(gateway: Gateway) -> None:
    """Check all stored data for damage, slowly and repeatedly."""
    while True:
        try:
            await asyncio.to_thread(gateway.scrubber.run)
        except Exception as error:
            gateway.database.notice(error)
            log.error("scrub", error=repr(error))
        await asyncio.sleep(_SCRUB_SECONDS)


async def _deletions(gateway: Gateway) -> None:
    """Remove deleted data."""
    while True:
        try:
            await asyncio.to_thread(gateway.deletions.run)
        except Exception as error:  # a full disk, say: the next round may be luckier
            log.error("deletions", error=repr(error))
        await asyncio.sleep(_TICK_SECONDS)


async def _worker(gateway: Gateway, number: int) -> None:
    """Run one worker process, and restart it whenever it ends."""
    while True:
        name = f"worker{number}-{uuid.uuid4().hex[:8]}"
        read, write = os.pipe()
        settings = gateway.settings
        options = {"--database": settings.database, "--compute": settings.compute, "--status": str(write)}
        command = [sys.executable, "-m", "ciphermote.gateway.worker", str(settings.data), name]
        command += [str(os.getpid())]
        command += [word for option, value in options.items() if value for word in (option, value)]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, pass_fds=(write,)
        )
        os.close(write)
        reading = asyncio.create_task(_statuses(gateway, number, read))
        gateway.metrics.workers.inc()
        try:
            status = await process.wait()
            log.warning("worker ended", name=name, status=status)
        except asyncio.CancelledError:
            process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
            raise
        finally:
            reading.cancel()
            gateway.metrics.workers.dec()
            if process.returncode is None:
                process.kill()
        await asyncio.to_thread(gateway.jobs.release, name)
        await asyncio.sleep(_RESTART_SECONDS)


async def _statuses(gateway: Gateway, number: int, read: int) -> None:
    """Show why a worker computes nothing, as it tells in lines."""
    reader = asyncio.StreamReader()
    with os.fdopen(read, "rb") as pipe:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while line := await reader.readline():
                gateway.computing_troubles[number] = line.decode().strip()
        finally:
            transport.close()
