# SPDX-License-Identifier: Apache-2.0
"""The compact lane: a few small integers in a packet of some 40 bytes, for encrypted sums
(docs/compact.md)."""
