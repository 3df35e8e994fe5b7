# SPDX-License-Identifier: Apache-2.0
"""URLs of object stores, which name a bucket and nothing secret."""

from __future__ import annotations

from ciphermote.base.errors import ParameterError

PROVIDERS = {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}
"""By a URL's scheme, how the names of variables begin."""


def check_url(url: str) -> None:
    """Raises ParameterError unless a URL names a bucket, and nothing secret."""
    scheme, found, rest = url.partition("://")
    authority = rest.partition("/")[0]
    if any(sign in authority for sign in "@:") or any(sign in rest for sign in "?#"):
        raise ParameterError(
            "--store has more than a bucket and a prefix. Credentials never go there: put them into the "
            "environment (AWS_ACCESS_KEY_ID and so on), or into a file that it names."
        )
    if not found or scheme not in PROVIDERS or not authority:
        raise ParameterError(
            f"--store is {url}: give s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://ACCOUNT/CONTAINER/PREFIX."
        )
