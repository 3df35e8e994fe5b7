# SPDX-License-Identifier: Apache-2.0
"""Requests that can be repeated safely: a client that got no answer repeats its request with the same
Idempotency-Key, within a day, and gets the first one's answer."""

from __future__ import annotations

import time
from collections.abc import Callable

from pydantic import BaseModel

from ciphermote.gateway.database.interface import Database, text_digest
from ciphermote.gateway.refusals import Refusal

KEPT_SECONDS = 86_400.0
MOST_KEYS = 1000
"""The most keys of a tenant: one more displaces the oldest."""


class Idempotency:
    """The results of each tenant's recent keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def once(
        self, tenant: int, key: str | None, what: str, request: BaseModel, make: Callable[[], str]
    ) -> tuple[str, bool]:
        """Return the result of the request with this key, and whether it is new.

        what: names the kind and place of the result, such as jobs of a fleet. key: None for a request without
        one. Raises Refusal if the key was used for another request.
        """
        if key is None:
            return make(), True
        asked = text_digest(f"{what}\n{request.model_dump_json()}")
        with self._database.writing() as database:
            now = time.time()
            row = database.execute(
                "SELECT request, made FROM idempotency_keys WHERE tenant = ? AND key = ? AND created >= ?",
                (tenant, key, now - KEPT_SECONDS),
            ).fetchone()
            if row is not None and row["request"] != asked:
                raise Refusal(
                    422,
                    "key-reused",
                    "This Idempotency-Key was sent with another request: give each request a key of its own, "
                    "and repeat a request without changes.",
                )
            if row is not None:
                return str(row["made"]), False
            made = make()
            database.execute(
                "DELETE FROM idempotency_keys WHERE tenant = ?1 AND (created < ?2 OR key IN (SELECT key FROM "
                "idempotency_keys WHERE tenant = ?1 ORDER BY created DESC LIMIT 1000000000 OFFSET ?3))",
                (tenant, now - KEPT_SECONDS, MOST_KEYS - 1),
            )
            database.execute(
                "INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)", (tenant, key, asked, made, now)
            )
            return made, True
