# SPDX-License-Identifier: Apache-2.0
"""The owner's keys: made by our own arithmetic, kept in a directory in SEAL's bytes, checked when they
come back.

A key-switch key is, for each data prime q_j, an encryption of zero over all primes with target * (P mod
q_j) added to residue j of its first polynomial; P is the special prime. The target is s^2 for
relinearization and s(x^g) for the Galois element g. Every encryption of zero takes a fresh seed from the
operating system.

Secrets live in Python's memory while they are used and cannot be wiped from it: make keys on the owner's
machine only.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core, json_text
from ciphermote import seal_bytes as sb
from ciphermote.core import core_params
from ciphermote.errors import FrameError, KeyFileError, ParameterError
from ciphermote.files import MOST_KEYS_BYTES, MOST_OBJECT_BYTES, read_bounded
from ciphermote.parameters import ParameterSet

Residues = NDArray[np.uint32]
Progress = Callable[[int, int], None]
"""Called with (key-switch keys made, key-switch keys in all)."""

SEED_BYTES = 32

SECRET_FILE = "secret.key"
PUBLIC_FILE = "public.key"
RELIN_FILE = "relin.keys"
GALOIS_FILE = "galois.keys"
PARAMETERS_FILE = "parameters.seal"
MANIFEST_FILE = "manifest.json"
_NEW = ".new"

_FORMAT = "ciphermote-keys"
_FORMAT_VERSION = 1
_PARAMETERS_FORMAT = "ciphermote-parameters"
_MAX_MANIFEST_BYTES = 1 << 20


# --- making keys ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SecretKey:
    """A ternary secret. packed: n/4 bytes, four coefficients per byte, each as value + 1, the first lowest.

    key_id: of its pair, or None until a store or a blob names it.
    """

    parameters: ParameterSet
    packed: bytes = field(repr=False)
    key_id: int | None = None

    @classmethod
    def generate(cls, parameters: ParameterSet) -> SecretKey:
        """A fresh one from the operating system's randomness."""
        return cls(parameters, _core.secret_key_generate(core_params(parameters), os.urandom(SEED_BYTES)))

    @classmethod
    def from_coefficients(cls, parameters: ParameterSet, coefficients: NDArray[Any]) -> SecretKey:
        """From int [n] of -1, 0 and 1. KeyFileError for anything else, and for all zeros."""
        c = np.asarray(coefficients)
        if c.shape != (parameters.n,) or not np.isin(c, (-1, 0, 1)).all() or not c.any():
            raise KeyFileError(
                f"The secret key is not {parameters.n} coefficients of -1, 0 and 1, which is all that "
                "Ciphermote uses: make a new key with `ciphermote keygen`."
            )
        digits = (c + 1).astype(np.uint8).reshape(-1, 4)
        return cls(
            parameters,
            (digits << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=1, dtype=np.uint8).tobytes(),
        )

    @cached_property
    def coefficients(self) -> NDArray[np.int8]:
        """int8 [n]."""
        packed = np.frombuffer(self.packed, dtype=np.uint8)
        digits = packed[:, np.newaxis] >> np.array([0, 2, 4, 6], dtype=np.uint8) & 3
        return digits.reshape(-1).astype(np.int8) - np.int8(1)

    def residues(self, prime: int) -> Residues:
        """uint32 [n]: NTT form at one prime (0 .. K-1)."""
        return _core.secret_key_residues(core_params(self.parameters), self.packed, prime)

    def transformed(self, prime: int) -> Residues:
        """uint32 [n]: at one data prime as a device with CM_CONFIG_TRANSFORMED_SECRET holds it."""
        return _core.secret_key_transform(core_params(self.parameters), self.packed, prime)

    def to_seal(self) -> bytes:
        """SEAL's own bytes of it."""
        rows = [self.residues(i) for i in range(len(self.parameters.primes))]
        return sb.write_secret_key(sb.SealSecretKey(self.parameters, np.stack(rows)))

    @classmethod
    def from_seal(cls, data: bytes, parameters: ParameterSet) -> SecretKey:
        """From SEAL's bytes. KeyFileError if they are no ternary secret key of these parameters."""
        try:
            found = sb.read_secret_key(data, parameters)
        except FrameError as error:
            raise KeyFileError(f"The secret key cannot be used: {error}") from None
        return cls._from_residues(parameters, found.residues)

    @classmethod
    def _from_residues(cls, parameters: ParameterSet, residues: Residues) -> SecretKey:
        q = parameters.primes[0]
        first = _core.ntt_inverse(core_params(parameters), 0, residues[0]).astype(np.int64)
        key = cls.from_coefficients(parameters, np.where(first > q // 2, first - q, first))
        if any(not np.array_equal(key.residues(i), residues[i]) for i in range(len(parameters.primes))):
            raise KeyFileError(
                "The secret key differs from prime to prime, so it is damaged: restore it from a copy or "
                "make a new one."
            )
        return key


def _zero_encryption(secret: SecretKey) -> Residues:
    """uint32 [2, K, n], NTT form: an encryption of zero over all primes under a seed used once."""
    seed = os.urandom(SEED_BYTES)
    params = core_params(secret.parameters)
    columns = [
        _core.zero_encryption(params, secret.packed, seed, i) for i in range(len(secret.parameters.primes))
    ]
    return np.stack([np.stack(column) for column in columns], axis=1)


def make_public_key(secret: SecretKey) -> sb.SealPublicKey:
    """A public key over all primes."""
    return _key_ciphertext(secret.parameters, _zero_encryption(secret))


def make_relin_key(secret: SecretKey) -> sb.KeySwitchKey:
    """The key that brings products back to two polynomials. ParameterError if the set has one prime."""
    squares = [_multiply(s, s, q) for s, q in _data_residues(secret)]
    return _key_switch_key(secret, squares)


def make_galois_key(secret: SecretKey, element: int) -> sb.KeySwitchKey:
    """The key that follows x -> x^element (odd, 3 .. 2n-1). ParameterError if the set has one prime."""
    n = secret.parameters.n
    if element % 2 == 0 or not 3 <= element < 2 * n:
        raise ParameterError(f"{element} is no Galois element: it is odd and from 3 to {2 * n - 1}.")
    exponent = np.arange(n, dtype=np.int64) * element % (2 * n)
    moved = np.empty(n, dtype=np.int8)
    moved[exponent % n] = np.where(exponent < n, secret.coefficients, -secret.coefficients)
    return _key_switch_key(
        secret, [s for s, _ in _data_residues(SecretKey.from_coefficients(secret.parameters, moved))]
    )


def _key_for_bfv(key: sb.KeySwitchKey, plain_modulus: int) -> sb.KeySwitchKey:
    return tuple(replace(part, scheme=sb.Scheme.BFV, plain_modulus=plain_modulus) for part in key)


def relin_keys_for_bfv(data: bytes, parameters: ParameterSet, plain_modulus: int) -> bytes:
    """As galois_keys_for_bfv, of a relinearization key."""
    found = sb.read_relin_keys(data, parameters)
    key = _key_for_bfv(found.key, plain_modulus)
    return sb.write_relin_keys(sb.SealRelinKeys(parameters, key, sb.Scheme.BFV, plain_modulus, found.key_id))


def galois_keys_for_bfv(data: bytes, parameters: ParameterSet, plain_modulus: int) -> bytes:
    """SEAL's bytes of Galois keys made for CKKS, as those of BFV modulo plain_modulus: the same key-switch
    keys, which know nothing of a scheme, under the scheme's parms_id and of the same key. FrameError if data
    holds none."""
    found = sb.read_galois_keys(data, parameters)
    keys = {element: _key_for_bfv(key, plain_modulus) for element, key in found.keys.items()}
    return sb.write_galois_keys(
        sb.SealGaloisKeys(parameters, keys, sb.Scheme.BFV, plain_modulus, found.key_id)
    )


def conjugation_element(n: int) -> int:
    """The Galois element that conjugates every slot."""
    return 2 * n - 1


def _data_residues(secret: SecretKey) -> list[tuple[Residues, int]]:
    return [(secret.residues(i), q) for i, q in enumerate(secret.parameters.data_primes)]


def _multiply(a: Residues, b: Residues | int, q: int) -> Residues:
    return (a.astype(np.uint64) * np.asarray(b, dtype=np.uint64) % np.uint64(q)).astype(np.uint32)


def _key_switch_key(secret: SecretKey, targets: list[Residues]) -> sb.KeySwitchKey:
    """One part for each data prime j, whose residue j hides targets[j] * P."""
    parameters = secret.parameters
    special = parameters.special_prime
    if special is None:
        raise ParameterError(
            f"{parameters.name} has one prime and so no key switching: take a set with a special prime, "
            "such as n4096_q26x3_p27."
        )
    parts = []
    for j, target in enumerate(targets):
        q = parameters.primes[j]
        zero = _zero_encryption(secret)
        zero[0, j] = (zero[0, j].astype(np.uint64) + _multiply(target, special % q, q)) % q
        parts.append(_key_ciphertext(parameters, zero))
    return tuple(parts)


def _key_ciphertext(parameters: ParameterSet, residues: Residues) -> sb.SealCiphertext:
    return sb.SealCiphertext(parameters, len(parameters.primes), True, 1.0, residues)


def key_id_of(public_key: bytes) -> int:
    """A key pair's name on the wire: the first 8 bytes, little-endian, of BLAKE2b-256 over SEAL's bytes."""
    return int.from_bytes(hashlib.blake2b(public_key, digest_size=32).digest()[:8], "little")


# --- parameter files ------------------------------------------------------------------------------


def parameters_to_dict(parameters: ParameterSet) -> dict[str, Any]:
    """What a manifest and a parameter file say of a set."""
    return {
        "format": _PARAMETERS_FORMAT,
        "name": parameters.name,
        "n": parameters.n,
        "primes": list(parameters.primes),
        "standard": parameters.standard,
    }


def parameters_from_dict(fields: Any, where: str) -> ParameterSet:
    """The set again, validated anew. KeyFileError if fields are none; ParameterError if it is weak."""
    if not isinstance(fields, Mapping) or fields.get("format") != _PARAMETERS_FORMAT:
        raise KeyFileError(f"{where} holds no parameter set: write one with `ciphermote params --json`.")
    name, n, primes, standard = (fields.get(key) for key in ("name", "n", "primes", "standard"))
    if (
        not isinstance(name, str)
        or not isinstance(standard, str)
        or type(n) is not int
        or not isinstance(primes, list)
        or any(type(q) is not int for q in primes)
    ):
        raise KeyFileError(
            f"{where} lacks the name, n, primes or standard of its parameter set, or they are no such values."
        )
    return ParameterSet(name, n, tuple(primes), standard)


# --- the store ------------------------------------------------------------------------------------


def _galois_elements(parameters: ParameterSet, steps: Iterable[int], conjugation: bool) -> tuple[int, ...]:
    slots = parameters.slots
    elements = set()
    for step in steps:
        if not -slots < step < slots or step == 0:
            raise ParameterError(
                f"A rotation by {step} is none of {parameters.name}: give steps from 1 to {slots - 1}, or "
                "negative for the other way."
            )
        elements.add(sb.galois_element(parameters.n, step))
    if conjugation:
        elements.add(conjugation_element(parameters.n))
    if len(elements) > sb.MAX_GALOIS_KEYS:
        raise ParameterError(
            f"{len(elements)} Galois keys are asked for and a store holds {sb.MAX_GALOIS_KEYS}: make those "
            "the computation needs, for a rotation can be made of several."
        )
    return tuple(sorted(elements))


@dataclass(frozen=True)
class Manifest:
    """What manifest.json says. digests: file name -> BLAKE2b-256 of the public files, in hexadecimal."""

    parameters: ParameterSet
    key_id: int
    created: str
    galois_steps: tuple[int, ...]
    conjugation: bool
    digests: Mapping[str, str]

    def to_json(self) -> str:
        fields = {
            "format": _FORMAT,
            "version": _FORMAT_VERSION,
            "parameters": parameters_to_dict(self.parameters),
            "key_id": f"{self.key_id:016x}",
            "created": self.created,
            "galois_steps": list(self.galois_steps),
            "conjugation": self.conjugation,
            "blake2b_256": dict(self.digests),
        }
        return json.dumps(fields, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Manifest:
        """KeyFileError if it is none, or of another version."""
        damaged = KeyFileError(
            f"{where} is damaged or no manifest of keys: restore the directory from a copy."
        )
        try:
            fields = json_text.parse(text)
        except ValueError:
            raise damaged from None
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise damaged
        if fields.get("version") != _FORMAT_VERSION:
            raise KeyFileError(
                f"{where} is of another version than {_FORMAT_VERSION}, which this package reads: update it."
            )
        parameters = parameters_from_dict(fields.get("parameters"), where)
        try:
            most = parameters.slots - 1
            steps = tuple(json_text.integer(step, -most, most) for step in fields["galois_steps"])
            digests = {name: json_text.string(digest) for name, digest in fields["blake2b_256"].items()}
            found = cls(
                parameters,
                json_text.hexadecimal_u64(fields["key_id"]),
                json_text.string(fields["created"]),
                steps,
                json_text.boolean(fields["conjugation"]),
                digests,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise damaged from None
        if (
            not set(digests) <= {PUBLIC_FILE, RELIN_FILE, GALOIS_FILE, PARAMETERS_FILE}
            or PUBLIC_FILE not in digests
        ):
            raise damaged
        return found


class KeyPair(Protocol):
    """A key pair, wherever it is kept."""

    @property
    def parameters(self) -> ParameterSet: ...
    @property
    def key_id(self) -> int: ...
    def secret(self) -> SecretKey:
        """The secret key. KeyFileError if it is not there."""
        ...

    def public_key(self) -> sb.SealPublicKey:
        """The public key. KeyFileError if it cannot be read."""
        ...


@dataclass(frozen=True, eq=False)
class KeyContents:
    """What a directory of keys holds, in memory. files: the public ones, by name; secret_key: None in the
    public part."""

    manifest: Manifest
    files: Mapping[str, bytes] = field(repr=False)
    secret_key: SecretKey | None = field(repr=False)

    @property
    def parameters(self) -> ParameterSet:
        return self.manifest.parameters

    @property
    def key_id(self) -> int:
        return self.manifest.key_id

    @classmethod
    def make(
        cls,
        parameters: ParameterSet,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool | None = None,
        secret: SecretKey | None = None,
        progress: Progress | None = None,
    ) -> KeyContents:
        """Make keys; KeyStore.create has the arguments and the errors."""
        if relin is None:
            relin = parameters.special_prime is not None
        if secret is not None and secret.parameters != parameters:
            raise KeyFileError(f"The secret key is of {secret.parameters.name}, not of {parameters.name}.")
        steps = tuple(galois_steps)
        _galois_elements(parameters, steps, conjugation)
        secret = secret or SecretKey.generate(parameters)
        public = sb.write_public_key(make_public_key(secret))
        files = {PUBLIC_FILE: public, PARAMETERS_FILE: sb.write_parameters(parameters)}
        manifest = Manifest(
            parameters=parameters,
            key_id=key_id_of(public),
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            galois_steps=(),
            conjugation=False,
            digests={name: _digest(content) for name, content in files.items()},
        )
        bare = cls(manifest, files, replace(secret, key_id=manifest.key_id))
        return bare.extended(galois_steps=steps, conjugation=conjugation, relin=relin, progress=progress)

    def extended(
        self,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool = False,
        progress: Progress | None = None,
    ) -> KeyContents:
        """The same pair with the evaluation keys asked for, besides those that it has. ParameterError if the
        set cannot have them, KeyFileError without the secret key."""
        secret, parameters, key_id = self.secret(), self.parameters, self.key_id
        steps = tuple(dict.fromkeys((*self.manifest.galois_steps, *galois_steps)))
        conjugation = conjugation or self.manifest.conjugation
        elements = _galois_elements(parameters, steps, conjugation)
        files = dict(self.files)
        keys: dict[int, sb.KeySwitchKey] = {}
        if GALOIS_FILE in files:
            keys.update(sb.read_galois_keys(files[GALOIS_FILE], parameters).keys)
        missing = [element for element in elements if element not in keys]
        relin = relin and RELIN_FILE not in files
        total = len(missing) + relin
        report = progress or (lambda done, total: None)
        report(0, total)
        if relin:
            relin_keys = sb.SealRelinKeys(parameters, make_relin_key(secret), key_id=key_id)
            files[RELIN_FILE] = sb.write_relin_keys(relin_keys)
            report(1, total)
        for done, element in enumerate(missing, 1 + relin):
            keys[element] = make_galois_key(secret, element)
            report(done, total)
        if missing:
            files[GALOIS_FILE] = sb.write_galois_keys(sb.SealGaloisKeys(parameters, keys, key_id=key_id))
        manifest = replace(
            self.manifest,
            galois_steps=steps,
            conjugation=conjugation,
            digests={name: _digest(content) for name, content in files.items()},
        )
        return KeyContents(manifest, files, secret)

    def secret(self) -> SecretKey:
        """The secret key. KeyFileError in the public part."""
        if self.secret_key is None:
            raise KeyFileError("The secret key is not among these keys: it stays with the owner.")
        return self.secret_key

    def public_key(self) -> sb.SealPublicKey:
        return sb.read_public_key(self.files[PUBLIC_FILE], self.parameters)

    def publish(self, path: str | Path) -> KeyStore:
        """Write the directory, all or nothing. KeyFileError unless path does not exist yet, or is empty."""
        path = Path(path)
        refuse_occupied(path)
        files = {**self.files, MANIFEST_FILE: self.manifest.to_json().encode()}
        secret = None if self.secret_key is None else self.secret_key.to_seal()
        _publish_directory(path, files, secret)
        return KeyStore(path, self.manifest)


class KeyStore:
    """A directory of keys; open() one or create() one.

    secret.key (mode 0600; only the owner's machine has it), public.key, relin.keys, galois.keys and
    parameters.seal in SEAL's bytes, and manifest.json. Evaluation keys carry the key id in a label. Public
    files are checked against the manifest when they are read.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def parameters(self) -> ParameterSet:
        return self.manifest.parameters

    @property
    def key_id(self) -> int:
        """What the manifest says; see checked_key_id."""
        return self.manifest.key_id

    @property
    def galois_steps(self) -> tuple[int, ...]:
        """The rotations there are keys for, as they were asked for."""
        return self.manifest.galois_steps

    @property
    def has_secret(self) -> bool:
        return (self.path / SECRET_FILE).exists()

    @classmethod
    def create(
        cls,
        path: str | Path,
        parameters: ParameterSet,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool | None = None,
        secret: SecretKey | None = None,
        progress: Progress | None = None,
    ) -> KeyStore:
        """Make keys and the directory, all or nothing.

        relin: a relinearization key; None makes one if the set has key switching. secret: an imported key;
        None draws one. The directory must not exist, or be empty. KeyFileError if it is in use or cannot
        be written; ParameterError if the set cannot have the keys asked for.
        """
        refuse_occupied(Path(path))
        made = KeyContents.make(
            parameters,
            galois_steps=galois_steps,
            conjugation=conjugation,
            relin=relin,
            secret=secret,
            progress=progress,
        )
        return made.publish(path)

    @classmethod
    def open(cls, path: str | Path) -> KeyStore:
        """Open a directory of keys, with or without its secret. KeyFileError if it is none."""
        path = Path(path)
        where = path / MANIFEST_FILE
        if not where.is_file():
            raise KeyFileError(
                f"{path} holds no keys ({MANIFEST_FILE} is not there): make some with `ciphermote keygen`."
            )
        return cls(path, Manifest.from_json(_read_file(where, _MAX_MANIFEST_BYTES), str(where)))

    def secret(self) -> SecretKey:
        """The secret key. KeyFileError if it is missing, readable by others, damaged, or another's."""
        path = self.path / SECRET_FILE
        key = SecretKey.from_seal(_read_secret_file(path), self.parameters)
        if not _belongs(key, self.public_key()):
            raise KeyFileError(
                f"{path} does not belong to {PUBLIC_FILE} beside it: restore both from one copy."
            )
        return replace(key, key_id=self.key_id)

    def public_bytes(self, name: str) -> bytes:
        """The content of PUBLIC_FILE and so on. KeyFileError if it is missing, or not as it was made."""
        digest = self.manifest.digests.get(name)
        path = self.path / name
        if digest is None:
            option = "--relin`" if name == RELIN_FILE else "--model` (or `--rotations`)"
            raise KeyFileError(
                f"These keys were made without {name}: have their owner make it with `ciphermote extend "
                f"{option}; devices keep what they have."
            )
        cut_short = path.with_name(name + _NEW)  # extend left it
        for candidate in (cut_short, path) if cut_short.exists() else (path,):
            content = _read_file(candidate)
            if _digest(content) == digest:
                return content
        raise KeyFileError(
            f"{path} is damaged or was replaced (it is not what {MANIFEST_FILE} names): restore it."
        )

    def checked_key_id(self) -> int:
        """The key id, once public.key has confirmed it. KeyFileError as public_key."""
        self._checked_public_bytes()
        return self.key_id

    def _checked_public_bytes(self) -> bytes:
        content = self.public_bytes(PUBLIC_FILE)
        if key_id_of(content) != self.key_id:
            raise KeyFileError(
                f"{self.path / MANIFEST_FILE} names another key than {PUBLIC_FILE}: restore both."
            )
        return content

    def public_key(self) -> sb.SealPublicKey:
        """The public key. KeyFileError as public_bytes, or if the key id is not its own."""
        content = self._checked_public_bytes()
        try:
            return sb.read_public_key(content, self.parameters)
        except FrameError as error:
            raise KeyFileError(f"{self.path / PUBLIC_FILE} cannot be used: {error}") from None

    def export_public(self, path: str | Path) -> KeyStore:
        """Copy everything but the secret to a new directory: what an engine may have. Returns it, opened."""
        return self.contents(secret=False).publish(path)

    def contents(self, *, secret: bool = True) -> KeyContents:
        """All of it, or all but the secret. KeyFileError as secret and public_bytes."""
        files = {name: self.public_bytes(name) for name in self.manifest.digests}
        return KeyContents(self.manifest, files, self.secret() if secret else None)

    def extend(
        self,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool = False,
        progress: Progress | None = None,
    ) -> KeyStore:
        """Add evaluation keys, as KeyContents.extended; devices keep theirs, for the pair stays the same.
        Returns the directory, opened anew."""
        more = self.contents().extended(
            galois_steps=galois_steps, conjugation=conjugation, relin=relin, progress=progress
        )
        before, after = self.manifest.digests, more.manifest.digests
        changed = [name for name in after if after[name] != before.get(name)]
        try:
            # The manifest decides: until it is written the old keys count, then the new ones by either name.
            for name in changed:
                write_atomically(self.path / (name + _NEW), more.files[name])
            write_atomically(self.path / MANIFEST_FILE, more.manifest.to_json().encode())
            for name in changed:
                os.replace(self.path / (name + _NEW), self.path / name)
            sync_directory(self.path)
        except OSError as error:
            raise KeyFileError(f"{self.path} cannot be written: {error.strerror}.") from None
        return KeyStore(self.path, more.manifest)


def _belongs(secret: SecretKey, public: sb.SealPublicKey) -> bool:
    """Whether pk0 + pk1 s is nothing but noise; a stranger's key gives a residue this small with chance
    10^-6 or less per coefficient."""
    q = secret.parameters.primes[0]
    product = public.residues[1, 0].astype(np.uint64) * secret.residues(0) + public.residues[0, 0]
    noise = _core.ntt_inverse(core_params(secret.parameters), 0, (product % q).astype(np.uint32)).astype(
        np.int64
    )
    return int(np.minimum(noise, q - noise).max()) <= 64


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()


# --- files ----------------------------------------------------------------------------------------


def refuse_occupied(path: Path) -> None:
    """KeyFileError unless keys can be written to path: it does not exist, or is an empty directory."""
    if (path / SECRET_FILE).exists():
        raise KeyFileError(
            f"{path} already holds a secret key, which is never overwritten: choose another directory."
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise KeyFileError(f"{path} exists and is not an empty directory: choose another name for the keys.")


def holds_keys(folder: Path) -> bool:
    """Whether this is a directory of keys, whole or not: nothing else is written to it."""
    return any((folder / name).exists() for name in (SECRET_FILE, PUBLIC_FILE))


def _publish_directory(path: Path, files: Mapping[str, bytes], secret: bytes | None) -> None:
    """Write all files to a hidden directory beside path, then rename it: path appears whole or not at all,
    and the rename fails if something was put there meanwhile."""
    target = path.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise KeyFileError(f"{path} cannot be made: {error.strerror}.") from None
    try:
        if secret is not None:
            write_exclusively(scratch / SECRET_FILE, secret, 0o600)
        for name, content in files.items():
            write_exclusively(scratch / name, content, 0o644)
        scratch.rename(target)
        sync_directory(target.parent)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(scratch)


def write_exclusively(path: Path, content: bytes, mode: int) -> None:
    """Write a file that must not exist yet, and have it on the disk when this returns. OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write or replace a file: a reader sees the old content or the new one, whole, and the new one is on the
    disk when this returns. OSError."""
    directory = path.absolute().parent
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    sync_directory(directory)


def sync_directory(path: Path) -> None:
    """Have a directory's names on the disk when this returns. OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_file(path: Path, limit: int = MOST_KEYS_BYTES) -> bytes:
    try:
        return read_bounded(path, limit)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None


def _read_secret_file(path: Path) -> bytes:
    """The content, if nobody but the owner may read it. One open: what is checked is what is read."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise KeyFileError(
                    f"{path} is open to others (mode {mode:04o}): run `chmod 600 {path}` and try again."
                )
            return file.read(MOST_OBJECT_BYTES)
    except FileNotFoundError:
        raise KeyFileError(
            f"{path} is not here: the secret key stays with the owner, so run this on the owner's machine."
        ) from None
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None
