# SPDX-License-Identifier: Apache-2.0
"""Client-aided computing, the server's side: each round computes a linear layer on the device's ciphertext.

A device sends a ciphertext, a server computes a layer on it and returns the result as frames that the device
decrypts; between the layers the device computes what is not linear (core/include/ciphermote/aided.h). Many
vectors share a ciphertext, in blocks of slots (linear_plans.py). This side sees no secret key and no result.
The device trusts it to compute what was agreed, and shows results only to its owner (docs/client-aided.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote.base.errors import EngineError, FrameError, ParameterError
from ciphermote.base.words import count_of
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.engine import Engine
from ciphermote.evaluate.linear_model import LinearModel, check_chain, real_numbers
from ciphermote.evaluate.linear_plans import LinearPlan, check_feature_bound, plan_exact, plan_linear
from ciphermote.formats.device_results import ResultTag, check_address, device_frames
from ciphermote.formats.frames import read_sets
from ciphermote.formats.labels import check_key
from ciphermote.parameters import CKKS, ParameterSet, Scheme


@dataclass(frozen=True, eq=False)
class Rounds:
    """The agreement between server and device: a plan for each round, and the form of ciphertexts.

    scheme: CKKS or BFV(t). log2_scale: that of the device's CKKS ciphertexts. blocks: number of vectors in a
    ciphertext; stride: slots of each (BFV: slots count through both rows).
    """

    parameters: ParameterSet
    plans: tuple[LinearPlan, ...]
    scheme: Scheme
    log2_scale: int
    stride: int

    @property
    def blocks(self) -> int:
        return self._slots // self.stride

    @property
    def _slots(self) -> int:
        return self.parameters.n if self.scheme.is_bfv else self.parameters.slots

    @property
    def largest(self) -> int:
        """The largest magnitude of a value that the server returns."""
        return max(1, *(math.ceil(plan.score_bound) for plan in self.plans))

    @property
    def rotation_steps(self) -> tuple[int, ...]:
        """The rotations that need Galois keys."""
        return tuple(sorted({step for plan in self.plans for step in plan.rotation_steps}))

    def packed(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Pack vectors [count, features], at most `blocks` of them, into [slots] as the first layer expects
        them."""
        values = real_numbers(vectors, "Vectors")
        first = self.plans[0]
        if values.ndim != 2 or values.shape[1] != first.model.features or len(values) > self.blocks:
            raise ParameterError(
                f"The first layer accepts up to {self.blocks} vectors of {first.model.features} features, "
                f"not an array {list(values.shape)}."
            )
        slots = np.zeros((self.blocks, self.stride))
        slots[: len(values), first.first_feature : first.first_feature + first.model.features] = values
        return slots.reshape(-1)


def plan_rounds(
    layers: Sequence[LinearModel],
    parameters: ParameterSet,
    *,
    bound: float,
    scheme: Scheme = CKKS,
    log2_scale: int = 25,
    stride: int | None = None,
) -> Rounds:
    """Plan a round for each layer.

    bound: the largest |value| that enters a layer (BFV: an integer). scheme: CKKS, with log2_scale, or
    BFV(t), with integer layers. stride: slots of a block; None for the fewest that fit. Raises ParameterError
    if something does not fit.
    """
    check_chain(layers)
    check_feature_bound(bound)
    if not scheme.is_bfv and not 10 <= log2_scale <= 60:
        raise ParameterError(f"A scale of 2^{log2_scale} is not within 2^10 to 2^60: a usual one is 2^25.")
    wanted = stride or max(_stride_of(layer) for layer in layers)
    if scheme.is_bfv:
        plans = [
            plan_exact(layer, parameters, scheme.plain_modulus, feature_bound=bound, stride=wanted)
            for layer in layers
        ]
    else:
        plans = [
            plan_linear(layer, parameters, 2.0**log2_scale, feature_bound=bound, stride=wanted)
            for layer in layers
        ]
    return Rounds(parameters, tuple(plans), scheme, 0 if scheme.is_bfv else log2_scale, wanted)


def _stride_of(layer: LinearModel) -> int:
    period = 1 << (layer.classes - 1).bit_length()
    return 1 << (period + layer.features - 1).bit_length()


class Session:
    """One device's rounds on one first ciphertext: call answer() once for each layer.

    engine: one of the rounds' parameters and scheme, with Galois keys of the device's key. log2_tiles: the
    tiles that the device decrypts. Raises EngineError if the engine does not suit, MismatchError if its keys
    belong to another key, ParameterError for what frames cannot express.
    """

    def __init__(self, engine: Engine, rounds: Rounds, key_id: int, *, log2_tiles: int = 0) -> None:
        if (engine.parms, engine.scheme) != (rounds.parameters, rounds.scheme):
            raise EngineError(
                "The engine is of other parameters or another scheme than the rounds: open it with theirs."
            )
        check_address(key_id, 0, log2_tiles)
        check_key("the device", key_id, "the evaluation keys", engine.key_id, bare=True)
        self._engine = engine
        self._rounds = rounds
        self._key_id = key_id
        self._log2_tiles = log2_tiles
        self._counter = -1
        self._round = 0

    @property
    def round(self) -> int:
        """Number of results returned so far."""
        return self._round

    def answer(self, frames: bytes, tag: ResultTag | None = None) -> bytes:
        """Compute this round's layer on the device's frames of one ciphertext, and return the result's
        frames.

        tag: the attempt's tag; checking the frames' own tags is up to the caller. Raises FrameError unless
        they hold one fresh ciphertext of this session's kind, newer than the last one; EngineError if the
        session has no round left, or SEAL fails. After an error the same round may be tried again.
        """
        if self._round == len(self._rounds.plans):
            raise EngineError(f"All {self._round} rounds have been answered: open a new session.")
        plan = self._rounds.plans[self._round]
        ciphertext, counter = self._read(frames)
        result = self._engine.evaluate(plan.program, ciphertext)
        largest = None if self._rounds.scheme.is_bfv else plan.score_bound
        answer = b"".join(
            device_frames(
                result.as_seal(), self._key_id, counter, largest=largest, log2_tiles=self._log2_tiles, tag=tag
            )
        )
        self._counter = counter
        self._round += 1
        return answer

    def _read(self, frames: bytes) -> tuple[Ciphertext, int]:
        parameters, scheme = self._rounds.parameters, self._rounds.scheme
        sets = read_sets([frames], parameters, self._key_id, scheme=scheme)
        if len(sets) != 1:
            raise FrameError(f"The frames are of {len(sets)} ciphertexts: send one a round.")
        head = sets[0].header
        if head.counter <= self._counter:
            raise FrameError(
                f"Ciphertext {head.counter} is not newer than {self._counter}, which was answered: send the "
                "next."
            )
        if head.primes != len(parameters.data_primes):
            raise FrameError(
                f"The ciphertext has {count_of(head.primes, 'prime')}: send a fresh one, with all of them."
            )
        if not scheme.is_bfv and head.scale != 2.0**self._rounds.log2_scale:
            raise FrameError(
                f"The ciphertext has scale {head.scale:.6g}, not the agreed 2^{self._rounds.log2_scale}."
            )
        return Ciphertext.of_seal(sets[0].seal_ciphertext()), head.counter
