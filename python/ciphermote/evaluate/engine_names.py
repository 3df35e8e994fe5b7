# SPDX-License-Identifier: Apache-2.0
"""Names of engines for the package and its command line, in a module that loads nothing else."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["native", "seal"]
"""An engine's name: Ciphermote's own evaluator, or Microsoft SEAL."""
