# SPDX-License-Identifier: Apache-2.0
"""A device at a broker, and a gateway with one: those of `make demo-fleet`."""

from __future__ import annotations

import gateway_support  # noqa: F401  finds the demos
from demos.fleet.site import Site, site
from demos.fleet.station import Answer, Station

__all__ = ["Answer", "Site", "Station", "site"]
