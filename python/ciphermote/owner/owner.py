# SPDX-License-Identifier: Apache-2.0
"""The owner of keys, who makes and stores them, gives others what they need, and reads the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ciphermote.base.arguments import Bytes, check_bytes, each, flag, instance, whole
from ciphermote.base.errors import ParameterError
from ciphermote.ciphertext import Ciphertext, SealResult
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import rotation_steps
from ciphermote.evaluate.seal_door import exported_to_seal, imported_from_seal
from ciphermote.owner.decryption import Decrypted, Numbers, check_under, decrypt, decrypt_with_errors
from ciphermote.owner.device_keys import DeviceKeys
from ciphermote.owner.encryption import PublicKey, device_residues
from ciphermote.owner.key_store import KeyContents, KeyStore, Progress
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.places import Places
from ciphermote.owner.provisioning import provision, to_c_header
from ciphermote.parameters import BFV, DEFAULT_SET, ParameterSet, by_name
from ciphermote.parameters.bounds import DEFAULT_LARGEST, DEFAULT_SUMMED, Readings
from ciphermote.parameters.noise import Key
from ciphermote.parameters.seal_chain import SealChain


def _steps(model: LinearModel | None, rotations: Iterable[int], parameters: ParameterSet) -> tuple[int, ...]:
    """Return the rotations of a model and those requested. Raises ParameterError."""
    if model is not None:
        instance(model, LinearModel, "model", "a LinearModel")
    asked = each(rotations, "rotations", "a list of whole numbers, such as [1, 2, 4]")
    most = parameters.slots
    steps = (whole(step, "A rotation", -most, most) for step in asked)
    return (*(rotation_steps(model, parameters) if model else ()), *steps)


class Owner:
    """A key pair and its evaluation keys, in memory, made by generate or load.

    Secrets cannot be wiped from Python's memory: use it on the owner's machine only. Its pickle holds the
    secret key, and is as secret.
    """

    def __init__(self, contents: KeyContents) -> None:
        contents.secret()
        self._contents = contents
        self._evaluation_keys: EvaluationKeys | None = None

    @classmethod
    def generate(
        cls,
        parameters: ParameterSet | str = DEFAULT_SET,
        *,
        model: LinearModel | None = None,
        rotations: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool | None = None,
        largest: float = DEFAULT_LARGEST,
        summed: int = DEFAULT_SUMMED,
        progress: Progress | None = None,
    ) -> Owner:
        """Make new keys from the system's randomness.

        parameters: a set, or the name of a built-in one (`ciphermote params` lists them). largest: the
        largest |value| that any reading under these keys may hold; it is public, and larger values are
        refused. summed: the number of readings that a sum must have room for. Both determine the scale.
        model: make the Galois keys needed to score with it. rotations: make those for rotations to the left
        by these numbers of slots (negative: to the right). conjugation: make the one that conjugates complex
        slots. relin: make the key for products of ciphertexts; None if the set supports it. progress: called
        with (keys made, keys in all). Raises ParameterError if the set does not support them.
        """
        chosen = by_name(parameters) if isinstance(parameters, str) else parameters
        instance(chosen, ParameterSet, "parameters", "a ParameterSet, or the name of a built-in one")
        steps = _steps(model, rotations, chosen)
        conjugation = flag(conjugation, "conjugation")
        relin = None if relin is None else flag(relin, "relin")
        return cls(
            KeyContents.make(
                chosen,
                galois_steps=steps,
                conjugation=conjugation,
                relin=relin,
                readings=Readings(largest, summed),
                progress=progress,
            )
        )

    @classmethod
    def from_seal(
        cls,
        secret_key: Bytes,
        chain: SealChain,
        parameters: ParameterSet | None = None,
        *,
        model: LinearModel | None = None,
        rotations: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool | None = None,
        largest: float = DEFAULT_LARGEST,
        summed: int = DEFAULT_SUMMED,
        progress: Progress | None = None,
    ) -> Owner:
        """Make evaluation keys and a public key for a secret key that SEAL saved under a chain of its own.

        The key stays SEAL's: import_seal brings SEAL's ciphertexts in, and export_seal gives back what SEAL
        decrypts. parameters: the set to compute in, of the same n; by default chain.nearest_set. The other
        arguments are generate's. Raises KeyFileError unless secret_key is a ternary secret key of the chain.
        """
        check_bytes(secret_key, "SEAL's secret key")
        instance(chain, SealChain, "chain", "a SealChain (ciphermote.SealChain)")
        chosen = chain.nearest_set if parameters is None else parameters
        instance(chosen, ParameterSet, "parameters", "a ParameterSet (ciphermote.parameters.by_name)")
        return cls(
            KeyContents.make(
                chosen,
                galois_steps=_steps(model, rotations, chosen),
                conjugation=flag(conjugation, "conjugation"),
                relin=None if relin is None else flag(relin, "relin"),
                secret=SecretKey.from_seal_chain(bytes(secret_key), chain, chosen),
                seal_chain=chain,
                readings=Readings(largest, summed),
                progress=progress,
            )
        )

    @classmethod
    def load(cls, path: str | Path) -> Owner:
        """Load a directory of keys that save, `ciphermote keygen` or KeyStore.create wrote. Raises
        KeyFileError if it is damaged, or has no secret key."""
        return cls(KeyStore.open(path).contents())

    def save(self, path: str | Path) -> None:
        """Write the directory of keys, with secret.key (mode 0600). Raises KeyFileError unless path does not
        exist yet, or is empty."""
        self._contents.publish(path)

    def save_public(self, path: str | Path) -> None:
        """Write the directory of keys without the secret key, for a machine that computes."""
        KeyContents(self._contents.manifest, self._contents.files, None).publish(path)

    def extend(
        self,
        *,
        model: LinearModel | None = None,
        rotations: Iterable[int] = (),
        conjugation: bool = False,
        relin: bool = False,
        largest: float | None = None,
        summed: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Add evaluation keys, or declare larger readings, with generate's arguments. The pair stays the
        same, so devices need no change. Use KeyStore.extend (`ciphermote extend`) to extend a saved
        directory. Raises ParameterError if nothing is requested."""
        steps = _steps(model, rotations, self.parameters)
        conjugation, relin = flag(conjugation, "conjugation"), flag(relin, "relin")
        readings = self.readings.declared(largest, summed)
        if not (steps or conjugation or relin or readings):
            raise ParameterError(
                "Nothing is asked for: give model, rotations, conjugation, relin, largest or summed."
            )
        self._evaluation_keys = None
        self._contents = self._contents.extended(
            galois_steps=steps, conjugation=conjugation, relin=relin, readings=readings, progress=progress
        )

    @property
    def parameters(self) -> ParameterSet:
        return self._contents.parameters

    @property
    def key_id(self) -> int:
        """The pair's name, 64 bits: frames and labels carry it."""
        return self._contents.key_id

    @property
    def readings(self) -> Readings:
        """The declarations about everything encrypted under these keys: the largest |value|, and how many
        readings are added up."""
        return self._contents.readings

    @property
    def rotations(self) -> tuple[int, ...]:
        """The rotations that have Galois keys, as they were requested."""
        return self._contents.manifest.galois_steps

    @property
    def secret_key(self) -> SecretKey:
        return self._contents.secret()

    @property
    def public_key(self) -> PublicKey:
        """The public key, for senders that encrypt without a secret."""
        residues = device_residues(self._contents.public_key())
        return PublicKey(self.parameters, self.key_id, residues, self.readings)

    @property
    def evaluation_keys(self) -> EvaluationKeys:
        """The evaluation keys, for machines that compute; the same object until extend makes further keys."""
        if self._evaluation_keys is None:
            self._evaluation_keys = EvaluationKeys.of_files(self.parameters, self._contents.files)
        return self._evaluation_keys

    def device_keys(self) -> DeviceKeys:
        """Make a device's own secret key, and the public key that converts its ciphertexts to this pair:
        provision() makes the device's part, and rekey_key is for Evaluator.rekey. Raises ParameterError for n
        = 1024."""
        return DeviceKeys.make(self.secret_key)

    def decrypt(
        self,
        data: Bytes | Ciphertext,
        *,
        complex_slots: bool = False,
        places: Places | None = None,
        signed: bool | None = None,
        bare: bool = False,
    ) -> Numbers:
        """Decrypt with the secret key, as ciphermote.decrypt does."""
        return decrypt(
            data,
            self.secret_key,
            complex_slots=complex_slots,
            places=places,
            signed=signed,
            bare=bare,
        )

    def decrypt_with_errors(
        self,
        data: Bytes | Ciphertext,
        *,
        model: LinearModel | None = None,
        complex_slots: bool = False,
        places: Places | None = None,
        signed: bool | None = None,
        bare: bool = False,
    ) -> Decrypted:
        """Decrypt with the secret key, as ciphermote.decrypt_with_errors does."""
        return decrypt_with_errors(
            data,
            self.secret_key,
            model=model,
            complex_slots=complex_slots,
            places=places,
            signed=signed,
            bare=bare,
        )

    @property
    def seal_chain(self) -> SealChain | None:
        """The chain that SEAL used the secret key with (from_seal), or None."""
        return self._contents.seal_chain

    def import_seal(
        self,
        data: Bytes,
        *,
        primes: int | None = None,
        largest: float | None = None,
        error: float | Key | None = None,
    ) -> Ciphertext:
        """Bring in a ciphertext that SEAL saved under its own chain, as Ciphertext.from_seal_chain does, and
        decrypt it once to see whether it is under this key. Raises MismatchError if it is not, or if SEAL
        computed on it for longer than its modulus allows; ParameterError for keys that are not SEAL's."""
        of = self.key_id, primes, largest, error
        found = imported_from_seal(self.seal_chain, self.parameters, data, *of)
        check_under(found, self.secret_key)
        return found

    def export_seal(self, ciphertext: Bytes | Ciphertext, *, primes: int | None = None) -> SealResult:
        """Bring a ciphertext under this key back to SEAL's chain, as Ciphertext.to_seal_chain does. Raises
        MismatchError for another key; ParameterError for keys that are not SEAL's."""
        return exported_to_seal(self.seal_chain, self.parameters, self.key_id, ciphertext, primes)

    def provisioned_header(
        self, *, secret: bool = False, public: bool = False, plain_moduli: Sequence[int] = ()
    ) -> str:
        """Return provisioned_keys.h for one new device, to compile in.

        It is secret, and no two devices may share it. secret, public: include these keys, one or both.
        plain_moduli: those with which it batches BFV's integers. Raises KeyFileError if neither key is
        requested; ParameterError for a modulus without slots.
        """
        secret, public = flag(secret, "secret"), flag(public, "public")
        moduli = [BFV(t).plain_modulus for t in each(plain_moduli, "plain_moduli", "a list of moduli")]
        return to_c_header(provision(self._contents, secret=secret, public=public, plain_moduli=moduli))
