# SPDX-License-Identifier: Apache-2.0
"""Read and write Microsoft SEAL's bytes with numpy only.

Every field is checked before it is used, because SEAL itself checks too little: a scale of NaN, a zero second
half or a count of 2^28 words goes straight into its arithmetic or its allocator. SEAL can safely load what
this module accepts. It writes header version 3.6 without compression, which SEAL 3.6 to 4.x all load, and
reads 3.6 on and 4.x, plain, zlib or zstd. It never calls SEAL and never expands a seed. docs/wire-format.md
has the layout. Ciphertexts and evaluation keys of a known key carry it in a label behind SEAL's bytes
(labels.py).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NoReturn, Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

from ciphermote.base.errors import FrameError, MismatchError, ParameterError
from ciphermote.formats.labels import Kind, Label, attach, detach, other_scheme
from ciphermote.parameters import CKKS, ParameterSet, Scheme, by_id
from ciphermote.parameters.bounds import UNKNOWN, Known
from ciphermote.parameters.schemes import BFV_CODE, CKKS_CODE, scheme_of_modulus
from ciphermote.parameters.seal_chain import SealChain


class SeedType(IntEnum):
    """SEAL's numbers of the functions that expand seeds."""

    BLAKE2XB = 1
    SHAKE256 = 2


SEED_BYTES = 64
MAX_SCALE = 2.0**200
MAX_GALOIS_KEYS = 64
"""The most Galois keys in one object: with SEAL's default choice, 27 serve every rotation at n = 16384."""

MAGIC = b"\x5e\xa1"
"""How SEAL's bytes begin."""
_HEADER = struct.Struct("<2sBBBBHQ")
_VERSION = (3, 6)
_COMPRESSION_NONE, _COMPRESSION_ZLIB, _COMPRESSION_ZSTD = 0, 1, 2
_MODULUS_BYTES = _HEADER.size + 8
_SEED_INFO_BYTES = _HEADER.size + 1 + SEED_BYTES
_SCHEME_NAMES = {BFV_CODE: "BFV", CKKS_CODE: "CKKS", 3: "BGV"}
_ZERO_ID = bytes(32)
_ARRAY_OVERHEAD = _HEADER.size + 8
_CIPHERTEXT_FIXED = _HEADER.size + 32 + 1 + 3 * 8 + 8 + 8 + _ARRAY_OVERHEAD
_PACKED_SLACK = 1024

Residues = NDArray[np.uint32]
WideResidues = NDArray[np.uint64]


class _Chain(Protocol):
    """The properties of a ParameterSet or a SealChain that readers and writers use."""

    @property
    def name(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def primes(self) -> tuple[int, ...]: ...
    def parms_id(self, scheme: Scheme = ..., primes: int | None = ...) -> bytes: ...


@dataclass(frozen=True)
class SealParameters:
    """EncryptionParameters: BFV, CKKS or BGV, n, all primes (the special one last), and t (0 for CKKS)."""

    scheme_name: str
    n: int
    primes: tuple[int, ...]
    plain_modulus: int = 0


@dataclass(frozen=True, eq=False)
class SealPlaintext:
    """A Plaintext.

    primes: number of residues per coefficient, or 0 for coefficient form (BFV before it is transformed).
    values: NTT form, uint32 [primes, n], each below its prime; coefficient form, uint64 [count], below t.
    """

    parms: ParameterSet
    primes: int
    scale: float
    values: NDArray[Any]
    scheme: Scheme = CKKS


@dataclass(frozen=True, eq=False)
class SealSecretKey:
    """A SecretKey: residues uint32 [K, n], NTT form, all primes."""

    parms: ParameterSet
    residues: Residues
    scheme: Scheme = CKKS


@dataclass(frozen=True, eq=False)
class SealCiphertext:
    """A Ciphertext, or a public key, which is one over all primes with scale 1.

    primes: number of residues per coefficient. residues: uint32 [size, primes, n], each below its prime; with
    a seed, [1, primes, n], because the seed (its type and 64 bytes) replaces the second polynomial. key_id:
    ID of its key, or None if unknown. model_id: ID of the model whose scores it holds, or None. known: what
    is known about the values.
    """

    parms: ParameterSet
    primes: int
    ntt_form: bool
    scale: float
    residues: Residues
    seed: tuple[SeedType, bytes] | None = None
    scheme: Scheme = CKKS
    key_id: int | None = None
    model_id: int | None = None
    known: Known = UNKNOWN

    @property
    def size(self) -> int:
        """Number of polynomials, including a seeded one."""
        return len(self.residues) + (self.seed is not None)


@dataclass(frozen=True, eq=False)
class WideCiphertext:
    """A Ciphertext of a chain of SEAL's own. residues: uint64, otherwise as those of a SealCiphertext."""

    chain: SealChain
    primes: int
    ntt_form: bool
    scale: float
    residues: WideResidues
    seed: tuple[SeedType, bytes] | None = None


SealPublicKey = SealCiphertext
KeySwitchKey = tuple[SealCiphertext, ...]
"""One ciphertext over all primes for each data prime; number j hides the target times P in its residue j."""


@dataclass(frozen=True, eq=False)
class SealRelinKeys:
    """RelinKeys for ciphertexts of three polynomials. key_id: as a ciphertext's."""

    parms: ParameterSet
    key: KeySwitchKey
    scheme: Scheme = CKKS
    key_id: int | None = None


@dataclass(frozen=True, eq=False)
class SealGaloisKeys:
    """GaloisKeys: the key-switch key of each Galois element (odd, 3 .. 2n - 1). key_id: as a ciphertext's."""

    parms: ParameterSet
    keys: Mapping[int, KeySwitchKey]
    scheme: Scheme = CKKS
    key_id: int | None = None


def data_primes(parms: ParameterSet) -> int:
    """Return the number of primes in a fresh ciphertext: all but the special one."""
    return len(parms.data_primes)


def galois_element(n: int, step: int) -> int:
    """Return the Galois element of a CKKS rotation to the left: slot j gets the value of slot j + step."""
    return pow(3, step % (n // 2), 2 * n)


# --- reading ------------------------------------------------------------------------------------------------


class _Stored:
    """An uncompressed body."""

    too_few = "the object is cut short or its counts are wrong, so have it sent again"

    def __init__(self, body: memoryview) -> None:
        self._body = body

    def take(self, count: int) -> memoryview:
        taken, self._body = self._body[:count], self._body[count:]
        return taken

    def follows(self) -> bool:
        return len(self._body) > 0


class _Inflated:
    """A compressed body, which is unpacked little further than it is read.

    Its methods raise a ValueError with a sentence if it is damaged or cut short.
    """

    too_few = "no such object packs as well as that, so the bytes are damaged or hostile: drop them"

    def __init__(self, body: memoryview, stream: Any) -> None:
        self._body = body
        self._stream = stream
        self._ready = bytearray()

    def take(self, count: int) -> memoryview:
        self._fill(count)
        if len(self._ready) < count:
            raise ValueError(
                f"{count} bytes are needed here but {len(self._ready)} are left; {_Stored.too_few}."
            )
        taken = memoryview(self._ready[:count])
        del self._ready[:count]
        return taken

    def follows(self) -> bool:
        self._fill(1)
        return bool(self._ready or self._stream.unused_data or self._body)

    def _fill(self, count: int) -> None:
        """Unpack until `count` bytes are ready, or all to the end."""
        try:
            while len(self._ready) < count and not self._stream.eof:
                self._ready += self._unpack(count - len(self._ready))
        except (zlib.error, zstandard.ZstdError):
            raise ValueError("the compressed body is damaged; have it sent again.") from None

    def _unpack(self, wanted: int) -> bytes:
        raise NotImplementedError

    def _next(self, count: int) -> memoryview:
        packed, self._body = self._body[:count], self._body[count:]
        if not packed:
            raise ValueError("the compressed body is cut short; have it sent again.")
        return packed


class _Zlib(_Inflated):
    """A zlib body, unpacked at most one step further than it is read."""

    STEP = 4096

    def __init__(self, body: memoryview) -> None:
        super().__init__(body, zlib.decompressobj())

    def _unpack(self, wanted: int) -> bytes:
        packed = self._stream.unconsumed_tail or self._next(self.STEP)
        return bytes(self._stream.decompress(packed, max(wanted, self.STEP)))


class _Zstd(_Inflated):
    """A zstd body, unpacked at most 2 MiB further than it is read: a block of at most 128 KiB takes 4 bytes
    or more."""

    STEP = 64
    WINDOW = 1 << 23
    """The window that RFC 8878 asks every decoder to support; SEAL's compression needs 2 MiB."""

    def __init__(self, body: memoryview) -> None:
        super().__init__(body, zstandard.ZstdDecompressor(max_window_size=self.WINDOW).decompressobj())

    def _unpack(self, wanted: int) -> bytes:
        return bytes(self._stream.decompress(self._next(self.STEP)))


_UNPACKED = {_COMPRESSION_ZLIB: _Zlib, _COMPRESSION_ZSTD: _Zstd}


class _Reader:
    """Reads the fields of a SEAL object one after the other; a missing field is a FrameError.

    No more is read or unpacked than the fields checked so far announce, and at most `limit` bytes in all.
    """

    def __init__(self, body: _Stored | _Inflated, limit: int, what: str, version: tuple[int, int]) -> None:
        self._body = body
        self._limit = limit
        self.what = what
        self.version = version
        self.at = _HEADER.size

    def fail(self, sentence: str, back: int = 0) -> NoReturn:
        raise FrameError(f"SEAL {self.what}, byte {self.at - back}: {sentence}")

    @property
    def left(self) -> int:
        """Number of bytes that can follow."""
        return self._limit - self.at

    def take(self, count: int) -> memoryview:
        if count > self.left:
            self.fail(f"{count} bytes are needed here but {self.left} are left; {self._body.too_few}.")
        try:
            taken = self._body.take(count)
        except ValueError as error:
            self.fail(str(error))
        self.at += count
        return taken

    def u8(self) -> int:
        return self.take(1)[0]

    def u64(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def f64(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])

    def expect(self, name: str, value: int, allowed: Iterable[int]) -> int:
        """Check a u64 that was just read: raises FrameError unless it is among the allowed ones."""
        choices = sorted(set(allowed))
        if value not in choices:
            wanted = " or ".join(str(choice) for choice in choices)
            self.fail(f"{name} is {value} but must be {wanted}; use an object made for these parameters.", 8)
        return value

    def inner(self, name: str, body_bytes: int | None = None) -> int:
        """Read an inner object's header, which has the outer version and no compression, and return its
        body's bytes."""
        version, compression, size = _parse_header(
            self.take(_HEADER.size), lambda text: self.fail(text, _HEADER.size)
        )

        def fail(sentence: str) -> NoReturn:
            self.fail(f"the inner {name} {sentence}", _HEADER.size)

        if version != self.version:
            fail(f"has version {version[0]}.{version[1]}, not the outer {self.version[0]}.{self.version[1]}.")
        if compression != _COMPRESSION_NONE:
            fail("is compressed; SEAL compresses whole objects only.")
        if body_bytes is not None and size != _HEADER.size + body_bytes:
            fail(f"claims {size} bytes but takes {_HEADER.size + body_bytes}.")
        if not 0 <= size - _HEADER.size <= self.left:
            fail(f"claims {size} bytes but {_HEADER.size + self.left} are left; {self._body.too_few}.")
        return size - _HEADER.size

    def words(self, counts: Iterable[int]) -> NDArray[np.uint64]:
        """Read a DynArray whose count must be one of counts."""
        body = self.inner("array")
        count = self.expect("the array's count of words", self.u64(), counts)
        if body != 8 + 8 * count:
            self.fail(f"the array claims {body - 8} bytes of words but counts {count} words.", 8)
        return np.frombuffer(self.take(8 * count), dtype="<u8")

    def end(self) -> None:
        try:
            if self._body.follows():
                self.fail("bytes follow where the object ends; send one object and nothing more.")
        except ValueError as error:
            self.fail(str(error))


def _parse_header(
    head: bytes | memoryview, fail: Callable[[str], NoReturn]
) -> tuple[tuple[int, int], int, int]:
    """Parse version, compression and total size from a header's 16 bytes."""
    magic, header_bytes, major, minor, compression, reserved, size = _HEADER.unpack(head)
    if magic != MAGIC or header_bytes != _HEADER.size or reserved != 0:
        fail("there is no SEAL header here; check that the bytes are a SEAL object of this kind and whole.")
    if not ((major == 3 and minor >= 6) or major == 4):
        fail(f"version {major}.{minor} is not read; save with SEAL 3.6 to 4.x.")
    if compression not in (_COMPRESSION_NONE, _COMPRESSION_ZLIB, _COMPRESSION_ZSTD):
        fail(f"compression {compression} is unknown; save without compression, or with zlib or zstd.")
    return (major, minor), compression, size


def _open(data: bytes | bytearray | memoryview, what: str, limit: int) -> _Reader:
    """Return a reader after the header of a whole object of at most `limit` bytes when unpacked."""

    def fail(sentence: str) -> NoReturn:
        raise FrameError(f"SEAL {what}, byte 0: {sentence}")

    view = memoryview(data).cast("B")
    if len(view) < _HEADER.size:
        fail(
            f"{len(view)} bytes are fewer than a SEAL header's {_HEADER.size}; have the object sent again, "
            "whole."
        )
    version, compression, size = _parse_header(view[: _HEADER.size], fail)
    if size != len(view):
        fail(f"the header claims {size} bytes but there are {len(view)}; send one object, whole and alone.")
    if compression == _COMPRESSION_NONE:
        if len(view) > limit:
            fail(
                f"{len(view)} bytes are more than the {limit} that such an object can have with these "
                "parameters."
            )
        return _Reader(_Stored(view[_HEADER.size :]), len(view), what, version)
    return _Reader(_UNPACKED[compression](view[_HEADER.size :]), limit, what, version)


def _levels(parms: _Chain, scheme: Scheme, counts: Iterable[int]) -> dict[bytes, int]:
    """Map parms_id to the count of primes, for each count."""
    return {parms.parms_id(scheme, count): count for count in counts}


def _read_level(reader: _Reader, parms: _Chain, levels: Mapping[bytes, int]) -> int:
    found = levels.get(bytes(reader.take(32)))
    if found is None:
        others = ""
        if not isinstance(parms, SealChain):
            others = (
                ", or bring in what is of SEAL's own primes with `ciphermote import` (its secret key with "
                "`keygen --seal-parameters`)"
            )
        reader.fail(
            f"the parms_id is not one of parameter set {parms.name}; use an object made with this set, "
            f"scheme and plain modulus{others}.",
            32,
        )
    return found


def _read_scale(reader: _Reader, *, is_one: bool) -> float:
    scale = reader.f64()
    if is_one and scale != 1.0:
        reader.fail(
            f"the scale is {scale!r} but must be 1 here; the bytes are damaged or of another kind.", 8
        )
    if not 1.0 <= scale < MAX_SCALE:  # NaN neither
        reader.fail(
            f"the scale is {scale!r} but must be at least 1 and below 2^200; encrypt with a usual scale.",
            8,
        )
    return scale


def _check_residues(
    words: NDArray[Any], parms: ParameterSet, rows: int, primes: int, fail: Callable[[str], NoReturn]
) -> Residues:
    """Return words as uint32 [rows, primes, n], each of which must be below its prime."""
    return _check_words(words, parms, rows, primes, fail).astype(np.uint32)


def _check_words(
    words: NDArray[Any], parms: _Chain, rows: int, primes: int, fail: Callable[[str], NoReturn]
) -> NDArray[Any]:
    """Return words as [rows, primes, n], each of which must be below its prime."""
    shaped = words.reshape(rows, primes, parms.n)
    bound = np.array(parms.primes[:primes], dtype=np.uint64).reshape(1, primes, 1)
    if (shaped >= bound).any():
        row, prime, index = (int(i) for i in np.argwhere(shaped >= bound)[0])
        fail(
            f"residue {index} of polynomial {row} at prime {prime} is {int(shaped[row, prime, index])}, not "
            f"below {parms.primes[prime]}; the bytes are damaged or hostile, so drop them."
        )
    return shaped


def _read_ciphertext_body(
    reader: _Reader,
    parms: ParameterSet,
    scheme: Scheme,
    levels: Mapping[bytes, int],
    sizes: Iterable[int],
    *,
    is_key: bool,
) -> SealCiphertext:
    primes, ntt_form, scale, words, seed = _read_fields(reader, parms, scheme, levels, sizes, is_key=is_key)
    return SealCiphertext(parms, primes, ntt_form, scale, words.astype(np.uint32), seed, scheme)


def _read_fields(
    reader: _Reader,
    parms: _Chain,
    scheme: Scheme,
    levels: Mapping[bytes, int],
    sizes: Iterable[int],
    *,
    is_key: bool,
) -> tuple[int, bool, float, WideResidues, tuple[SeedType, bytes] | None]:
    """Read a ciphertext's primes, whether it is in NTT form, its scale, residues and seed."""
    primes = _read_level(reader, parms, levels)
    ntt = reader.u8()
    if ntt > 1 or (ntt == 0 and (is_key or not scheme.is_bfv)):
        reader.fail(
            f"the NTT flag is {ntt}, which this kind of object cannot have; the bytes are damaged or "
            "hostile.",
            1,
        )
    size = reader.u64()
    if size == 3 and size not in sizes and not is_key:
        reader.fail(
            "the ciphertext has three polynomials, as products have: relinearize it where it was computed "
            "(in SEAL: Evaluator::relinearize_inplace), for only that place has its keys.",
            8,
        )
    reader.expect("the count of polynomials", size, sizes)
    reader.expect("the ring degree", reader.u64(), [parms.n])
    reader.expect("the count of primes", reader.u64(), [primes])
    scale = _read_scale(reader, is_one=is_key or scheme.is_bfv)
    if reader.version[0] == 4:
        reader.expect("the correction factor", reader.u64(), [1])
    seeded_words = primes * parms.n
    words = reader.words([size * seeded_words] + ([seeded_words] if size == 2 else []))
    rows = len(words) // seeded_words
    residues = _check_words(words, parms, rows, primes, reader.fail)
    seed: tuple[SeedType, bytes] | None = None
    if rows < size:
        reader.inner("seed", 1 + SEED_BYTES)
        kind = reader.u8()
        if kind not in (SeedType.BLAKE2XB, SeedType.SHAKE256):
            reader.fail(f"seed type {kind} is unknown; SEAL has 1 (BLAKE2Xb) and 2 (SHAKE256).", 1)
        seed = (SeedType(kind), bytes(reader.take(SEED_BYTES)))
        if not any(seed[1]):
            reader.fail(
                "the seed is all zeros: the sender's random source failed, so repair it and encrypt again.",
                SEED_BYTES,
            )
    elif not residues[1].any(axis=1).all():
        reader.fail(
            "the second polynomial is zero at a prime, which would send the message in the clear; drop the "
            "bytes and check the sender."
        )
    return primes, ntt == 1, scale, residues, seed


def _unlabelled(
    data: bytes | bytearray | memoryview, kind: Kind, parms: ParameterSet, scheme: Scheme
) -> tuple[memoryview, Label | None]:
    """Split data into SEAL's bytes and the label, if there is one; it must belong to the expected object."""
    seal, label = detach(data)
    if label is not None:
        label.check(kind, parms, scheme)
    return seal, label


def _ciphertext_bytes(parms: _Chain, primes: int, rows: int) -> int:
    """Return the most bytes of a ciphertext or public key: in full (a seed is shorter than n words) and of
    version 4."""
    return _CIPHERTEXT_FIXED + 8 * rows * primes * parms.n


def most_ciphertext_bytes(parms: ParameterSet) -> int:
    """Return the most bytes of a ciphertext of two polynomials, and so of a result."""
    return _ciphertext_bytes(parms, len(parms.primes), 2)


def read_ciphertext(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet,
    *,
    sizes: Iterable[int] = (2,),
    scheme: Scheme = CKKS,
) -> SealCiphertext:
    """Read a Ciphertext at any level below the key's, full or seeded, with its label or without.

    sizes: the counts of polynomials to accept (2; 3 before relinearization). Raises FrameError for a field
    that does not fit parms and scheme.
    """
    return _read_detached(*detach(data), parms, tuple(sizes), scheme)


def read_as_labelled(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet | None,
    scheme: Scheme | None,
    *,
    sizes: Iterable[int] = (2,),
) -> SealCiphertext:
    """Read a Ciphertext as read_ciphertext does. parms, scheme: None for those that the label names, and for
    CKKS without a label. Raises ParameterError also if nothing names the set."""
    seal, label = detach(data)
    if parms is None:
        if label is None:
            raise ParameterError(
                "Nothing names the ciphertext's parameter set, for it has no label: if it is a ciphertext "
                "that SEAL itself saved, and not a key, name it (--params)."
            )
        parms = by_id(label.parameters_id)
    if scheme is None:
        scheme = CKKS if label is None else label.scheme
    if label is not None and label.kind == Kind.CIPHERTEXT and label.scheme != scheme:
        raise other_scheme(label.scheme, scheme)
    return _read_detached(seal, label, parms, tuple(sizes), scheme)


def _read_detached(
    data: memoryview,
    label: Label | None,
    parms: ParameterSet,
    sizes: tuple[int, ...],
    scheme: Scheme,
) -> SealCiphertext:
    if label is not None:
        label.check(Kind.CIPHERTEXT, parms, scheme)
    # The limit allows the key level and three polynomials too: a later sentence says what is wrong.
    reader = _open(data, "ciphertext", _ciphertext_bytes(parms, len(parms.primes), max(3, *sizes)))
    levels = _levels(parms, scheme, range(1, data_primes(parms) + 1))
    ciphertext = _read_ciphertext_body(reader, parms, scheme, levels, sizes, is_key=False)
    reader.end()
    if label is None:
        return ciphertext
    if not scheme.is_bfv and label.scale != ciphertext.scale:
        raise FrameError(
            f"The ciphertext has scale {ciphertext.scale:.6g} and its label says {label.scale:.6g}: have it "
            "sent again."
        )
    return replace(ciphertext, key_id=label.key_id, model_id=label.model_id, known=label.known)


def read_wide_ciphertext(
    data: bytes | bytearray | memoryview, chain: SealChain, *, sizes: Iterable[int] = (2, 3)
) -> WideCiphertext:
    """Read a Ciphertext of a chain of SEAL's own, as read_ciphertext does. Raises MismatchError for one with
    a label, which is of a set of ours."""
    seal, label = detach(data)
    if label is not None:
        raise MismatchError(
            "The ciphertext has a label, as Ciphermote writes it, and comes from no chain of SEAL's: use it "
            "as it is."
        )
    reader = _open(seal, "ciphertext", _ciphertext_bytes(chain, len(chain.primes), max(3, *sizes)))
    levels = _levels(chain, chain.scheme, range(1, len(chain.data_primes) + 1))
    found = _read_fields(reader, chain, chain.scheme, levels, sizes, is_key=False)
    reader.end()
    return WideCiphertext(chain, *found)


def read_public_key(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet,
    *,
    scheme: Scheme = CKKS,
) -> SealPublicKey:
    """Read a PublicKey: two polynomials over all primes, full or seeded. Raises FrameError if it is none."""
    reader = _open(data, "public key", _ciphertext_bytes(parms, len(parms.primes), 2))
    levels = _levels(parms, scheme, [len(parms.primes)])
    key = _read_ciphertext_body(reader, parms, scheme, levels, [2], is_key=True)
    reader.end()
    return key


def _read_key_switch_key(reader: _Reader, parms: ParameterSet, scheme: Scheme, count: int) -> KeySwitchKey:
    levels = _levels(parms, scheme, [len(parms.primes)])
    parts = []
    for _ in range(count):
        body = reader.inner("key")
        start = reader.at
        parts.append(_read_ciphertext_body(reader, parms, scheme, levels, [2], is_key=True))
        if reader.at - start != body:
            reader.fail(f"the inner key claims {body} bytes but takes {reader.at - start}.")
    return tuple(parts)


def _open_key_switch_keys(
    data: bytes | bytearray | memoryview,
    what: str,
    parms: ParameterSet,
    scheme: Scheme,
    dimension: int,
    most_keys: int,
) -> _Reader:
    """Return a reader after the first dimension of RelinKeys or GaloisKeys."""
    if parms.special_prime is None:
        raise FrameError(
            f"SEAL {what}: parameter set {parms.name} has no special prime and so no key switching; use a "
            "set with a special prime."
        )
    parts = most_keys * data_primes(parms)
    most = _ciphertext_bytes(parms, len(parms.primes), 2)
    # Uniform residues do not pack below the bits of their primes; all else could vanish.
    bits = min(parms.primes).bit_length() - 1
    unpacked = parts * _CIPHERTEXT_FIXED + 64 * (len(data) + _PACKED_SLACK) // bits
    limit = _HEADER.size + 40 + 8 * dimension
    reader = _open(data, what, limit + min(parts * most, unpacked))
    _read_level(reader, parms, _levels(parms, scheme, [len(parms.primes)]))
    reader.expect("the count of keys", reader.u64(), [dimension])
    return reader


def read_relin_keys(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet,
    *,
    scheme: Scheme = CKKS,
) -> SealRelinKeys:
    """Read RelinKeys that hold one key. Raises FrameError if they are not of parms."""
    data, label = _unlabelled(data, Kind.RELIN_KEYS, parms, scheme)
    reader = _open_key_switch_keys(data, "relinearization keys", parms, scheme, 1, 1)
    count = reader.expect("the parts of the key", reader.u64(), [data_primes(parms)])
    key = _read_key_switch_key(reader, parms, scheme, count)
    reader.end()
    return SealRelinKeys(parms, key, scheme, label.key_id if label else None)


def read_galois_keys(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet,
    *,
    most_keys: int = MAX_GALOIS_KEYS,
    scheme: Scheme = CKKS,
) -> SealGaloisKeys:
    """Read GaloisKeys of at most most_keys elements. Raises FrameError if they are not of parms."""
    data, label = _unlabelled(data, Kind.GALOIS_KEYS, parms, scheme)
    reader = _open_key_switch_keys(data, "Galois keys", parms, scheme, parms.n, most_keys)
    keys: dict[int, KeySwitchKey] = {}
    for index in range(parms.n):
        count = reader.expect("the parts of a key", reader.u64(), [0, data_primes(parms)])
        if count == 0:
            continue
        if index == 0 or len(keys) == most_keys:
            reader.fail(
                f"there is a key for element 1, or there are more than {most_keys} keys; make keys for the "
                "rotations you need only.",
                8,
            )
        keys[2 * index + 1] = _read_key_switch_key(reader, parms, scheme, count)
    reader.end()
    return SealGaloisKeys(parms, keys, scheme, label.key_id if label else None)


def read_plaintext(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet,
    *,
    scheme: Scheme = CKKS,
) -> SealPlaintext:
    """Read a Plaintext: NTT form at a data level, or BFV's coefficient form. Raises FrameError if it is
    none."""
    limit = _HEADER.size + 32 + 16 + _ARRAY_OVERHEAD + 8 * parms.n * data_primes(parms)
    reader = _open(data, "plaintext", limit)
    levels = _levels(parms, scheme, range(1, data_primes(parms) + 1))
    if scheme.is_bfv:
        levels[_ZERO_ID] = 0
    primes = _read_level(reader, parms, levels)
    count = reader.u64()
    if primes:
        reader.expect("the count of coefficients", count, [primes * parms.n])
    elif count > parms.n:
        reader.fail(f"{count} coefficients are more than the ring degree {parms.n}.", 8)
    scale = _read_scale(reader, is_one=scheme.is_bfv)
    values: NDArray[Any] = reader.words([count])
    if primes:
        values = _check_residues(values, parms, 1, primes, reader.fail)[0]
    elif (values >= scheme.plain_modulus).any():
        reader.fail(
            f"a coefficient is not below the plain modulus {scheme.plain_modulus}; the bytes are damaged or "
            "of another set."
        )
    reader.end()
    return SealPlaintext(parms, primes, scale, values, scheme)


def read_secret_key(
    data: bytes | bytearray | memoryview,
    parms: ParameterSet,
    *,
    scheme: Scheme = CKKS,
) -> SealSecretKey:
    """Read a SecretKey. Raises FrameError if it does not belong to parms, or is zero at a prime."""
    return SealSecretKey(parms, _read_secret_words(data, parms, scheme).astype(np.uint32), scheme)


def read_wide_secret_key(data: bytes | bytearray | memoryview, chain: SealChain) -> WideResidues:
    """Read a SecretKey of a chain of SEAL's own, as read_secret_key does: uint64 [K, n], NTT form."""
    return _read_secret_words(data, chain, chain.scheme)


def _read_secret_words(data: bytes | bytearray | memoryview, parms: _Chain, scheme: Scheme) -> WideResidues:
    primes = len(parms.primes)
    reader = _open(data, "secret key", _HEADER.size + 32 + 16 + _ARRAY_OVERHEAD + 8 * parms.n * primes)
    _read_level(reader, parms, _levels(parms, scheme, [primes]))
    reader.expect("the count of coefficients", reader.u64(), [primes * parms.n])
    _read_scale(reader, is_one=True)
    words = reader.words([primes * parms.n])
    residues: WideResidues = _check_words(words, parms, 1, primes, reader.fail)[0]
    reader.end()
    if not residues.any(axis=1).all():
        reader.fail("the secret key is zero at a prime, so it hides nothing; make a new one.")
    return residues


def read_seal_chain(data: bytes | bytearray | memoryview, standard: str = "2024") -> SealChain:
    """Read EncryptionParameters as a chain of SEAL's own. Raises FrameError, or ParameterError for BGV, and
    for a chain that is not secure by the standard."""
    found = read_parameters(data)
    if found.scheme_name not in (CKKS.name, _SCHEME_NAMES[BFV_CODE]):
        raise ParameterError(
            f"The parameters are {found.scheme_name}'s, and CKKS's and BFV's come in: take one of these in "
            "SEAL."
        )
    return SealChain(found.n, found.primes, scheme_of_modulus(found.plain_modulus), standard)


def read_parameters(data: bytes | bytearray | memoryview) -> SealParameters:
    """Read EncryptionParameters: n is 1024 .. 32768, with 1 to 64 primes, each 1 mod 2n and below 2^61."""
    reader = _open(data, "parameters", _HEADER.size + 1 + 8 + 8 + 65 * _MODULUS_BYTES)
    scheme = reader.u8()
    if scheme not in _SCHEME_NAMES:
        reader.fail(f"scheme {scheme} is unknown; SEAL has 1 (BFV), 2 (CKKS) and 3 (BGV).", 1)
    n = reader.expect("the ring degree", reader.u64(), [1 << k for k in range(10, 16)])
    count = reader.u64()
    if not 1 <= count <= 64:
        reader.fail(
            f"the count of primes is {count} but must be 1 to 64; use an object made for these parameters.", 8
        )
    moduli = []
    for _ in range(count + 1):
        reader.inner("modulus", 8)
        moduli.append(reader.u64())
    reader.end()
    *primes, plain_modulus = moduli
    if any(not 2 * n < q < 1 << 61 or q % (2 * n) != 1 for q in primes):
        reader.fail(
            f"the primes {primes} are not all below 2^61 and 1 mod {2 * n}; choose primes that allow an NTT."
        )
    if plain_modulus >= 1 << 61 or (plain_modulus != 0) != (scheme != CKKS_CODE):
        reader.fail(
            f"the plain modulus {plain_modulus} does not suit {_SCHEME_NAMES[scheme]}; CKKS has 0, the "
            "others 2 to 2^60."
        )
    return SealParameters(_SCHEME_NAMES[scheme], n, tuple(primes), plain_modulus)


# --- writing ------------------------------------------------------------------------------------------------


def _object(*body: bytes) -> bytes:
    """Make an uncompressed object of the version that loads everywhere."""
    size = _HEADER.size + sum(len(part) for part in body)
    return b"".join((_HEADER.pack(MAGIC, _HEADER.size, *_VERSION, _COMPRESSION_NONE, 0, size), *body))


def _u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def _array(values: NDArray[Any]) -> bytes:
    return _object(_u64(values.size), values.astype("<u8").tobytes())


def _writable_residues(residues: NDArray[Any], parms: ParameterSet, rows: int, primes: int) -> Residues:
    return _writable_words(residues, parms, rows, primes).astype(np.uint32)


def _writable_words(residues: NDArray[Any], parms: _Chain, rows: int, primes: int) -> NDArray[Any]:
    def fail(sentence: str) -> NoReturn:
        raise FrameError(f"Writing SEAL bytes: {sentence}")

    if residues.shape != (rows, primes, parms.n) or residues.dtype.kind != "u":
        fail(
            f"residues of shape {residues.shape} and type {residues.dtype} are given, not unsigned "
            f"[{rows}, {primes}, {parms.n}]."
        )
    return _check_words(residues, parms, rows, primes, fail)


def _labelled(
    seal: bytes,
    kind: Kind,
    thing: SealCiphertext | SealRelinKeys | SealGaloisKeys,
    scale: float = 0.0,
    model_id: int | None = None,
    known: Known = UNKNOWN,
) -> bytes:
    """Return SEAL's bytes, with a label if the object's key is known."""
    if thing.key_id is None:
        return seal
    of = thing.parms.id, thing.key_id
    return attach(seal, Label(kind, thing.scheme, *of, scale, model_id, known))


def write_ciphertext(ciphertext: SealCiphertext) -> bytes:
    """Write a Ciphertext as bytes, full or seeded, with a label if its key is known. Raises FrameError if
    shape, range or seed is wrong."""
    scale = ciphertext.scale if not ciphertext.scheme.is_bfv else 0.0
    of = scale, ciphertext.model_id, ciphertext.known
    return _labelled(write_public_key(ciphertext), Kind.CIPHERTEXT, ciphertext, *of)


def compressed(seal: bytes | memoryview) -> bytes:
    """Compress an object that this module wrote, by zlib as SEAL does, to about half its size. Its label,
    which is not part of it, does not fit the result."""
    body = zlib.compress(seal[_HEADER.size :], 1)
    size = _HEADER.size + len(body)
    return _HEADER.pack(MAGIC, _HEADER.size, *_VERSION, _COMPRESSION_ZLIB, 0, size) + body


def write_wide_ciphertext(ciphertext: WideCiphertext) -> bytes:
    """Write a Ciphertext of a chain of SEAL's own, without a seed or label. Raises FrameError if shape or
    range is wrong."""
    ct = ciphertext
    residues = _writable_words(ct.residues, ct.chain, len(ct.residues), ct.primes)
    parms_id = ct.chain.parms_id(primes=ct.primes)
    head = parms_id + bytes([ct.ntt_form])
    return _ciphertext_object(head, len(residues), ct.scale, residues)


def write_public_key(key: SealPublicKey) -> bytes:
    """Write a PublicKey as bytes, like write_ciphertext but without a label: its key id is a digest of the
    bytes."""
    ct = key
    rows = 1 if ct.seed is not None else len(ct.residues)
    residues = _writable_residues(ct.residues, ct.parms, rows, ct.primes)
    tail = b""
    if ct.seed is not None:
        kind, seed = ct.seed
        if len(seed) != SEED_BYTES:
            raise FrameError(
                f"Writing SEAL bytes: the seed has {len(seed)} bytes but SEAL's have {SEED_BYTES}."
            )
        tail = _object(bytes([SeedType(kind)]), seed)
    parms_id = ct.parms.parms_id(ct.scheme, ct.primes)
    head = parms_id + bytes([ct.ntt_form])
    return _ciphertext_object(head, ct.size, ct.scale, residues, tail)


def _ciphertext_object(
    head: bytes, size: int, scale: float, residues: NDArray[Any], tail: bytes = b""
) -> bytes:
    _, primes, n = residues.shape
    return _object(head, _u64(size, n, primes), struct.pack("<d", scale), _array(residues), tail)


def write_plaintext(plaintext: SealPlaintext) -> bytes:
    """Write a Plaintext as bytes. Raises FrameError if shape or range is wrong."""
    pt = plaintext
    if pt.primes:
        values: NDArray[Any] = _writable_residues(pt.values[np.newaxis], pt.parms, 1, pt.primes)
        parms_id = pt.parms.parms_id(pt.scheme, pt.primes)
    else:
        values, parms_id = pt.values, _ZERO_ID
        if values.ndim != 1 or values.size > pt.parms.n or (values >= pt.scheme.plain_modulus).any():
            raise FrameError(
                f"Writing SEAL bytes: a plaintext has up to {pt.parms.n} coefficients below t = "
                f"{pt.scheme.plain_modulus}."
            )
    return _object(parms_id, _u64(values.size), struct.pack("<d", pt.scale), _array(values))


def write_secret_key(key: SealSecretKey) -> bytes:
    """Write a SecretKey as bytes. Raises FrameError if shape or range is wrong."""
    primes = len(key.parms.primes)
    residues = _writable_residues(key.residues[np.newaxis], key.parms, 1, primes)
    parms_id = key.parms.parms_id(key.scheme, primes)
    return _object(parms_id, _u64(residues.size), struct.pack("<d", 1.0), _array(residues))


def _key_switch_key(key: KeySwitchKey, parms: ParameterSet) -> list[bytes]:
    if len(key) != data_primes(parms):
        raise FrameError(
            f"Writing SEAL bytes: a key-switch key has {data_primes(parms)} parts but {len(key)} are given."
        )
    return [_u64(len(key)), *(write_public_key(part) for part in key)]


def write_relin_keys(keys: SealRelinKeys) -> bytes:
    """Write RelinKeys as bytes, with a label if their key is known. Raises FrameError if a part is wrong."""
    parms_id = keys.parms.parms_id(keys.scheme, len(keys.parms.primes))
    seal = _object(parms_id, _u64(1), *_key_switch_key(keys.key, keys.parms))
    return _labelled(seal, Kind.RELIN_KEYS, keys)


def write_galois_keys(keys: SealGaloisKeys) -> bytes:
    """Write GaloisKeys as bytes, with a label if their key is known. Raises FrameError if an element is not
    odd in 3 .. 2n - 1 or a part is wrong."""
    n = keys.parms.n
    for element in keys.keys:
        if element % 2 == 0 or not 3 <= element < 2 * n:
            raise FrameError(f"Writing SEAL bytes: Galois element {element} is not odd in 3 .. {2 * n - 1}.")
    parts: list[bytes] = []
    for element in range(1, 2 * n, 2):
        parts += _key_switch_key(keys.keys[element], keys.parms) if element in keys.keys else [_u64(0)]
    parms_id = keys.parms.parms_id(keys.scheme, len(keys.parms.primes))
    return _labelled(_object(parms_id, _u64(n), *parts), Kind.GALOIS_KEYS, keys)


def write_seal_chain(chain: SealChain) -> bytes:
    """Write the EncryptionParameters of a chain of SEAL's own as bytes."""
    return write_parameters(chain, chain.scheme)


def write_parameters(parms: _Chain, scheme: Scheme = CKKS) -> bytes:
    """Write EncryptionParameters as bytes."""
    moduli = [_object(_u64(value)) for value in (*parms.primes, scheme.plain_modulus)]
    return _object(bytes([scheme.code]), _u64(parms.n, len(parms.primes)), *moduli)


def key_id_of(public_key: bytes) -> int:
    """Return a key pair's name on the wire: the first 8 bytes, little-endian, of BLAKE2b-256 over SEAL's
    bytes."""
    return int.from_bytes(hashlib.blake2b(public_key, digest_size=32).digest()[:8], "little")
