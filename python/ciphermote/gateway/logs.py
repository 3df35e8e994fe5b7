# SPDX-License-Identifier: Apache-2.0
"""Logging to standard error, one JSON object per line, never with a token, key or ciphertext."""

from __future__ import annotations

import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_MOST = 1000
"""The most characters logged of a client's text."""


_TOKEN = re.compile(r"(cmt_[0-9A-Za-z]*)_[0-9A-Za-z]+")


def _without_tokens(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove the secret part of a token that was sent in the wrong place, for example in a path."""
    return {k: _TOKEN.sub(r"\1_..", v[:_MOST]) if isinstance(v, str) else v for k, v in event.items()}


def configure() -> None:
    """Configure logging in a server or worker process."""
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
    """Name the caller in all log entries of this task and of the threads that it awaits. named: the caller's
    name, without a secret."""
    structlog.contextvars.bind_contextvars(address=address, **named)


log: structlog.stdlib.BoundLogger = structlog.get_logger("ciphermote")
