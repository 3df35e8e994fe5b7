# SPDX-License-Identifier: Apache-2.0
"""The way from earlier owner keys of a fleet to its present one, by public keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ciphermote.base.errors import EngineError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.evaluator import Evaluator, RekeyKey

Steps = Mapping[int, tuple[int, str]]
"""By an earlier key's id: the id of the key that replaced it, and the digest of the object that switches to
it."""


def objects_between(steps: Steps, key_ids: Iterable[int]) -> Iterator[str]:
    """Yield the digests of the objects by which ciphertexts under these keys are switched."""
    for key_id in set(key_ids):
        while (step := steps.get(key_id)) is not None:
            key_id, digest = step
            yield digest


@dataclass(frozen=True)
class KeyPath:
    """Switches ciphertexts to a key. evaluator: one without evaluation keys, which switches to any.
    rekey_key: reads the object with a digest, which switches to the key with an id."""

    key_id: int
    steps: Steps
    evaluator: Evaluator
    rekey_key: Callable[[str, int], RekeyKey]

    def switched(self, given: Ciphertext, key_id: int) -> Ciphertext:
        """Switch a ciphertext under an earlier key to the present one. Raises EngineError for a key from
        which nothing leads there."""
        while key_id != self.key_id:
            step = self.steps.get(key_id)
            if step is None:
                raise EngineError(
                    f"Windows of the fleet are under key {key_id:016x}, from which nothing leads to "
                    f"{self.key_id:016x}: that key is retired, or was never the fleet's."
                )
            target, digest = step
            given = self.evaluator.rekey(given, self.rekey_key(digest, target))
            key_id = target
        return given

    def from_device(self, given: Ciphertext, device: int, rekey: str | None, key_id: int) -> Ciphertext:
        """Switch a ciphertext under a device's own key to an owner's. rekey: the digest of the object that
        does. Raises EngineError if there is none."""
        if rekey is None:
            raise EngineError(
                f"Device {device} has a key of its own and no rekey key is here: send the one that was made "
                "with it (`ciphermote owner enroll`)."
            )
        return self.evaluator.rekey(given, self.rekey_key(rekey, key_id))
