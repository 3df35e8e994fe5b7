# SPDX-License-Identifier: Apache-2.0
"""Random programs through the evaluator and through SEAL, at every degree, down to the last level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import _evaluator as ev
from ciphermote import parameters as sets
from ciphermote.formats import seal as sb
from ciphermote.parameters import ParameterSet, Scheme, generate
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from seal_owner import SealOwner

T = 65537  # 1 modulo 2n for every n here
SCALE = 2.0**24
STEPS = (1, -3, 100)
OPERATIONS = (
    "add",
    "subtract",
    "negate",
    "add_plain",
    "multiply_plain",
    "multiply",
    "square",
    "rotate",
    "conjugate",
    "down",
)


@dataclass
class Value:
    """A ciphertext in both worlds, and what it holds."""

    ours: ev.Ciphertext
    theirs: Any
    truth: NDArray[Any]


class World:
    """SEAL and the evaluator with one key, four data primes and one scheme."""

    def __init__(self, parameters: ParameterSet, t: int, folder: Path) -> None:
        self.parameters, self.t = parameters, t
        self.options = {"scheme": Scheme(t)}
        self.seal = SealOwner(parameters, folder, t, sealapi.SEC_LEVEL_TYPE.NONE)
        self.run = sealapi.Evaluator(self.seal.context)
        n = parameters.n
        elements = [*(sb.galois_element(n, step) for step in STEPS), 2 * n - 1]
        self.seal_galois, self.seal_relin = sealapi.GaloisKeys(), sealapi.RelinKeys()
        self.seal.generator.create_galois_keys(elements, self.seal_galois)
        self.seal.generator.create_relin_keys(self.seal_relin)
        self.encoder = (sealapi.BatchEncoder if t else sealapi.CKKSEncoder)(self.seal.context)
        self.context = ev.Context(
            parameters.log2_n,
            list(parameters.data_primes),
            list(parameters.special_primes),
            1,
            t,
            insecure=True,
        )
        self.keys = ev.EvaluationKeys(self.context)
        galois = sb.read_galois_keys(self.seal.save(self.seal_galois), parameters, **self.options)
        relin = sb.read_relin_keys(self.seal.save(self.seal_relin), parameters, **self.options)
        self.keys.add_relinearization(np.stack([part.residues for part in relin.key]))
        for element, key in galois.keys.items():
            self.keys.add_galois(element, np.stack([part.residues for part in key]))

    @property
    def slots(self) -> int:
        return self.parameters.n if self.t else self.parameters.slots

    def numbers(self, random: np.random.Generator, *, extreme: bool) -> NDArray[Any]:
        if self.t:
            return (
                random.choice([0, self.t - 1, self.t // 2], self.slots)
                if extreme
                else random.integers(0, self.t, self.slots)
            )
        return random.choice([-1.0, 1.0], self.slots) if extreme else random.uniform(-1, 1, self.slots)

    def encrypt(self, values: NDArray[Any]) -> Value:
        ciphertext = sealapi.Ciphertext()
        self.seal.encryptor.encrypt(self.seal_plain(values, None, SCALE), ciphertext)
        found = sb.read_ciphertext(self.seal.save(ciphertext), self.parameters, **self.options)
        form = ev.Form.values if found.ntt_form else ev.Form.coefficients
        return Value(ev.Ciphertext(self.context, found.residues, found.scale, form), ciphertext, values)

    def seal_plain(self, values: NDArray[Any], level: Any, scale: float) -> Any:
        plain = sealapi.Plaintext()
        if self.t:
            self.encoder.encode([int(x) for x in values], plain)
        elif level is None:
            self.encoder.encode([float(x) for x in values], scale, plain)
        else:
            self.encoder.encode([float(x) for x in values], level, scale, plain)
        return plain

    def plain(self, values: NDArray[Any], scale: float, primes: int) -> ev.Plaintext:
        if self.t:
            return ev.Plaintext(self.context, values.astype(np.int64), ev.Places.slots, primes)
        return ev.Plaintext(self.context, values.astype(complex), scale, primes)

    def decrypted(self, ciphertext: Any) -> NDArray[Any]:
        plain = sealapi.Plaintext()
        self.seal.decryptor.decrypt(ciphertext, plain)
        if self.t:
            return np.array(self.encoder.decode_int64(plain)) % self.t
        return np.array(self.encoder.decode_double(plain))

    def to_seal(self, ours: ev.Ciphertext) -> Any:
        residues = ours.coefficients() if self.t else ours.residues()
        found = sb.SealCiphertext(
            self.parameters, ours.primes, not self.t, ours.scale, residues, **self.options
        )
        return self.seal.load(sealapi.Ciphertext, sb.write_ciphertext(found))

    # ---- one operation in both worlds ----

    def apply(self, operation: str, a: Value, b: Value, numbers: NDArray[Any], step: int) -> Value | None:
        """Apply a step; None if the levels or the modulus have no room for it."""
        run, out = self.run, sealapi.Ciphertext()
        level = a.theirs.parms_id()
        room = math.prod(self.parameters.data_primes[: a.ours.primes]) / 2**8
        match operation:
            case "add" | "subtract":
                if (a.ours.primes, a.ours.scale) != (b.ours.primes, b.ours.scale):
                    return None
                plus = operation == "add"
                (run.add if plus else run.sub)(a.theirs, b.theirs, out)
                ours = (ev.add if plus else ev.subtract)(a.ours, b.ours)
                truth = a.truth + b.truth if plus else a.truth - b.truth
            case "negate":
                run.negate(a.theirs, out)
                ours, truth = ev.negate(a.ours), -a.truth
            case "add_plain":
                run.add_plain(a.theirs, self.seal_plain(numbers, level, a.ours.scale), out)
                ours = ev.add_plain(a.ours, self.plain(numbers, a.ours.scale, a.ours.primes))
                truth = a.truth + numbers
            case "multiply_plain":
                if not self.t and a.ours.scale * SCALE > room:
                    return None
                run.multiply_plain(a.theirs, self.seal_plain(numbers, level, SCALE), out)
                ours = ev.multiply_plain(a.ours, self.plain(numbers, SCALE, a.ours.primes))
                truth = a.truth * numbers
            case "multiply" | "square":
                other = a if operation == "square" else b
                if a.ours.primes != other.ours.primes or (
                    not self.t and a.ours.scale * other.ours.scale > room
                ):
                    return None
                run.multiply(a.theirs, other.theirs, out)
                run.relinearize_inplace(out, self.seal_relin)
                product = ev.square(a.ours) if operation == "square" else ev.multiply(a.ours, b.ours)
                ours, truth = ev.relinearize(product, self.keys), a.truth * other.truth
            case "rotate":
                (run.rotate_rows if self.t else run.rotate_vector)(a.theirs, step, self.seal_galois, out)
                ours = ev.rotate(a.ours, step, self.keys)
                truth = np.roll(a.truth.reshape(-1, self.parameters.slots), -step, 1).reshape(-1)
            case "conjugate":
                (run.rotate_columns if self.t else run.complex_conjugate)(a.theirs, self.seal_galois, out)
                ours = ev.conjugate(a.ours, self.keys)
                truth = np.roll(a.truth, self.parameters.slots) if self.t else a.truth
            case _:
                if a.ours.primes == 1:
                    return None
                rescales = not self.t and a.ours.scale > SCALE**1.5
                last = self.parameters.data_primes[a.ours.primes - 1]
                if not self.t and not rescales and a.ours.scale * 2**8 > room * 2**8 / last:
                    return None
                (run.rescale_to_next if rescales else run.mod_switch_to_next)(a.theirs, out)
                ours, truth = (ev.rescale if rescales else ev.mod_switch)(a.ours), a.truth
        return Value(ours, out, truth % self.t if self.t else truth)

    def check(self, value: Value, program: list[str]) -> None:
        loaded = self.to_seal(value.ours)
        if self.t:
            budget = self.seal.decryptor.invariant_noise_budget(value.theirs)
            assert self.seal.decryptor.invariant_noise_budget(loaded) >= budget - 2, program
            if budget > 2:
                assert (self.decrypted(loaded) == value.truth).all(), program
            return
        most = np.abs(value.truth).max() * value.ours.scale
        if most > math.prod(self.parameters.data_primes[: value.ours.primes]) / 4:
            return
        found, seals = (
            math.sqrt(np.mean((self.decrypted(x) - value.truth) ** 2)) for x in (loaded, value.theirs)
        )
        # Independent roundings and centred digits: test_evaluator.py measures them by operation.
        assert found <= 1.3 * seals, program


@pytest.fixture(
    scope="module",
    params=[(log2_n, t) for log2_n in range(10, 16) for t in (0, T)],
    ids=lambda case: f"n{1 << case[0]}-{'bfv' if case[1] else 'ckks'}",
)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Chains of all degrees, which need not be secure to be right."""
    log2_n, t = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sets.SECURITY_BOUNDS, "2024", {1 << i: 1000 for i in range(10, 16)})
        made = generate(1 << log2_n, [26] * 4 + [27], name="any_degree")
        yield World(made, t, tmp_path_factory.mktemp("seal"))


programs = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 99), st.integers(0, 99), st.sampled_from(STEPS)),
    min_size=4,
    max_size=14,
)


@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # the program up to the fault is what is shown
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(program=programs, seed=st.integers(0, 2**32 - 1), extreme=st.booleans())
def test_random_programs_agree_with_seals(
    world: World, program: list[tuple[str, int, int, int]], seed: int, *, extreme: bool
) -> None:
    random = np.random.default_rng(seed)
    values = [world.encrypt(world.numbers(random, extreme=extreme)) for _ in range(2)]
    done: list[str] = []
    # Every program ends with the descent to the last level.
    for operation, first, second, step in [*program, *(("down", -1, 0, 1),) * 3]:
        a, b = values[first % len(values) if first >= 0 else -1], values[second % len(values)]
        try:
            result = world.apply(operation, a, b, world.numbers(random, extreme=extreme), step)
        except RuntimeError as refusal:  # SEAL's, of differences that are zero in the clear
            assert "transparent" in str(refusal), done
            continue
        if result is not None:
            values.append(result)
            done.append(f"{operation} {step}" if operation == "rotate" else operation)
            world.check(result, done)
