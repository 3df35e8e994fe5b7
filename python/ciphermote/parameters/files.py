# SPDX-License-Identifier: Apache-2.0
"""Parameter sets as JSON: the files of `ciphermote params -o`, and a part of manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ciphermote.base.errors import KeyFileError
from ciphermote.parameters import ParameterSet

_PARAMETERS_FORMAT = "ciphermote-parameters"


def parameters_to_dict(parameters: ParameterSet) -> dict[str, Any]:
    """Return the fields of a set in manifests and parameter files."""
    fields: dict[str, Any] = {
        "format": _PARAMETERS_FORMAT,
        "name": parameters.name,
        "n": parameters.n,
        "primes": list(parameters.primes),
        "standard": parameters.standard,
    }
    if parameters.further_special or parameters.digit_primes != 1:
        fields["further_special"] = list(parameters.further_special)
        fields["digit_primes"] = parameters.digit_primes
    if not parameters.key_switching:
        fields["key_switching"] = False
    return fields


def parameters_from_dict(fields: Any, where: str) -> ParameterSet:
    """Return the set of these fields, validated again. Raises KeyFileError for invalid fields, or
    ParameterError for a weak set."""
    if not isinstance(fields, Mapping) or fields.get("format") != _PARAMETERS_FORMAT:
        raise KeyFileError(f"{where} does not hold a parameter set: write one with `ciphermote params -o`.")
    name, n, primes, standard = (fields.get(key) for key in ("name", "n", "primes", "standard"))
    further, digit_primes = fields.get("further_special", []), fields.get("digit_primes", 1)
    key_switching = fields.get("key_switching", True)
    if (
        not isinstance(name, str)
        or not isinstance(standard, str)
        or type(n) is not int
        or not isinstance(primes, list)
        or not isinstance(further, list)
        or type(digit_primes) is not int
        or not isinstance(key_switching, bool)
        or any(type(q) is not int for q in (*primes, *further))
    ):
        raise KeyFileError(
            f"{where} lacks the name, n, primes or standard of a parameter set, or one is of another type: "
            "write it with `ciphermote params -o`."
        )
    return ParameterSet(name, n, tuple(primes), standard, tuple(further), digit_primes, key_switching)
