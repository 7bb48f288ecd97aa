"""Run, calls and tool calls together, explored whole: every order of everything that may happen, scope by scope.

``prove_composition`` explores scopes (``SCOPES``, or others) over the real tables or changed ones; ``section`` says what was
found as a part of the evidence. The model is in ``model``, what becomes of each command in ``wiring``, what is forgotten to
keep it small and why that loses nothing in ``normal``, the claims in ``claims``.
"""

from __future__ import annotations

from statewright.evidence.composition.claims import CLAIMS
from statewright.evidence.composition.model import CompositionModel
from statewright.evidence.composition.proof import Proof, prove_composition, prove_scope
from statewright.evidence.composition.report import section, shown
from statewright.evidence.composition.scope import Scope
from statewright.evidence.composition.scopes import SCOPES
from statewright.evidence.composition.situation import Tables

__all__ = [
    "CLAIMS",
    "SCOPES",
    "CompositionModel",
    "Proof",
    "Scope",
    "Tables",
    "prove_composition",
    "prove_scope",
    "section",
    "shown",
]
