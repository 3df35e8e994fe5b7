# SPDX-License-Identifier: Apache-2.0
"""The gateway: takes a fleet's ciphertexts in, keeps them, and computes what their owner asks for.

It holds no key that decrypts. What it acknowledged is on the disk. `ciphermote serve` runs it
(docs/operations.md); it needs the extra `gateway`.
"""
