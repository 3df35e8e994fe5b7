# SPDX-License-Identifier: Apache-2.0
"""An application of SEAL with a chain of its own, and the exact noise of ciphertexts under any chain."""

from __future__ import annotations

import math
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
import zstandard
from ciphermote import BFV, CKKS, Ciphertext, Owner, Scheme, SealChain
from ciphermote.formats.seal import read_wide_ciphertext
from ciphermote.parameters import batches
from ciphermote.parameters.native import wide_chain_of
from numpy.typing import NDArray
from seal_owner import SealOwner

BITS = {
    "default4096": (4096, (36, 36, 37)),
    "default8192": (8192, (43, 43, 44, 44, 44)),
    "three30": (4096, (30, 30, 30)),
}
"""n and the primes' bits: SEAL's default chains at n = 4096 and 8192, and one of 30-bit primes."""

T = {4096: 40961, 8192: 65537}
"""Plain moduli that batch, for n."""


@cache
def primes_of(name: str) -> tuple[int, ...]:
    """The chain's primes, as SEAL itself chooses them."""
    n, bits = BITS[name]
    if name.startswith("default"):
        found = sealapi.CoeffModulus.BFVDefault(n, sealapi.SEC_LEVEL_TYPE.TC128)
        assert tuple(q.value().bit_length() for q in found) == bits
    else:
        found = sealapi.CoeffModulus.Create(n, list(bits))
    return tuple(q.value() for q in found)


def chain_of(name: str, scheme: Scheme = CKKS) -> SealChain:
    return SealChain(BITS[name][0], primes_of(name), scheme, "2018")


def bfv_of(name: str) -> Scheme:
    return BFV(T[BITS[name][0]])


class SealUser(SealOwner):
    """SEAL with a chain of its own, and the owner of our keys for SEAL's secret key."""

    def __init__(self, chain: SealChain, folder: Path) -> None:
        super().__init__(chain, folder, chain.scheme.plain_modulus)
        self.chain = chain
        self.seal = sealapi.Evaluator(self.context)
        self.owner = Owner.from_seal(self.save(self.secret_key), chain, rotations=[1])
        has_slots = batches(chain.scheme.plain_modulus, chain.n)
        self.batch = sealapi.BatchEncoder(self.context) if has_slots else None

    @cached_property
    def relinearization(self) -> Any:
        keys = sealapi.RelinKeys()
        self.generator.create_relin_keys(keys)
        return keys

    def encoded(self, values: NDArray[Any], scale: float) -> Any:
        if self.batch is None:
            return self.plaintext(values, scale)
        plaintext = sealapi.Plaintext()
        self.batch.encode([int(x) for x in values], plaintext)
        return plaintext

    def encrypted(self, values: NDArray[Any], scale: float = 1.0, *, seeded: bool) -> bytes:
        """SEAL's bytes of an encryption, by the secret key and seeded, or by the public key."""
        plaintext = self.encoded(values, scale)
        if seeded:
            return self.save(self.encryptor.encrypt_symmetric(plaintext))
        ciphertext = sealapi.Ciphertext()
        self.encryptor.encrypt(plaintext, ciphertext)
        return self.save(ciphertext)

    def square(self, data: bytes, *, relinearized: bool = True) -> bytes:
        """SEAL's own product; CKKS's is rescaled."""
        ciphertext = self.load(sealapi.Ciphertext, data)
        self.seal.square_inplace(ciphertext)
        if relinearized:
            self.seal.relinearize_inplace(ciphertext, self.relinearization)
            if not self.chain.scheme.is_bfv:
                self.seal.rescale_to_next_inplace(ciphertext)
        return self.save(ciphertext)

    def at_level(self, data: bytes, primes: int) -> bytes:
        """The ciphertext with so many primes, switched by SEAL."""
        ciphertext = self.load(sealapi.Ciphertext, data)
        for _ in range(read_wide_ciphertext(data, self.chain).primes - primes):
            self.seal.mod_switch_to_next_inplace(ciphertext)
        return self.save(ciphertext)

    def read(self, data: bytes) -> NDArray[Any]:
        """Decrypt with SEAL."""
        if self.batch is None:
            return self.decrypt(data)
        plaintext = sealapi.Plaintext()
        self.decryptor.decrypt(self.load(sealapi.Ciphertext, data), plaintext)
        return np.array(self.batch.decode_int64(plaintext))

    @cached_property
    def secret(self) -> NDArray[np.int64]:
        return self.owner.secret_key.coefficients.astype(np.int64)

    def budget_in_seal(self, data: bytes) -> float:
        """The noise budget of SEAL's bytes of a BFV ciphertext, exactly and not in whole bits."""
        found = read_wide_ciphertext(data, self.chain)
        residues, chain = found.residues, wide_chain_of(self.chain)
        if found.seed is not None:
            kind, seed = found.seed
            residues = np.concatenate([residues, chain.expand(int(kind), seed, found.primes)])
        return self._budget(self.chain, residues)

    def budget(self, ciphertext: Ciphertext) -> float:
        """The noise budget of a ciphertext of ours, likewise."""
        return self._budget(ciphertext.parameters, ciphertext.hosted.coefficients().astype(np.uint64))

    def _budget(self, of: Any, coefficients: NDArray[np.uint64]) -> float:
        """log2(P / 2) less log2 of the largest |t c(s) mod P|, as SEAL defines it."""
        count = coefficients.shape[1]
        modulus = math.prod(of.primes[:count])
        t = self.chain.scheme.plain_modulus
        largest = max(abs(centred(t * x, modulus)) for x in at_secret(of, coefficients, self.secret))
        return math.log2(modulus) - math.log2(largest) - 1


def uncompressed(data: bytes) -> bytearray:
    """An object that SEAL saved with zstd, as it would be without compression."""
    body = zstandard.ZstdDecompressor().decompressobj().decompress(data[16:])
    return bytearray(data[:5] + b"\0" + data[6:8] + (16 + len(body)).to_bytes(8, "little") + body)


def centred(x: int, modulus: int) -> int:
    rest = x % modulus
    return rest - modulus if rest > modulus // 2 else rest


def at_secret(of: Any, coefficients: NDArray[np.uint64], secret: NDArray[np.int64]) -> list[int]:
    """The coefficients of c0 + c1 s + c2 s^2 modulo the product of the first primes."""
    size, count, _n = coefficients.shape
    primes = [int(q) for q in of.primes[:count]]
    chain = wide_chain_of(of)
    modulo = np.array(primes, dtype=object)[:, np.newaxis]
    s = np.array([[[int(x) % q for x in secret] for q in primes]], dtype=np.uint64)
    values = chain.to_values(np.concatenate([coefficients, s])).astype(object)
    found = values[size - 1]
    for component in values[size - 2 :: -1] if size > 1 else []:
        found = (found * values[size] + component) % modulo
    residues = chain.to_coefficients(found[np.newaxis].astype(np.uint64))[0].astype(object)
    modulus = math.prod(primes)
    weights = [modulus // q * pow(modulus // q, -1, q) for q in primes]
    return [sum(w * x for w, x in zip(weights, column, strict=True)) % modulus for column in residues.T]
