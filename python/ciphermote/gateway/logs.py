# SPDX-License-Identifier: Apache-2.0
"""One JSON object a line, on standard error. No token, key or ciphertext is ever written there."""

from __future__ import annotations

import sys

import structlog


def configure() -> None:
    """For a process that serves or works."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


log: structlog.stdlib.BoundLogger = structlog.get_logger("ciphermote")
