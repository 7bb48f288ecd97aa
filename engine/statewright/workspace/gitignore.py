"""Which entries of a folder git would ignore: https://git-scm.com/docs/gitignore, read by the library ``pathspec``.

Only the ``.gitignore`` files of the workspace count, nested ones too: a user's global ones and ``.git/info/exclude``
are not part of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import cast

from statewright.workspace.paths import Parts
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass

MAX_STEPS = 1_000_000
"""The most positions of a pattern's stars in a path that may be tried, which takes some 25 ms. More could take hours, in
which the whole process would stand still: such a pattern is taken not to match such a path."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a ``.gitignore``."""

    expression: re.Pattern[str]
    ignores: bool
    stars: int

    def matches(self, path: str) -> bool:
        """Whether the line speaks of exactly this path, which ends with a slash when it is a folder's."""
        return math.comb(len(path), self.stars) <= MAX_STEPS and self.expression.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class GitIgnore:
    """The ``.gitignore`` of the folder that lies ``depth`` folders below the root; the last rule comes first."""

    depth: int
    rules: tuple[Rule, ...]

    def verdict(self, parts: Parts, *, folder: bool) -> bool | None:
        """Whether to ignore this entry below that folder; None when no line speaks of it."""
        path = "/".join(parts[self.depth :]) + ("/" if folder else "")
        return next((rule.ignores for rule in self.rules if rule.matches(path)), None)


def is_ignored(files: Sequence[GitIgnore], parts: Parts, *, folder: bool) -> bool:
    """Whether an entry is ignored, its folder not being so. ``files`` are those above it, the outermost first."""
    verdicts = (file.verdict(parts, folder=folder) for file in reversed(files))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def read_gitignore(data: bytes, depth: int) -> GitIgnore:
    """A ``.gitignore``. Lines that are no patterns are passed over, as git does. Raises ConfigurationError without pathspec."""
    lines = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n")
    return GitIgnore(depth, tuple(_rules(lines))[::-1])


def check_available() -> None:
    """Raises ConfigurationError when the library is not installed: at the start, not in the middle of a run."""
    _rule("*")


def _rules(lines: Iterable[str]) -> list[Rule]:
    rules = (_rule(line.removesuffix("\r")) for line in lines if line.strip() and not line.startswith("#"))
    return [rule for rule in rules if rule is not None]


def _rule(line: str) -> Rule | None:
    try:
        import pathspec
    except ImportError as missing:
        raise ConfigurationError(
            "respecting .gitignore needs a library that is not installed",
            where="package pathspec",
            cure='pip install "statewright[workspace]"',
        ) from missing
    explicit = _about_one_entry(line)
    try:
        (pattern,) = pathspec.GitIgnoreSpec.from_lines([explicit]).patterns
    except (ValueError, re.error):  # no pattern
        return None
    expression = cast("re.Pattern[str] | None", pattern.regex)  # pyright: ignore[reportUnknownMemberType] - theirs is bare
    if pattern.include is None or expression is None:  # no pattern either
        return None
    return Rule(expression, pattern.include, explicit.replace("**", "*").count("*"))


def _about_one_entry(line: str) -> str:
    """The same pattern, never ending in a star or two stars alone.

    The library answers for files, with all that may be said of the folders around them; we ask about one entry at a
    time, from the top, as git does, and so need an expression that matches the entry itself and not what lies below
    it. Its expressions do that except for these shortcuts.
    """
    if line.endswith("\\ "):
        return line
    body = line.rstrip()
    slash = "/" if body.endswith("/") else ""
    negation = "!" if body.startswith("!") else ""
    head, separator, last = body.removeprefix("!").removesuffix("/").rpartition("/")
    if last == "**":
        last = "**/?*" if separator else "?*"
    elif last == "*":
        last = "?*"
    return f"{negation}{head}{separator}{last}{slash}"
