# SPDX-License-Identifier: Apache-2.0
"""Where a gateway stores bytes: the interface, and its back ends."""
