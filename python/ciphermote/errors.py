"""The exceptions of the package: each message is one clear sentence (what, where, what to do).

There is one class for each thing a caller may want to handle apart, and no more.
"""


class CiphermoteError(Exception):
    """Base of all; catch it to report any failure of this package to people."""


class ParameterError(CiphermoteError):
    """A parameter set, scale or computation that is invalid, insecure or impossible."""


class ValueRangeError(CiphermoteError):
    """Values that cannot be encrypted: not finite, too many, or too large for scale, precision or modulus."""


class FrameError(CiphermoteError):
    """Bytes from outside that are no valid frame or ciphertext, or not the expected one."""


class MismatchError(FrameError):
    """Things of different keys, sets, schemes or plain moduli that were brought together, or whose origin
    nothing tells; or a decryption that gives noise, as such a mixture does."""


class ReplayError(FrameError):
    """A reading that came before, or is too old to tell."""


class KeyFileError(CiphermoteError):
    """A key file that is missing, damaged, of the wrong kind, or for other parameters."""


class EngineError(CiphermoteError):
    """An engine that is not available, failed, or cannot do what was asked."""
