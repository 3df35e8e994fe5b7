# SPDX-License-Identifier: Apache-2.0
"""Foundations that every other room imports: errors, arguments, files, text and numbers."""
