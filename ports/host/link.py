# SPDX-License-Identifier: Apache-2.0
"""The host's side of the link to a device: requests out, encrypted frames back.

The records are specified in ports/README.md. This module checks every record's form and CRC-32C, and leaves
what is inside the frames to the adapter. It never sees a secret key.
"""

from __future__ import annotations

import os
import selectors
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from ciphermote.base.arguments import array
from ciphermote.base.errors import Error
from ciphermote.parameters import MAX_LOG2_SCALE
from numpy.typing import ArrayLike, NDArray

AIDED_SCHEMES = {"bfv": 1, "ckks": 2}
KEY_KINDS = {"symmetric": 1, "asymmetric": 2}
XOFS = {"blake2xb": 1, "shake256": 2, "chacha20": 3}
STATUS_NAMES = (
    "CM_OK",
    "CM_ERR_ARGUMENT",
    "CM_ERR_PARAMS",
    "CM_ERR_ARENA",
    "CM_ERR_TOO_MANY",
    "CM_ERR_NOT_FINITE",
    "CM_ERR_VALUE_RANGE",
    "CM_ERR_RANDOM",
    "CM_ERR_COUNTER",
    "CM_ERR_SINK",
    "CM_ERR_UNSUPPORTED",
    "CM_ERR_FRAME_SHORT",
    "CM_ERR_FRAME_MAGIC",
    "CM_ERR_FRAME_VERSION",
    "CM_ERR_FRAME_FIELD",
    "CM_ERR_FRAME_CRC",
    "CM_ERR_RESIDUE",
    "CM_ERR_PLAIN_MODULUS",
    "CM_ERR_FRAME_ORDER",
    "CM_ERR_FRAME_FOREIGN",
    "CM_ERR_FRAME_SEED",
    "CM_ERR_FRAME_DOMAIN",
    "CM_ERR_SCALE",
    "CM_ERR_SHARED_NOISE",
    "CM_ERR_SESSIONS",
    "CM_ERR_EXPANDER",
    "CM_ERR_FRAME_TAG",
    "CM_ERR_UNRECEIPTED",
    "CM_ERR_PUBLIC_KEY",
)
"""The C library's status codes, in order (core/include/ciphermote/status.h)."""

_STATUS_SENTENCES = {
    "CM_ERR_ARGUMENT": "the request has no values: give one or more",
    "CM_ERR_PARAMS": "its firmware was built without the key's parameter set: build it again",
    "CM_ERR_ARENA": "its firmware was built for a smaller ring degree than its key has: build it again",
    "CM_ERR_TOO_MANY": "there are more values than slots: send fewer, or provision a larger ring degree",
    "CM_ERR_NOT_FINITE": "a value is NaN or infinite: mend the reading",
    "CM_ERR_VALUE_RANGE": "a value times the scale is too large for precision or modulus: lower the scale",
    "CM_ERR_RANDOM": "its random source failed, is stuck or repeats itself: mend it before using the device",
    "CM_ERR_COUNTER": "its counter cannot be read or stored: mend its storage, never set the counter back",
    "CM_ERR_SINK": "it could not send all of the ciphertext: ask again",
    "CM_ERR_UNSUPPORTED": "its firmware has no key of that kind, or not that XOF: provision and build it so",
    "CM_ERR_FRAME_SHORT": "the request reached it incomplete: ask again",
    "CM_ERR_FRAME_MAGIC": "it received bytes that are not a request: check what else writes to the link",
    "CM_ERR_FRAME_VERSION": "it speaks another protocol version: take firmware and host from one release",
    "CM_ERR_FRAME_FIELD": "it expects another form of request: take firmware and host from one release",
    "CM_ERR_FRAME_CRC": "the request, or a result's frame in it, was damaged on its way: ask again",
    "CM_ERR_RESIDUE": "a result holds numbers that no ciphertext has: check the server",
    "CM_ERR_PLAIN_MODULUS": "its plain modulus does not suit its key: build its firmware with another",
    "CM_ERR_FRAME_ORDER": "a result's frame came twice, too early or too late: send the latest round's alone",
    "CM_ERR_FRAME_FOREIGN": "a result or receipt is not of what the device sent last: check the server",
    "CM_ERR_FRAME_SEED": "a result holds a seed instead of a component: take what device_frames makes",
    "CM_ERR_FRAME_DOMAIN": "a result is in coefficient form: take what device_frames makes",
    "CM_ERR_SCALE": "a scale is missing, or too large for primes and values: lower it, or check the plan",
    "CM_ERR_SHARED_NOISE": "the noise asked for would not hide the decryption's own: ask for more",
    "CM_ERR_SESSIONS": "its key has served all the sessions that it may: make and provision new keys",
    "CM_ERR_EXPANDER": "its firmware has not set up a seed expander, or gave two decryptors one: mend it",
    "CM_ERR_FRAME_TAG": "the tag of a result or receipt does not match: compare the enrolment, and drop it",
    "CM_ERR_UNRECEIPTED": "its last window waits for a receipt: hand it over, or have the window sent again",
    "CM_ERR_PUBLIC_KEY": "the public key that came is not its owner's, or was altered: send it that key",
}

_VERSION = 1
_REQUEST = struct.Struct("<4sBBBBBBHI")
_REPLY = struct.Struct("<4sBBHI")
_CRC = struct.Struct("<I")
_END = struct.Struct("<IIII")
_REPORT = struct.Struct("<BBBBIQIIIIIIII")
_TAGGED_REPORT = struct.Struct("<IHBBQ")
_WINDOWS_SURVIVE, _WINDOW_UNRECEIPTED, _WINDOW_LOST = 1, 2, 4
_REQUEST_MAGIC, _REPLY_MAGIC = b"CMRQ", b"CMRP"
_ENCRYPT_WINDOW, _ENCRYPT_VALUES, _REPORT_REQUEST, _STOP = 1, 2, 3, 4
_AIDED_BEGIN, _AIDED_RESULT, _AIDED_ANSWER = 5, 6, 7
_ENCRYPT_AGAIN, _RECEIPT, _POLYNOMIAL = 8, 9, 10
_RESULT_PIECE = 1024
_DATA, _REPORT_REPLY, _END_REPLY, _POLYNOMIAL_WANTED = 1, 2, 3, 4
_WANTED = struct.Struct("<BBHQ")
_KEY_STREAMED = 4
_MAX_REPLY_PAYLOAD = 64
_MAX_REQUEST_PAYLOAD = 65536
_MAX_ANSWER = 1 << 21
"""Bytes. The largest ciphertext takes 1.8 MB: two polynomials at 16 primes of 27 bits, n = 16384."""
_MOST_POLYNOMIALS = 2 * 2 * 16
"""The longest public key, two polynomials at each of 16 primes, twice: emitters of one component after the
other have it loaded for each."""
_NO_SEQUENCE = 0xFFFF
_CHUNK = 65536

DEFAULT_TIMEOUT = 60.0
"""Seconds that a device may take for one answer, until told otherwise."""


class LinkError(Error):
    """A device that refused, fell silent, ended, or sent bytes that are no reply.

    status: the name of the device's status (one of STATUS_NAMES), or None if it has none here, or the link
    itself failed.
    """

    def __init__(self, message: str, status: str | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class WindowReport:
    """A device that sends tagged frames: who it is, and what it stores.

    ``unreceipted`` is the number of the window whose receipt it waits for, or None. ``survives``: such a
    window survives a restart; on other devices it is dropped then. ``lost``: at this start a stored one was
    damaged, or of an earlier enrolment, and dropped.
    """

    device: int
    epoch: int
    unreceipted: int | None
    survives: bool
    lost: bool


@dataclass(frozen=True)
class DeviceReport:
    """A device's report about itself, with sizes in bytes.

    ``static_bytes`` is all static data, the arena and the sink buffer included (the values lie in the arena);
    ``stack_bytes`` the deepest its stack has been since it started, and ``total_bytes`` the sum of the two.
    ``ram_bytes`` is what the port may use, 0 if it has no fixed limit. ``status`` is how its start went:
    one of STATUS_NAMES, or "unknown". ``windows`` is None for a device without an identity. ``streams_key``:
    the public key is not on the device, but sent to it while it encrypts.
    """

    version: str
    parameter_set_id: int
    key_id: int
    ring_degree: int
    keys: tuple[str, ...]
    static_bytes: int
    arena_bytes: int
    sink_buffer_bytes: int
    stack_bytes: int
    total_bytes: int
    ram_bytes: int
    status: str
    windows: WindowReport | None = None
    streams_key: bool = False


@dataclass(frozen=True)
class Measurement:
    """The costs of one request in bytes: frames sent, arena that its kind of key needs, and how deep the
    stack was."""

    frame_bytes: int
    arena_bytes: int
    stack_bytes: int


class ByteStream(Protocol):
    """A binary stream with a file descriptor: a pipe, a socket's file, a serial port."""

    def fileno(self) -> int:
        """The descriptor."""
        ...


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) of data."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _name_of(status: int) -> str | None:
    """Name a status; None for one of a release that this host does not know."""
    return STATUS_NAMES[status] if status < len(STATUS_NAMES) else None


def _refusal(status: int) -> LinkError:
    name = _name_of(status)
    if name is None:
        return LinkError(
            "The device refused for a reason that this host has no name for: its firmware is of another "
            "release, so take firmware and host from one."
        )
    return LinkError(f"The device refused ({name}): {_STATUS_SENTENCES[name]}.", name)


def _windows(payload: bytes) -> WindowReport | None:
    if not payload:
        return None
    device, epoch, flags, _, number = _TAGGED_REPORT.unpack(payload)
    unreceipted = number if flags & _WINDOW_UNRECEIPTED else None
    return WindowReport(
        device, epoch, unreceipted, bool(flags & _WINDOWS_SURVIVE), bool(flags & _WINDOW_LOST)
    )


def _choice(value: str, choices: dict[str, int], what: str) -> int:
    if value not in choices:
        raise LinkError(f"There is no {what} {value!r}: choose one of {', '.join(choices)}.")
    return choices[value]


class DeviceLink:
    """A device at the end of two streams: reader gives what it sends, writer takes what it is to receive.

    The streams must have file descriptors; they are read and written through these, past any buffer of their
    own, and are left open. timeout: seconds for one whole answer. describe_end, if given, is asked for a
    sentence when the device closes the link.
    """

    def __init__(
        self,
        reader: ByteStream,
        writer: ByteStream,
        timeout: float = DEFAULT_TIMEOUT,
        describe_end: Callable[[], str] | None = None,
    ) -> None:
        self._input = reader.fileno()
        self._output = writer.fileno()
        self._describe_end = describe_end or (lambda: "")
        self._received = bytearray()
        self._sequence = 0
        self._broken = ""
        self.timeout = timeout
        self.measurement: Measurement | None = None
        """The measurement of the last request that succeeded."""
        self.public_key: NDArray[np.uint32] | None = None
        """The owner's public key, uint32 [data primes, 2, n] in NTT form (``PublicKey.load(keys).residues``),
        for a device that has only its digests and asks for it while it encrypts."""
        os.set_blocking(self._output, False)

    def encrypt_window(self, window: ArrayLike, key: str = "symmetric", xof: str = "chacha20") -> bytes:
        """Let the device derive the features of a window, standardise and encrypt them.

        window: float32 [channels, samples], of the device's model. key: "symmetric" or "asymmetric"; xof, for
        symmetric alone: "chacha20", "shake256" or "blake2xb". Returns the ciphertext's frames, end to end.
        Raises LinkError if the device refuses (its ``status`` says why) or the link fails.
        """
        samples = self._floats(window)
        if samples.ndim != 2:
            raise LinkError(f"A window is an array [channels, samples], not {list(samples.shape)}.")
        return self._encrypt(_ENCRYPT_WINDOW, samples, key, xof, 0)

    def encrypt_values(
        self, values: ArrayLike, log2_scale: int = 22, key: str = "symmetric", xof: str = "chacha20"
    ) -> bytes:
        """Encrypt values, float32 [count], one a slot, at scale 2^log2_scale; the rest as encrypt_window."""
        numbers = self._floats(values)
        if numbers.ndim != 1:
            raise LinkError(f"Values are an array [count], not {list(numbers.shape)}.")
        if not 1 <= log2_scale <= MAX_LOG2_SCALE:
            raise LinkError(
                f"The scale 2^{log2_scale} cannot be asked for: log2_scale is 1 to {MAX_LOG2_SCALE}."
            )
        return self._encrypt(_ENCRYPT_VALUES, numbers, key, xof, log2_scale)

    def encrypt_again(self, key: str = "symmetric", xof: str = "chacha20") -> bytes:
        """Another attempt to send the window that waits for its receipt; the rest as encrypt_window."""
        xof_code = _choice(xof, XOFS, "XOF") if key == "symmetric" else 0
        return self.request(_ENCRYPT_AGAIN, b"", _choice(key, KEY_KINDS, "kind of key"), xof_code)

    def receipt(self, receipt: bytes) -> None:
        """Hand the device the gateway's receipt of its latest attempt; it then drops the window's readings.
        Raises LinkError with status CM_ERR_FRAME_FOREIGN for one of another attempt, and CM_ERR_FRAME_TAG for
        a forged one: the device keeps the readings."""
        self.request(_RECEIPT, receipt)

    def aided_begin(self, vectors: ArrayLike, scheme: str) -> bytes:
        """Open a client-aided session: the frames of its first ciphertext.

        vectors: [count, features] of the device's network; int16 for scheme "bfv", float32 for "ckks". The
        rest as encrypt_window.
        """
        code = _choice(scheme, AIDED_SCHEMES, "scheme")
        kind = "<i2" if scheme == "bfv" else "<f4"
        numbers = array(vectors, LinkError)
        if numbers.ndim != 2 or numbers.dtype != np.dtype(kind) or numbers.nbytes > _MAX_REQUEST_PAYLOAD:
            raise LinkError(
                f"A {scheme} session begins with vectors [count, features] of type {np.dtype(kind)} and at "
                f"most {_MAX_REQUEST_PAYLOAD} bytes, not with {numbers.dtype} {list(numbers.shape)}."
            )
        return self.request(_AIDED_BEGIN, numbers.astype(kind).tobytes(), code)

    def aided_answer(self, result: bytes) -> bytes:
        """Hand the device a round's result: the frames of the next ciphertext, or after the last round no
        bytes, for the device shows the classes to its owner alone. The rest as encrypt_window; after an error
        the session is over."""
        for start in range(0, len(result), _RESULT_PIECE):
            self.request(_AIDED_RESULT, result[start : start + _RESULT_PIECE])
        return self.request(_AIDED_ANSWER)

    def report(self) -> DeviceReport:
        """Ask the device for its version, keys and use of memory."""
        payload = self.request(_REPORT_REQUEST)
        if len(payload) not in (_REPORT.size, _REPORT.size + _TAGGED_REPORT.size):
            raise LinkError(f"The device's report has {len(payload)} bytes instead of {_REPORT.size}.")
        major, minor, patch, keys, params, key_id, degree, *sizes, status = _REPORT.unpack_from(payload)
        static, arena, sink_buffer, stack, total, ram = sizes
        return DeviceReport(
            version=f"{major}.{minor}.{patch}",
            parameter_set_id=params,
            key_id=key_id,
            ring_degree=degree,
            keys=tuple(name for name, bit in KEY_KINDS.items() if keys & bit),
            static_bytes=static,
            arena_bytes=arena,
            sink_buffer_bytes=sink_buffer,
            stack_bytes=stack,
            total_bytes=total,
            ram_bytes=ram,
            status=_name_of(status) or "unknown",
            windows=_windows(payload[_REPORT.size :]),
            streams_key=bool(keys & _KEY_STREAMED),
        )

    def stop(self) -> None:
        """Ask the device to end its program; the simulated ones then exit."""
        self.request(_STOP)

    def request(
        self, kind: int, payload: bytes = b"", key: int = 0, xof: int = 0, log2_scale: int = 0
    ) -> bytes:
        """Send one request with its fields as they are, and return all data of the answer."""
        deadline = time.monotonic() + self.timeout
        self._sequence = (self._sequence + 1) % _NO_SEQUENCE
        self._send(kind, payload, key, xof, log2_scale)
        return self._answer(self._sequence, deadline)

    def _send(self, kind: int, payload: bytes, *fields: int) -> None:
        header = _REQUEST.pack(_REQUEST_MAGIC, _VERSION, kind, *fields, 0, self._sequence, len(payload))
        record = header + payload
        self.send_bytes(record + _CRC.pack(crc32c(record)))

    def send_polynomial(self, component: int, prime: int) -> None:
        """Answer a device that asks for a polynomial of the public key: with it, or with none if the public
        key here has no such polynomial."""
        words = b""
        if self.public_key is not None and prime < len(self.public_key) and component < 2:
            words = self.public_key[prime, component].astype("<u4").tobytes()
        self._send(_POLYNOMIAL, words, component, prime, 0)

    def send_bytes(self, data: bytes) -> None:
        """Write raw bytes to the device, within the timeout."""
        deadline = time.monotonic() + self.timeout
        rest = memoryview(data)
        while rest:
            self._wait(self._output, selectors.EVENT_WRITE, deadline)
            try:
                rest = rest[os.write(self._output, rest[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._fail(f"The device accepts no more bytes ({error.strerror}).") from error

    def receive_answer(self, sequence: int) -> bytes:
        """Wait for the answer to bytes that send_bytes sent; sequence is their request's."""
        return self._answer(sequence, time.monotonic() + self.timeout)

    def _floats(self, values: ArrayLike) -> NDArray[np.float32]:
        found = array(values, LinkError)
        if found.dtype.kind not in "biuf":
            raise LinkError(f"The values are of type {found.dtype}, not real numbers: give numbers.")
        with np.errstate(over="ignore"):
            numbers = found.astype("<f4")
        if numbers.nbytes > _MAX_REQUEST_PAYLOAD:
            limit = _MAX_REQUEST_PAYLOAD // 4
            raise LinkError(f"{numbers.size} values do not fit one request: send at most {limit}.")
        return numbers

    def _encrypt(self, kind: int, numbers: NDArray[np.float32], key: str, xof: str, log2_scale: int) -> bytes:
        key_code = _choice(key, KEY_KINDS, "kind of key")
        xof_code = _choice(xof, XOFS, "XOF") if key == "symmetric" else 0
        return self.request(kind, numbers.tobytes(), key_code, xof_code, log2_scale)

    def _answer(self, sequence: int, deadline: float) -> bytes:
        """Collect records up to the end record; those of earlier requests, never awaited, are skipped."""
        data = bytearray()
        asked = 0
        while True:
            kind, number, payload = self._record(deadline)
            if number != sequence and number != _NO_SEQUENCE:
                continue
            if kind == _POLYNOMIAL_WANTED:
                asked += 1
                if len(payload) != _WANTED.size or asked > _MOST_POLYNOMIALS:
                    raise self._fail(
                        "The device asks for more polynomials than its public key has: connect again."
                    )
                component, prime, *_ = _WANTED.unpack(payload)
                self.send_polynomial(component, prime)
                continue
            if kind != _END_REPLY:
                data += payload
                if len(data) > _MAX_ANSWER:
                    raise self._fail("The device's answer is longer than any ciphertext: connect again.")
                continue
            if len(payload) != _END.size:
                raise self._fail(f"The device's end record has {len(payload)} bytes instead of {_END.size}.")
            status, *figures = _END.unpack(payload)
            measurement = Measurement(*figures)
            if status != 0 and asked and self.public_key is None:
                raise LinkError(
                    "The device asks for its owner's public key, which it does not hold: set public_key.",
                    _name_of(status),
                )
            if status != 0:
                raise _refusal(status)
            if number != sequence:
                continue
            if measurement.frame_bytes not in (0, len(data)):
                raise self._fail(
                    f"Of {measurement.frame_bytes} bytes of frames {len(data)} came: connect again."
                )
            self.measurement = measurement
            return bytes(data)

    def _record(self, deadline: float) -> tuple[int, int, bytes]:
        magic, version, kind, sequence, length = _REPLY.unpack(self._peek(_REPLY.size, deadline))
        known = _DATA <= kind <= _POLYNOMIAL_WANTED and length <= _MAX_REPLY_PAYLOAD
        if magic != _REPLY_MAGIC or (version == _VERSION and not known):
            raise self._fail("What the device sent is not a reply: check that it runs this firmware.")
        if version != _VERSION:
            raise self._fail(
                f"The device speaks version {version} of the protocol and this host version {_VERSION}: "
                "use firmware and host from one release."
            )
        size = _REPLY.size + length
        record = self._peek(size + _CRC.size, deadline)
        if _CRC.unpack(record[size:])[0] != crc32c(record[:size]):
            raise self._fail("A reply of the device was damaged on its way: connect again.")
        del self._received[: len(record)]
        return kind, sequence, record[_REPLY.size : size]

    def _peek(self, count: int, deadline: float) -> bytes:
        while len(self._received) < count:
            self._wait(self._input, selectors.EVENT_READ, deadline)
            try:
                chunk = os.read(self._input, _CHUNK)
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._fail(f"The device cannot be read ({error.strerror}).") from error
            if not chunk:
                raise self._fail("The device closed the link.")
            self._received += chunk
        return bytes(self._received[:count])

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        if self._broken:
            raise LinkError(f"The link is closed since an error: {self._broken} Connect again.")
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(descriptor, event)
            except PermissionError:
                return  # an ordinary file is always ready
            left = deadline - time.monotonic()  # a device that floods the link is always ready
            if left <= 0 or not selector.select(left):
                what = "take the request" if event == selectors.EVENT_WRITE else "answer"
                raise LinkError(
                    f"The device did not {what} within {self.timeout:g} s: is it on and connected?"
                )

    def _fail(self, sentence: str) -> LinkError:
        """The error for a stream whose records can no longer be told apart; the link stays closed then."""
        detail = self._describe_end()
        self._broken = f"{sentence} {detail}".strip()
        return LinkError(self._broken)
