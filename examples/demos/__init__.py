# SPDX-License-Identifier: Apache-2.0
"""The demos: a simulated Cortex-M4, an engine without a key, and the owner (`make demo`)."""
