# SPDX-License-Identifier: Apache-2.0
"""The bench's workloads, and the configurations of the library that it builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ciphermote.parameters import ParameterSet, by_name

Options = Mapping[str, str | int | None]
"""A macro's value; None if it must not be defined."""

KINDS = ("symmetric", "asymmetric")
"""The kinds of keys."""

PLAIN_MODULUS = 40961
"""For BFV batching, as in firmware/workload.h."""

_SETS = {12: "n4096_q26x3_p27", 13: "n8192_q26x7_p27", 14: "n16384_q26x15_p27"}
"""As in firmware/workload.h."""


@dataclass(frozen=True)
class Workload:
    """n/2 real binary32 values, or n integers, with all data primes of a set.

    xof: for symmetric encryption. log2_frame_tiles: log2 of the tiles that ciphertexts arrive in for
    decryption; piece_bytes: how much arrives at a time. sums: bits that BFV decryption keeps per coefficient.
    batching: whether roots in flash include those of BFV's plain modulus.
    """

    log2_n: int = 12
    xof: str = "chacha20"
    precision: int = 31
    log2_frame_tiles: int = 0
    sums: int = 32
    piece_bytes: int = 1024
    batching: bool = False

    @property
    def parameters(self) -> ParameterSet:
        return by_name(_SETS[self.log2_n])

    @property
    def options(self) -> Options:
        """The macros of firmware/workload.h."""
        return {
            "WORKLOAD_LOG2_N": self.log2_n,
            "WORKLOAD_XOF": f"CM_XOF_{self.xof.upper()}",
            "WORKLOAD_PRECISION": f"CM_FIXED_{self.precision}",
            "WORKLOAD_LOG2_FRAME_TILES": self.log2_frame_tiles,
            "WORKLOAD_SUMS": f"CM_BFV_SUMS_{self.sums}",
            "WORKLOAD_PIECE_BYTES": f"{self.piece_bytes}u",
        }

    def described(self, kind: str, scheme: str = "ckks") -> dict[str, Any]:
        """For the rows of an encryption with this kind of key."""
        of_symmetric = {"xof": self.xof} if kind == "symmetric" else {}
        return {**self.described_message(scheme, len(self.parameters.data_primes)), **of_symmetric}

    def described_message(self, scheme: str, primes: int) -> dict[str, Any]:
        """For the rows of a ciphertext at so many data primes."""
        n = self.parameters.n
        of_scheme = {"values": n // 2, "precision": self.precision}
        if scheme == "bfv":
            of_scheme = {"values": n, "plain_modulus": PLAIN_MODULUS}
        return {"parameters": self.parameters.name, "n": n, "data_primes": primes, **of_scheme}


def compiler_flags(optimize: str, options: Options) -> str:
    """For the compiler's command line: "-O3 -DCM_CONFIG_COMPLEX=0"."""
    defined = (f"-D{name}={value}" for name, value in options.items() if value is not None)
    return " ".join([f"-{optimize}", *defined])


@dataclass(frozen=True)
class Configuration:
    """A way to build the library, and what it then encrypts.

    counterpart: SEAL-Embedded's configuration to compare with, if any. tagged: whether to measure encryption
    under the secret key into frames with tags as well. modules: whether to measure the parts and constant
    time as well. xofs: whether to measure the XOFs with the parts; their rows do not name a configuration.
    """

    flags: str
    counterpart: str | None = "high performance"
    workload: Workload = field(default_factory=Workload)
    kinds: tuple[str, ...] = KINDS
    tagged: bool = False
    modules: bool = True
    xofs: bool = False


Configurations = Mapping[str, Configuration]


def device(log2_n: int = 12) -> Options:
    """The options of a device that only encrypts real vectors of this degree."""
    return {
        "CM_CONFIG_MAX_LOG2_N": log2_n,
        "CM_CONFIG_PRECISION_63": 0,
        "CM_CONFIG_COMPLEX": 0,
        "CM_CONFIG_SEAL_XOFS": 0,
    }


PRESETS: Mapping[str, tuple[str, Options]] = {
    "tiny": ("O2", {"CM_CONFIG_PRESET": "CM_CONFIG_PRESET_TINY"}),
    "balanced": ("O3", {"CM_CONFIG_PRESET": "CM_CONFIG_PRESET_BALANCED"}),
    "fast": ("O3", {"CM_CONFIG_PRESET": "CM_CONFIG_PRESET_FAST"}),
}
"""(optimisation, options) of each."""


def _preset(name: str, counterpart: str, *, tagged: bool = False) -> Configuration:
    optimize, options = PRESETS[name]
    return Configuration(compiler_flags(optimize, {**device(), **options}), counterpart, tagged=tagged)


def _tiny_of_degree(log2_n: int, kinds: tuple[str, ...]) -> Configuration:
    optimize, options = PRESETS["tiny"]
    workload = Workload(log2_n)
    flags = compiler_flags(optimize, {**device(log2_n), **options, **workload.options})
    return Configuration(flags, None, workload, kinds, modules=False)


def _fast_with(xof: str) -> Configuration:
    """FAST with one of SEAL's own XOFs."""
    optimize, options = PRESETS["fast"]
    workload = Workload(xof=xof)
    flags = compiler_flags(optimize, {**device(), "CM_CONFIG_SEAL_XOFS": 1, **options, **workload.options})
    return Configuration(flags, None, workload, ("symmetric",), modules=False)


def _client(name: str, workload: Workload) -> Configuration:
    optimize, options = PRESETS[name]
    flags = compiler_flags(optimize, {**device(), **options, **workload.options})
    return Configuration(flags, None, workload, modules=False)


CLIENT_CONFIGURATIONS: Configurations = {
    "tiny": _client("tiny", Workload(log2_frame_tiles=3, sums=24, piece_bytes=64)),
    "fast": _client("fast", Workload()),
}
"""Configurations of a device that encrypts and decrypts, in both schemes."""

CONFIGURATIONS: Configurations = {
    "default": Configuration(compiler_flags("O3", {}), xofs=True),
    "portable": Configuration(
        compiler_flags("O3", {**device(), "CM_CONFIG_ASM": 0, "CM_CONFIG_PRESET": "CM_CONFIG_PRESET_FAST"})
    ),
    "tiny": _preset("tiny", "memory efficient"),
    "balanced": _preset("balanced", "balanced"),
    "fast": _preset("fast", "high performance", tagged=True),
    "fast.shake256": _fast_with("shake256"),
    "n8192.tiny": _tiny_of_degree(13, KINDS),
    # No public key: it has 1.9 MB here, more than the flash of the microcontroller that the board represents.
    "n16384.tiny": _tiny_of_degree(14, ("symmetric",)),
}
