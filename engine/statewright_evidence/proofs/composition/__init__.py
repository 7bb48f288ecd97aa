"""Run, calls and tool calls together, explored whole: every order of everything that may happen, scope by scope.

``prove_composition`` explores scopes (``SCOPES``, or others) over the real tables or changed ones; ``section`` says what was
found as a part of the evidence. The model is in ``model``; what becomes of each command says the engine's own router
(``statewright.core.routing``); what is forgotten to
keep it small and why that loses nothing in ``normal``, the claims in ``claims``.
"""

from __future__ import annotations

from statewright_evidence.proofs.composition.claims import CLAIMS
from statewright_evidence.proofs.composition.model import CompositionModel
from statewright_evidence.proofs.composition.proof import ScopeProof, prove_composition, prove_scope
from statewright_evidence.proofs.composition.report import section, shown
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.scopes import SCOPES
from statewright_evidence.proofs.composition.situation import Tables

__all__ = [
    "CLAIMS",
    "SCOPES",
    "CompositionModel",
    "Scope",
    "ScopeProof",
    "Tables",
    "prove_composition",
    "prove_scope",
    "section",
    "shown",
]
