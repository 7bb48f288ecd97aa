"""How far a tool is, as it says itself. A view only: nothing of it is on record, and nothing decides by it."""

from __future__ import annotations

from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """What a tool says while it runs: words, or how much is done, of ``total`` where that is known.

    ``tool`` names the call in the journal, ``call_id`` is the model's name for it, ``name`` the tool's own.
    """

    run_id: str
    tool: str
    call_id: str
    name: str
    text: str = ""
    done: float | None = None
    total: float | None = None
