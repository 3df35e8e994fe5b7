# SPDX-License-Identifier: Apache-2.0
"""Paths of the API: the gateway serves them, and its clients ask for them. No other module spells one."""

from __future__ import annotations

import re
from urllib.parse import quote


class Route(str):
    """A path with {names} as placeholders, in the form of FastAPI and OpenAPI."""

    __slots__ = ()

    def __truediv__(self, rest: str) -> Route:
        return Route(f"{self}/{rest}")

    def path(self, **parts: str | int) -> str:
        """Return the path with these parts, escaped. Raises KeyError if one is missing."""
        return self.format_map({name: quote(str(part), safe="") for name, part in parts.items()})

    def pattern(self, **parts: str) -> re.Pattern[str]:
        """Return a regular expression for paths of this route, with a group for each part. parts: regular
        expressions for some parts; the others match anything without a slash."""
        pieces = re.split(r"\{(\w+)\}", self)
        for at in range(1, len(pieces), 2):
            pieces[at] = f"(?P<{pieces[at]}>{parts.get(pieces[at], '[^/]+')})"
        return re.compile("".join(pieces))


HEALTH = Route("/healthz")
READINESS = Route("/readyz")
METRICS = Route("/metrics")
API = Route("/v1")
"""The prefix of all other paths."""

# --- devices ------------------------------------------------------------------------------------------------

FLEETS = API / "fleets"
FLEET = FLEETS / "{fleet}"
DELIVERIES = FLEET / "deliveries"
RESULT = FLEET / "results/{counter}"
"""The path of results for devices."""

# --- owners -------------------------------------------------------------------------------------------------

TENANT = API / "tenant"
RETENTION = FLEET / "retention"
WATCH = FLEET / "watch"
KEYS = FLEET / "keys/{kind}"
OWNER_KEYS = FLEET / "owner-keys"
OWNER_KEY = OWNER_KEYS / "{key_id}"
DEVICES = FLEET / "devices"
DEVICE = DEVICES / "{number}"
REKEY_KEY = DEVICE / "rekey"
DEVICE_STATE = DEVICE / "{action}"
DEVICE_RESULT = DEVICE / "results/{counter}"
WINDOWS = FLEET / "windows"
STREAMS = FLEET / "streams"
STREAM = STREAMS / "{name}"
JOBS = FLEET / "jobs"
JOB = JOBS / "{job}"
JOB_CHANGE = JOB / "{action}"
JOB_RESULT = JOB / "results/{part}"
CONTRIBUTORS = JOB / "contributors"
LEFT_OUT = JOB / "left-out"
TOKENS = API / "tokens"
TOKEN = TOKENS / "{identifier}"

# --- operators ----------------------------------------------------------------------------------------------

OPERATOR = API / "operator"
TENANTS = OPERATOR / "tenants"
A_TENANT = TENANTS / "{tenant}"
QUOTAS = A_TENANT / "quotas"
TENANT_FLEETS = A_TENANT / "fleets"
TENANT_FLEET = TENANT_FLEETS / "{fleet}"
FLEET_RETENTION = TENANT_FLEET / "retention"
FLEET_DEVICES = TENANT_FLEET / "devices"
FLEET_DEVICE = FLEET_DEVICES / "{device}"
DELETIONS = OPERATOR / "deletions"
EVERY_TOKEN = OPERATOR / "tokens"
ANY_TOKEN = EVERY_TOKEN / "{token}"
QUARANTINE = OPERATOR / "quarantine"
ACCEPTANCE = QUARANTINE / "{number}/accept"
DISCARD = QUARANTINE / "{number}/discard"
AUDIT = OPERATOR / "audit"
