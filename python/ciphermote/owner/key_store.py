# SPDX-License-Identifier: Apache-2.0
"""Key pairs in memory and in directories, which are checked when they are loaded."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ciphermote.base import arguments
from ciphermote.base.errors import FrameError, KeyFileError
from ciphermote.base.files import (
    lock,
    sync_directory,
    write_atomically,
    write_exclusively,
)
from ciphermote.base.secret_files import read_secret_file
from ciphermote.formats import seal as sb
from ciphermote.formats.evaluation_keys import (
    EvaluationKey,
    galois_elements,
    read_galois,
    write_galois,
    write_relin,
)
from ciphermote.formats.key_directory import (
    GALOIS_FILE,
    MANIFEST_FILE,
    NEW,
    PARAMETERS_FILE,
    PUBLIC_FILE,
    RELIN_FILE,
    SEAL_CHAIN_FILE,
    Manifest,
    digest_of,
    read_manifest,
    read_public_file,
)
from ciphermote.formats.seal import key_id_of
from ciphermote.owner.keys import SecretKey, belongs, make_galois_key, make_public_key, make_relin_key
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.bounds import DEFAULT_READINGS, Readings
from ciphermote.parameters.seal_chain import SealChain

Progress = Callable[[int, int], None]
"""Called with (key-switch keys made, key-switch keys in all)."""
SECRET_FILE = "secret.key"
_LOCK = ".lock"
_TURN_SECONDS = 60.0


class KeyPair(ABC):
    """A key pair in memory or in a directory. manifest: its description."""

    manifest: Manifest

    @property
    def parameters(self) -> ParameterSet:
        return self.manifest.parameters

    @property
    def key_id(self) -> int:
        """The key id in the manifest; see KeyStore.checked_key_id."""
        return self.manifest.key_id

    @property
    def readings(self) -> Readings:
        """The owner's declarations about everything encrypted under the keys."""
        return self.manifest.readings

    @abstractmethod
    def secret(self) -> SecretKey:
        """The secret key. Raises KeyFileError if it is missing or unusable."""

    @abstractmethod
    def public_key(self) -> sb.SealPublicKey:
        """The public key. Raises KeyFileError if it cannot be read."""


@dataclass(frozen=True, eq=False)
class KeyContents(KeyPair):
    """The content of a directory of keys, in memory. files: the public ones, by name; secret_key: None in the
    public part."""

    manifest: Manifest
    files: Mapping[str, bytes] = field(repr=False)
    secret_key: SecretKey | None = field(repr=False)

    @classmethod
    def make(
        cls,
        parameters: ParameterSet,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool | None = None,
        secret: SecretKey | None = None,
        seal_chain: SealChain | None = None,
        readings: Readings = DEFAULT_READINGS,
        progress: Progress | None = None,
    ) -> KeyContents:
        """Make keys; KeyStore.create has the arguments and the errors."""
        readings.log2_scale(parameters)
        if relin is None:
            relin = parameters.special_prime is not None
        if secret is not None and secret.parameters != parameters:
            raise KeyFileError(
                f"The secret key is of {secret.parameters.name}, not of {parameters.name}: name its own set."
            )
        steps = tuple(galois_steps)
        galois_elements(parameters, steps, conjugation=conjugation)
        if seal_chain is not None and secret is None:
            raise KeyFileError(
                "A chain of SEAL's is given without its secret key: give that key too (--import-secret), for "
                "SEAL's ciphertexts are under no other."
            )
        secret = secret or SecretKey.generate(parameters)
        public = sb.write_public_key(make_public_key(secret))
        files = {PUBLIC_FILE: public, PARAMETERS_FILE: sb.write_parameters(parameters)}
        if seal_chain is not None:
            seal_chain.check_set(parameters)
            files[SEAL_CHAIN_FILE] = sb.write_seal_chain(seal_chain)
        manifest = Manifest(
            parameters=parameters,
            key_id=key_id_of(public),
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            galois_steps=(),
            conjugation=False,
            digests={name: digest_of(content) for name, content in files.items()},
            readings=readings,
        )
        bare = cls(manifest, files, replace(secret, key_id=manifest.key_id, readings=readings))
        return bare.extended(galois_steps=steps, conjugation=conjugation, relin=relin, progress=progress)

    def extended(
        self,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool = False,
        readings: Readings | None = None,
        progress: Progress | None = None,
    ) -> KeyContents:
        """Return the same pair with additional evaluation keys and new declarations about readings; None
        leaves them unchanged. Raises ParameterError if the set does not support the keys, or if the largest
        value would decrease; KeyFileError without the secret key."""
        declared = self.readings.widened(readings)
        declared.log2_scale(self.parameters)
        secret, parameters, key_id = self.secret(), self.parameters, self.key_id
        steps = tuple(dict.fromkeys((*self.manifest.galois_steps, *galois_steps)))
        conjugation = conjugation or self.manifest.conjugation
        elements = galois_elements(parameters, steps, conjugation=conjugation)
        files = dict(self.files)
        keys: dict[int, EvaluationKey] = {}
        if GALOIS_FILE in files:
            keys.update(read_galois(files[GALOIS_FILE], parameters))
        missing = [element for element in elements if element not in keys]
        relin = relin and RELIN_FILE not in files
        total = len(missing) + relin
        report = progress or (lambda done, total: None)
        report(0, total)
        if relin:
            files[RELIN_FILE] = write_relin(parameters, make_relin_key(secret), key_id)
            report(1, total)
        for done, element in enumerate(missing, 1 + relin):
            keys[element] = make_galois_key(secret, element)
            report(done, total)
        if missing:
            files[GALOIS_FILE] = write_galois(parameters, keys, key_id)
        manifest = replace(
            self.manifest,
            galois_steps=steps,
            conjugation=conjugation,
            digests={name: digest_of(content) for name, content in files.items()},
            readings=declared,
        )
        return KeyContents(manifest, files, replace(secret, readings=declared))

    def secret(self) -> SecretKey:
        """The secret key. Raises KeyFileError in the public part."""
        if self.secret_key is None:
            raise KeyFileError("The secret key is not among these keys: it stays with the owner.")
        return self.secret_key

    def public_key(self) -> sb.SealPublicKey:
        return sb.read_public_key(self.files[PUBLIC_FILE], self.parameters)

    @property
    def seal_chain(self) -> SealChain | None:
        """The chain of the application of SEAL whose key this is, or None."""
        found = self.files.get(SEAL_CHAIN_FILE)
        return None if found is None else _chain_of(found)

    def publish(self, path: str | Path) -> KeyStore:
        """Write the directory atomically. Raises KeyFileError unless path does not exist yet, or is empty."""
        path = arguments.path(path)
        refuse_occupied(path)
        files = {**self.files, MANIFEST_FILE: self.manifest.to_json().encode()}
        secret = None if self.secret_key is None else self.secret_key.to_seal()
        _publish_directory(path, files, secret)
        return KeyStore(path, self.manifest)


class KeyStore(KeyPair):
    """A directory of keys; open() one or create() one.

    It holds secret.key (mode 0600; only the owner's machine has it), public.key, relin.keys, galois.keys and
    parameters.seal in SEAL's bytes, manifest.json, and seal-chain.seal if the key is one that SEAL made for a
    chain of its own. Evaluation keys carry the key id in a label; those of
    several special primes, which SEAL does not support, are in Ciphermote's own format (seeded_keys). Public
    files are checked against the manifest when they are read.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def galois_steps(self) -> tuple[int, ...]:
        """The rotations that have keys, as they were requested."""
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
        seal_chain: SealChain | None = None,
        readings: Readings = DEFAULT_READINGS,
        progress: Progress | None = None,
    ) -> KeyStore:
        """Make keys, and write the directory atomically.

        relin: make a relinearization key; None makes one if the set has key switching. secret: an imported
        key; None draws one. seal_chain: the chain that SEAL used the imported key with, if it is another.
        readings: declarations about everything that will be encrypted under the keys.
        The directory must not exist, or be empty. Raises KeyFileError if it is in use or cannot be written;
        ParameterError if the set does not support the keys, or has no room for such readings.
        """
        refuse_occupied(Path(path))
        made = KeyContents.make(
            parameters,
            galois_steps=galois_steps,
            conjugation=conjugation,
            relin=relin,
            secret=secret,
            seal_chain=seal_chain,
            readings=readings,
            progress=progress,
        )
        return made.publish(path)

    @classmethod
    def open(cls, path: str | Path) -> KeyStore:
        """Open a directory of keys, with or without its secret. Raises KeyFileError if the path holds
        none."""
        path = arguments.path(path)
        return cls(path, read_manifest(path))

    def secret(self) -> SecretKey:
        """The secret key. Raises KeyFileError if it is missing, readable by others, damaged, or of another
        pair."""
        path = self.path / SECRET_FILE
        key = SecretKey.from_seal(read_secret_file(path), self.parameters)
        if not belongs(key, self.public_key()):
            raise KeyFileError(
                f"{path} does not belong to {PUBLIC_FILE} beside it: restore both from one copy."
            )
        return replace(key, key_id=self.key_id, readings=self.readings)

    def public_bytes(self, name: str) -> bytes:
        """Read PUBLIC_FILE or another public file. Raises KeyFileError if it is missing, or its digest
        differs."""
        return read_public_file(self.path, self.manifest, name)

    def checked_key_id(self) -> int:
        """Return the key id, confirmed by public.key. Raises KeyFileError like public_key."""
        self._checked_public_bytes()
        return self.key_id

    def _checked_public_bytes(self) -> bytes:
        content = self.public_bytes(PUBLIC_FILE)
        if key_id_of(content) != self.key_id:
            raise KeyFileError(
                f"{self.path / MANIFEST_FILE} names another key than {PUBLIC_FILE}: restore both from one "
                "copy."
            )
        return content

    def public_key(self) -> sb.SealPublicKey:
        """The public key. Raises KeyFileError like public_bytes, or if it has another key id."""
        content = self._checked_public_bytes()
        try:
            return sb.read_public_key(content, self.parameters)
        except FrameError as error:
            raise KeyFileError(f"{self.path / PUBLIC_FILE} cannot be used: {error}") from None

    def seal_chain(self) -> SealChain | None:
        """The chain of the application of SEAL whose key this is, or None. Raises KeyFileError if its file is
        damaged."""
        if SEAL_CHAIN_FILE not in self.manifest.digests:
            return None
        return _chain_of(self.public_bytes(SEAL_CHAIN_FILE))

    def export_public(self, path: str | Path) -> KeyStore:
        """Copy everything except the secret to a new directory, for engines, and return it opened."""
        return self.contents(secret=False).publish(path)

    def contents(self, *, secret: bool = True) -> KeyContents:
        """Load everything, or everything except the secret. Raises KeyFileError like secret and
        public_bytes."""
        files = {name: self.public_bytes(name) for name in self.manifest.digests}
        return KeyContents(self.manifest, files, self.secret() if secret else None)

    def extend(
        self,
        *,
        galois_steps: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool = False,
        readings: Readings | None = None,
        progress: Progress | None = None,
    ) -> KeyStore:
        """Add evaluation keys, as KeyContents.extended does, and return the directory reopened.

        Devices need no change, because the pair stays the same. Processes that extend one directory take
        turns, and each adds to the keys present at its turn. Raises KeyFileError if its turn does not come
        within a minute.
        """
        self.secret()  # without it, nothing is written to the directory, not even a lock
        with self._turn():
            present = KeyStore.open(self.path)
            more = present.contents().extended(
                galois_steps=galois_steps,
                conjugation=conjugation,
                relin=relin,
                readings=readings,
                progress=progress,
            )
            before, after = present.manifest.digests, more.manifest.digests
            present._replace(more, [name for name in after if after[name] != before.get(name)])
        return KeyStore(self.path, more.manifest)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(lock(self.path / _LOCK, _TURN_SECONDS))
            except TimeoutError:
                raise KeyFileError(
                    f"Another process is adding keys to {self.path} and has not ended within "
                    f"{_TURN_SECONDS:g} s: wait until it has, then try again."
                ) from None
            except OSError as error:
                raise self._unwritable(error) from None
            yield

    def _replace(self, more: KeyContents, changed: list[str]) -> None:
        """Write the changed files and then the manifest: until it is written the old keys are valid, and then
        the new ones under either name."""
        try:
            for name in changed:
                write_atomically(self.path / (name + NEW), more.files[name])
            write_atomically(self.path / MANIFEST_FILE, more.manifest.to_json().encode())
            for name in changed:
                os.replace(self.path / (name + NEW), self.path / name)
            sync_directory(self.path)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> KeyFileError:
        return KeyFileError(
            f"{self.path} cannot be written ({error.strerror}): see that you may write there."
        )


def _chain_of(data: bytes) -> SealChain:
    """Read the chain of SEAL's that keys were made for, when its owner accepted its standard."""
    try:
        return sb.read_seal_chain(data, "2018")
    except FrameError as error:
        raise KeyFileError(f"{SEAL_CHAIN_FILE} cannot be used: {error}") from None


def refuse_occupied(path: Path) -> None:
    """Raises KeyFileError unless path does not exist, or is an empty directory."""
    if (path / SECRET_FILE).exists():
        raise KeyFileError(
            f"{path} already holds a secret key, which is never overwritten: choose another directory."
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise KeyFileError(f"{path} exists and is not an empty directory: choose another name for the keys.")


def holds_keys(folder: Path) -> bool:
    """Whether this is a directory of keys, complete or not, to which nothing else may be written."""
    return any((folder / name).exists() for name in (SECRET_FILE, PUBLIC_FILE))


def _publish_directory(path: Path, files: Mapping[str, bytes], secret: bytes | None) -> None:
    """Write all files to a hidden directory beside path, then rename it: path appears atomically, and the
    rename fails if something was put there meanwhile."""
    target = path.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise KeyFileError(f"{path} cannot be made ({error.strerror}): name another directory.") from None
    try:
        if secret is not None:
            write_exclusively(scratch / SECRET_FILE, secret, 0o600)
        for name, content in files.items():
            write_exclusively(scratch / name, content, 0o644)
        scratch.rename(target)
        sync_directory(target.parent)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written ({error.strerror}): name another directory.") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(scratch)
