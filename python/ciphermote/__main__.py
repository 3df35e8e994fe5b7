# SPDX-License-Identifier: Apache-2.0
"""`python -m ciphermote`: the command line."""

from ciphermote.cli import main

if __name__ == "__main__":
    main()
