# SPDX-License-Identifier: Apache-2.0
"""Support for the AVR tests: the bench's simulated cores, and reference transforms."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
from ciphermote.formats import seal as sb
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import BFV
from images import MCU, PARAMETERS, RAM_START, arithmetic_sources, compact_sources, open_kernels
from machine import ROOT, Machine

__all__ = [
    "CHIPS",
    "PARAMETERS",
    "RAM_START",
    "SAVED_REGISTERS",
    "Machine",
    "SealDecryptor",
    "edge_vectors",
    "evaluation",
    "load_demo",
    "lowest",
    "open_arithmetic",
    "open_compact",
    "smallest_root",
    "transform",
]

STACK_POINTER = 0x5D
SAVED_REGISTERS = 15
"""By an interrupt of the serial port: SREG among them."""


def lowest(machine: Machine, symbol: str, calls: int) -> int:
    """The lowest stack pointer with which a function is entered, in that many calls."""
    pointers = []
    for _ in range(calls):
        machine.run_to(symbol)
        pointers.append(int.from_bytes(machine.read(STACK_POINTER, 2), "little"))
        machine.run(1)
    return min(pointers)


def load_demo(name: str, folder: str) -> ModuleType:
    """The run.py of a demo's folder, under a name of its own: there are several."""
    path = ROOT / folder
    sys.path.insert(0, str(path))
    spec = importlib.util.spec_from_file_location(name, path / "run.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def open_arithmetic(mcu: str = MCU) -> Machine:
    """A core with the transforms and ChaCha20."""
    return open_kernels("arithmetic", *arithmetic_sources(), mcu=mcu)


CHIPS = ("atmega328p", "attiny85")
"""With a multiplier, and without."""


def open_compact(mcu: str) -> Machine:
    """A core with the compact lane's kernels. Its RAM from 0x100 on is free, but for the stack."""
    return open_kernels("compact_kernels", *compact_sources(), mcu=mcu)


def bit_reversed(i: int, bits: int) -> int:
    return int(f"{i:0{bits}b}"[::-1], 2)


@cache
def smallest_root(q: int, order: int) -> int:
    """The smallest primitive root of unity mod q of an order that is a power of two."""
    return next(x for x in range(2, q) if pow(x, order // 2, q) == q - 1)


@cache
def evaluation(q: int, n: int) -> np.ndarray:
    """The negacyclic transform in SEAL's order, n x n: row i has the powers of psi^(2 bitrev(i) + 1)."""
    psi = smallest_root(q, 2 * n)
    powers = np.array([pow(psi, e, q) for e in range(2 * n)], dtype=np.int64)
    exponents = np.array([2 * bit_reversed(i, n.bit_length() - 1) + 1 for i in range(n)], dtype=np.int64)
    return powers[np.outer(exponents, np.arange(n)) % (2 * n)]


def transform(a: np.ndarray, q: int) -> np.ndarray:
    """Transform by definition: each output is the polynomial at one point."""
    return product(evaluation(q, len(a)), a, q)


def inverse_transform(a: np.ndarray, q: int) -> np.ndarray:
    """Transform back by the inverse matrix: powers of the points' inverses, over n."""
    n = len(a)
    matrix = evaluation(q, n)
    # x^-j = -x^(n - j) for the points, whose n-th power is -1.
    inverse = np.concatenate([matrix[:, :1], (q - matrix[:, :0:-1]) % q], axis=1).T
    return product(inverse, a, q) * pow(n, -1, q) % q


def product(matrix: np.ndarray, a: np.ndarray, q: int) -> np.ndarray:
    """matrix a mod q, for q below 2^28."""
    out = np.zeros(len(matrix), dtype=np.int64)
    for start in range(0, len(a), 64):  # 64 products of 56 bits fit in 63
        out = (out + matrix[:, start : start + 64] @ a[start : start + 64]) % q
    return out


def edge_vectors(q: int, n: int) -> list[np.ndarray]:
    """All 0, all q - 1, and both alternately."""
    return [
        np.zeros(n, dtype=np.int64),
        np.full(n, q - 1, dtype=np.int64),
        np.where(np.arange(n) % 2, q - 1, 0).astype(np.int64),
        np.where(np.arange(n) < n // 2, q - 1, 0).astype(np.int64),
    ]


class SealDecryptor:
    """SEAL with the boards' key, for BFV ciphertexts in NTT form. folder: for SEAL's files."""

    def __init__(self, secret: SecretKey, plain_modulus: int, folder: Path) -> None:
        parameters = secret.parameters
        parms = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.BFV)
        parms.set_poly_modulus_degree(parameters.n)
        parms.set_coeff_modulus([sealapi.Modulus(q) for q in parameters.primes])
        parms.set_plain_modulus(plain_modulus)
        self.context = sealapi.SEALContext(parms, True, sealapi.SEC_LEVEL_TYPE.TC128)
        assert self.context.parameters_set()
        self.path = folder / "object"
        residues = np.stack([secret.residues(i) for i in range(len(parameters.primes))])
        key = sb.SealSecretKey(parameters, residues, BFV(plain_modulus))
        self.key = self._load(sealapi.SecretKey, sb.write_secret_key(key))

    def _load(self, kind: type[Any], data: bytes) -> Any:
        self.path.write_bytes(data)
        thing = kind()
        thing.load(self.context, str(self.path))
        return thing

    def decrypt(self, data: bytes) -> Any:
        """The plaintext of a ciphertext in SEAL's bytes."""
        ciphertext = self._load(sealapi.Ciphertext, data)
        if ciphertext.is_ntt_form():
            sealapi.Evaluator(self.context).transform_from_ntt_inplace(ciphertext)
        plain = sealapi.Plaintext()
        sealapi.Decryptor(self.context, self.key).decrypt(ciphertext, plain)
        return plain

    def slots(self, data: bytes) -> np.ndarray:
        """The slots of a ciphertext in SEAL's bytes."""
        return np.array(sealapi.BatchEncoder(self.context).decode_uint64(self.decrypt(data)), dtype=np.int64)
