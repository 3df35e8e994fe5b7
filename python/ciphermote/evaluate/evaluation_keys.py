# SPDX-License-Identifier: Apache-2.0
"""The public keys for computing: Galois and relinearization keys."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from ciphermote.base import arguments
from ciphermote.evaluate.engine import Engine, open_engine
from ciphermote.evaluate.engine_names import EngineName
from ciphermote.formats.evaluation_keys import galois_keys_for_bfv, relin_keys_for_bfv, seal_has_keys
from ciphermote.formats.key_directory import GALOIS_FILE, RELIN_FILE, read_manifest, read_public_file
from ciphermote.parameters import CKKS, ParameterSet, Scheme
from ciphermote.parameters.schemes import checked_scheme


class EngineKeys(TypedDict):
    """Evaluation keys as open_engine takes them."""

    galois_keys: bytes | None
    relin_keys: bytes | None


@dataclass(frozen=True, eq=False)
class EvaluationKeys:
    """The public keys that an engine computes with. galois, relin: SEAL's bytes with a label, as made for
    CKKS, or None. compute expands them once and caches the result, for the last two schemes."""

    parameters: ParameterSet
    galois: bytes | None = field(default=None, repr=False)
    relin: bytes | None = field(default=None, repr=False)
    _kept: dict[tuple[Scheme, bool], Engine] = field(default_factory=dict, init=False, repr=False)
    _keeping: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __reduce__(self) -> tuple[type[EvaluationKeys], tuple[Any, ...]]:
        return EvaluationKeys, (self.parameters, self.galois, self.relin)

    @classmethod
    def of_files(cls, parameters: ParameterSet, files: Mapping[str, bytes]) -> EvaluationKeys:
        """Make keys from the public files of a directory of keys, by name."""
        return cls(parameters, files.get(GALOIS_FILE), files.get(RELIN_FILE))

    @classmethod
    def load(cls, path: str | Path) -> EvaluationKeys:
        """Read the keys of a directory of keys, or of its public part. Raises KeyFileError if it holds
        none."""
        folder = arguments.path(path)
        manifest = read_manifest(folder)
        files = {name: read_public_file(folder, manifest, name) for name in manifest.digests}
        return cls.of_files(manifest.parameters, files)

    def engine(
        self, scheme: Scheme = CKKS, *, bare: bool = False, workers: int = 1, name: EngineName = "native"
    ) -> Engine:
        """Open an engine with these keys, of this scheme, as open_engine does."""
        return open_engine(
            self.parameters,
            **self.for_scheme(scheme),
            scheme=scheme,
            bare=bare,
            workers=workers,
            name=name,
        )

    def for_scheme(self, scheme: Scheme) -> EngineKeys:
        """Return the keys' bytes for an engine of the scheme."""
        checked_scheme(scheme)
        galois, relin = self.galois, self.relin
        if scheme.is_bfv and seal_has_keys(self.parameters):
            galois = galois and galois_keys_for_bfv(galois, self.parameters, scheme)
            relin = relin and relin_keys_for_bfv(relin, self.parameters, scheme)
        return {"galois_keys": galois, "relin_keys": relin}

    @contextlib.contextmanager
    def borrowed(self, scheme: Scheme, *, bare: bool, name: EngineName) -> Iterator[Engine]:
        """Lend an engine for one call; the native one is cached for the next call."""
        if name != "native":
            with self.engine(scheme, bare=bare, name=name) as opened:
                yield opened
            return
        with self._keeping:
            wanted = scheme, bare
            engine = self._kept.pop(wanted, None) or self.engine(scheme, bare=bare)
            self._kept[wanted] = engine
            while len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        yield engine


_MOST_KEPT = 2
