# SPDX-License-Identifier: Apache-2.0
"""Devices on this machine, each behind a DeviceLink: a process (ports/linux), and a Cortex-M4
(ports/mps2-an386) and a micro:bit (ports/microbit) that QEMU simulates.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from link import DEFAULT_TIMEOUT, DeviceLink, LinkError

_FLASH_FILE = "ciphermote-flash"
_FLASH_ADDRESS, _FLASH_BYTES = 0x3F800, 2048  # the last two pages (ports/microbit/application.ld)
_CONTROL_TIMEOUT = 10.0


class _Device:
    """A device that is a process of this machine, talked to over its standard input and output."""

    def __init__(self, program: Path, workdir: str | os.PathLike[str], timeout: float) -> None:
        self._program = program.resolve()
        self._workdir = Path(workdir)
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._link: DeviceLink | None = None

    def _command(self) -> Sequence[str]:
        raise NotImplementedError

    def _inherited(self) -> Sequence[int]:
        """Descriptors that the process takes over."""
        return ()

    def _end(self, *, failed: bool) -> None:
        """Let a process that still runs end in order, before it is killed. failed: by an error."""
        assert self._process is not None and self._link is not None
        if failed:
            return
        self._link.timeout = 2.0
        with contextlib.suppress(LinkError, subprocess.TimeoutExpired):
            self._link.stop()
            self._process.wait(2.0)

    def __enter__(self) -> DeviceLink:
        if not self._program.is_file():
            raise LinkError(f"There is no program {self._program}: build it (ports/README.md says how).")
        if not self._workdir.is_dir():
            raise LinkError(
                f"There is no directory {self._workdir} for the device to keep its counter in: make it."
            )
        command = self._command()
        errors = tempfile.TemporaryFile()
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._workdir,
                bufsize=0,
                pass_fds=self._inherited(),
            )
        except OSError as error:
            errors.close()
            raise LinkError(f"The device {command[0]} cannot be started: {error.strerror}.") from error
        assert process.stdin is not None and process.stdout is not None
        self._process, self._errors = process, errors
        self._link = DeviceLink(process.stdout, process.stdin, self._timeout, self._describe_end)
        return self._link

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None and self._errors is not None
        try:
            if self._process.poll() is None:
                self._end(failed=kind is not None)
        finally:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._errors):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def _describe_end(self) -> str:
        """Describe how the process ended, if it has."""
        assert self._process is not None and self._errors is not None
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return ""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 500))
        said = self._errors.read().decode(errors="replace").strip()
        return f"{self._program.name} ended with exit code {code}{': ' + said if said else '.'}"


class ProcessDevice(_Device):
    """A device that is a program of its own: the Linux port.

    Keeps its counter in workdir, which one device at a time may use. ``with ProcessDevice(exe, workdir) as
    link`` starts it and gives a DeviceLink; the program ends with the block, whatever happens. Raises
    LinkError if it cannot be started.
    """

    def __init__(
        self,
        executable: str | os.PathLike[str],
        workdir: str | os.PathLike[str],
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        super().__init__(Path(executable), workdir, timeout)

    def _command(self) -> Sequence[str]:
        return [str(self._program)]


class QemuDevice(_Device):
    """A Cortex-M4 that QEMU simulates (machine mps2-an386) with the firmware elf; else as ProcessDevice.

    plugin: a QEMU plugin with its options, such as bench/m4's cycle model ("cycles.so,out=cycles.csv").
    """

    def __init__(
        self,
        elf: str | os.PathLike[str],
        workdir: str | os.PathLike[str],
        timeout: float = DEFAULT_TIMEOUT,
        plugin: str | None = None,
    ) -> None:
        super().__init__(Path(elf), workdir, timeout)
        self._plugin = plugin

    def _command(self) -> Sequence[str]:
        return [
            *_qemu("mps2-an386", self._program),
            *("-semihosting-config", "enable=on,target=native"),
            *(() if self._plugin is None else ("-plugin", self._plugin)),
        ]


class MicrobitDevice(_Device):
    """A BBC micro:bit that QEMU simulates (machine microbit) with the firmware elf; else as ProcessDevice.

    QEMU forgets flash when it ends, so the two pages that keep the counter are loaded from the file
    ciphermote-flash in workdir, and saved there when the block ends, in whatever state they then are: to
    the device this is a power cut. While the device runs the file has another name; if this process is
    killed, that is how it stays, and the counter that the pages held is lost: provision the device anew.
    """

    def __init__(
        self,
        elf: str | os.PathLike[str],
        workdir: str | os.PathLike[str],
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        super().__init__(Path(elf), workdir, timeout)
        self._flash = self._workdir.resolve() / _FLASH_FILE
        self._taken = self._flash.with_name(f"{_FLASH_FILE}.running")
        self._control: socket.socket | None = None
        self._qemu_end: socket.socket | None = None

    def __enter__(self) -> DeviceLink:
        self._control, self._qemu_end = socket.socketpair()
        try:
            return super().__enter__()
        except BaseException:
            self._control.close()
            raise
        finally:
            self._qemu_end.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._control is not None
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._control.close()

    def _command(self) -> Sequence[str]:
        assert self._qemu_end is not None
        command = _qemu("microbit", self._program)
        self._take_flash()
        return [
            *command,
            *("-device", f"loader,file={self._taken.name},addr={_FLASH_ADDRESS},force-raw=on"),
            *("-chardev", f"socket,id=control,fd={self._qemu_end.fileno()}"),
            *("-mon", "chardev=control,mode=control"),
            *("-action", "reboot=shutdown,shutdown=pause"),  # after a fault, the flash can still be saved
        ]

    def _inherited(self) -> Sequence[int]:
        assert self._qemu_end is not None
        return (self._qemu_end.fileno(),)

    def _take_flash(self) -> None:
        if self._taken.exists():
            raise LinkError(
                f"{self._taken} is there: another simulation uses this directory, or one was killed and its "
                "counter is lost. If none runs, provision the device anew and remove the file."
            )
        if self._flash.exists():
            self._flash.rename(self._taken)
        else:
            self._taken.write_bytes(b"\xff" * _FLASH_BYTES)

    def _end(self, *, failed: bool) -> None:
        saved = self._flash.with_name(f"{_FLASH_FILE}.new")
        self._ask("qmp_capabilities")
        self._ask("stop")
        self._ask("memsave", val=_FLASH_ADDRESS, size=_FLASH_BYTES, filename=str(saved))
        saved.rename(self._flash)
        self._taken.unlink()

    def _ask(self, command: str, **arguments: int | str) -> None:
        """One command of QEMU's machine protocol (QMP): JSON lines, with events between the answers."""
        assert self._control is not None
        self._control.settimeout(_CONTROL_TIMEOUT)
        try:
            self._control.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
            answer: dict[str, object] = {}
            while "return" not in answer and "error" not in answer:
                answer = json.loads(self._control_line())
        except (OSError, ValueError) as error:
            raise LinkError(
                f"QEMU does not take {command}, so the flash cannot be saved: {error}."
            ) from error
        if "error" in answer:
            raise LinkError(f"QEMU refused {command}, so the flash cannot be saved: {answer['error']}.")

    def _control_line(self) -> bytes:
        assert self._control is not None
        line = b""
        while not line.endswith(b"\n"):
            byte = self._control.recv(1)
            if not byte:
                raise OSError("it closed the connection")
            line += byte
        return line


def _qemu(machine: str, program: Path) -> list[str]:
    """The command that simulates a machine with a program, its first UART on standard input and output."""
    qemu = shutil.which("qemu-system-arm")
    if qemu is None:
        raise LinkError(
            "qemu-system-arm is not installed: install QEMU (Debian: apt-get install qemu-system-arm)."
        )
    streams = ("-display", "none", "-monitor", "none", "-serial", "stdio")
    return [qemu, "-M", machine, *streams, "-kernel", str(program)]
