"""Ciphermote: a sensor encrypts, an untrusted cloud computes, only the owner reads.

This package is the owner's toolkit. Importing it loads nothing else: each module brings in what it needs,
so that ``ciphermote.parameters`` and ``ciphermote.adviser`` work without the compiled extension and without
SEAL.
"""

__version__ = "0.1.0"
