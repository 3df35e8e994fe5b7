"""Puts the bench's modules, simulated cores and their images, where the AVR tests find them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/avr"))
