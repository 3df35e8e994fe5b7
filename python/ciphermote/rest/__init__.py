# SPDX-License-Identifier: Apache-2.0
"""The gateway's HTTP API, as its clients and the gateway itself know it."""
