# SPDX-License-Identifier: Apache-2.0
"""Readers and writers of bytes: frames, SEAL's objects and their labels, tags, receipts and key files. Each
reader parses and checks its bytes once."""
