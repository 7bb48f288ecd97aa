"""Run, calls and tool calls together, explored whole: every order of everything that may happen, scope by scope.

``report`` explores scopes (``scopes``) over the real tables or changed ones, and says what was found as a part of the
evidence. The model is in ``model``; what becomes of each command says the engine's own router (``statewright.core.routing``);
what is forgotten to keep it small and why that loses nothing in ``normal``, the claims in ``claims``.
"""
