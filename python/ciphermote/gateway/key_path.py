# SPDX-License-Identifier: Apache-2.0
"""The way from earlier owner keys of a fleet to its present one, by public keys."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ciphermote.base.errors import EngineError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.evaluator import Evaluator, RekeyKey

Steps = Mapping[int, tuple[int, str]]
"""By an earlier key's id: the id of the key that replaced it, and the digest of the object that switches to
it."""


MOST_BYTES = 128 << 20
"""Bytes of the rekey keys that a process keeps at a time; in memory, a key takes twice its bytes."""


class RekeyKeys:
    """Rekey keys that were read, as many of those used last as have room. Threads may share it.

    evaluator: one without evaluation keys.
    """

    def __init__(self, evaluator: Callable[[], Evaluator]) -> None:
        self._evaluator = evaluator
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, int], tuple[RekeyKey, int]] = OrderedDict()
        self._bytes = 0

    def get(self, digest: str, owner_id: int, read: Callable[[str], bytes]) -> RekeyKey:
        """Return the key with a digest, which switches to the key with an id. read: gives its bytes."""
        name = digest, owner_id
        with self._lock:
            known = self._found.get(name)
            if known is not None:
                self._found.move_to_end(name)
                return known[0]
        data = read(digest)
        key = self._evaluator().rekey_key(data, owner_id=owner_id)
        with self._lock:
            if name not in self._found:
                self._bytes += len(data)
            self._found[name] = key, len(data)
            while self._bytes > MOST_BYTES and len(self._found) > 1:
                self._bytes -= self._found.popitem(last=False)[1][1]
        return key

    @property
    def bytes(self) -> int:
        return self._bytes


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
