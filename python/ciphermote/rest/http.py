# SPDX-License-Identifier: Apache-2.0
"""Code shared by all HTTP clients of a gateway: addresses, tokens and refusals."""

from __future__ import annotations

import httpx

from ciphermote.base import json_text, number_text
from ciphermote.base.errors import GatewayError, KeyFileError, ParameterError

PROBLEM_TYPE = "urn:ciphermote:problem:"
"""The prefix of problem types, which the name of the kind follows."""
_LONGEST_SENTENCE = 600


def refusal_of(response: httpx.Response) -> GatewayError:
    """Return the refusal in a gateway's answer, or an error about whatever answered in its place."""
    try:
        fields = json_text.parse_large(response.content)
        name = str(fields["type"]).removeprefix(PROBLEM_TYPE)
        sentence = str(fields["detail"])[:_LONGEST_SENTENCE]
    except (ValueError, KeyError, TypeError):
        name = "http"
        sentence = f"{response.url.host} answers with status {response.status_code}: see what is in between."
    wait = response.headers.get("retry-after", "")
    return GatewayError(
        sentence, name, response.status_code, float(wait) if number_text.is_natural(wait) else None
    )


def checked_url(url: str) -> str:
    """Return a gateway's address without a final slash. Raises ParameterError for anything else."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme != "https" or not parsed.host or parsed.userinfo or parsed.query or parsed.fragment:
        raise ParameterError(
            f"The gateway (--gateway) is {url[:80]!r}: give https://HOST or https://HOST:PORT; tokens go "
            "over nothing less."
        )
    return str(parsed).rstrip("/")


def checked_token(token: str) -> str:
    found = token.strip()
    if not found.isascii() or not found.replace("_", "").isalnum():
        raise KeyFileError("The file holds no token: give the one that the gateway's operator or owner made.")
    return found
