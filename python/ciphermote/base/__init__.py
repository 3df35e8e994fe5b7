# SPDX-License-Identifier: Apache-2.0
"""What every room stands on: errors, arguments, files, text and numbers."""
