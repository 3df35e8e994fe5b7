# SPDX-License-Identifier: Apache-2.0
"""The golden model against the definitions it states."""

import random

from golden.hardware import Ring, is_prime, random_prime


def test_transform_is_evaluation_at_odd_powers_of_psi():
    rng = random.Random(1)
    ring = Ring(random_prime(rng, 6, 22), 6)
    a = [rng.randrange(ring.q) for _ in range(ring.n)]
    assert ring.forward(a) == [ring.evaluate(a, i) for i in range(ring.n)]
    assert ring.inverse(ring.forward(a)) == a


def test_product_of_transforms_is_transform_of_negacyclic_product():
    rng = random.Random(2)
    ring = Ring(random_prime(rng, 5, 40), 5)
    a, b = ([rng.randrange(ring.q) for _ in range(ring.n)] for _ in range(2))
    products = [x * y % ring.q for x, y in zip(ring.forward(a), ring.forward(b), strict=True)]
    assert ring.inverse(products) == ring.multiply(a, b)
    x, top = [0, 1] + [0] * (ring.n - 2), [0] * (ring.n - 1) + [1]
    assert ring.multiply(x, top) == [ring.q - 1] + [0] * (ring.n - 1)


def test_primes_have_the_bits_asked_for():
    rng = random.Random(3)
    for bits in range(22, 41):
        q = random_prime(rng, 10, bits)
        assert q.bit_length() == bits and q % 2048 == 1 and is_prime(q)
    assert not is_prime(3215031751)  # a strong pseudoprime to the bases 2, 3, 5 and 7
