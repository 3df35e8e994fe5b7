# SPDX-License-Identifier: Apache-2.0
"""Executors compute the tasks of jobs: in threads of the worker that has the job, or on a Ray cluster."""
