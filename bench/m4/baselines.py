# SPDX-License-Identifier: Apache-2.0
"""SEAL-Embedded's figures, for comparison: n = 4096, three primes of 30 bits, 2048 values.

Quoted: Natarajan and Dai, "SEAL-Embedded: A Homomorphic Encryption Library for the Internet of Things" (TCHES
2021), Tables 4 and 5: microseconds on a Cortex-M4 at 64 MHz. Modelled: the same library, compiled by gcc 12
with -O3 -fno-strict-aliasing (without the latter it encrypts zero), on a cycle model that agrees with that of
cycles.c within 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass

QUOTED_MHZ = 64


@dataclass(frozen=True)
class Encryption:
    """arena, code and tables: bytes of the modelled runs' own images; RAM and flash in KB, as quoted."""

    configuration: str
    modelled_cycles: int
    quoted_us: int
    arena_bytes: int
    code_bytes: int
    table_bytes: int
    quoted_ram_kb: int
    quoted_flash_kb: int

    @property
    def quoted_cycles(self) -> int:
        return self.quoted_us * QUOTED_MHZ


@dataclass(frozen=True)
class Module:
    """One prime, except for the inverse FFT. Random numbers come from SHAKE256."""

    configuration: str
    modelled_cycles: int | None
    quoted_us: int

    @property
    def quoted_cycles(self) -> int:
        return self.quoted_us * QUOTED_MHZ


SENT_BYTES = 98_304
"""A ciphertext as sent in every configuration: two components at three primes, 4 bytes per residue."""

ENCRYPTIONS = {
    ("symmetric", "high performance"): Encryption(
        "high performance", 43_200_000, 680_790, 148_480, 20_188, 173_080, 137, 169
    ),
    ("symmetric", "balanced"): Encryption(
        "balanced", 46_800_000, 735_826, 139_264, 20_188, 123_928, 129, 121
    ),
    ("symmetric", "memory efficient"): Encryption(
        "memory efficient", 76_300_000, 1_348_602, 73_728, 26_096, 1_512, 65, 1
    ),
    ("asymmetric", "high performance"): Encryption(
        "high performance", 43_500_000, 737_342, 147_456, 20_188, 270_384, 136, 264
    ),
    ("asymmetric", "balanced"): Encryption(
        "balanced", 49_000_000, 824_403, 139_264, 20_188, 221_232, 128, 216
    ),
    ("asymmetric", "memory efficient"): Encryption(
        "memory efficient", 84_600_000, 1_550_116, 95_232, 26_096, 98_816, 85, 96
    ),
}

MODULES = {
    ("encode", "high performance"): Module("inverse FFT, load", 22_800_000, 408_063),
    ("encode", "balanced"): Module("inverse FFT, load", 22_800_000, 408_063),
    ("encode", "memory efficient"): Module("inverse FFT, on the fly", None, 751_745),
    ("ntt.n4096", "high performance"): Module("load fast", 890_000, 15_336),
    ("ntt.n4096", "balanced"): Module("load", 1_510_000, 25_495),
    ("ntt.n4096", "memory efficient"): Module("on the fly", 3_550_000, 65_134),
    **{
        (name, configuration): Module("", cycles, us)
        for name, cycles, us in (
            ("sample_uniform", 2_810_000, 34_294),
            ("sample_ternary", 1_340_000, 24_474),
            ("sample_cbd", 3_950_000, 77_155),
        )
        for configuration in ("high performance", "balanced", "memory efficient")
    },
}


@dataclass(frozen=True)
class Share:
    """Share of the time that SEAL takes on one core of a Cortex-A7, as quoted."""

    percent: int
    source: str


_ENGINE = (
    "Das, van der Hagen et al., A 10.33 uJ/encryption Homomorphic Encryption Engine in 28nm CMOS with "
    "4096-degree 109-bit Polynomials for Resource-Constrained IoT Clients, Fig. 2"
)

CLIENT_SHARES = {"zero_encryption": Share(81, _ENGINE), "delta_m": Share(57, _ENGINE)}
"""For BFV at n = 4096: encryption before the plaintext is added, and decryption up to c0 + c1 s."""
