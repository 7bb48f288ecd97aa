"""Paths in arguments about which a person is asked, although the tool itself needs nobody: keys, and files that hold them.

Patterns are those of ``fnmatch``, for one component of a path; capitals do not matter. Of several that match, the last
one counts, and one that begins with ``!`` says that the name is not sensitive. A path is sensitive if one component is.
"""

from __future__ import annotations

import fnmatch
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, cast

SENSITIVE_NAMES = (
    *(".env", ".env.*", "*.env", ".envrc", "!.env.example", "!.env.sample", "!.env.template"),
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"),
    *(".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", "credentials", "credentials.json"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
)
"""What is sensitive in a workspace unless it is told otherwise."""


def is_sensitive(path: str, patterns: Sequence[str]) -> bool:
    """Whether a component of this path is sensitive."""
    return any(_is_sensitive(part, patterns) for part in _folded(path).split("/"))


def sensitive_argument(arguments: str, patterns: Mapping[str, Sequence[str]]) -> str | None:
    """The first sensitive path among the arguments (JSON text); ``patterns`` are those of each argument by its name.

    None for arguments that are not in order: such a call is refused before anybody is asked.
    """
    try:
        value: Any = json.loads(arguments) if patterns and arguments.strip() else None
    except (ValueError, RecursionError):
        return None
    given: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
    for name, of_name in patterns.items():
        path = given.get(name)
        if isinstance(path, str) and is_sensitive(path, of_name):
            return path
    return None


def _is_sensitive(name: str, patterns: Sequence[str]) -> bool:
    sensitive = False
    for pattern in patterns:
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!").casefold()):
            sensitive = not pattern.startswith("!")
    return sensitive


def _folded(path: str) -> str:
    """As a file system that knows no capitals, and none of the characters without a width, reads it."""
    return "".join(each for each in path.casefold() if unicodedata.category(each) != "Cf")
