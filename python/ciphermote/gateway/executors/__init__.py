# SPDX-License-Identifier: Apache-2.0
"""Where the tasks of a job are computed: in threads of the worker that has it, or on a Ray cluster."""
