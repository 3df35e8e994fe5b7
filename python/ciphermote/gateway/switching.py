# SPDX-License-Identifier: Apache-2.0
"""Switch ciphertexts from earlier owner keys of a fleet to its present one (rotations.py)."""

from __future__ import annotations

from ciphermote.base.errors import EngineError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.evaluator import Evaluator, RekeyKey
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.devices import unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.interface import Store
from ciphermote.rest.requests import FullFleet

IS_UNDER = "coalesce(w.owner_key, d.owner_key)"
"""The owner's key that a window w of a device d is under, or that its device's rekey key leads to; NULL for
the fleet's present one."""


def why_fixed(fleet: Fleet) -> str | None:
    """Return why a fleet's windows cannot be switched to another key; None if they can."""
    if fleet.is_compact:
        return "Compact windows have no key switching"
    if fleet.parameters.special_prime is None:
        return f"Set {fleet.parameters.name} has one prime, and so no key switching"
    return None


def check_switchable(fleet: Fleet) -> None:
    """Raises Refusal for a fleet whose windows cannot be switched to another key."""
    reason = why_fixed(fleet)
    if reason is not None:
        raise Refusal(
            422,
            "no-key-switching",
            f"{reason}: sum what fleet {fleet.name} has while its key {fleet.key_id:016x} is there, have its "
            "retention delete the windows, and let devices send to another fleet.",
        )


class KeyPath:
    """Switches ciphertexts from earlier keys of a fleet to its present one."""

    def __init__(self, fleet: Fleet, database: Connection, store: Store) -> None:
        self._fleet = fleet
        self._store = store
        rows = database.execute("SELECT source, target, rekey FROM rotations WHERE fleet = ?", (fleet.id,))
        self._steps = {unsigned(row["source"]): (unsigned(row["target"]), row["rekey"]) for row in rows}
        self._keys: dict[int, RekeyKey] = {}
        self._device_keys: dict[str, RekeyKey] = {}
        self._evaluator: Evaluator | None = None

    def switched(self, given: Ciphertext, key_id: int) -> Ciphertext:
        """Switch a ciphertext under an earlier key to the present one. Raises EngineError for a key from
        which nothing leads there."""
        while key_id != self._fleet.key_id:
            target, digest = self._steps.get(key_id, (0, None))
            if digest is None:
                raise EngineError(
                    f"Windows of fleet {self._fleet.name} are under key {key_id:016x}, from which nothing "
                    f"leads to {self._fleet.key_id:016x}: that key is retired, or was never the fleet's."
                )
            given = self.evaluator.rekey(given, self._key(key_id, target, digest))
            key_id = target
        return given

    def from_device(self, given: Ciphertext, device: int, rekey: str | None, key_id: int) -> Ciphertext:
        """Switch a ciphertext under a device's own key to an owner's. rekey: the object that does. Raises
        EngineError if there is none."""
        if rekey is None:
            raise EngineError(
                f"Device {device} has a key of its own and no rekey key is here: send the one that was made "
                "with it (`ciphermote owner enroll`)."
            )
        if rekey not in self._device_keys:
            self._device_keys[rekey] = self.evaluator.rekey_key(self._store.get(rekey), owner_id=key_id)
        return self.evaluator.rekey(given, self._device_keys[rekey])

    @property
    def evaluator(self) -> Evaluator:
        """An evaluator without evaluation keys, which switches to any key."""
        if self._evaluator is None:
            definition = self._fleet.definition
            assert isinstance(definition, FullFleet)
            self._evaluator = Evaluator(self._fleet.parameters, definition.scheme)
        return self._evaluator

    def _key(self, source: int, target: int, digest: str) -> RekeyKey:
        if source not in self._keys:
            self._keys[source] = self.evaluator.rekey_key(self._store.get(digest), owner_id=target)
        return self._keys[source]
