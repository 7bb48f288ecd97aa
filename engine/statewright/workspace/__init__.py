"""A folder to work in: its file tree for a system prompt, and tools that are confined to it.

::

    from statewright.workspace import RepoIndex, workspace_prompt, workspace_tools

    loop = AgentLoop(model, workspace_tools("."), workspace_prompt(config, RepoIndex(".")))
"""

from __future__ import annotations

from statewright.workspace.declared import workspace_tools
from statewright.workspace.folder import Workspace
from statewright.workspace.index import RepoIndex, workspace_prompt
from statewright_states.errors import WorkspaceRefusal

__all__ = ["RepoIndex", "Workspace", "WorkspaceRefusal", "workspace_prompt", "workspace_tools"]
