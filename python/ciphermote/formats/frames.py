# SPDX-License-Identifier: Apache-2.0
"""The adapter: a device's frames in, a SEAL ciphertext out, and every field checked before SEAL sees a byte.

Frames of one ciphertext (a set) may arrive in any order, in any pieces and with anything between them
(frame_finder.py). A FrameReader stores the residues of a few sets and at most one frame of raw bytes, so a
sender cannot fill its memory. A frame's checksum detects accidents. Only the transport can prove that frames
come from the right device, and only a ledger (ledger.py) that they arrive for the first time.
docs/wire-format.md has the layout.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core
from ciphermote.base.arguments import Bytes
from ciphermote.base.errors import Error, FrameError
from ciphermote.base.words import scale_name
from ciphermote.formats import seal as sb
from ciphermote.formats.declaration import Declaration, split_view
from ciphermote.formats.frame_finder import HEADER_BYTES, MAGIC, FrameFinder, Gap, is_declaration
from ciphermote.formats.ledger import CounterLedger
from ciphermote.formats.residues import expand_seed, in_coefficients
from ciphermote.parameters import CKKS, ParameterSet, Scheme, by_id
from ciphermote.parameters.bounds import Known
from ciphermote.parameters.native import core_params
from ciphermote.parameters.noise import Key
from ciphermote.parameters.schemes import BFV_CODE, CKKS_CODE

XOF_NAMES = {0: "none", 1: "BLAKE2Xb", 2: "SHAKE256", 3: "ChaCha20"}

_TILE_UNITS = 16
"""Coverage of a polynomial is tracked in sixteenths, the smallest tile of the format."""
_RECENT_SETS = 64
_NAMING_RESIDUES = 16
_TAGGED = MAGIC + b"\2"
"""How tagged frames begin."""
_PARAMETERS_AT = 8


@dataclass(frozen=True)
class SetHeader:
    """The fields on which all frames of a ciphertext agree.

    primes: number of residues per coefficient. scheme: None for a public key. scale: CKKS's, 1 for BFV.
    """

    parameters: ParameterSet
    scheme: Scheme | None
    ntt_form: bool
    components: int
    primes: int
    key_id: int
    counter: int
    scale: float
    xof: int

    @property
    def scale_or_modulus(self) -> str:
        """The scale or modulus in words."""
        return f"scale {scale_name(self.scale)}" if self.scheme in (CKKS, None) else str(self.scheme)


@dataclass(frozen=True)
class FrameHeader:
    """The header of one frame: that of its set, and its own place. length: bytes of the whole frame."""

    set: SetHeader
    is_seed: bool
    component: int
    prime: int
    log2_tiles: int
    tile: int
    length: int

    @property
    def place(self) -> str:
        if self.is_seed:
            return "the seed"
        tile = f", tile {self.tile} of {1 << self.log2_tiles}" if self.log2_tiles else ""
        return f"component {self.component}, prime {self.prime}{tile}"


@dataclass(eq=False)
class FrameSet:
    """The frames of one ciphertext, complete once FrameReader returns it.

    residues: uint32 [1 or 2, primes, n] (one polynomial if a seed stands for the other); seed: bytes, or
    None. largest: the declared bound on |value|, or None.
    """

    header: SetHeader
    residues: NDArray[np.uint32]
    seed: bytes | None = None
    largest: float | None = None
    covered: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_), repr=False)
    frame_bytes: int = 0

    @property
    def scheme(self) -> Scheme:
        """The ciphertext's scheme; readers make no set of a public key's frames."""
        assert self.header.scheme is not None
        return self.header.scheme

    @classmethod
    def empty(cls, header: SetHeader) -> FrameSet:
        rows = 1 if header.xof else header.components
        return cls(
            header,
            np.zeros((rows, header.primes, header.parameters.n), dtype=np.uint32),
            covered=np.zeros((rows, header.primes, _TILE_UNITS), dtype=np.bool_),
        )

    @property
    def complete(self) -> bool:
        return bool(self.covered.all()) and (self.seed is not None) == (self.header.xof != 0)

    @property
    def known(self) -> Known:
        """Public knowledge about the values."""
        head = self.header
        if self.scheme.is_bfv or self.largest is None:
            return Known(self.largest)
        key: Key = "symmetric" if head.xof else "asymmetric"
        return Known.encrypted(self.largest, head.parameters, key, head.scale, self.source)

    @property
    def source(self) -> int:
        """A name of the encryption: c0 looks random for all values, so no two encryptions share it."""
        return source_of(self.residues[0, 0, :_NAMING_RESIDUES].astype("<u4").tobytes())

    def digest(self) -> bytes:
        """A digest of 32 bytes that depends on the reading, and not on how it was split into frames."""
        head = self.header
        fields = (
            *(head.parameters.id, self.scheme.code, head.ntt_form, head.components, head.primes),
            *(head.key_id, head.counter, head.scale.hex(), self.scheme.plain_modulus, head.xof),
        )
        digest = hashlib.blake2b(repr(fields).encode(), digest_size=32)
        digest.update(self.residues.astype("<u4").tobytes())
        digest.update(self.seed or b"")
        return digest.digest()

    def missing(self) -> str:
        """Name the missing frames."""
        places = [
            f"component {component}, prime {prime}"
            for component, prime in np.argwhere(~self.covered.all(axis=2)).tolist()
        ]
        if self.header.xof and self.seed is None:
            places.append("the seed")
        shown = "; ".join(places[:4])
        return shown + (f"; and {len(places) - 4} more" if len(places) > 4 else "")

    def unexpanded(self) -> sb.SealCiphertext:
        """Return the residues that were sent, of one polynomial or two, without expanding a seed."""
        head = self.header
        return sb.SealCiphertext(
            head.parameters,
            head.primes,
            head.ntt_form,
            head.scale,
            self.residues,
            scheme=self.scheme,
            key_id=head.key_id,
            known=self.known,
        )

    def seal_ciphertext(self, *, seeded: bool = False, coefficients: bool = False) -> sb.SealCiphertext:
        """Convert the set to a SEAL ciphertext.

        seeded: leave a seed that SEAL can expand (SHAKE256, BLAKE2Xb) unexpanded; a ChaCha20 seed is always
        expanded here. coefficients: convert BFV's to coefficient form, which SEAL needs for everything but
        additions; a seed is then expanded, unless the set already has that form. Raises FrameError for
        CKKS's, which have none.
        """
        head = self.header
        if coefficients and not self.scheme.is_bfv:
            raise FrameError(
                f"Reading {head.counter} is a CKKS ciphertext, which has no coefficient form: leave it as it "
                "is."
            )
        transforms = coefficients and head.ntt_form
        seed = None
        residues = self.residues
        if self.seed is not None:
            if seeded and not transforms and head.xof in (sb.SeedType.BLAKE2XB, sb.SeedType.SHAKE256):
                seed = (sb.SeedType(head.xof), self.seed)
            else:
                second = expand_seed(head.parameters, head.xof, self.seed, head.primes)
                residues = np.concatenate([residues, second[np.newaxis]])
        ciphertext = replace(self.unexpanded(), residues=residues, seed=seed)
        return in_coefficients(ciphertext) if transforms else ciphertext

    def to_seal(self, *, seeded: bool = False, coefficients: bool = False) -> bytes:
        """Return SEAL's bytes of seal_ciphertext, with a label."""
        return sb.write_ciphertext(self.seal_ciphertext(seeded=seeded, coefficients=coefficients))


def source_of(first_residues: bytes) -> int:
    """Name an encryption by the first 16 residues of c0, as little-endian words."""
    return int.from_bytes(hashlib.blake2b(first_residues, digest_size=8).digest(), "little")


def _hexadecimal(key_id: int) -> str:
    return f"{key_id:016x}"


def parse_frame(data: bytes, parameters: ParameterSet) -> tuple[FrameHeader, _core.Frame]:
    """Check everything but the residues of the frame that data begins with. Raises FrameError."""
    try:
        frame = _core.Frame(core_params(parameters), data)
    except Error as error:
        raise FrameError(_refusal(error, data, parameters)) from None
    head = SetHeader(
        parameters,
        Scheme(frame.plain_modulus) if frame.scheme in (BFV_CODE, CKKS_CODE) else None,
        frame.ntt_form,
        frame.components,
        frame.primes,
        frame.key_id,
        frame.counter,
        frame.scale,
        frame.xof,
    )
    return FrameHeader(
        head, frame.is_seed, frame.component, frame.prime, frame.log2_tiles, frame.tile, frame.length
    ), frame


def _refusal(error: Error, data: bytes, parameters: ParameterSet) -> str:
    if error.status == "CM_ERR_PARAMS":
        found = int.from_bytes(data[_PARAMETERS_AT : _PARAMETERS_AT + 4], "little")
        return (
            f"The frame is of parameter set 0x{found:08x}, not of {parameters.name} "
            f"(0x{parameters.id:08x}): give the parameters that the device was provisioned with."
        )
    if len(data) < HEADER_BYTES or data[:2] != MAGIC:
        return str(error)
    return _about(data) + str(error)


def _about(head: bytes) -> str:
    """Name a frame in a message."""
    counter, component, prime = struct.unpack_from("<Q", head, 20)[0], head[37], head[38]
    return f"The frame that says reading {counter}, component {component}, prime {prime}: "


@dataclass(frozen=True, eq=False)
class Reception:
    """A FrameReader's outcome: the sets that are now complete, and the fault, if any.

    fault: names the first thing that was dropped, and counts the rest. The sets are sound in any case.
    """

    sets: list[FrameSet]
    fault: FrameError | None


class FrameReader:
    """Takes one device's stream of frames in pieces of any size and returns sets as they become complete.

    parameters, key_id: those that every frame must have. scheme: the ciphertexts'. largest: the bound on
    |value| of readings that declare none, as their keys' owner declared it; None if unknown. max_open: the
    most incomplete sets; when one more begins, the oldest is dropped and reported. Sets are distinguished by
    their counters, so every device needs a separate reader. A reader notices copies of only the last few
    sets: use a CounterLedger to remember readings. Other bytes in the stream never hide frames, and memory is
    limited to the largest frame and the open sets.
    """

    def __init__(
        self,
        parameters: ParameterSet,
        key_id: int,
        *,
        scheme: Scheme = CKKS,
        largest: float | None = None,
        max_open: int = 4,
    ) -> None:
        self.parameters = parameters
        self._largest = largest
        self._declared: OrderedDict[int, float] = OrderedDict()
        self.key_id = key_id
        self.scheme = scheme
        self._max_open = max_open
        self._finder = FrameFinder(parameters)
        self._open: OrderedDict[int, FrameSet] = OrderedDict()
        self._recent: deque[int] = deque(maxlen=_RECENT_SETS)
        self._complete: list[FrameSet] = []
        self._first_fault = ""
        self._fault_count = 0
        self._bytes_dropped = 0
        self.faults = 0
        """Number of faults so far."""
        self.bytes_dropped = 0
        """Number of bytes so far outside whole frames of the parameters."""

    @property
    def bytes_kept(self) -> int:
        """Number of stored bytes of an incomplete frame."""
        return self._finder.kept

    def feed(self, data: bytes | bytearray | memoryview) -> Reception:
        """Take bytes; return the sets that are now complete, and a fault if a frame was damaged, foreign,
        unexpected or lost, or bytes lay outside frames. A damaged frame can simply be sent again."""
        for found in self._finder.feed(data):
            if isinstance(found, Gap):
                self._note_gap(found)
                continue
            try:
                self._take(found)
            except FrameError as error:
                self._note(str(error))
        return self._reception()

    def finish(self) -> Reception:
        """End the stream: return what feed returns, with a fault also if bytes or frames are missing."""
        may_begin = self._finder.may_begin
        left = self._finder.finish()
        self._bytes_dropped += left
        if may_begin:
            self._note(
                f"{left} bytes at the end are not a whole frame: the last one was cut short, or bytes were "
                "added."
            )
        for frames in self._open.values():
            self._note(self._lost(frames))
        self._open.clear()
        return self._reception()

    def _reception(self) -> Reception:
        fault = None
        if self._fault_count:
            notes = []
            if self._bytes_dropped:
                notes.append(f"{self._bytes_dropped:,} bytes were dropped.")
            if more := self._fault_count - 1:
                notes.append(f"{more} more fault{'s' if more > 1 else ''} followed.")
            fault = FrameError(self._first_fault + (f" ({' '.join(notes)})" if notes else ""))
        self.faults += self._fault_count
        self.bytes_dropped += self._bytes_dropped
        self._fault_count = self._bytes_dropped = 0
        complete, self._complete = self._complete, []
        return Reception(complete, fault)

    def _note(self, fault: str) -> None:
        """Record the first fault and count the rest, so that hostile bytes cannot fill memory with
        messages."""
        if self._fault_count == 0:
            self._first_fault = fault
        self._fault_count += 1

    def _note_gap(self, gap: Gap) -> None:
        """Report one fault when a gap starts and one for each later call it spans."""
        self._bytes_dropped += gap.size
        if gap.head:
            self._note(self._no_frame(gap.head))
        elif self._fault_count == 0:
            self._note(
                f"Bytes that are not a frame of {self.parameters.name} were skipped: the sender has other "
                "parameters, its frames are damaged, or something else writes to the link."
            )

    def _no_frame(self, head: bytes) -> str:
        """Explain why no whole frame begins with this header."""
        if head.startswith(_TAGGED):
            return (
                "These frames have tags (version 2), which a gateway checks: deliver them to the device's "
                "gateway, or have the device send frames without tags."
            )
        if head.startswith(sb.MAGIC):
            return (
                "These are SEAL's bytes, a ciphertext or a key, and not a device's frames: give the frames. "
                "A ciphertext needs no `ciphermote adapt`."
            )
        if is_declaration(head):
            return "A declaration of a reading's bound is damaged or cut short: have the reading sent again."
        try:
            if _core.frame_length(core_params(self.parameters), head):
                return _about(head) + "it is cut short, or its checksum does not match: have it sent again."
        except Error as error:
            return _refusal(error, head, self.parameters)
        return (
            "There are a few bytes before a frame: something else writes to the link, or one was cut short."
        )

    def _take(self, data: bytes) -> None:
        if is_declaration(data):
            self._declare(Declaration.from_bytes(data))
            return
        header, frame = parse_frame(data, self.parameters)
        self._check_header(header)
        frames = self._set_of(header)
        if header.is_seed:
            if frames.seed is not None:
                raise FrameError(self._twice(header))
            frames.seed = self._checked_seed(header, frame)
        else:
            self._place(frames, header, frame)
        frames.frame_bytes += len(data)
        if frames.complete:
            del self._open[header.set.counter]
            self._recent.append(header.set.counter)
            self._finish_set(frames)

    def _declare(self, found: Declaration) -> None:
        self._check_key(found.key_id)
        self._declared[found.counter] = found.largest
        while len(self._declared) > _RECENT_SETS:
            self._declared.popitem(last=False)

    def _check_key(self, key_id: int) -> None:
        if key_id != self.key_id:
            raise FrameError(
                f"These frames were made with another key: they name {_hexadecimal(key_id)} and this "
                f"one is {_hexadecimal(self.key_id)}; use the keys that the device was provisioned with, or "
                "its rekey key if it has a secret key of its own."
            )

    def _check_header(self, header: FrameHeader) -> None:
        found = header.set
        self._check_key(found.key_id)
        if found.scheme is None or found.components != 2:
            kind = "public key" if found.scheme is None else f"{found.scheme} ciphertext"
            raise FrameError(
                f"Reading {found.counter} is a {kind} of {found.components} components and this reader "
                f"accepts fresh {self.scheme.name} ciphertexts of two: send those."
            )
        if found.scheme.is_bfv and not self.scheme.is_bfv:
            modulus = found.scheme.plain_modulus
            raise FrameError(
                f"Reading {found.counter} is a BFV ciphertext of integers modulo {modulus}: give that as its "
                f"plain modulus (--plain-modulus {modulus}) to read it."
            )
        if self.scheme.is_bfv and not found.scheme.is_bfv:
            raise FrameError(
                f"Reading {found.counter} is a CKKS ciphertext, which has no plain modulus: leave it "
                "(--plain-modulus) out."
            )
        if found.scheme != self.scheme:
            raise FrameError(
                f"Reading {found.counter} has the plain modulus {found.scheme.plain_modulus} and not "
                f"{self.scheme.plain_modulus}: give the one that the device encrypts with."
            )
        modulus = self.parameters.moduli[found.primes]
        if found.scale >= min(modulus, sb.MAX_SCALE):
            raise FrameError(
                f"Reading {found.counter} has scale {found.scale:.6g}, which its modulus of "
                f"{modulus.bit_length()} bits has no room for: the frames are damaged or hostile, so drop "
                "them."
            )

    def _set_of(self, header: FrameHeader) -> FrameSet:
        """Return the set of a frame, which is begun if the frame is its first."""
        counter = header.set.counter
        known = self._open.get(counter)
        if known is None:
            if counter in self._recent:
                raise FrameError(self._twice(header))
            if len(self._open) == self._max_open:
                _, lost = self._open.popitem(last=False)
                self._note(self._lost(lost))
            known = self._open[counter] = FrameSet.empty(header.set)
        elif known.header != header.set:
            differing = [
                name
                for name in ("scale", "scheme", "xof", "primes", "ntt_form")
                if getattr(known.header, name) != getattr(header.set, name)
            ]
            raise FrameError(
                f"Reading {counter}: the frame of {header.place} differs from those before it in "
                f"{' and '.join(differing)}; the frames are of two ciphertexts, so have both sent again."
            )
        return known

    def _place(self, frames: FrameSet, header: FrameHeader, frame: _core.Frame) -> None:
        units = _TILE_UNITS >> header.log2_tiles
        covered = frames.covered[
            header.component, header.prime, header.tile * units : (header.tile + 1) * units
        ]
        if covered.any():
            raise FrameError(self._twice(header))
        try:
            residues = frame.residues()
        except FrameError as error:
            raise FrameError(f"Reading {header.set.counter}, {header.place}: {error}") from None
        start = header.tile * len(residues)
        frames.residues[header.component, header.prime, start : start + len(residues)] = residues
        covered[:] = True

    def _checked_seed(self, header: FrameHeader, frame: _core.Frame) -> bytes:
        seed = bytes(frame.seed)
        if not any(seed):
            raise FrameError(
                f"Reading {header.set.counter}: the seed is all zeros, so the sender's random source "
                "failed: repair it and encrypt again."
            )
        return seed

    def _finish_set(self, frames: FrameSet) -> None:
        if len(frames.residues) == 2 and not frames.residues[1].any(axis=1).all():
            raise FrameError(
                f"Reading {frames.header.counter}: the second polynomial is zero at a prime, which would "
                "send the message in the clear; drop the frames and check the device."
            )
        frames.largest = self._declared.pop(frames.header.counter, self._largest)
        self._complete.append(frames)

    def _twice(self, header: FrameHeader) -> str:
        return f"Reading {header.set.counter}: the frame of {header.place} came twice; drop the copies."

    def _lost(self, frames: FrameSet) -> str:
        return (
            f"Reading {frames.header.counter} is incomplete, for frames never came: {frames.missing()}; "
            "ask for them again."
        )


def read_sets(
    pieces: Iterable[bytes],
    parameters: ParameterSet,
    key_id: int,
    *,
    scheme: Scheme = CKKS,
    largest: float | None = None,
) -> list[FrameSet]:
    """Read the sets in the pieces of one stream, in the order of their completion.

    All are held in memory, so the stream must be finite. The arguments are FrameReader's. Raises FrameError
    if anything in it is wrong or missing.
    """
    reader = FrameReader(parameters, key_id, scheme=scheme, largest=largest)
    sets = [frames for piece in pieces for frames in _sound(reader.feed(piece))]
    return sets + _sound(reader.finish())


def _sound(reception: Reception) -> list[FrameSet]:
    if reception.fault is not None:
        raise reception.fault
    return reception.sets


def read_set(
    data: bytes,
    parameters: ParameterSet,
    key_id: int,
    *,
    scheme: Scheme = CKKS,
    largest: float | None = None,
) -> FrameSet:
    """Read the set in the frames of one ciphertext, in any order. The arguments are FrameReader's. Raises
    FrameError if anything is wrong or missing."""
    sets = read_sets([data], parameters, key_id, scheme=scheme, largest=largest)
    if len(sets) != 1:
        raise FrameError(
            f"The bytes hold the frames of {len(sets)} ciphertexts, not of one: give them one by "
            "one, as ciphermote.formats.frames.read_sets finds them."
        )
    return sets[0]


def stated_parameters(data: Bytes) -> ParameterSet:
    """Return the built-in set that frames name. Raises FrameError or ParameterError."""
    if len(data) < HEADER_BYTES:
        raise FrameError(
            f"{len(data)} bytes are fewer than a frame's header: they were cut short, so have them sent "
            "again."
        )
    return by_id(int.from_bytes(data[_PARAMETERS_AT : _PARAMETERS_AT + 4], "little"))


def stated_header(data: Bytes, parameters: ParameterSet) -> SetHeader:
    """Read the header of the first frame. Raises FrameError."""
    return parse_frame(bytes(split_view(data)[1]), parameters)[0].set


def read_stated_set(data: Bytes, parameters: ParameterSet) -> FrameSet:
    """Read the frames of one ciphertext, with the key and scheme that the first of them names. Raises
    FrameError."""
    head = stated_header(data, parameters)
    return read_set(bytes(data), parameters, head.key_id, scheme=head.scheme or CKKS)


def adapt(
    data: bytes,
    parameters: ParameterSet,
    key_id: int,
    *,
    scheme: Scheme = CKKS,
    largest: float | None = None,
    seeded: bool = False,
    coefficients: bool = False,
    ledger: CounterLedger | None = None,
    device: str = "",
) -> bytes:
    """Convert the frames of one ciphertext, in any order, to SEAL's bytes with a label.

    Raises FrameError. scheme: the ciphertext's. largest: the bound on |value| that the keys' owner declared
    (Readings.largest), for frames that declare none; None if unknown. seeded, coefficients: as for
    FrameSet.seal_ciphertext. ledger: records the device's reading, and refuses a recorded one (ReplayError);
    None accepts the same frames any number of times. If the bytes go to a file, record the reading only once
    it is written: see CounterLedger.taking.
    """
    frames = read_set(data, parameters, key_id, scheme=scheme, largest=largest)
    with ledger.taking([frames], device) if ledger is not None else contextlib.nullcontext():
        return frames.to_seal(seeded=seeded, coefficients=coefficients)
