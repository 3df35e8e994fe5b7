# SPDX-License-Identifier: Apache-2.0
"""Stores of a gateway's bytes: their interface, and a module for each kind."""
