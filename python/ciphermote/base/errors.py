# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package: each message is one clear sentence (what, where, what to do).

There is one class for each thing a caller may want to handle apart, and no more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Error(Exception):
    """Base of all; catch it to report any failure of this package to people.

    status: the C library's name of it, such as "CM_ERR_SCALE" (core/include/ciphermote/status.h), if that is
    what refused, or a device; else None.
    """

    status: str | None = None


class PrecisionWarning(UserWarning):
    """Warns that noise leaves few digits of the numbers that are encrypted."""


class ParameterError(Error):
    """A parameter set, scale or computation that is invalid, insecure or impossible."""


class ValueRangeError(Error):
    """Values that cannot be encrypted: not finite, too many, or too large for scale, precision or modulus."""


class FrameError(Error):
    """Bytes from outside that are no valid frame or ciphertext, or not the expected one."""


class MismatchError(FrameError):
    """Things of different keys, sets, schemes or plain moduli that were brought together, or whose origin
    nothing tells; or a decryption that gives noise, as such a mixture does."""


class ReplayError(FrameError):
    """A reading that came before, or is too old to tell."""


class KeyFileError(Error):
    """A key file that is missing, damaged, of the wrong kind, or for other parameters."""


class EngineError(Error):
    """An engine that is not available, failed, or cannot do what was asked."""


class GatewayError(Error):
    """A gateway that refused, or that did not answer.

    name: of the refusal, in hyphens, such as "unknown-device"; "unreachable" if nothing answered.
    http_status: 0 if nothing answered. retry_after: seconds after which the same may be accepted, or None.
    """

    def __init__(
        self, sentence: str, name: str, http_status: int = 0, retry_after: float | None = None
    ) -> None:
        super().__init__(sentence)
        self.name = name
        self.http_status = http_status
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[GatewayError], tuple[object, ...]]:
        return type(self), (str(self), self.name, self.http_status, self.retry_after)


@contextlib.contextmanager
def about(what: object) -> Iterator[None]:
    """Errors within the block begin with what they are about, such as a file's path, unless they name it."""
    try:
        yield
    except Error as error:
        if str(what) not in str(error):
            error.args = (f"{what}: {error}",)
        raise


_CLASSES: dict[str, type[Error]] = {
    **dict.fromkeys(
        ("CM_ERR_ARGUMENT", "CM_ERR_PARAMS", "CM_ERR_UNSUPPORTED", "CM_ERR_PLAIN_MODULUS", "CM_ERR_SCALE"),
        ParameterError,
    ),
    **dict.fromkeys(("CM_ERR_SHARED_NOISE", "CM_ERR_EXPANDER"), ParameterError),
    **dict.fromkeys(("CM_ERR_TOO_MANY", "CM_ERR_NOT_FINITE", "CM_ERR_VALUE_RANGE"), ValueRangeError),
    "CM_ERR_RESIDUE": FrameError,
}
"""Status -> class. Those of frames are FrameError, and what is left is Error itself."""


def of_status(status: str, sentence: str) -> Error:
    """The error of a call of the C library that failed: its status, and what that says to people."""
    kind = _CLASSES.get(status, FrameError if status.startswith("CM_ERR_FRAME_") else Error)
    error = kind(sentence)
    error.status = status
    return error
