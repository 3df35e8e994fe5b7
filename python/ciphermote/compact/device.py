# SPDX-License-Identifier: Apache-2.0
"""A device of the compact lane in Python, for computers that measure: the C library's encryptor.

The counter must last: a device that encrypts two windows under one counter and the same random bytes reveals
their difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ciphermote import _core
from ciphermote.base import arguments
from ciphermote.base.errors import ValueRangeError
from ciphermote.base.forks import Opener
from ciphermote.compact.keys import CompactKeys, Enrolment

NEW_WINDOW = 2**64 - 1


class CompactDevice:
    """Encrypts values to packets of at most packet_bytes each.

    counter_read, counter_write: the device's persistent counter, 0 at first; a written value is on the medium
    when the write returns. random: returns this many random bytes. Raises ParameterError for packets without
    room for a value, and for use outside the process that opened it.
    """

    def __init__(
        self,
        keys: CompactKeys,
        enrolment: Enrolment,
        *,
        packet_bytes: int,
        counter_read: Callable[[], int],
        counter_write: Callable[[int], object],
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._opener = Opener("The device")
        self._largest = enrolment.largest_value
        self._device = _core.CompactDevice(
            keys.set.id,
            keys.packed,
            keys.material(enrolment),
            enrolment.device,
            enrolment.epoch,
            enrolment.largest_value,
            arguments.whole(packet_bytes, "packet_bytes", 1, 2**16 - 1),
            random,
            counter_read,
            counter_write,
        )

    def encrypt(
        self, values: ArrayLike, first: int = 0, window: int | None = None
    ) -> tuple[list[bytes], int]:
        """Encrypt values for the coefficients from `first` on, and return (the packets, the window's number).

        window: the number of a window to send again; None for a new one. To repeat, send the same packet, or
        encrypt the window again under its number. Raises ValueRangeError for too many values, or for one that
        is not an integer or exceeds the largest that the device is enrolled for.
        """
        self._opener.check()
        numbers = arguments.array(values, ValueRangeError)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise ValueRangeError("The values are not a list of whole numbers from 0 on: give those.")
        if (numbers > self._largest).any():
            at = int(np.argmax(numbers > self._largest))
            raise ValueRangeError(
                f"Value {at}, {int(numbers[at])}, is above {self._largest}, the largest that the device is "
                "enrolled for: send less, or enroll it for more."
            )
        clipped = np.minimum(numbers, 2**16 - 1).astype(np.uint16)
        number = NEW_WINDOW if window is None else window
        packets, number = self._device.encrypt(clipped, first, number)
        return packets, number
