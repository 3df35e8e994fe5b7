# SPDX-License-Identifier: Apache-2.0
"""Ciphermote: a sensor encrypts, an untrusted cloud computes, only the owner reads.

Real numbers (CKKS), with some noise, and integers (BFV), exact modulo t:

    >>> owner = ciphermote.Owner.generate()
    >>> days = [ciphermote.encrypt(x, owner.public_key) for x in ([21.4, -27.0], [20.9, -26.5])]
    >>> total = ciphermote.compute(ciphermote.Sum(), days)
    >>> print(owner.decrypt(total)[:2].round(1))
    [ 42.3 -53.5]
    >>> bfv = ciphermote.BFV(40961)
    >>> counts = [ciphermote.encrypt(x, owner.public_key, scheme=bfv) for x in ([3, 5], [4, 6])]
    >>> total = ciphermote.compute(ciphermote.Sum(), counts)
    >>> print(owner.decrypt(total, places="slots")[:2])
    [ 7 11]

BFV has no mean: divide the sum by the count.

Owner           makes keys, saves and loads them, decrypts, provisions devices
SecretKey       Owner.secret_key: encrypts (half the bytes) and decrypts
PublicKey       Owner.public_key: encrypts
EvaluationKeys  Owner.evaluation_keys: what rotations and products need; public
encrypt         numbers to a Ciphertext, as a device does
CKKS, BFV       the schemes, each a Scheme: real numbers; BFV(t), integers modulo t
Ciphertext      the result of encrypt and of every operation; reads and writes frames and SEAL's bytes
Evaluator       computes on ciphertexts: any operation, without any secret
Matrix          for Evaluator.matmul
compute         an operation on ciphertexts, without any secret
Sum, Mean       of any number of ciphertexts, slot by slot
WeightedSum     the sum, each ciphertext times its weight
LinearModel     scores of one ciphertext: weights times its slots plus a bias
Program         any other computation: a sequence of operations, each a Step, with each Constant in it
decrypt         a Ciphertext, or the bytes of one, to numbers
decrypt_with_errors
                the same with an error bound for each number: Decrypted
variance_with_errors
                of readings, from their sum and the sum of their squares
SealChain       primes of SEAL's own, which read_seal_chain reads; Owner.from_seal takes SEAL's key with them
SealResult      what goes back to SEAL: Owner.export_seal
ParameterSet    ring degree, primes and scale (ciphermote.parameters has the built-in ones)
Error           base class of all errors: ParameterError, ValueRangeError, FrameError, MismatchError,
                ReplayError, KeyFileError, EngineError, GatewayError; warnings: PrecisionWarning,
                AssumptionWarning

The rest is in modules that are imported by themselves, such as ``ciphermote.parameters.adviser``. Importing
the package loads nothing: each name above, and ``ciphermote.parameters``, is loaded when it is first used.
The latter works without the compiled extension and without SEAL.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

__version__: str

if TYPE_CHECKING:
    from ciphermote import parameters as parameters
    from ciphermote.base.errors import (
        AssumptionWarning,
        EngineError,
        Error,
        FrameError,
        GatewayError,
        KeyFileError,
        MismatchError,
        ParameterError,
        PrecisionWarning,
        ReplayError,
        ValueRangeError,
    )
    from ciphermote.ciphertext import Ciphertext, SealResult
    from ciphermote.evaluate.computation import Mean, Sum, WeightedSum, compute
    from ciphermote.evaluate.evaluation_keys import EvaluationKeys
    from ciphermote.evaluate.evaluator import Evaluator, Matrix
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.evaluate.program import Constant, Program, Step
    from ciphermote.formats.seal import read_seal_chain
    from ciphermote.owner.decryption import Decrypted, decrypt, decrypt_with_errors, variance_with_errors
    from ciphermote.owner.encryption import PublicKey, encrypt
    from ciphermote.owner.keys import SecretKey
    from ciphermote.owner.owner import Owner
    from ciphermote.parameters import BFV, CKKS, ParameterSet, Scheme
    from ciphermote.parameters.seal_chain import SealChain

__all__ = [
    "BFV",
    "CKKS",
    "AssumptionWarning",
    "Ciphertext",
    "Constant",
    "Decrypted",
    "EngineError",
    "Error",
    "EvaluationKeys",
    "Evaluator",
    "FrameError",
    "GatewayError",
    "KeyFileError",
    "LinearModel",
    "Matrix",
    "Mean",
    "MismatchError",
    "Owner",
    "ParameterError",
    "ParameterSet",
    "PrecisionWarning",
    "Program",
    "PublicKey",
    "ReplayError",
    "Scheme",
    "SealChain",
    "SealResult",
    "SecretKey",
    "Step",
    "Sum",
    "ValueRangeError",
    "WeightedSum",
    "__version__",
    "compute",
    "decrypt",
    "decrypt_with_errors",
    "encrypt",
    "read_seal_chain",
    "variance_with_errors",
]

if not TYPE_CHECKING:  # A type checker would conclude that every name exists.
    _MODULES = {
        "evaluate.evaluation_keys": ("EvaluationKeys",),
        "evaluate.computation": ("Mean", "Sum", "WeightedSum", "compute"),
        "owner.decryption": ("Decrypted", "decrypt", "decrypt_with_errors", "variance_with_errors"),
        "owner.encryption": ("PublicKey", "encrypt"),
        "ciphertext": ("Ciphertext", "SealResult"),
        "formats.seal": ("read_seal_chain",),
        "parameters.seal_chain": ("SealChain",),
        "evaluate.evaluator": ("Evaluator", "Matrix"),
        "evaluate.linear_model": ("LinearModel",),
        "owner.keys": ("SecretKey",),
        "owner.owner": ("Owner",),
        "parameters": ("BFV", "CKKS", "ParameterSet", "Scheme"),
        "evaluate.program": ("Constant", "Program", "Step"),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        """Load a public name from its module, a module, or __version__ of the installed package, which comes
        from the public C header."""
        if name == "__version__":
            from importlib.metadata import version

            return version("ciphermote")
        module = _MODULE_OF.get(name, "base.errors" if name in __all__ else None)
        if module is None:
            if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            return import_module(f"{__name__}.{name}")
        return getattr(import_module(f"{__name__}.{module}"), name)
