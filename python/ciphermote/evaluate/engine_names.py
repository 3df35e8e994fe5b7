# SPDX-License-Identifier: Apache-2.0
"""Choices that the package and its command line share, in a module that loads nothing else."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["native", "seal"]
"""What computes on ciphertexts: Ciphermote's own evaluator, or Microsoft SEAL."""
