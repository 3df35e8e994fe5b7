# SPDX-License-Identifier: Apache-2.0
"""The golden models: what devices (device, compact) and hardware (hardware) must compute, and SEAL's
encoder (embedding): slow and simple, in plain Python."""
