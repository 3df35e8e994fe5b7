# SPDX-License-Identifier: Apache-2.0
"""Computing on ciphertexts with public keys only: evaluators, engines, sums, programs and linear models. No
secret key enters this room."""
