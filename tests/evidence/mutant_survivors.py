"""Why some mutants live: each that nobody notices, by name, with the reason. A survivor without one breaks the evidence."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {}
