# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package: each message is one clear sentence (what, where, what to do).

Each class is a failure that callers may want to handle separately.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Error(Exception):
    """Base class of the package's errors; catch it to report any of its failures to people.

    status: the C library's name for the failure, such as "CM_ERR_SCALE" (core/include/ciphermote/status.h),
    if the library or a device refused; otherwise None.
    """

    status: str | None = None


class PrecisionWarning(UserWarning):
    """Warns that noise leaves few correct digits in the numbers being encrypted."""


class AssumptionWarning(UserWarning):
    """Warns that decrypted numbers rest on more than what encryptions declare: some declared no bound, or a
    computation was given a smaller one."""


class ParameterError(Error):
    """A parameter set, scale or computation that is invalid, insecure or impossible."""


class ValueRangeError(Error):
    """Values that cannot be encrypted: not finite, too many, or too large for scale, precision or modulus."""


class FrameError(Error):
    """Bytes that are not a valid frame or ciphertext, or not the expected one."""


class MismatchError(FrameError):
    """Objects of different keys, sets, schemes or plain moduli were combined, or their origin is unknown; or
    a decryption gave noise, as such a mixture does."""


class ReplayError(FrameError):
    """A reading was received before, or is too old to tell."""


class KeyFileError(Error):
    """A key file that is missing, damaged, of the wrong kind, or for other parameters."""


class EngineError(Error):
    """An engine is not available, failed, or cannot do what was asked."""


class GatewayError(Error):
    """A gateway refused, or did not answer. name: the refusal's name, such as "unknown-device"; "unreachable"
    if nothing answered. http_status: 0 if nothing answered. retry_after: seconds after which the same request
    may be accepted, or None.
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
    """Prefix errors raised in the block with their subject, such as a file's path, unless they name it."""
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
"""Maps a status to its class. Statuses about frames give FrameError, and any other gives Error itself."""


def of_status(status: str, sentence: str) -> Error:
    """Make the exception for a failed call of the C library, from its status and the status's sentence."""
    kind = _CLASSES.get(status, FrameError if status.startswith("CM_ERR_FRAME_") else Error)
    error = kind(sentence)
    error.status = status
    return error
