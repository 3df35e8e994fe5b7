# SPDX-License-Identifier: Apache-2.0
"""Puts the bench's modules, simulated cores and their images, and the reference models of the Python tests
where the AVR tests find them.

With several processes, each builds images in its own folder.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/avr"))

import arduino
import images

images.BUILD /= os.environ.get("PYTEST_XDIST_WORKER", "")
arduino.BUILD = images.BUILD / "arduino"
