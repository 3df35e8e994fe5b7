# SPDX-License-Identifier: Apache-2.0
"""Read a serial port in pieces of bytes. Needs the extra `serial` (pyserial)."""

from __future__ import annotations

from collections.abc import Iterator

from ciphermote.base.errors import EngineError, FrameError
from ciphermote.base.words import how_to_install

_MOST_BYTES = 1 << 16


def pieces(port: str, baud: int) -> Iterator[bytes]:
    """Yield bytes as they arrive, without end. Raises FrameError if the port cannot be opened or disappears;
    EngineError without pyserial."""
    try:
        import serial
    except ModuleNotFoundError:
        raise EngineError(f"Serial ports need the package pyserial: {how_to_install('serial')}.") from None
    try:
        with serial.Serial(port, baud, exclusive=True) as line:
            while True:
                yield line.read(max(1, min(line.in_waiting, _MOST_BYTES)))
    except (serial.SerialException, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FrameError(
            f"The serial port {port} cannot be used at {baud} baud ({reason}): check its name, that the "
            "device is connected, and that you may read it (on Debian, the group dialout)."
        ) from None
