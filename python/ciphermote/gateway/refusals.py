# SPDX-License-Identifier: Apache-2.0
"""The gateway's refusals, in one form for HTTP and MQTT: a status, a short name, and one sentence."""

from __future__ import annotations

import errno

from ciphermote.gateway.database.interface import fault_of
from ciphermote.gateway.store.interface import StoreUnavailable
from ciphermote.rest.answers import Problem
from ciphermote.rest.http import PROBLEM_TYPE

PROBLEM = "application/problem+json"


class Refusal(Exception):
    """A refused request. status: HTTP's; name: for programs, with hyphens; sentence: for people. retry_after:
    seconds after which the same request may be accepted."""

    def __init__(self, status: int, name: str, sentence: str, *, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.name = name
        self.sentence = sentence
        self.retry_after = retry_after

    @property
    def problem(self) -> Problem:
        """Return the problem that clients get. Its title is the name in words."""
        title = self.name.replace("-", " ").capitalize()
        return Problem(type=PROBLEM_TYPE + self.name, status=self.status, title=title, detail=self.sentence)


def overloaded(what: str) -> Refusal:
    """Make the refusal for too many requests at once; a repeated one may succeed soon."""
    return Refusal(503, "overloaded", f"{what}: send it again in a moment.", retry_after=1)


def disk_full(error: OSError | Exception) -> Refusal:
    """Make the refusal for a full disk; nothing was stored."""
    return Refusal(
        507,
        "storage",
        f"The gateway cannot store anything now ({error}), and kept nothing of this: keep it and send it "
        "again; its operator has to make room.",
        retry_after=60,
    )


def store_unavailable() -> Refusal:
    """Make the refusal for an object store that does not answer; nothing was stored."""
    return Refusal(
        503,
        "storage",
        "The gateway cannot reach its object store now, and kept nothing of this: keep it and send it again.",
        retry_after=5,
    )


def failed() -> Refusal:
    """Make the refusal for an unforeseen error."""
    return Refusal(500, "failed", "The gateway failed at this; its operator finds out why in the log.")


def of_storage(error: Exception) -> Refusal | None:
    """Make the refusal for an error of the disk or the database that is temporary, or that a deletion caused;
    None for any other."""
    if isinstance(error, StoreUnavailable):
        return store_unavailable()
    match fault_of(error):
        case "deleted":
            return Refusal(
                410, "deleted", "An operator has deleted what this belongs to: nothing of it is kept."
            )
        case "damage":
            return Refusal(
                503,
                "damaged",
                "The gateway's database is damaged, and its operator has to restore a backup: keep what you "
                "have, and send it later.",
                retry_after=60,
            )
        case "busy" | "conflict":
            return overloaded("The gateway's database is busy")
        case "lost":
            return overloaded("The gateway's database does not answer")
        case "full":
            return disk_full(error)
        case "text":
            return Refusal(422, "invalid", "A text in it has a character of value 0, which is never stored.")
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return disk_full(error) if isinstance(error, OSError) and error.errno in full else None


_SECRET_BEGINNINGS = (b"CMCK", b"CMPV", b"/*\n * One device's")


def looks_secret(data: bytes) -> bool:
    """Whether bytes begin like an owner's secret file, a device's provisioning or a PEM private key."""
    head = data[:256]
    return head.startswith(_SECRET_BEGINNINGS) or (b"-----BEGIN" in head and b"PRIVATE KEY-----" in head)


def secret_key() -> Refusal:
    return Refusal(
        422,
        "secret-key",
        "This is a secret key, which the gateway must never have. Nothing of it was kept, but it has left "
        "your machine: make new keys.",
    )
