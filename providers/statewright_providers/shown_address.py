"""Addresses as people may see them, in errors and in commands to type again."""

from __future__ import annotations

import re

from statewright_providers.redaction import MIN_SECRET_CHARS

SECRET_NAME = re.compile(r"key|token|secret|sig|auth|pass|cred|code|cookie", re.IGNORECASE)
"""What stands under such a name, in a query or a header, is taken for a secret wherever it appears."""
SCHEME = re.compile(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:?//")
NO_PORT = re.compile(r"^([^/\[]*:)(?!\d*(?:/|$))[^/]*")
PAIR = re.compile(r"[^&;]+")


def shown_address(address: str) -> str:
    """An address as people may see it, whether it is one or not, with ``[key]`` for whatever may be secret in it.

    That is a user with a password, what stands in the place of a port and is none, a fragment, and the values of the query
    but short ones and versions.
    """
    begun = SCHEME.match(address)
    scheme = begun[0] if begun else ""
    user, at, behind = address[len(scheme) :].rpartition("@")
    if any(char in user for char in "/?#"):  # a password may hold these, and so may what follows an address hold an @
        return f"{scheme}[key]"
    place, number, fragment = behind.partition("#")
    place, question, query = place.partition("?")
    if begun:
        place = NO_PORT.sub(r"\1[key]", place)
    shown_query = PAIR.sub(lambda pair: _shown_pair(pair[0]), query)
    return scheme + ("[key]@" if at else "") + place + question + shown_query + number + ("[key]" if fragment else "")


def _shown_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    harmless = len(value or name) < MIN_SECRET_CHARS or "version" in name.lower()
    if harmless and not (equals and SECRET_NAME.search(name)):
        return pair
    return f"{name}=[key]" if equals else "[key]"
