# SPDX-License-Identifier: Apache-2.0
"""One JSON object a line, on standard error. No token, key or ciphertext is ever written there."""

from __future__ import annotations

import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_MOST = 1000
"""Letters of what others sent."""


_TOKEN = re.compile(r"(cmt_[0-9A-Za-z]*)_[0-9A-Za-z]+")


def _without_tokens(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A token that came where it does not belong, in a path say, is cut to the part that is no secret."""
    return {k: _TOKEN.sub(r"\1_..", v[:_MOST]) if isinstance(v, str) else v for k, v in event.items()}


def configure() -> None:
    """For a process that serves or works."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _without_tokens,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def bind_caller(address: str, named: dict[str, Any]) -> None:
    """Have all that is logged in this task, and in the threads that it waits for, name the caller. named: who
    that is, without a secret."""
    structlog.contextvars.bind_contextvars(address=address, **named)


log: structlog.stdlib.BoundLogger = structlog.get_logger("ciphermote")
