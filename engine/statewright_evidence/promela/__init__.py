"""A second opinion: the tables in Promela, checked by SPIN (https://spinroot.com), and compared with our own explorer."""

from __future__ import annotations

from statewright_evidence.promela.free_model import promela
from statewright_evidence.promela.second_opinion import section

__all__ = ["promela", "section"]
