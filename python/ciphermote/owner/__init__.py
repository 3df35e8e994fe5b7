# SPDX-License-Identifier: Apache-2.0
"""The owner's side: makes and keeps keys, encrypts, decrypts, and provisions devices."""
