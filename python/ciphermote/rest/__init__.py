# SPDX-License-Identifier: Apache-2.0
"""The gateway's HTTP API as typed requests and answers, which the gateway and its clients share."""
