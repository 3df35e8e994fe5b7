# SPDX-License-Identifier: Apache-2.0
"""Keys and ciphertexts for the bench, made by the library from fixed seeds: for measuring only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import ciphermote_testing as testing
import numpy as np
from ciphermote import _core
from ciphermote.base.files import write_atomically
from ciphermote.formats import seal as sb
from ciphermote.formats.device_results import device_frames
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.ntt_roots import c_root_tables
from ciphermote.owner.provisioning import Provision, to_c_header
from ciphermote.parameters import BFV, ParameterSet
from ciphermote.parameters.bounds import DEFAULT_READINGS
from ciphermote.parameters.native import core_params
from configurations import PLAIN_MODULUS
from numpy.typing import NDArray

SECRET_SEED = bytes(range(32))
PUBLIC_SEED = bytes(range(32, 64))
NUMBERS_A_LINE = 16
KEY_ID = 0x62656E6368
LOG2_SCALE = 23
"""For what is decrypted: values up to 1 at one prime of 26 bits."""
_UINT16, _FLOAT32 = 4, 1
_BATCH = 1


def public_key(parameters: ParameterSet, ternary: bytes) -> NDArray[np.uint32]:
    """[data prime][component][n], NTT form."""
    params = core_params(parameters)
    primes = range(len(parameters.data_primes))
    return np.stack([np.stack(_core.zero_encryption(params, ternary, PUBLIC_SEED, i)) for i in primes])


def provisioned_header(parameters: ParameterSet) -> str:
    """provisioned_keys.h as `ciphermote provision --key both` writes it."""
    ternary = _core.secret_key_generate(core_params(parameters), SECRET_SEED)
    secret = SecretKey(parameters, ternary, KEY_ID)
    device = Provision(parameters, KEY_ID, SECRET_SEED, secret, public_key(parameters, ternary))
    return to_c_header(replace(device, log2_scale=DEFAULT_READINGS.log2_scale(parameters)))


def write_keys(path: Path, parameters: ParameterSet, plain_moduli: Sequence[int] = ()) -> None:
    """Write keys.c, declared in firmware/workload.h, unless it is up to date. plain_moduli: those used for
    batching, for the transform's roots."""
    params = core_params(parameters)
    ternary = _core.secret_key_generate(params, SECRET_SEED)
    public = public_key(parameters, ternary)
    _write(
        path,
        "const uint8_t workload_ternary[CM_TERNARY_BYTES(WORKLOAD_N)] = {\n"
        f"{_lines(np.frombuffer(ternary, dtype=np.uint8))}}};\n\n"
        "const uint32_t workload_transformed[WORKLOAD_PRIMES][WORKLOAD_N] = {\n"
        + "".join(f"{{\n{_lines(residues)}}},\n" for residues in _transformed(parameters, params, ternary))
        + "};\n\n"
        "const uint32_t workload_public_key[WORKLOAD_PRIMES][2][WORKLOAD_N] = {\n"
        + "".join(f"{{{{\n{_lines(c0)}}}, {{\n{_lines(c1)}}}}},\n" for c0, c1 in public)
        + "};\n\n#if CM_CONFIG_NTT_ROOTS\n"
        + c_root_tables(parameters, "roots", plain_moduli)
        + "\nconst cm_root_table *const workload_roots = roots;\n#endif\n",
    )


@dataclass(frozen=True)
class Ciphertext:
    """frames: as a device accepts them. values_crc: CRC-32C of the values that the library decrypts here."""

    frames: bytes
    values_crc: int


@cache
def ciphertexts(parameters: ParameterSet, log2_tiles: int) -> dict[str, Ciphertext]:
    """One of each scheme, "bfv" and "ckks" (at one prime), under the bench's key; all slots full."""
    params = core_params(parameters)
    ternary = _core.secret_key_generate(params, SECRET_SEED)
    public = public_key(parameters, ternary).reshape(-1)
    rng = np.random.default_rng(1)
    counters = [0]
    device = _core.Device(SECRET_SEED, rng.bytes, lambda: counters[-1], counters.append)
    integers = rng.integers(0, PLAIN_MODULUS, parameters.n).astype(np.uint16)
    reals = rng.uniform(-1, 1, parameters.n // 2).astype(np.float32)
    bfv = sb.read_ciphertext(
        device.encrypt_bfv_asymmetric(
            params, public, KEY_ID, integers, PLAIN_MODULUS, _BATCH, 16, True, "seal"
        ),
        parameters,
        scheme=BFV(PLAIN_MODULUS),
    )
    ckks = sb.read_ciphertext(
        device.encrypt_asymmetric(params, public, KEY_ID, reals, LOG2_SCALE, 31, False, 0, "seal"), parameters
    )
    exact = testing.Decryption.bfv(params, ternary, KEY_ID, PLAIN_MODULUS, True, _UINT16, 32, log2_tiles)
    near = testing.Decryption.ckks(params, ternary, KEY_ID, False, 31, _FLOAT32, 0, log2_tiles, 1)
    made = {
        "bfv": _decrypted(exact, b"".join(device_frames(bfv, KEY_ID, 1, log2_tiles=log2_tiles))),
        "ckks": _decrypted(near, b"".join(device_frames(ckks, KEY_ID, 1, largest=1, log2_tiles=log2_tiles))),
    }
    if made["bfv"].values_crc != _core.crc32c(integers.tobytes()):
        raise AssertionError("The library on this machine does not decrypt what it encrypted.")
    return made


def _decrypted(decryption: testing.Decryption, frames: bytes) -> Ciphertext:
    decryption.feed(frames)
    return Ciphertext(frames, _core.crc32c(decryption.end().tobytes()))


def write_frames(path: Path, parameters: ParameterSet, log2_tiles: int) -> None:
    """Write frames.c, declared in firmware/workload.h, unless it is up to date."""
    _write(
        path,
        "\n".join(
            f"const uint32_t workload_{scheme}_frames_bytes = {len(made.frames)};\n"
            f"const uint8_t workload_{scheme}_frames[] = {{\n"
            f"{_lines(np.frombuffer(made.frames, dtype=np.uint8))}}};\n"
            for scheme, made in ciphertexts(parameters, log2_tiles).items()
        ),
    )


def _write(path: Path, definitions: str) -> None:
    text = f'/* Generated by bench/m4/keys.py. */\n#include "workload.h"\n\n{definitions}'
    if not path.exists() or path.read_text(encoding="ascii") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("ascii"))


def _transformed(
    parameters: ParameterSet, params: _core.Params, ternary: bytes
) -> Iterator[NDArray[np.uint64]]:
    """Return -s in NTT form times 2^32 at each data prime [n], as cm_secret_key_transform makes it."""
    for index, q in enumerate(parameters.data_primes):
        residues = _core.secret_key_residues(params, ternary, index).astype(np.uint64)
        yield (q - residues) * np.uint64(2**32 % q) % np.uint64(q)


def _lines(numbers: NDArray[np.unsignedinteger]) -> str:
    """Comma-separated, a few per line."""
    words = [f"{number}," for number in numbers.tolist()]
    starts = range(0, len(words), NUMBERS_A_LINE)
    return "".join(" ".join(words[i : i + NUMBERS_A_LINE]) + "\n" for i in starts)
