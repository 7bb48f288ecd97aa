"""Models behind endpoints: adapters on raw httpx, and a scripted model that needs none.

``connect("openai:gpt-5-mini")`` gives a provider for a specification; the classes can also be built directly, from the
module of each adapter (``openai_chat``), which is imported only when it is used. All of them implement
``statewright_states.words.ports.Provider``; one call of ``complete`` is one attempt and never retries.
"""

from __future__ import annotations

from statewright_providers.connect import connect
from statewright_providers.script_file import load_script
from statewright_providers.scripted import Delay, ScriptedProvider

__all__ = ["Delay", "ScriptedProvider", "connect", "load_script"]
