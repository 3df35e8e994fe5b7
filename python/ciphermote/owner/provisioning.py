# SPDX-License-Identifier: Apache-2.0
"""Provisioning: the keys that a device needs to encrypt, as a C header to compile in or as binary blobs to
load.

Every call draws a new device secret, because each device must have its own. Output with a secret key is as
secret as the key; even with only the public key, the device secret in it must stay on that device.

A blob (all integers little-endian):

    offset  bytes  field
    0       4      "CMPV"
    4       2      version, 2
    6       1      kind: 0 the whole of it, 1 the public key at one prime
    7       1      content: 1 device secret, 2 secret key, 4 public key, 8 identity, added up
    8       4      parameter set id
    12      8      key id
    20      1      log2(n)
    21      1      data primes
    22      1      prime (kind 1; 0 otherwise)
    23      1      0
    24      4      payload bytes, p
    28      4      largest value, float32 (kind 0; 0 otherwise)
    32      p      payload
    32+p    4      CRC-32C of all before

The payload holds, according to content: the device secret (32 bytes), the secret key (n/4 bytes, packed as in
ciphermote/keys.h), the public key (u32 residues, NTT form, [data prime][component][n]; of one prime only in
kind 1), the identity. Each part begins at a multiple of 4 bytes, so a device can use residues in place.

The identity, 152 bytes: device (u32), key epoch (u16), 0 (u16), then 48 bytes each of the tag key, the
receipt key and the result key. The keys follow from the device secret (docs/wire-format.md); they are
included because a device need not have BLAKE2b.

Version 1 had no largest value: its devices have the default one.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core
from ciphermote.base.arguments import whole
from ciphermote.base.errors import KeyFileError, MismatchError, ParameterError
from ciphermote.formats.labels import check_key
from ciphermote.formats.tags import LARGEST_DEVICE, LARGEST_EPOCH, TAG_KEY_BYTES, TagKeys
from ciphermote.owner.encryption import device_residues
from ciphermote.owner.key_store import KeyPair
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.ntt_roots import c_root_tables
from ciphermote.parameters import BUILTIN, ParameterSet, batches
from ciphermote.parameters.bounds import DEFAULT_LARGEST, check_largest, device_precision, float32_above
from ciphermote.parameters.c_source import c_definition

DEVICE_SECRET_BYTES = 32
KEY_DIGEST_BYTES = 32

_MAGIC = b"CMPV"
_VERSION, _WITHOUT_LARGEST = 2, 1
_HEAD = struct.Struct("<4sHBBIQBBBBIf")
_IDENTITY = struct.Struct(f"<IHH{3 * TAG_KEY_BYTES}s")
_CRC_BYTES = 4
_HEADER_START = "/*\n * One device's keys for "
_KIND_WHOLE, _KIND_PRIME = 0, 1
_ROOTS_MEMBER = ("#ifndef __AVR__", "    , cm_provisioned_roots", "#endif")
FLASH_LINES = (
    "/* Where an AVR's flash holds what is never copied to its RAM. */",
    "#ifndef CM_PROVISIONED_FLASH",
    "#ifdef __AVR__",
    "#include <avr/pgmspace.h>",
    "#define CM_PROVISIONED_FLASH PROGMEM",
    "#else",
    "#define CM_PROVISIONED_FLASH",
    "#endif",
    "#endif",
)
"""C that defines CM_PROVISIONED_FLASH, so that several headers of keys can be included together."""

_HAS_DEVICE_SECRET, _HAS_SECRET_KEY, _HAS_PUBLIC_KEY, _HAS_IDENTITY = 1, 2, 4, 8


@dataclass(frozen=True)
class Identity:
    """A device's identity on a network: its number, and the epoch of its keys, from 1, which no other device
    secret may share. Raises ParameterError for values that frames cannot express."""

    device: int
    epoch: int

    def __post_init__(self) -> None:
        whole(self.device, "The device", 0, LARGEST_DEVICE, "2^32 - 1")
        whole(self.epoch, "The epoch", 1, LARGEST_EPOCH)


@dataclass(frozen=True, eq=False)
class Provision:
    """The keys and settings of one device.

    secret_key: a SecretKey for symmetric encryption, or None. public_key: uint32 [data primes, 2, n], NTT
    form, for asymmetric encryption, or None. plain_moduli: those with tables for the fastest batching of BFV.
    identity: the identity in its frames' tags; None for frames without tags. largest: the bound on |value|
    declared for the device, as a float32; it refuses larger values. log2_scale: the scale of CKKS's readings,
    the same for all of an owner's devices; None if the device's program chooses. Raises MismatchError if the
    secret key has another set or key; ParameterError for a largest that is not above 0 and finite.
    """

    parameters: ParameterSet
    key_id: int
    device_secret: bytes = field(repr=False)
    secret_key: SecretKey | None = field(default=None, repr=False)
    public_key: NDArray[np.uint32] | None = field(default=None, repr=False)
    plain_moduli: tuple[int, ...] = ()
    identity: Identity | None = None
    largest: float = DEFAULT_LARGEST
    log2_scale: int | None = None

    @property
    def tag_keys(self) -> TagKeys | None:
        """The identity's tag keys, which the device and the gateway hold."""
        if self.identity is None:
            return None
        return TagKeys.derive(self.device_secret, self.key_id, self.identity.device, self.identity.epoch)

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", float32_above(check_largest(self.largest)))
        if self.secret_key is None:
            return
        if self.secret_key.parameters != self.parameters:
            raise MismatchError(
                f"The secret key is of {self.secret_key.parameters.name} and the device of "
                f"{self.parameters.name}: bring together what is of one set."
            )
        check_key("the device", self.key_id, "the secret key", self.secret_key.key_id, bare=True)


@dataclass(frozen=True, eq=False)
class PublicKeyPrime:
    """A public key at one data prime: residues uint32 [2, n], NTT form."""

    parameters: ParameterSet
    key_id: int
    prime: int
    residues: NDArray[np.uint32]


def provision(
    keys: KeyPair,
    *,
    secret: bool = False,
    public: bool = False,
    plain_moduli: Sequence[int] = (),
    identity: Identity | None = None,
    largest: float | None = None,
    log2_scale: int | None = None,
) -> Provision:
    """Draw a new device's secret, and collect its keys. largest: the bound on |value| declared for it, at
    most the keys'; None for the keys'. log2_scale: the scale of CKKS's readings; None for the one that suits
    the keys' readings. Raises KeyFileError if a key cannot be read, or none is requested; ParameterError for
    a plain modulus without slots, a larger bound, or a scale without room for it."""
    if not (secret or public):
        raise KeyFileError("A device needs the secret key, the public key, or both: say which.")
    parameters = keys.parameters
    check_plain_moduli(plain_moduli, parameters)
    bound = keys.readings.checked_largest(largest)
    return Provision(
        parameters,
        keys.key_id,
        new_device_secret(),
        keys.secret() if secret else None,
        device_residues(keys.public_key()) if public else None,
        tuple(plain_moduli),
        identity,
        bound,
        keys.readings.chosen_log2_scale(parameters, log2_scale, bound),
    )


def new_device_secret() -> bytes:
    """Draw a device secret from the system's randomness."""
    return os.urandom(DEVICE_SECRET_BYTES)


def check_plain_moduli(plain_moduli: Sequence[int], parameters: ParameterSet) -> None:
    """Raises ParameterError for a plain modulus without slots."""
    for t in plain_moduli:
        if not batches(t, parameters.n):
            raise ParameterError(
                f"{t} has no slots at n = {parameters.n}: name a prime that is 1 modulo {2 * parameters.n}."
            )


# --- C --------------------------------------------------------------------------------------------


def _scale_lines(largest: float, log2_scale: int) -> list[str]:
    return [
        f"#define CM_PROVISIONED_LOG2_SCALE {log2_scale}",
        f"#define CM_PROVISIONED_PRECISION CM_FIXED_{device_precision(largest, log2_scale)}",
    ]


def public_key_digests(parameters: ParameterSet, key_id: int, residues: NDArray[np.uint32]) -> bytes:
    """Return the digests by which a device knows its owner's public key, 32 bytes for each data prime and
    component. residues: uint32 [data primes, 2, n], NTT form."""
    label = b"ciphermote public key" + struct.pack("<QI", key_id, parameters.id)
    return b"".join(
        hashlib.blake2b(
            residues[prime, component].astype("<u4").tobytes(),
            digest_size=KEY_DIGEST_BYTES,
            key=label + bytes([component, prime]),
        ).digest()
        for prime in range(len(residues))
        for component in range(2)
    )


def to_c_header(
    provisioned: Provision,
    command: str = "ciphermote provision",
    *,
    stream_public_key: bool = False,
    engine_log2_r: int | None = None,
) -> str:
    """Return the text of provisioned_keys.h, which defines cm_provisioned_device_secret,
    cm_provisioned_secret_key and cm_provisioned_public_key, with CM_PROVISIONED_SECRET_KEY and
    CM_PROVISIONED_PUBLIC_KEY 1 or 0, CM_PROVISIONED_N, CM_PROVISIONED_LARGEST, the bound on |value|, and for
    CKKS CM_PROVISIONED_LOG2_SCALE and the CM_PROVISIONED_PRECISION that values up to the bound need at that
    scale. With an identity, CM_PROVISIONED_TAGGED is 1, and it also defines CM_PROVISIONED_DEVICE,
    CM_PROVISIONED_EPOCH, cm_provisioned_tag_key, cm_provisioned_receipt_key and cm_provisioned_result_key.
    Include it in one C file. command: the command named in its first lines.

    stream_public_key: write digests of the public key in place of it. CM_PROVISIONED_STREAMED_KEY is 1 then,
    and cm_provisioned_streamed_key, behind cm_provisioned_public_key, needs memory and a function that loads
    polynomials. engine_log2_r: write the public key in the form of a client engine with this LOG2_R
    (docs/client-soc.md), which that engine alone can use. Raises KeyFileError for either without a public
    key, and ParameterError for both, or an exponent that no engine has.
    """
    p = provisioned
    if stream_public_key and p.public_key is None:
        raise KeyFileError("There is no public key for the device to be sent: provision with the public key.")
    if engine_log2_r is not None:
        whole(engine_log2_r, "LOG2_R of a client engine", 22, 32)
        if p.public_key is None:
            raise KeyFileError("There is no public key for an engine: provision with the public key.")
        if stream_public_key:
            raise ParameterError("A client engine takes a public key as a whole: do not have it streamed.")
    built_in = p.parameters in BUILTIN
    symbol = f"cm_{p.parameters.name}" if built_in else "cm_provisioned_params"
    parts = [
        f"{_HEADER_START}{p.parameters.name}, written by `{command}`.",
        " * SECRET: keep this file from everybody but the device's build, and never give two devices the "
        "same.",
        " */",
        "#ifndef CM_PROVISIONED_KEYS_H",
        "#define CM_PROVISIONED_KEYS_H",
        "",
        '#include "ciphermote/device.h"',
        *(['#include "ciphermote/frame.h"'] if p.identity else []),
        '#include "ciphermote/keys.h"',
        *(['#include "client_engine.h"'] if engine_log2_r is not None else []),
        "",
        f"#define CM_PROVISIONED_N {p.parameters.n}",
        f"#define CM_PROVISIONED_LARGEST {p.largest!r}f",
        *([] if p.log2_scale is None else _scale_lines(p.largest, p.log2_scale)),
        f"#define CM_PROVISIONED_SECRET_KEY {int(p.secret_key is not None)}",
        f"#define CM_PROVISIONED_PUBLIC_KEY {int(p.public_key is not None)}",
        f"#define CM_PROVISIONED_STREAMED_KEY {int(stream_public_key)}",
        f"#define CM_PROVISIONED_TAGGED {int(p.identity is not None)}",
        *_identity_lines(p.identity),
        "",
        *FLASH_LINES,
        "",
        "/* clang-format off */",
        *([] if built_in else [c_definition(p.parameters, symbol, "static ")]),
        "static const uint8_t cm_provisioned_device_secret[CM_DEVICE_SECRET_BYTES] CM_PROVISIONED_FLASH = {",
        *byte_rows(p.device_secret),
        "};",
        *_tag_key_lines(p.tag_keys),
        "",
        "#if CM_CONFIG_NTT_ROOTS",
        c_root_tables(p.parameters, "cm_provisioned_roots", p.plain_moduli),
        "#else",
        "#define cm_provisioned_roots 0",
        "#endif",
    ]
    key_id = f"UINT64_C(0x{p.key_id:016x})"
    if p.secret_key is not None:
        transformed = [p.secret_key.transformed(i) for i in range(len(p.parameters.data_primes))]
        parts += [
            "",
            "#if defined(__AVR__) && CM_CONFIG_TRANSFORMED_SECRET",
            "#define cm_provisioned_ternary NULL /* encryption does without */",
            "#else",
            f"static const uint8_t cm_provisioned_ternary[{p.parameters.n // 4}] = {{",
            *byte_rows(p.secret_key.packed),
            "};",
            "#endif",
            "#if CM_CONFIG_TRANSFORMED_SECRET",
            "/* [data prime][n]: cm_secret_key_transform. */",
            f"static const uint32_t cm_provisioned_transformed[{len(transformed) * p.parameters.n}] "
            "CM_PROVISIONED_FLASH = {",
            *_word_rows(np.stack(transformed)),
            "};",
            "#else",
            "#define cm_provisioned_transformed NULL",
            "#endif",
            f"static const cm_secret_key cm_provisioned_secret_key = {{&{symbol}, {key_id}, "
            "cm_provisioned_ternary,",
            "    cm_provisioned_transformed",
            *_ROOTS_MEMBER,
            "};",
        ]
    if p.public_key is not None:
        if stream_public_key:
            form, context = "cm_streamed", "cm_provisioned_streamed_key"
            lines = _digest_lines(p.parameters, p.key_id, symbol, p.public_key)
        elif engine_log2_r is not None:
            form, context = "client", "cm_provisioned_engine_public_key"
            lines = _engine_lines(p.parameters, symbol, p.public_key, engine_log2_r)
        else:
            form, context = "cm_flat", "cm_provisioned_flat_public_key"
            lines = _residue_lines(p.public_key)
        parts += [
            "",
            *lines,
            f"static const cm_public_key cm_provisioned_public_key = {{&{symbol}, {key_id}, "
            f"{form}_public_key_polynomial,",
            f"    (void *)&{context}",
            *_ROOTS_MEMBER,
            "};",
        ]
    parts += ["/* clang-format on */", "", "#endif", ""]
    return "\n".join(parts)


def _residue_lines(residues: NDArray[np.uint32]) -> list[str]:
    return [
        "/* [data prime][component][n], NTT form. */",
        f"static const uint32_t cm_provisioned_residues[{residues.size}] = {{",
        *_word_rows(residues),
        "};",
        "static const cm_flat_public_key cm_provisioned_flat_public_key = {cm_provisioned_residues, "
        f"{residues.shape[-1]}}};",
    ]


def _engine_lines(
    parameters: ParameterSet, symbol: str, residues: NDArray[np.uint32], log2_r: int
) -> list[str]:
    moduli = np.array(parameters.data_primes, dtype=np.uint64)[:, None, None]
    scaled = ((residues.astype(np.uint64) << np.uint64(log2_r)) % moduli).astype(np.uint32)
    return [
        f"/* [data prime][component][n], NTT form, times 2^{log2_r}: not for the C library. */",
        f"static const uint32_t cm_provisioned_engine_residues[{residues.size}] = {{",
        *_word_rows(scaled),
        "};",
        "/* [data prime][component]: the first residues, as the C library has them. */",
        f"static const uint32_t cm_provisioned_engine_first[{residues[..., 0].size}] = {{",
        *_word_rows(residues[..., 0]),
        "};",
        f"static const client_public_key cm_provisioned_engine_public_key = {{&{symbol}, {log2_r},",
        "    cm_provisioned_engine_residues, cm_provisioned_engine_first};",
    ]


def _digest_lines(
    parameters: ParameterSet, key_id: int, symbol: str, residues: NDArray[np.uint32]
) -> list[str]:
    digests = public_key_digests(parameters, key_id, residues)
    return [
        "/* [data prime][component]. */",
        f"static const uint8_t cm_provisioned_key_digests[{len(digests)}] = {{",
        *byte_rows(digests),
        "};",
        "/* To be given residues, the memory for one prime of the key, and load (ciphermote/keys.h). */",
        f"static cm_streamed_public_key cm_provisioned_streamed_key = {{&{symbol}, "
        f"UINT64_C(0x{key_id:016x}),",
        "    cm_provisioned_key_digests, NULL, NULL, NULL, CM_OK, 0};",
    ]


def _identity_lines(identity: Identity | None) -> list[str]:
    if identity is None:
        return []
    return [
        f"#define CM_PROVISIONED_DEVICE {identity.device}u",
        f"#define CM_PROVISIONED_EPOCH {identity.epoch}u",
    ]


def _tag_key_lines(keys: TagKeys | None) -> list[str]:
    if keys is None:
        return []
    named = (("tag", keys.frames), ("receipt", keys.receipts), ("result", keys.results))
    return [line for name, key in named for line in tag_key_lines(f"cm_provisioned_{name}_key", key)]


def tag_key_lines(symbol: str, key: bytes) -> list[str]:
    """Return lines of C that define a tag key."""
    return [
        f"static const uint8_t {symbol}[CM_TAG_KEY_BYTES] CM_PROVISIONED_FLASH = {{",
        *byte_rows(key),
        "};",
    ]


def byte_rows(content: bytes) -> list[str]:
    """Return the lines of a C array's initializer."""
    return [
        f"    {', '.join(f'0x{b:02x}' for b in content[i : i + 16])}," for i in range(0, len(content), 16)
    ]


def _word_rows(words: NDArray[np.uint32]) -> list[str]:
    flat = words.reshape(-1).tolist()
    return [f"    {', '.join(f'{w}u' for w in flat[i : i + 8])}," for i in range(0, len(flat), 8)]


# --- blobs ----------------------------------------------------------------------------------------


def _blob(
    parameters: ParameterSet,
    key_id: int,
    kind: int,
    content: int,
    payload: bytes,
    *,
    prime: int = 0,
    largest: float = 0.0,
) -> bytes:
    head = _HEAD.pack(
        _MAGIC,
        _VERSION,
        kind,
        content,
        parameters.id,
        key_id,
        parameters.log2_n,
        len(parameters.data_primes),
        prime,
        0,
        len(payload),
        largest,
    )
    return head + payload + struct.pack("<I", _core.crc32c(head + payload))


def to_blob(provisioned: Provision) -> bytes:
    """Write everything in one blob."""
    p = provisioned
    content = _HAS_DEVICE_SECRET
    payload = p.device_secret
    if p.secret_key is not None:
        content |= _HAS_SECRET_KEY
        payload += p.secret_key.packed
    if p.public_key is not None:
        content |= _HAS_PUBLIC_KEY
        payload += p.public_key.astype("<u4").tobytes()
    if p.identity is not None:
        content |= _HAS_IDENTITY
        payload += _pack_identity(p)
    return _blob(p.parameters, p.key_id, _KIND_WHOLE, content, payload, largest=p.largest)


def _pack_identity(p: Provision) -> bytes:
    assert p.identity is not None
    assert p.tag_keys is not None
    keys = p.tag_keys.frames + p.tag_keys.receipts + p.tag_keys.results
    return _IDENTITY.pack(p.identity.device, p.identity.epoch, 0, keys)


def to_prime_blobs(provisioned: Provision) -> list[bytes]:
    """Write the public key in one blob per data prime, for devices that hold only one prime of it at a time.

    to_blob of the same Provision with public_key None holds the device secret. Raises KeyFileError without a
    public key.
    """
    p = provisioned
    if p.public_key is None:
        raise KeyFileError("There is no public key to split into primes: provision with the public key.")
    return [
        _blob(p.parameters, p.key_id, _KIND_PRIME, _HAS_PUBLIC_KEY, rows.astype("<u4").tobytes(), prime=i)
        for i, rows in enumerate(p.public_key)
    ]


def is_header(data: bytes) -> bool:
    """Whether data begin like the text of to_c_header."""
    return data.startswith(_HEADER_START.encode())


def is_blob(data: bytes) -> bool:
    """Whether data begin like a blob."""
    return data[:4] == _MAGIC


def blob_parameters_id(data: bytes) -> int:
    """Return the parameter set id that a blob names; 0 if it is too short."""
    return int.from_bytes(data[8:12], "little")


def parse_blob(data: bytes, parameters: ParameterSet) -> Provision | PublicKeyPrime:
    """Read what to_blob or to_prime_blobs wrote. Raises KeyFileError if it is damaged, or has other
    parameters."""
    if len(data) < _HEAD.size + _CRC_BYTES or not is_blob(data):
        raise KeyFileError(
            "The bytes are not a provisioning blob: write one with `ciphermote provision --format blob`."
        )
    _, version, kind, content, params_id, key_id, log2_n, primes, prime, zero, length, largest = (
        _HEAD.unpack_from(data)
    )
    if version not in (_VERSION, _WITHOUT_LARGEST):
        raise KeyFileError(
            f"The provisioning blob has version {version} and this package reads {_VERSION}: update it."
        )
    if len(data) != _HEAD.size + length + _CRC_BYTES:
        raise KeyFileError(
            f"The provisioning blob is {len(data)} bytes and says {_HEAD.size + length + _CRC_BYTES}: copy "
            "it anew."
        )
    if int.from_bytes(data[-_CRC_BYTES:], "little") != _core.crc32c(data[:-_CRC_BYTES]):
        raise KeyFileError(
            "The provisioning blob's checksum does not match, so it was damaged: copy it anew."
        )
    if params_id != parameters.id:
        raise KeyFileError(
            f"The provisioning blob is of parameter set 0x{params_id:08x}, not of {parameters.name}: give "
            "its own."
        )
    shape = (log2_n, primes, zero) == (parameters.log2_n, len(parameters.data_primes), 0)
    is_bare = data[_HEAD.size - 4 : _HEAD.size] == bytes(4)
    payload = data[_HEAD.size : -_CRC_BYTES]
    if (
        shape
        and is_bare
        and kind == _KIND_PRIME
        and content == _HAS_PUBLIC_KEY
        and prime < primes
        and length == 8 * parameters.n
    ):
        residues = np.frombuffer(payload, dtype="<u4").reshape(2, parameters.n).astype(np.uint32)
        return PublicKeyPrime(parameters, key_id, prime, _below(residues, parameters.primes[prime]))
    if (
        shape
        and is_bare == (version == _WITHOUT_LARGEST)
        and kind == _KIND_WHOLE
        and prime == 0
        and content & ~_HAS_PUBLIC_KEY & ~_HAS_SECRET_KEY & ~_HAS_IDENTITY == _HAS_DEVICE_SECRET
    ):
        bound = DEFAULT_LARGEST if is_bare else _parse_largest(largest)
        return _parse_whole(payload, parameters, key_id, content, bound)
    raise KeyFileError("The provisioning blob's header holds values that no version writes: make it anew.")


def _parse_largest(largest: float) -> float:
    try:
        return check_largest(largest)
    except ParameterError as error:
        raise KeyFileError(f"The provisioning blob is damaged. {error}") from None


def _parse_whole(
    payload: bytes, parameters: ParameterSet, key_id: int, content: int, largest: float
) -> Provision:
    n, primes = parameters.n, len(parameters.data_primes)
    sizes = [
        DEVICE_SECRET_BYTES,
        n // 4 if content & _HAS_SECRET_KEY else 0,
        8 * n * primes if content & _HAS_PUBLIC_KEY else 0,
        _IDENTITY.size if content & _HAS_IDENTITY else 0,
    ]
    if sum(sizes) != len(payload):
        raise KeyFileError(
            f"The provisioning blob holds {len(payload)} bytes of keys, not {sum(sizes)}: make it anew."
        )
    device_secret, packed, residues, named = _cut(payload, sizes)
    public = None
    if residues:
        words = np.frombuffer(residues, dtype="<u4").reshape(primes, 2, n).astype(np.uint32)
        public = np.stack([_below(rows, q) for rows, q in zip(words, parameters.data_primes, strict=True)])
    secret = None
    if packed:
        secret = SecretKey(parameters, packed, key_id)
        if secret.coefficients.max() > 1:
            raise KeyFileError("The provisioning blob's secret key is not ternary: make it anew.")
    identity = _parse_identity(named) if named else None
    found = Provision(parameters, key_id, device_secret, secret, public, identity=identity, largest=largest)
    if named and named != _pack_identity(found):
        raise KeyFileError("The provisioning blob's tag keys are not of its device secret: make it anew.")
    return found


def _parse_identity(data: bytes) -> Identity:
    device, epoch, _, _ = _IDENTITY.unpack(data)
    try:
        return Identity(device, epoch)
    except ParameterError as error:
        raise KeyFileError(f"The provisioning blob's identity: {error}") from None


def _cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    ends = list(accumulate(sizes))
    return [data[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _below(residues: NDArray[np.uint32], q: int) -> NDArray[np.uint32]:
    if (residues >= q).any():
        raise KeyFileError(
            f"The provisioning blob's public key has a residue that is not below {q}: make it anew."
        )
    return residues
