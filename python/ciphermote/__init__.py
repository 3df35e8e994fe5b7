# SPDX-License-Identifier: Apache-2.0
"""Ciphermote: a sensor encrypts, an untrusted cloud computes, only the owner reads.

    owner = ciphermote.Owner.generate()
    monday, tuesday = (ciphermote.encrypt(x, owner.public_key) for x in ([21.4, -27.0], [20.9, -26.5]))
    total = ciphermote.compute(ciphermote.Sum(), [monday, tuesday])
    print(owner.decrypt(total)[:2])

Arrays go in and come out, and bytes go between; the modules have the rest. Importing the package loads
nothing: each name brings in what it needs, so that ``ciphermote.parameters`` and ``ciphermote.adviser`` work
without the compiled extension and without SEAL.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__: str

if TYPE_CHECKING:
    from ciphermote.computation import EvaluationKeys, Sum, WeightedSum, compute
    from ciphermote.decryption import decrypt
    from ciphermote.encryption import PublicKey, encrypt
    from ciphermote.errors import (
        EngineError,
        Error,
        FrameError,
        KeyFileError,
        MismatchError,
        ParameterError,
        ReplayError,
        ValueRangeError,
    )
    from ciphermote.keys import SecretKey
    from ciphermote.linear_model import LinearModel
    from ciphermote.owner import Owner
    from ciphermote.parameters import ParameterSet
    from ciphermote.program import Constant, Program, Step

__all__ = [
    "Constant",
    "EngineError",
    "Error",
    "EvaluationKeys",
    "FrameError",
    "KeyFileError",
    "LinearModel",
    "MismatchError",
    "Owner",
    "ParameterError",
    "ParameterSet",
    "Program",
    "PublicKey",
    "ReplayError",
    "SecretKey",
    "Step",
    "Sum",
    "ValueRangeError",
    "WeightedSum",
    "__version__",
    "compute",
    "decrypt",
    "encrypt",
]

if not TYPE_CHECKING:  # A type checker would conclude that every name exists.
    _MODULES = {
        "computation": ("EvaluationKeys", "Sum", "WeightedSum", "compute"),
        "decryption": ("decrypt",),
        "encryption": ("PublicKey", "encrypt"),
        "linear_model": ("LinearModel",),
        "keys": ("SecretKey",),
        "owner": ("Owner",),
        "parameters": ("ParameterSet",),
        "program": ("Constant", "Program", "Step"),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        """A public name, from its module; __version__ as the package was built, for it stands in the public C
        header and not here again."""
        if name == "__version__":
            from importlib.metadata import version

            return version("ciphermote")
        module = _MODULE_OF.get(name, "errors" if name in __all__ else None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{module}"), name)
