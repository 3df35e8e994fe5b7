# SPDX-License-Identifier: Apache-2.0
"""Runs Yosys passes, one an argument: what the executable does, for pyosys ships none."""

from __future__ import annotations

import sys

from pyosys import libyosys

if __name__ == "__main__":
    design = libyosys.Design()
    for command in sys.argv[1:]:
        libyosys.run_pass(command, design)
