# SPDX-License-Identifier: Apache-2.0
"""Receipts: a gateway's answer to an attempt that it has stored. docs/wire-format.md has the layout."""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

from ciphermote import _core
from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.formats.tags import TAG_BYTES

RECEIPT_BYTES = 40

_KIND = 0x22
_BODY = struct.Struct("<BBHIQQQ")


class Verdict(IntEnum):
    """The outcome of an attempt. In each case the device need not send it again."""

    COUNTS = 1  # kept, and it counts
    SURPLUS = 2  # another attempt of its window counts
    TOO_OLD = 3  # the gateway cannot tell any more whether its window was counted; dropped


@dataclass(frozen=True)
class Receipt:
    """The receipt for an attempt. tags: the sum of its frames' or packets' tags, modulo 2^64 (tag_sum)."""

    verdict: Verdict
    device: int
    epoch: int
    window: int
    counter: int
    tags: int

    def to_bytes(self, receipt_key: bytes) -> bytes:
        """Write the 40 bytes for the device."""
        place = self.device, self.epoch, self.window, self.counter, self.tags
        return receipt_bytes(receipt_key, self.verdict, *place)

    @classmethod
    def from_bytes(cls, data: bytes, receipt_key: bytes) -> Receipt:
        """Read and authenticate a receipt. Raises FrameError if the bytes are not a receipt, or MismatchError
        if its tag is not one under this key."""
        if len(data) != RECEIPT_BYTES or data[0] != _KIND:
            raise FrameError(
                f"These {len(data)} bytes are no receipt, which has {RECEIPT_BYTES}: see what answered."
            )
        body, tag = data[:-TAG_BYTES], data[-TAG_BYTES:]
        if not hmac.compare_digest(_core.tag(receipt_key, body), tag):
            raise MismatchError(
                "The receipt's tag does not match: it was altered or forged, or is another device's; send "
                "the window again."
            )
        _, verdict, epoch, device, window, counter, tags = _BODY.unpack(body)
        try:
            return cls(Verdict(verdict), device, epoch, window, counter, tags)
        except ValueError:
            raise FrameError(f"The receipt has verdict {verdict}, of a later version: update.") from None


def receipt_bytes(
    receipt_key: bytes, verdict: int, device: int, epoch: int, window: int, counter: int, tags: int
) -> bytes:
    """Write a receipt, whose fields are Receipt's, in 40 bytes."""
    body = _BODY.pack(_KIND, verdict, epoch, device, window, counter, tags)
    return body + _core.tag(receipt_key, body)


def tag_sum(tags: list[bytes]) -> int:
    """Return the sum of tags of 8 bytes each that a receipt confirms."""
    return sum(int.from_bytes(tag, "little") for tag in tags) % 2**64
