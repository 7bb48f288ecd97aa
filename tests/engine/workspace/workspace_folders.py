"""Folders for tests of the workspace: made from a table of files, with an outside that nothing may reach."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from statewright import Tool
from statewright.workspace import WorkspaceRefusal, workspace_tools

SECRET = "what-stands-outside"


def fill(folder: Path, files: Mapping[str, str]) -> Path:
    """Make files with their folders; a name that ends in a slash is an empty folder."""
    for name, text in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    return folder


@dataclass(frozen=True)
class Bench:
    """A workspace with its tools, beside a folder that lies outside."""

    root: Path
    outside: Path
    tools: Mapping[str, Tool]

    def use(self, name: str, **arguments: Any) -> str:
        """What the tool says. Raises WorkspaceRefusal."""
        return str(self.tools[name](**arguments))

    def refused(self, name: str, **arguments: Any) -> str:
        """Why the tool does not do it, in one text with place and cure."""
        with pytest.raises(WorkspaceRefusal) as refusal:
            self.use(name, **arguments)
        assert refusal.value.where
        assert refusal.value.cure
        return str(refusal.value)

    def command(self, *words: str, timeout_s: float = 30) -> str:
        """What a command prints, with its ending."""
        return asyncio.run(self.tools["run_command"].function(command=list(words), timeout_s=timeout_s))

    def everything_outside(self) -> dict[str, bytes]:
        """Every file outside the workspace, by its path."""
        return {str(path): path.read_bytes() for path in self.outside.rglob("*") if path.is_file()}


def bench_in(folder: Path, files: Mapping[str, str] | None = None, **options: Any) -> Bench:
    """A workspace ``inside`` with these files, and an ``outside`` with a secret."""
    root, outside = folder / "inside", folder / "outside"
    root.mkdir()
    fill(root, files or {})
    fill(outside, {"secret.txt": SECRET, "deep/secret.txt": SECRET})
    return Bench(root, outside, {each.name: each for each in workspace_tools(root, **options)})


def link(bench: Bench, name: str, target: str | Path) -> None:
    """A symbolic link in the workspace."""
    os.symlink(target, bench.root / name)
