# SPDX-License-Identifier: Apache-2.0
"""Says the versions of the Python packages named, as the benches write them beside their figures."""

from __future__ import annotations

import sys
from importlib.metadata import version

if __name__ == "__main__":
    print(", ".join(f"{package} {version(package)}" for package in sys.argv[1:]))
