"""The demo: a simulated Cortex-M4 encrypts smartwatch data, an engine without a key classifies it, and the
owner decrypts.

`run` is all of it; `make demo` calls it through the command line.
"""

from ciphermote.demo.run import run

__all__ = ["run"]
