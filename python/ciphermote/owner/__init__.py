# SPDX-License-Identifier: Apache-2.0
"""The owner's side: make and store keys, encrypt, decrypt, and provision devices."""
