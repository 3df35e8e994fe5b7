"""The compiled library for the package's other modules: its parameter sets, made once, and its errors in
our classes.

It holds no arithmetic of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from functools import cache

from ciphermote import _core
from ciphermote.errors import CiphermoteError, FrameError, ParameterError, ValueRangeError
from ciphermote.parameters import ParameterSet, prime_constants

STATUS_PARAMS = 2

_CLASS_OF_STATUS: dict[int, type[CiphermoteError]] = {
    1: ParameterError,
    STATUS_PARAMS: ParameterError,
    **dict.fromkeys((4, 5, 6), ValueRangeError),
    10: ParameterError,
    **dict.fromkeys((*range(11, 17), *range(18, 22)), FrameError),
    **dict.fromkeys((17, 22, 23), ParameterError),
}
"""Status of core/include/ciphermote/status.h -> class; the others are CiphermoteError itself."""


@cache
def core_params(parameters: ParameterSet) -> _core.Params:
    """The set as the C library sees it."""
    rows = [astuple(prime_constants(parameters.n, q)) for q in parameters.primes]
    return _core.Params(
        name=parameters.name,
        id=parameters.id,
        log2_n=parameters.log2_n,
        data_primes=len(parameters.data_primes),
        log2_q_data=parameters.data_modulus.bit_length() - 1,
        rows=rows,
    )


def status_of(error: _core.StatusError) -> tuple[int, str]:
    """The status of a failed call, and its sentence."""
    status, sentence = error.args
    return status, sentence


@contextmanager
def core_errors(context: str = "", kind: type[CiphermoteError] | None = None) -> Iterator[None]:
    """Turn a failed call of the library into a CiphermoteError: context, if any, then the status's own
    sentence.

    kind replaces the class that belongs to the status.
    """
    try:
        yield
    except _core.StatusError as error:
        status, sentence = status_of(error)
        found = kind or _CLASS_OF_STATUS.get(status, CiphermoteError)
        raise found(f"{context}: {sentence}" if context else sentence) from None
