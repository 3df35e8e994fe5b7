# SPDX-License-Identifier: Apache-2.0
"""The gateway receives and stores fleets' ciphertexts, and runs their owners' computations.

It holds no key that decrypts. Everything that it has acknowledged is on the disk. `ciphermote serve` runs it
(docs/operations.md); it needs the extra `gateway`.
"""
