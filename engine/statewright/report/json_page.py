"""The report of a run, or the index of all, as one JSON document: every field of the model under its name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from statewright.report.index_model import RunIndex
from statewright.report.model import RunReport

FORMAT = 1
"""The version of the document's shape."""


def json_page(report: RunReport | RunIndex) -> dict[str, Any]:
    """The document. Times are microseconds since 1970, durations too."""
    return {"format": FORMAT, **asdict(report)}
