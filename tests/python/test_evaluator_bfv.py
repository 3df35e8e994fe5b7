# SPDX-License-Identifier: Apache-2.0
"""The evaluator computes BFV as SEAL does: exactly, with as much noise, alike on each instruction set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import _evaluator as ev
from ciphermote.base.errors import EngineError
from ciphermote.formats import seal as sb
from ciphermote.parameters import BFV, BUILTIN, ParameterSet, is_prime
from evaluator_support import isas
from numpy.typing import NDArray
from seal_owner import SealOwner

SETS = [parameters for parameters in BUILTIN if len(parameters.data_primes) > 1]
Integers = NDArray[np.int64]


class Beside:
    """SEAL and the evaluator with one key, at one plain modulus."""

    def __init__(self, parameters: ParameterSet, t: int, folder: Path) -> None:
        self.parameters, self.t = parameters, t
        self.seal = SealOwner(parameters, folder, t)
        self.evaluator = sealapi.Evaluator(self.seal.context)
        n = parameters.n
        self.seal_galois = sealapi.GaloisKeys()
        elements = [sb.galois_element(n, 1), sb.galois_element(n, -3), 2 * n - 1]
        self.seal.generator.create_galois_keys(elements, self.seal_galois)
        galois, relin = self.seal.save(self.seal_galois), self.seal.relin_keys()
        self.seal_relin = self.seal.load(sealapi.RelinKeys, relin)
        options = {"scheme": BFV(t)}
        self.galois = sb.read_galois_keys(galois, parameters, **options).keys
        self.relin = sb.read_relin_keys(relin, parameters, **options).key
        self.encoder = sealapi.BatchEncoder(self.seal.context)
        self.options = options

    @cached_property
    def contexts(self) -> list[tuple[ev.Context, ev.EvaluationKeys]]:
        p = self.parameters
        assert p.special_prime
        found = []
        for isa in isas():
            context = ev.Context(
                p.log2_n, list(p.data_primes), [p.special_prime], plain_modulus=self.t, isa=isa, insecure=True
            )
            keys = ev.EvaluationKeys(context)
            keys.add_relinearization(np.stack([part.residues for part in self.relin]))
            for element, key in self.galois.items():
                keys.add_galois(element, np.stack([part.residues for part in key]))
            found.append((context, keys))
        return found

    def plaintext(self, values: Integers) -> Any:
        plaintext = sealapi.Plaintext()
        self.encoder.encode([int(x) % self.t for x in values], plaintext)
        return plaintext

    def encrypt(self, values: Integers) -> tuple[Any, sb.SealCiphertext]:
        ciphertext = sealapi.Ciphertext()
        self.seal.encryptor.encrypt(self.plaintext(values), ciphertext)
        data = self.seal.save(ciphertext)
        return ciphertext, sb.read_ciphertext(data, self.parameters, **self.options)

    def load(self, found: ev.Ciphertext) -> Any:
        coefficients = sb.SealCiphertext(
            self.parameters,
            found.primes,
            False,
            1.0,
            found.coefficients(),
            scheme=BFV(self.t),
        )
        return self.seal.load(sealapi.Ciphertext, sb.write_ciphertext(coefficients))

    def decrypt(self, ciphertext: Any) -> tuple[Integers, int]:
        """The slots, and what is left of the noise budget."""
        plaintext = sealapi.Plaintext()
        self.seal.decryptor.decrypt(ciphertext, plaintext)
        slots = np.array(self.encoder.decode_int64(plaintext)) % self.t
        return slots, self.seal.decryptor.invariant_noise_budget(ciphertext)

    def compare(self, what: str, found: ev.Ciphertext, truth: Integers, theirs: Any) -> NDArray[np.uint32]:
        out = sealapi.Ciphertext()
        theirs(out)
        slots, budget = self.decrypt(self.load(found))
        assert (slots == truth % self.t).all(), what
        expected, seals_budget = self.decrypt(out)
        assert (expected == slots).all() or seals_budget == 0, what
        assert budget >= seals_budget - 2, what
        return found.residues()


@pytest.fixture(
    scope="module",
    params=[(p, t) for p in SETS for t in ((65537,) if p.n > 4096 else (65537, 40961, 786433))],
    ids=lambda case: f"{case[0].name}-t{case[1]}",
)
def beside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Beside:
    parameters, t = request.param
    return Beside(parameters, t, tmp_path_factory.mktemp("seal"))


def rotated(values: Integers, step: int) -> Integers:
    return np.roll(values.reshape(2, -1), -step, axis=1).reshape(-1)


@pytest.mark.parametrize("extreme", [False, True])
def test_every_operation_is_exact_and_as_quiet_as_seals(beside: Beside, *, extreme: bool) -> None:
    n, t = beside.parameters.n, beside.t
    random = np.random.default_rng(1)
    x, y = random.integers(0, t, (2, n))
    if extreme:
        x[:], y[:] = t - 1, t // 2
        y[1::2] = t // 2 + 1
    (seal_x, own_x), (seal_y, own_y) = beside.encrypt(x), beside.encrypt(y)
    run, seal_plain = beside.evaluator, beside.plaintext(y)
    seal_product, seal_relinearized = sealapi.Ciphertext(), sealapi.Ciphertext()
    run.multiply(seal_x, seal_y, seal_product)
    run.relinearize(seal_product, beside.seal_relin, seal_relinearized)
    rows: dict[str, list[NDArray[np.uint32]]] = {}
    for context, keys in beside.contexts:
        a = ev.Ciphertext(context, own_x.residues, 1.0, ev.Form.coefficients)
        b = ev.Ciphertext(context, own_y.residues, 1.0, ev.Form.coefficients)
        assert (a.coefficients() == own_x.residues).all()
        plain = ev.Plaintext(context, y, ev.Places.slots, a.primes)
        product = ev.multiply(a, b)
        relinearized = ev.relinearize(product, keys)
        for what, found, truth, theirs in (
            ("add", ev.add(a, b), x + y, partial(run.add, seal_x, seal_y)),
            ("subtract", ev.subtract(a, b), x - y, partial(run.sub, seal_x, seal_y)),
            ("negate", ev.negate(a), -x, partial(run.negate, seal_x)),
            ("add plain", ev.add_plain(a, plain), x + y, partial(run.add_plain, seal_x, seal_plain)),
            (
                "multiply plain",
                ev.multiply_plain(a, plain),
                x * y,
                partial(run.multiply_plain, seal_x, seal_plain),
            ),
            ("multiply", product, x * y, partial(run.multiply, seal_x, seal_y)),
            ("square", ev.square(a), x * x, partial(run.square, seal_x)),
            (
                "relinearize",
                relinearized,
                x * y,
                partial(run.relinearize, seal_product, beside.seal_relin),
            ),
            ("rotate", ev.rotate(a, 1, keys), rotated(x, 1), partial(_rotate, beside, seal_x, 1)),
            ("rotate back", ev.rotate(a, -3, keys), rotated(x, -3), partial(_rotate, beside, seal_x, -3)),
            (
                "columns",
                ev.conjugate(a, keys),
                np.roll(x, n // 2),
                partial(run.rotate_columns, seal_x, beside.seal_galois),
            ),
            ("switch", ev.mod_switch(a), x, partial(run.mod_switch_to_next, seal_x)),
            (
                "switch a product",
                ev.mod_switch(relinearized),
                x * y,
                partial(run.mod_switch_to_next, seal_relinearized),
            ),
        ):
            rows.setdefault(what, []).append(beside.compare(what, found, truth, theirs))
    for what, found_rows in rows.items():
        assert len(found_rows) == len(isas())
        assert all((row == found_rows[0]).all() for row in found_rows), what


def _rotate(beside: Beside, ciphertext: Any, step: int, out: Any) -> None:
    beside.evaluator.rotate_rows(ciphertext, step, beside.seal_galois, out)


# --- at every degree, by definition -----------------------------------------------------------------


def primes_for(n: int, count: int, below: int) -> list[int]:
    candidates = range((below - 2) // (2 * n) * 2 * n + 1, 2 * n, -2 * n)
    return list(itertools.islice(filter(is_prime, candidates), count))


@pytest.mark.parametrize("log2_n", range(10, 16))
@pytest.mark.parametrize("t", [2, 257, 65537, 2**31 - 1, 2**32 - 1])
def test_products_without_noise_are_the_products_modulo_t(log2_n: int, t: int) -> None:
    """c0 = round(Q m / t), c1 = 0: what is left of the product's first polynomial is m m' with a rounding
    noise that t n / Q keeps far below 1/2."""
    n = 1 << log2_n
    primes = primes_for(n, 6, 2**27)
    modulus = math.prod(primes)
    random = np.random.default_rng(log2_n)
    sparse = np.zeros((2, n), dtype=np.int64)
    for row in sparse:
        row[random.integers(0, n, 5)] = random.integers(-(t - 1), t, 5)
    sparse[0, 0], sparse[1, n - 1] = t - 1, 1 - t
    truth = np.zeros(n, dtype=object)
    for i, j in itertools.product(*map(np.flatnonzero, sparse)):
        sign = 1 if i + j < n else -1
        truth[(i + j) % n] += sign * int(sparse[0, i]) * int(sparse[1, j])
    rows = []
    for isa in isas():
        context = ev.Context(log2_n, primes, [], plain_modulus=t, isa=isa, insecure=True)
        zero = ev.Ciphertext(context, np.zeros((2, 6, n), dtype=np.uint32), 1.0)
        a, b = (ev.add_plain(zero, ev.Plaintext(context, row, ev.Places.coefficients, 6)) for row in sparse)
        rows.append(ev.multiply(a, b).coefficients())
        assert (ev.square(a).coefficients() == ev.multiply(a, a).coefficients()).all()
    assert all((row == rows[0]).all() for row in rows)
    assert not rows[0][1:].any()
    cofactors = [modulus // q * pow(modulus // q, -1, q) for q in primes]
    whole = sum(row.astype(object) * cofactor for row, cofactor in zip(rows[0][0], cofactors, strict=True))
    found = [(2 * t * int(c % modulus) + modulus) // (2 * modulus) % t for c in whole]
    assert found == [int(x) % t for x in truth]


def test_what_does_not_fit_is_refused_with_a_sentence() -> None:
    n, primes = 1024, primes_for(1024, 4, 2**27)
    bfv = ev.Context(10, primes, [], plain_modulus=12289, insecure=True)
    without_slots = ev.Context(10, primes, [], plain_modulus=1000, insecure=True)
    ckks = ev.Context(10, primes, [], insecure=True)
    zeros = np.zeros((2, 4, n), dtype=np.uint32)
    a = ev.Ciphertext(bfv, zeros, 1.0)
    integers = np.zeros(n, dtype=np.int64)
    refusals: dict[str, tuple[Callable[[], object], str]] = {
        "t of 1": (lambda: ev.Context(10, primes, [], plain_modulus=1, insecure=True), "at least 2"),
        "t of the chain": (
            lambda: ev.Context(10, primes, [], plain_modulus=3 * primes[0] % 2**32, insecure=True),
            "multiple of the chain's",
        ),
        "a scale": (lambda: ev.Ciphertext(bfv, zeros, 2.0), "BFV has none"),
        "real numbers": (lambda: ev.Plaintext(bfv, np.zeros(3, complex), 2.0, 4), "give integers"),
        "integers": (lambda: ev.Plaintext(ckks, integers, ev.Places.slots, 4), "give a scale"),
        "slots": (
            lambda: ev.Plaintext(without_slots, integers, ev.Places.slots, 4),
            "1000 has no slots",
        ),
        "t": (
            lambda: ev.Plaintext(bfv, integers + 12289, ev.Places.coefficients, 4),
            "12289 is given, and the plain modulus is 12289",
        ),
        "-t": (lambda: ev.Plaintext(bfv, integers - 12289, ev.Places.slots, 4), "-12289 is given"),
        "count": (
            lambda: ev.Plaintext(bfv, np.zeros(n + 1, np.int64), ev.Places.slots, 4),
            "room for 1024",
        ),
        "rescale": (lambda: ev.rescale(a), "no scale to rescale"),
        "switch": (lambda: ev.mod_switch(a, 4), "one must be left"),
        "level": (lambda: ev.multiply(a, ev.mod_switch(a)), "4 and 3 primes"),
        "plaintext": (
            lambda: ev.add_plain(a, ev.Plaintext(bfv, integers, ev.Places.slots, 2)),
            "The plaintext has 2 primes",
        ),
        "schemes": (
            lambda: ev.add(a, ev.Ciphertext(ckks, zeros, 1.0)),
            "two contexts",
        ),
        "three": (lambda: ev.multiply(ev.multiply(a, a), a), "three polynomials|relinearize"),
    }
    for what, (act, words) in refusals.items():
        with pytest.raises(EngineError, match=words) as refusal:
            act()
        assert str(refusal.value).endswith("."), what
