"""Ciphermote: a sensor encrypts, an untrusted cloud computes, only the owner reads.

This package is the owner's toolkit. Importing it loads nothing else: each module brings in what it needs,
so that ``ciphermote.parameters`` and ``ciphermote.adviser`` work without the compiled extension and without
SEAL.
"""

from typing import TYPE_CHECKING

__version__: str

if not TYPE_CHECKING:  # A type checker would conclude that every name exists.

    def __getattr__(name: str) -> str:
        """__version__ as the package was built: it stands in the public C header, and not here again."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version("ciphermote")
