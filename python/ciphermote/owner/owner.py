# SPDX-License-Identifier: Apache-2.0
"""The owner of keys: makes them, keeps them, hands out what others need, and reads the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ciphermote.base.arguments import Bytes, each, flag, instance, whole
from ciphermote.base.errors import ParameterError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import rotation_steps
from ciphermote.owner.bfv import Places
from ciphermote.owner.decryption import Decrypted, Numbers, decrypt, decrypt_with_errors
from ciphermote.owner.device_keys import DeviceKeys
from ciphermote.owner.encryption import PublicKey, device_residues
from ciphermote.owner.key_store import KeyContents, KeyStore, Progress
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.provisioning import provision, to_c_header
from ciphermote.parameters import BFV, DEFAULT_SET, ParameterSet, by_name
from ciphermote.parameters.bounds import DEFAULT_LARGEST, DEFAULT_SUMMED, Readings


def _steps(model: LinearModel | None, rotations: Iterable[int], parameters: ParameterSet) -> tuple[int, ...]:
    """The rotations of a model and those asked for. ParameterError."""
    if model is not None:
        instance(model, LinearModel, "model", "a LinearModel")
    asked = each(rotations, "rotations", "a list of whole numbers, such as [1, 2, 4]")
    most = parameters.slots
    steps = (whole(step, "A rotation", -most, most) for step in asked)
    return (*(rotation_steps(model, parameters) if model else ()), *steps)


class Owner:
    """A key pair and its evaluation keys, in memory. Made by generate or load.

    Secrets cannot be wiped from Python's memory: use it on the owner's machine only. A pickle of it holds the
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
        """New keys from the system's randomness.

        parameters: a set, or the name of a built-in one (`ciphermote params` lists them). largest: the
        largest |value| that any reading under these keys may hold; it is public, and values beyond it are
        refused. summed: how many readings a sum must have room for. Both choose the scale. model: make the
        Galois keys that scoring with it needs. rotations: and those for rotations to the left by so many
        slots (negative: to the right). conjugation: and that of complex slots. relin: and the key for
        products of ciphertexts; None: if the set can. progress: called with (keys made, keys in all).
        ParameterError if the set cannot have them.
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
    def load(cls, path: str | Path) -> Owner:
        """From a directory of keys: what save, `ciphermote keygen` or KeyStore.create wrote. KeyFileError if
        it is damaged, or has no secret key."""
        return cls(KeyStore.open(path).contents())

    def save(self, path: str | Path) -> None:
        """Write the directory of keys, with secret.key (mode 0600). KeyFileError unless path does not exist
        yet, or is empty."""
        self._contents.publish(path)

    def save_public(self, path: str | Path) -> None:
        """As save, without the secret key: what an engine's machine may have."""
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
        same, and with it all devices. A directory saved before has them after KeyStore.extend (`ciphermote
        extend`). ParameterError if nothing is asked for."""
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
        """What is declared of all that is encrypted under these keys: the largest |value|, and how many are
        added up."""
        return self._contents.readings

    @property
    def rotations(self) -> tuple[int, ...]:
        """Those that there are Galois keys for, as they were asked for."""
        return self._contents.manifest.galois_steps

    @property
    def secret_key(self) -> SecretKey:
        return self._contents.secret()

    @property
    def public_key(self) -> PublicKey:
        """For whoever encrypts without a secret."""
        residues = device_residues(self._contents.public_key())
        return PublicKey(self.parameters, self.key_id, residues, self.readings)

    @property
    def evaluation_keys(self) -> EvaluationKeys:
        """For whoever computes; the same object until extend makes further keys."""
        if self._evaluation_keys is None:
            self._evaluation_keys = EvaluationKeys.of_files(self.parameters, self._contents.files)
        return self._evaluation_keys

    def device_keys(self) -> DeviceKeys:
        """A secret key of a device's own, and what brings its ciphertexts under this pair: provision() gives
        the device its part, rekey_key is for Evaluator.rekey. ParameterError for n = 1024."""
        return DeviceKeys.make(self.secret_key)

    def decrypt(
        self,
        data: Bytes | Ciphertext,
        *,
        complex_slots: bool = False,
        places: Places | None = None,
        signed: bool | None = False,
        bare: bool = False,
    ) -> Numbers:
        """As ciphermote.decrypt, with the secret key."""
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
        signed: bool | None = False,
        bare: bool = False,
    ) -> Decrypted:
        """As ciphermote.decrypt_with_errors, with the secret key."""
        return decrypt_with_errors(
            data,
            self.secret_key,
            model=model,
            complex_slots=complex_slots,
            places=places,
            signed=signed,
            bare=bare,
        )

    def provisioned_header(
        self, *, secret: bool = False, public: bool = False, plain_moduli: Sequence[int] = ()
    ) -> str:
        """provisioned_keys.h of one new device, to compile in: secret, and no two devices may have the same.

        secret, public: with which keys, one or both. plain_moduli: those that it batches BFV's integers with.
        KeyFileError if neither key is asked for; ParameterError for a modulus without slots.
        """
        secret, public = flag(secret, "secret"), flag(public, "public")
        moduli = [BFV(t).plain_modulus for t in each(plain_moduli, "plain_moduli", "a list of moduli")]
        return to_c_header(provision(self._contents, secret=secret, public=public, plain_moduli=moduli))
