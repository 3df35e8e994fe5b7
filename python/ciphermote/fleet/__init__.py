# SPDX-License-Identifier: Apache-2.0
"""The owner's side of a gateway, and a device of its fleets in Python. It needs the extra `owner`, and no
packages of a server.

    attach          define a fleet at a gateway, and remember it beside the keys
    Attachment      what attach remembered
    enroll          a device: its keys, its connection file, and what the gateway may know of it
    GatewayClient   the gateway's API: progress, devices, jobs, streams, results, tokens
    Computation     what a gateway is to compute
    fetch           a job's result, to files
    read, decrypt   those files, and what they hold, on the owner's machine
    rotate          give a fleet a new owner key
    FleetDevice     a device, for computers that measure: it loses nothing

Neither a key that decrypts nor a device's secret goes to a gateway.
"""

from ciphermote.fleet.attachments import Attachment, attach, attached
from ciphermote.fleet.client import Computation, GatewayClient
from ciphermote.fleet.connections import Connection
from ciphermote.fleet.device import FleetDevice
from ciphermote.fleet.enrolling import Enrolled, enroll, records
from ciphermote.fleet.reading import Reading, decrypt
from ciphermote.fleet.results import Fetched, fetch, find, read
from ciphermote.fleet.rotating import rotate

__all__ = [
    "Attachment",
    "Computation",
    "Connection",
    "Enrolled",
    "Fetched",
    "FleetDevice",
    "GatewayClient",
    "Reading",
    "attach",
    "attached",
    "decrypt",
    "enroll",
    "fetch",
    "find",
    "read",
    "records",
    "rotate",
]
