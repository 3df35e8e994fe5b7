# SPDX-License-Identifier: Apache-2.0
"""The compact lane's keys: the owner's, a device's and the gateway's.

A fleet has one secret key. Each device also has a device secret, drawn anew at every enrolment, which also
raises the device's epoch. Four keys are derived from it, one for each use, by BLAKE2b (RFC 7693);
docs/wire-format.md has the derivation. The owner's file holds everything. A device gets its derived keys and
the secret key, and never the device secret; the gateway gets the tag keys of the latest epochs, which decrypt
nothing.

The owner's file (integers little-endian):

    offset  bytes  field
    0       4      "CMCK"
    4       2      version, 1
    6       1      compact set id
    7       1      0
    8       8      key id
    16      4      enrolments, e
    20      n/4    secret key, packed as in ciphermote/keys.h
    ..      40 e   device (u32), epoch (u16), largest value (u16), device secret (32)
    ..      16     BLAKE2b-128 of all before

The gateway's begins "CMCG", has no secret key, and 48 bytes of tag key in place of each device secret.
Devices go up, and the epochs of each.

Secrets live in Python's memory while they are used and cannot be wiped from it: keep them on the owner's
machine only.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from ciphermote import _owner
from ciphermote.base import arguments
from ciphermote.base.errors import KeyFileError, MismatchError, ParameterError
from ciphermote.base.files import lock, write_atomically, write_exclusively
from ciphermote.base.secret_files import read_secret_file
from ciphermote.compact.sets import CompactSet, compact_set_by_id
from ciphermote.formats.tags import LARGEST_DEVICE, LARGEST_EPOCH, TagKeys
from ciphermote.owner.keys import SEED_BYTES, SecretKey
from ciphermote.owner.provisioning import FLASH_LINES, byte_rows, new_device_secret, tag_key_lines
from ciphermote.parameters.native import context_of

MATERIAL_BYTES = 144
MOST_ENROLMENTS = 1 << 18

_OWNER, _GATEWAY = b"CMCK", b"CMCG"
_VERSION = 1
_HEAD = struct.Struct("<4sHBBQI")
_ENROLMENT = struct.Struct("<IHH32s")
_GATEWAY_ENTRY = struct.Struct("<IHH48s")
_DIGEST_BYTES = 16
_HEADER_START = "/*\n * One device's compact keys"
_TURN_SECONDS = 60.0


# --- derivation ---------------------------------------------------------------------------------------------


def lane_fields(compact: CompactSet, key_id: int, device: int, epoch: int) -> bytes:
    """Return the fields that bind a device's keys: key id, device, epoch, set, n, primes, t and dropped
    bits."""
    words = (compact.n, *compact.primes, compact.plain_modulus, compact.dropped_bits)
    head = struct.pack("<QIHB", key_id, device, epoch, compact.id)
    return head + struct.pack(f"<{len(words)}Q", *words)


def lane_key(compact: CompactSet, key_id: int, device: int, epoch: int) -> bytes:
    """Derive the lane key, which is public: the public seed of each window is its stream at the window's
    counter and random bytes."""
    return _hash(b"", b"ciphermote compact a" + lane_fields(compact, key_id, device, epoch), 32)


def key_material(compact: CompactSet, key_id: int, enrolment: Enrolment) -> bytes:
    """Derive a device's four keys, which are secret: the lane key, the noise key, the random key and the tag
    key."""
    e = enrolment
    fields = lane_fields(compact, key_id, e.device, e.epoch)
    return (
        lane_key(compact, key_id, e.device, e.epoch)
        + _hash(e.secret, b"ciphermote compact noise" + fields, 32)
        + _hash(e.secret, b"ciphermote compact random" + fields, 32)
        + TagKeys.derive(e.secret, key_id, e.device, e.epoch).frames
    )


def _hash(key: bytes, message: bytes, size: int) -> bytes:
    return hashlib.blake2b(message, key=key, digest_size=size).digest()


# --- the owner ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Enrolment:
    """A device's enrolment in an epoch. largest_value: the largest value that it encrypts; secret: 32
    bytes."""

    device: int
    epoch: int
    largest_value: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True, eq=False)
class CompactKeys:
    """The owner's keys of a fleet. Immutable: enroll returns new ones. packed: the secret key, n/4 bytes;
    enrolments: those of all epochs, in order."""

    set: CompactSet
    key_id: int
    packed: bytes = field(repr=False)
    enrolments: tuple[Enrolment, ...] = ()

    @classmethod
    def generate(cls, compact: CompactSet) -> CompactKeys:
        """Make the keys of a new fleet without devices, from the system's randomness."""
        parameters = compact.parameters
        drawn = _owner.SecretKey.generate(context_of(parameters), _owner.Entropy(os.urandom(SEED_BYTES)))
        secret = SecretKey.from_coefficients(parameters, drawn.coefficients())
        return cls(compact, int.from_bytes(os.urandom(8), "little") or 1, secret.packed)

    @cached_property
    def secret(self) -> SecretKey:
        """The secret key that the fleet shares."""
        return SecretKey(self.set.parameters, self.packed, self.key_id)

    def enroll(
        self, device: int, largest_value: int | None = None, *, after_epoch: int = 0
    ) -> tuple[CompactKeys, Enrolment]:
        """Return the keys with one more device, or with a device's next epoch, and the new enrolment.

        after_epoch: an epoch that the gateway already knows; the new one is later. largest_value: the largest
        value that the device encrypts, on which bounds of sums rest; None for the set's usual one. Raises
        ParameterError for an invalid device or value, or if the device has no epoch left.
        """
        device = arguments.whole(device, "The device (--device)", 0, LARGEST_DEVICE, "2^32 - 1")
        value = self.set.usual_value if largest_value is None else largest_value
        value = arguments.whole(value, "The largest value (--largest-value)", 1, self.set.largest_value)
        if len(self.enrolments) == MOST_ENROLMENTS:
            raise ParameterError(
                f"The fleet has {MOST_ENROLMENTS} enrolments, which is all that its file holds: begin "
                "another."
            )
        epoch = 1 + max((e.epoch for e in self.enrolments if e.device == device), default=0)
        epoch = max(epoch, 1 + arguments.whole(after_epoch, "after_epoch", 0, LARGEST_EPOCH))
        if epoch > LARGEST_EPOCH:
            raise ParameterError(
                f"Device {device} has been enrolled {LARGEST_EPOCH} times, which is all: give it another "
                "number."
            )
        enrolment = Enrolment(device, epoch, value, new_device_secret())
        enrolments = sorted((*self.enrolments, enrolment), key=lambda e: (e.device, e.epoch))
        return replace(self, enrolments=tuple(enrolments)), enrolment

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], Enrolment]:
        return {(e.device, e.epoch): e for e in self.enrolments}

    def enrolment(self, device: int, epoch: int | None = None) -> Enrolment:
        """Return a device's enrolment in an epoch; None for the latest. Raises MismatchError if there is
        none."""
        if epoch is None:
            epoch = max((e.epoch for e in self.enrolments if e.device == device), default=0)
        found = self._by_place.get((device, epoch))
        if found is None:
            raise MismatchError(
                f"Device {device} (epoch {epoch}) is not enrolled with key {self.key_id:016x}: use the keys "
                "that it was enrolled with, or leave it out."
            )
        return found

    def material(self, enrolment: Enrolment) -> bytes:
        """Derive the key_material of one of these devices."""
        return key_material(self.set, self.key_id, enrolment)

    def gateway(self) -> GatewayKeys:
        """Return the keys that check packets: the tag keys of every device's latest epoch."""
        latest = {e.device: e for e in self.enrolments}
        entries = (
            GatewayEntry(
                e.device,
                e.epoch,
                e.largest_value,
                TagKeys.derive(e.secret, self.key_id, e.device, e.epoch).frames,
            )
            for e in latest.values()
        )
        return GatewayKeys(self.set, self.key_id, tuple(entries))

    def to_bytes(self) -> bytes:
        """The owner's file: secret."""
        entries = (_ENROLMENT.pack(e.device, e.epoch, e.largest_value, e.secret) for e in self.enrolments)
        return _pack(_OWNER, self.set, self.key_id, self.packed, entries)

    @classmethod
    def from_bytes(cls, data: bytes) -> CompactKeys:
        """Read what to_bytes wrote. Raises KeyFileError if it is damaged, or something else."""
        compact, key_id, body = _unpack(data, _OWNER, "The owner's compact keys", _ENROLMENT)
        packed, rest = body[: compact.n // 4], body[compact.n // 4 :]
        enrolments = tuple(Enrolment(*values) for values in _ENROLMENT.iter_unpack(rest))
        _check_entries(compact, enrolments, "The owner's compact keys")
        keys = cls(compact, key_id, packed, enrolments)
        if keys.secret.coefficients.max() > 1 or not keys.secret.coefficients.any():
            raise KeyFileError(
                "The owner's compact keys hold no ternary secret key: restore them from a copy."
            )
        return keys

    def save(self, path: Path) -> None:
        """Write the keys to a new file that only its owner may read. Raises KeyFileError if the file
        exists."""
        try:
            write_exclusively(path, self.to_bytes(), 0o600)
        except FileExistsError:
            raise KeyFileError(f"{path} exists, and keys are never overwritten: name another file.") from None
        except OSError as error:
            raise _unwritable(path, error) from None

    @classmethod
    def load(cls, path: Path) -> CompactKeys:
        """Raises KeyFileError if the file is missing, open to others, damaged, or none."""
        return cls.from_bytes(read_secret_file(path))

    @classmethod
    def enroll_in(
        cls, path: Path, device: int, largest_value: int | None = None, *, after_epoch: int = 0
    ) -> tuple[CompactKeys, Enrolment]:
        """Enroll a device with the keys of a file, which is replaced as a whole; processes take turns. Raises
        KeyFileError if it cannot be read or written."""
        cls.load(path)  # without keys, nothing is written beside them, not even a lock
        try:
            with lock(path.with_name(f".{path.name}.lock"), _TURN_SECONDS):
                keys, enrolment = cls.load(path).enroll(device, largest_value, after_epoch=after_epoch)
                _write(path, keys.to_bytes())
        except TimeoutError:
            raise KeyFileError(
                f"Another process is enrolling devices in {path} and has not ended within "
                f"{_TURN_SECONDS:g} s: wait until it has, then try again."
            ) from None
        except OSError as error:
            raise _unwritable(path, error) from None
        return keys, enrolment


# --- the gateway --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GatewayEntry:
    """The key that checks a device's packets in its epoch. key: the tag key, 48 bytes."""

    device: int
    epoch: int
    largest_value: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, eq=False)
class GatewayKeys:
    """The keys with which a gateway recognizes a fleet's packets. They decrypt nothing, but anyone who has
    them can forge packets."""

    set: CompactSet
    key_id: int
    entries: tuple[GatewayEntry, ...]

    @cached_property
    def by_device(self) -> dict[int, GatewayEntry]:
        return {entry.device: entry for entry in self.entries}

    def to_bytes(self) -> bytes:
        """The gateway's file."""
        entries = (_GATEWAY_ENTRY.pack(e.device, e.epoch, e.largest_value, e.key) for e in self.entries)
        return _pack(_GATEWAY, self.set, self.key_id, b"", entries)

    @classmethod
    def from_bytes(cls, data: bytes) -> GatewayKeys:
        """Read what to_bytes wrote. Raises KeyFileError if it is damaged, or something else."""
        compact, key_id, body = _unpack(data, _GATEWAY, "The gateway's keys", _GATEWAY_ENTRY)
        entries = tuple(GatewayEntry(*values) for values in _GATEWAY_ENTRY.iter_unpack(body))
        _check_entries(compact, entries, "The gateway's keys")
        return cls(compact, key_id, entries)

    def save(self, path: Path) -> None:
        """Write or replace the file, which only its owner may read."""
        _write(path, self.to_bytes())

    @classmethod
    def load(cls, path: Path) -> GatewayKeys:
        """Raises KeyFileError if the file is missing, open to others, damaged, or none."""
        return cls.from_bytes(read_secret_file(path, "have it from the owner (`ciphermote compact enroll`)"))


def is_gateway_keys(data: bytes) -> bool:
    """Whether data begin like a gateway's file."""
    return data.startswith(_GATEWAY)


# --- a device -----------------------------------------------------------------------------------------------


def to_c_header(keys: CompactKeys, enrolment: Enrolment, command: str = "ciphermote compact enroll") -> str:
    """Return the text of compact_keys.h, which defines cm_provisioned_compact_key, a cm_compact_key, and
    cm_provisioned_compact_receipt_key. Include it in one C file. command: the command named in its first
    lines."""
    material, guard = keys.material(enrolment), "CM_PROVISIONED_COMPACT_KEYS_H"
    e = enrolment
    receipts = TagKeys.derive(e.secret, keys.key_id, e.device, e.epoch).receipts
    return "\n".join(
        [
            f"{_HEADER_START}, written by `{command}`: device {enrolment.device}, epoch {enrolment.epoch},",
            f" * set {keys.set.name}, values up to {enrolment.largest_value}.",
            " * SECRET: keep this file from everybody but the device's build, and never give two devices the "
            "same.",
            " */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            '#include "ciphermote/compact.h"',
            "",
            "#if CM_CONFIG_COMPACT_SET != CM_CONFIG_COMPACT_SET_ANY && \\",
            f"    CM_CONFIG_COMPACT_SET != CM_CONFIG_COMPACT_SET_{keys.set.name.upper()}",
            f'#error "The key is of compact set {keys.set.name}: name that with CM_CONFIG_COMPACT_SET."',
            "#endif",
            "",
            *FLASH_LINES,
            "",
            "/* clang-format off */",
            f"static const uint8_t cm_provisioned_compact_ternary[{len(keys.packed)}] "
            "CM_PROVISIONED_FLASH = {",
            *byte_rows(keys.packed),
            "};",
            "static const uint8_t cm_provisioned_compact_material[CM_COMPACT_MATERIAL_BYTES] "
            "CM_PROVISIONED_FLASH = {",
            *byte_rows(material),
            "};",
            *tag_key_lines("cm_provisioned_compact_receipt_key", receipts),
            f"static const cm_compact_key cm_provisioned_compact_key = {{&cm_compact_{keys.set.name}, "
            "cm_provisioned_compact_ternary,",
            f"    cm_provisioned_compact_material, {enrolment.device}u, {enrolment.epoch}u, "
            f"{enrolment.largest_value}u}};",
            "/* clang-format on */",
            "",
            "#endif",
            "",
        ]
    )


def is_header(data: bytes) -> bool:
    """Whether data begin like the text of to_c_header."""
    return data.startswith(_HEADER_START.encode())


# --- files --------------------------------------------------------------------------------------------------


def _pack(magic: bytes, compact: CompactSet, key_id: int, secret: bytes, entries: Iterable[bytes]) -> bytes:
    parts = list(entries)
    head = _HEAD.pack(magic, _VERSION, compact.id, 0, key_id, len(parts))
    body = b"".join((head, secret, *parts))
    return body + hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _unpack(data: bytes, magic: bytes, what: str, entry: struct.Struct) -> tuple[CompactSet, int, bytes]:
    """Return the set, the key id, and the bytes after the head. Raises KeyFileError."""
    if len(data) < _HEAD.size + _DIGEST_BYTES or data[:4] != magic:
        raise KeyFileError(f"{what} are not in these bytes: give the file that `ciphermote compact` wrote.")
    _, version, identifier, zero, key_id, count = _HEAD.unpack_from(data)
    if version != _VERSION or zero:
        raise KeyFileError(
            f"{what} are of version {version} and this package reads {_VERSION}: update the package."
        )
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest() != digest:
        raise KeyFileError(f"{what} are damaged, for their digest does not match: restore them from a copy.")
    try:
        compact = compact_set_by_id(identifier)
    except ParameterError as error:
        raise KeyFileError(f"{what}: {error}") from None
    secret_bytes = compact.n // 4 if magic == _OWNER else 0
    if count > MOST_ENROLMENTS or len(body) != _HEAD.size + secret_bytes + count * entry.size:
        raise KeyFileError(f"{what} are not as long as they say: restore them from a copy.")
    return compact, key_id, body[_HEAD.size :]


def _check_entries(
    compact: CompactSet, entries: tuple[Enrolment, ...] | tuple[GatewayEntry, ...], what: str
) -> None:
    places = [(e.device, e.epoch) for e in entries]
    if any(a >= b for a, b in pairwise(places)) or any(
        not 1 <= e.largest_value <= compact.largest_value or not e.epoch for e in entries
    ):
        raise KeyFileError(f"{what} hold devices that no version writes: restore them from a copy.")


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> KeyFileError:
    return KeyFileError(f"{path} cannot be written ({error.strerror}): name a place where you may write.")
