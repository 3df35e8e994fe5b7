# SPDX-License-Identifier: Apache-2.0
"""Bytes at the door: frames, SEAL's objects and their labels, tags, receipts and key files. Each reader
parses and checks once."""
