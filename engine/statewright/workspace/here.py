"""The tools of the current folder, for a command line: ``--tools statewright.workspace.here:tools``.

The folder is the one that is current when this module is imported.
"""

from __future__ import annotations

from pathlib import Path

from statewright.tools import ToolRegistry
from statewright.workspace.declared import workspace_tools

tools = ToolRegistry(workspace_tools(Path.cwd()))
