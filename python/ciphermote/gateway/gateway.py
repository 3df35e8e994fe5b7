# SPDX-License-Identifier: Apache-2.0
"""The parts of a gateway, assembled over its directory (gateway_files.py)."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Literal

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import lock, sync_directory, write_atomically
from ciphermote.gateway.access import Access, Scope
from ciphermote.gateway.audit import Audit
from ciphermote.gateway.broker_files import BrokerFiles
from ciphermote.gateway.database.interface import ERRORS, fault_of
from ciphermote.gateway.database.opening import migrate, open_database
from ciphermote.gateway.deletions import Deletions
from ciphermote.gateway.gateway_files import (
    BROKER,
    DATABASE_FILE,
    LOCK_FILE,
    OBJECTS,
    OPERATOR_TOKEN_FILE,
    OWNER_TOKEN_FILE,
    SEGMENTS,
    WRAP_KEY_FILE,
)
from ciphermote.gateway.idempotency import Idempotency
from ciphermote.gateway.intake import Intake
from ciphermote.gateway.jobs import Jobs
from ciphermote.gateway.mailbox import Mailbox
from ciphermote.gateway.metrics import Metrics
from ciphermote.gateway.moving.marks import check_is_here
from ciphermote.gateway.operator import Operator
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.registry import Registry
from ciphermote.gateway.retention import Retention
from ciphermote.gateway.rotations import Rotations
from ciphermote.gateway.settings import Settings
from ciphermote.gateway.store.opening import open_store, settle_store
from ciphermote.gateway.verifying import Scrubber
from ciphermote.gateway.wrapping import settle_wrap_key
from ciphermote.rest.requests import TenantRequest

FIRST_TENANT = "home"
_LOCK_SECONDS = 5.0


class Gateway:
    """A gateway with these settings; start it in an event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._held = contextlib.ExitStack()
        """The lock on the directory: two processes would overwrite each other's segments."""
        folder = settings.data
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._held.enter_context(lock(folder / LOCK_FILE, _LOCK_SECONDS))
            if settings.database is None:
                _check_not_lost(folder)
            migrate(folder, settings.database)
        except ERRORS as error:
            if fault_of(error) != "damage":
                raise
            raise KeyFileError(
                f"{folder / DATABASE_FILE} is damaged ({error}): restore a backup (`ciphermote gateway "
                "restore`)."
            ) from None
        except TimeoutError:
            raise KeyFileError(
                f"{folder} is another gateway's that runs: stop that one, or name another directory (--data)."
            ) from None
        except OSError as error:
            raise KeyFileError(
                f"{folder} cannot be used ({error.strerror}): name another (--data)."
            ) from None
        os.chmod(folder, 0o700)
        self.database = open_database(folder, settings.database)
        self.database.watch()
        self.metrics = Metrics()
        try:
            check_is_here(self.database.connection, settings.database or str(folder))
            settle_store(folder, self.database, settings.store)
            self.wrapper = settle_wrap_key(folder / WRAP_KEY_FILE, self.database)
        except BaseException:
            self.database.close()
            self._held.close()
            raise
        self.store = open_store(folder, self.database.connection, settings.segment_bytes)
        self.access = Access(self.database)
        self.idempotency = Idempotency(self.database)
        self.intake = Intake(
            self.database,
            self.store,
            self.wrapper,
            self.metrics,
            reserve_bytes=settings.reserve_bytes,
        )
        self.registry = Registry(self.database, self.store, self.wrapper, self.access, self.intake)
        self.rotations = Rotations(self.database, self.store, self.registry)
        self.audit = Audit(self.database)
        self.deletions = Deletions(self.database, self.access, self.registry, self.intake)
        self.operator = Operator(
            self.database, self.registry, self.access, self.intake, self.deletions, self.audit
        )
        self.jobs = Jobs(self.database, self.store)
        self.metrics.show_ended_jobs(self.jobs.ended)
        self.mailbox = Mailbox(self.database, self.store, self.wrapper)
        self.retention = Retention(self.database, self.store, folder, self.intake, self.metrics)
        self.scrubber = Scrubber(folder, settings.database, self.store, self.database, self.metrics)
        broker = settings.broker
        self.broker_files = BrokerFiles(folder / BROKER, None if broker is None else broker.password)
        self.computing_troubles: dict[int, str] = {}
        """Why a worker computes nothing, by its number; nothing if it does."""
        self._first_tokens(folder)
        sync_directory(folder)
        sync_directory(folder.absolute().parent)

    def check_authority(self, folder: Path) -> None:
        """Raises KeyFileError if a backup was restored without the certificate authority that clients
        trust."""
        if not folder.exists() and self._has_any("fleets"):
            raise KeyFileError(
                f"{folder} is missing, and devices and owners trust the authority in it alone: restore "
                "it from a backup, or give --certificate and --key. An empty directory there begins a "
                "new authority, whose ca.pem each of them needs then."
            )

    def _has_any(self, table: Literal["fleets", "tenants"]) -> bool:
        found = self.database.connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()
        return bool(found[0])

    def _first_tokens(self, folder: Path) -> None:
        """Make the first tokens that an interrupted first start has not made."""
        if not self._has_any("tenants"):
            self.registry.add_tenant(TenantRequest(name=FIRST_TENANT))
        made: list[tuple[Scope, int | None, str]] = [("operator", None, OPERATOR_TOKEN_FILE)]
        with contextlib.suppress(Refusal):  # an operator may have deleted it
            made.append(("owner", self.registry.tenant(FIRST_TENANT), OWNER_TOKEN_FILE))
        for scope, tenant, name in made:
            if not self.access.listed(tenant):

                def keep(token: str, path: Path = folder / name) -> None:
                    write_atomically(path, f"{token}\n".encode(), 0o600)

                self.access.make(scope, tenant=tenant, note="made at the first start", keep=keep)

    def ready(self) -> str | None:
        """Return None, or why the gateway cannot accept anything now."""
        if not self.intake.alive:
            return "the intake has stopped"
        if self.database.damage is not None:
            return self.database.damage
        missing = self.database.missing() or self.intake.slowness or self.store.trouble
        if missing is not None:
            return missing
        room = os.statvfs(self.settings.data)
        free = room.f_bavail * room.f_frsize
        self.metrics.free_bytes.set(free)
        if free < self.settings.reserve_bytes:
            return "the disk is almost full"
        return None

    @property
    def computing_trouble(self) -> str | None:
        """Why jobs wait, although the gateway accepts them; None if workers compute them."""
        return next(filter(None, self.computing_troubles.values()), None)

    def measure(self) -> None:
        """Bring the metrics up to date that nothing else does."""
        self.metrics.ready.set(self.ready() is None)
        self.metrics.jobs_queued.set(self.jobs.waiting())

    async def close(self) -> None:
        await asyncio.to_thread(self.scrubber.stop)
        await asyncio.to_thread(self.retention.stop)
        await asyncio.to_thread(self.deletions.stop)
        await self.intake.stop()
        self.database.close()
        self._held.close()


def _check_not_lost(folder: Path) -> None:
    """Raises KeyFileError if the database is missing while other files exist: a new database would overwrite
    segments, and replace tokens that owners hold."""
    path = folder / DATABASE_FILE
    if path.exists() and path.stat().st_size:
        return
    made = (WRAP_KEY_FILE, OPERATOR_TOKEN_FILE, OWNER_TOKEN_FILE, f"{SEGMENTS}/*", f"{OBJECTS}/*")
    left = next((found for pattern in made for found in folder.glob(pattern)), None)
    if left is not None:
        raise KeyFileError(
            f"{path} is missing, and {left.relative_to(folder)} is there, of a gateway that had it: restore "
            "a backup (`ciphermote gateway restore`), or name another directory (--data)."
        )
