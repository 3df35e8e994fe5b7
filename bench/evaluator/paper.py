# SPDX-License-Identifier: Apache-2.0
"""Quoted times of SEAL on a Raspberry Pi 4 and on Amazon's c5n.large, milliseconds.

Daniel Achee and Jennifer Quintana, "Homomorphic Encryption Implementation for Small SWaP Platforms", 2020:
the tables "Objective 1: Results (2)" and "(3)", and "Objective 2: Results for c5n_large instance", BFV and
CKKS. With SEAL's default chains, inside the bound of the 2018 standard.
"""

from __future__ import annotations

DEGREES = (1024, 2048, 4096, 8192, 16384)

Times = dict[str, tuple[float | None, ...]]
"""By operation, as the bench calls it, at each degree."""

NONE = (None, None)

PI_4: dict[str, Times] = {
    "bfv": {
        "batch": (0.233, 0.466, 0.984, 2.092, 4.435),
        "unbatch": (0.186, 0.344, 0.740, 1.569, 3.373),
        "encrypt": (3.329, 6.524, 22.071, 64.670, 219.878),
        "decrypt": (1.566, 2.417, 7.137, 26.089, 100.465),
        "add": (0.025, 0.036, 0.116, 0.498, 2.047),
        "multiply": (11.460, 22.102, 74.159, 279.802, 1146.392),
        "multiply_plain": (1.006, 2.076, 8.810, 37.527, 158.410),
        "square": (8.252, 16.237, 55.181, 209.815, 867.853),
        "relinearize": (*NONE, 16.476, 72.648, 396.322),
        "rotate": (*NONE, 16.613, 73.975, 400.704),
        "rotate_random": (*NONE, 53.823, 341.561, 1765.455),
        "rotate_columns": (*NONE, 16.624, 73.992, 400.718),
    },
    "ckks": {
        "batch": (1.801, 2.969, 7.514, 20.257, 61.416),
        "unbatch": (2.594, 4.250, 14.735, 57.825, 257.827),
        "encrypt": (3.016, 4.455, 21.417, 66.505, 232.468),
        "decrypt": (0.148, 0.215, 0.842, 3.325, 13.085),
        "add": (0.027, 0.036, 0.114, 0.446, 1.998),
        "multiply": (0.427, 0.729, 2.951, 12.627, 48.889),
        "multiply_plain": (0.186, 0.316, 1.243, 4.921, 19.506),
        "square": (0.302, 0.517, 2.137, 9.173, 36.203),
        "relinearize": (*NONE, 16.323, 71.417, 391.350),
        "rescale": (*NONE, 6.235, 30.999, 140.706),
        "rotate": (*NONE, 16.734, 73.160, 399.765),
        "rotate_random": (*NONE, 57.636, 279.600, 1790.253),
        "conjugate": (*NONE, 16.684, 73.036, 398.881),
    },
}

C5N_LARGE: dict[str, Times] = {
    "bfv": {
        "batch": (0.025, 0.054, 0.105, 0.213, 0.425),
        "unbatch": (0.023, 0.039, 0.083, 0.168, 0.352),
        "encrypt": (0.421, 0.786, 2.274, 6.227, 19.964),
        "decrypt": (0.082, 0.165, 0.541, 1.920, 7.527),
        "add": (0.004, 0.006, 0.018, 0.073, 0.309),
        "multiply": (0.747, 1.571, 5.255, 20.001, 81.804),
        "multiply_plain": (0.081, 0.169, 0.712, 2.999, 12.707),
        "square": (0.522, 1.071, 3.612, 13.791, 57.450),
        "relinearize": (*NONE, 1.078, 5.273, 31.282),
        "rotate": (*NONE, 1.083, 5.310, 31.056),
        "rotate_random": (*NONE, 4.467, 20.178, 136.762),
        "rotate_columns": (*NONE, 1.082, 5.291, 30.989),
    },
    "ckks": {
        "batch": (0.364, 0.788, 1.802, 4.487, 12.292),
        "unbatch": (0.390, 0.831, 2.325, 8.039, 33.520),
        "encrypt": (0.422, 0.792, 2.643, 7.334, 23.595),
        "decrypt": (0.009, 0.016, 0.063, 0.245, 1.041),
        "add": (0.004, 0.006, 0.017, 0.068, 0.284),
        "multiply": (0.024, 0.048, 0.179, 0.841, 3.900),
        "multiply_plain": (0.009, 0.016, 0.060, 0.239, 0.950),
        "square": (0.016, 0.032, 0.120, 0.552, 2.763),
        "relinearize": (*NONE, 1.097, 5.357, 31.338),
        "rescale": (*NONE, 0.519, 2.574, 11.756),
        "rotate": (*NONE, 1.280, 6.155, 34.147),
        "rotate_random": (*NONE, 4.458, 28.515, 145.624),
        "conjugate": (*NONE, 1.275, 6.045, 33.749),
    },
}

CPU_PERCENT: dict[str, dict[str, tuple[float, ...]]] = {
    "Raspberry Pi 4": {"bfv": (5.0, 10.6, 87.7, 99.7, 100), "ckks": (7.0, 11.6, 81.1, 98.3, 100)},
    "c5n.large": {"bfv": (1.0, 1.7, 12.0, 36.7, 100), "ckks": (0.7, 1.3, 11.0, 41.3, 100)},
}
"""CPU usage while the operations ran."""


def quoted(times: Times, operation: str) -> tuple[float | None, ...]:
    """The bench decrypts CKKS to numbers in one call, where the paper decrypts and then decodes."""
    if operation in times:
        return times[operation]
    first, _, second = operation.partition("_")
    if first not in times or second not in times:
        return (None,) * len(DEGREES)
    return tuple(
        None if a is None or b is None else a + b for a, b in zip(times[first], times[second], strict=True)
    )
