# SPDX-License-Identifier: Apache-2.0
"""Quoted times of SEAL on a Raspberry Pi 4 and on three of Amazon's machines, milliseconds.

Daniel Achee and Jennifer Quintana, "Homomorphic Encryption Implementation for Small SWaP Platforms", 2020:
the tables "Objective 1: Results (2)" and "(3)", and "Objective 2: Results for c5n_large instance",
"t2_micro" and "r5a_large", BFV and CKKS. With SEAL's default chains, inside the bound of the 2018 standard.
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

T2_MICRO: dict[str, Times] = {
    "bfv": {
        "batch": (0.024, 0.050, 0.129, 0.273, 0.539),
        "unbatch": (0.026, 0.048, 0.105, 0.214, 0.453),
        "encrypt": (0.537, 1.034, 3.034, 8.262, 26.371),
        "decrypt": (0.118, 0.234, 0.764, 2.671, 11.488),
        "add": (0.005, 0.008, 0.034, 0.112, 0.430),
        "multiply": (1.103, 2.180, 7.349, 27.757, 116.834),
        "multiply_plain": (0.113, 0.234, 0.931, 4.047, 19.624),
        "square": (0.754, 1.509, 5.038, 20.058, 82.345),
        "relinearize": (*NONE, 1.496, 7.331, 42.251),
        "rotate": (*NONE, 1.549, 7.354, 43.365),
        "rotate_random": (*NONE, 6.213, 31.027, 205.262),
        "rotate_columns": (*NONE, 1.493, 7.360, 42.124),
    },
    "ckks": {
        "batch": (0.496, 1.055, 2.467, 6.197, 17.045),
        "unbatch": (0.558, 1.182, 3.273, 11.141, 46.447),
        "encrypt": (0.508, 0.950, 3.376, 9.462, 31.022),
        "decrypt": (0.015, 0.026, 0.112, 0.405, 1.705),
        "add": (0.006, 0.009, 0.030, 0.105, 0.418),
        "multiply": (0.053, 0.088, 0.345, 1.364, 5.432),
        "multiply_plain": (0.014, 0.023, 0.091, 0.375, 1.453),
        "square": (0.035, 0.064, 0.251, 1.015, 4.191),
        "relinearize": (*NONE, 1.530, 7.811, 43.702),
        "rescale": (*NONE, 0.733, 3.516, 15.965),
        "rotate": (*NONE, 1.750, 8.344, 47.054),
        "rotate_random": (*NONE, 7.205, 31.284, 227.630),
        "conjugate": (*NONE, 1.757, 8.244, 46.406),
    },
}

R5A_LARGE: dict[str, Times] = {
    "bfv": {
        "batch": (0.056, 0.056, 0.124, 0.273, 0.513),
        "unbatch": (0.022, 0.046, 0.091, 0.196, 0.451),
        "encrypt": (0.482, 0.902, 2.604, 7.491, 24.381),
        "decrypt": (0.102, 0.186, 0.632, 2.374, 9.425),
        "add": (0.005, 0.007, 0.020, 0.083, 0.327),
        "multiply": (1.002, 1.986, 6.581, 25.472, 103.115),
        "multiply_plain": (0.102, 0.206, 0.930, 3.827, 16.475),
        "square": (0.676, 1.390, 4.609, 18.096, 74.667),
        "relinearize": (*NONE, 1.270, 6.631, 39.109),
        "rotate": (*NONE, 1.322, 6.585, 39.271),
        "rotate_random": (*NONE, 4.299, 24.564, 162.075),
        "rotate_columns": (*NONE, 1.287, 6.708, 39.196),
    },
    "ckks": {
        "batch": (0.479, 1.080, 2.227, 5.365, 14.436),
        "unbatch": (0.536, 1.102, 3.250, 10.403, 44.064),
        "encrypt": (0.481, 0.855, 3.145, 8.735, 28.172),
        "decrypt": (0.012, 0.022, 0.091, 0.302, 1.229),
        "add": (0.004, 0.007, 0.022, 0.075, 0.311),
        "multiply": (0.033, 0.066, 0.268, 0.984, 4.578),
        "multiply_plain": (0.013, 0.024, 0.100, 0.351, 1.500),
        "square": (0.022, 0.045, 0.179, 0.677, 3.103),
        "relinearize": (*NONE, 1.449, 6.599, 38.316),
        "rescale": (*NONE, 0.667, 3.164, 14.578),
        "rotate": (*NONE, 1.623, 7.275, 41.515),
        "rotate_random": (*NONE, 5.934, 28.260, 181.675),
        "conjugate": (*NONE, 1.579, 7.215, 41.180),
    },
}
"""CKKS's unbatch at n = 4096 is printed as 3250: a decimal point is missing."""


MACHINES = {
    "c5n.large": C5N_LARGE,
    "r5a.large": R5A_LARGE,
    "t2.micro": T2_MICRO,
    "Raspberry Pi 4": PI_4,
}


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
