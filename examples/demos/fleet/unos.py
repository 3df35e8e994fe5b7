# SPDX-License-Identifier: Apache-2.0
"""Arduino Unos, simulated cycle by cycle, which encrypt a day to a packet and keep it until its receipt."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "bench" / "avr"), str(ROOT / "ports" / "arduino" / "demo")]

from arduino import UNO, build_sketch  # noqa: E402
from boards import UNO_CYCLES, counter_log, open_board, watchdog_jitter  # noqa: E402
from ciphermote.base.errors import Error  # noqa: E402
from link import STATUS_NAMES  # noqa: E402
from machine import Machine, MachineError  # noqa: E402

SKETCH = Path(__file__).with_name("fleet_uno.ino")
_PASSING = ("CM_ERR_FRAME_FOREIGN", "CM_ERR_FRAME_TAG")


def build(folder: Path) -> Path:
    """The image of an Uno whose compact_keys.h is in folder. Raises Error."""
    try:
        return build_sketch(SKETCH, UNO, folder, name=f"fleet-{folder.name}")
    except MachineError as error:
        raise Error(str(error)) from None


class Uno:
    """One with a new counter, for a with block. Raises Error if its firmware refuses or ends."""

    def __init__(self, image: Path) -> None:
        self._image = image
        self._taken = 0

    def __enter__(self) -> Self:
        self._machine: Machine = open_board(
            self._image, UNO, counter_log(0), watchdog_jitter(self._image.parent.name)
        )
        self._machine.leave_out_digests()
        try:
            self._expect_ok(*self._run(b""))
        except BaseException:
            self._machine.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._machine.__exit__(kind, error, trace)

    def encrypt(self, readings: Sequence[int]) -> list[bytes]:
        """The packets of a new window, which the Uno keeps."""
        return self._expect_ok(*self._run(b"M" + struct.pack(f"<{len(readings)}H", *readings)))

    def encrypt_again(self) -> list[bytes]:
        """Encrypt the stored window again, for another attempt."""
        return self._expect_ok(*self._run(b"A"))

    def take_receipt(self, receipt: bytes) -> bool:
        """Whether it was for the latest attempt, and the Uno has dropped the window."""
        packets, status = self._run(b"R" + receipt)
        if _name(status) in _PASSING:
            return False
        self._expect_ok(packets, status)
        return True

    def _run(self, command: bytes) -> tuple[list[bytes], int]:
        """(packets, status)"""
        self._machine.feed(command)
        self._machine.run(UNO_CYCLES)
        if not self._machine.starved:
            raise Error(f"The Uno has not answered within {UNO_CYCLES:,} cycles.")
        text = self._machine.text[self._taken :]
        self._taken += len(text)
        packets = []
        while text[:1] == b"P":
            end = 2 + text[1]
            packets.append(text[2:end])
            text = text[end:]
        if len(text) != 2 or text[:1] != b"S":
            raise Error(f"The Uno's answer ends with {text[-8:].hex()}, which is no status.")
        return packets, text[1]

    @staticmethod
    def _expect_ok(packets: list[bytes], status: int) -> list[bytes]:
        if status:
            raise Error(f"The Uno refused ({_name(status)}).")
        return packets


def _name(status: int) -> str:
    return STATUS_NAMES[status] if status < len(STATUS_NAMES) else str(status)
