"""Options that several commands share, and what is made of them. Defaults stand in ``config.py``; None is "not given"."""

from __future__ import annotations

import getpass
import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from statewright.assemble import connect
from statewright.config import AgentConfig, load_config
from statewright.journal import Durability, SQLiteJournal
from statewright.tools import ToolRegistry, load_tools
from statewright_states.errors import ConfigurationError, JournalUnavailable
from statewright_states.ports import Provider

DEFAULT_JOURNAL = ".statewright/runs.db"
MODEL_VARIABLE = "STATEWRIGHT_MODEL"

MODEL = Group("Model and tools", sort_key=1)
AGENT = Group("Agent", sort_key=2)
LIMITS = Group("Limits", sort_key=3)
JOURNAL = Group("Journal", sort_key=4)
OUTPUT = Group("Output", sort_key=5)


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The model and the tools of an agent."""

    model: str | None = None
    """openai:NAME (any Chat Completions server) or scripted:FILE (default: the run's own, else STATEWRIGHT_MODEL). Keys come
    from the environment alone (OPENAI_API_KEY): an option would show them to everybody who lists processes."""
    base_url: str | None = None
    """The server's address, such as http://127.0.0.1:8080/v1."""
    tools: tuple[str, ...] = ()
    """Tools to load: module:attribute or path/to/file.py:attribute. May be given several times."""

    def provider(self, recorded: str | None = None) -> Provider:
        """The model asked for, else the one that the run began with, else the environment's."""
        model = self.model or recorded or os.environ.get(MODEL_VARIABLE)
        if not model:
            raise ConfigurationError(
                "no model is given",
                where="--model",
                cure=f"name one, for example --model openai:gpt-5-mini, or set {MODEL_VARIABLE}",
            )
        return connect(model, base_url=self.base_url)

    def registry(self) -> ToolRegistry:
        """The tools asked for."""
        return ToolRegistry([tool for specification in self.tools for tool in load_tools(specification)])

    def again(self) -> str:
        """These options as somebody would type them for the same run; the run itself remembers its model."""
        given = ["--base-url", self.base_url] if self.base_url else []
        return _typed([*given, *(word for tools in self.tools for word in ("--tools", tools))])


@Parameter(name="*", group=AGENT)
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """What the agent is told. The command line wins over the file, the file over the defaults."""

    config: Path | None = None
    """A TOML file with the fields of AgentConfig, such as max_steps = 10 or [retry] max_attempts = 2."""
    system: str | None = None
    """The system prompt."""
    confirm: Literal["yolo", "confirm-sensitive", "confirm-all"] | None = None
    """Which tool calls a person has to allow: none, those of sensitive tools (default), or all."""
    self_eval: Literal["off", "basic", "full"] | None = None
    """Judge the answer: not at all (default), once, or with corrections."""
    temperature: float | None = None
    max_output_tokens: Annotated[int | None, Parameter(group=LIMITS)] = None
    """Longest reply of the model."""
    max_steps: Annotated[int | None, Parameter(group=LIMITS)] = None
    """Model calls at most (default 40)."""
    step_timeout: Annotated[float | None, Parameter(group=LIMITS)] = None
    """Seconds for one model call with its retries (default 0: off)."""
    tool_timeout: Annotated[float | None, Parameter(group=LIMITS)] = None
    """Seconds for one tool call (default 30)."""
    timeout: Annotated[float | None, Parameter(group=LIMITS)] = None
    """Seconds for the whole run (default 600)."""

    def agent_config(self) -> AgentConfig:
        """The configuration of the three layers. Raises ConfigurationError that names the key."""
        filed = _read_toml(self.config) if self.config else {}
        if self.config:
            _check_file(self.config, filed)
        given = {
            "system_prompt": self.system,
            "confirm_mode": self.confirm,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "max_steps": self.max_steps,
            "step_timeout_s": self.step_timeout,
            "tool_timeout_s": self.tool_timeout,
            "run_timeout_s": self.timeout,
        }
        layered = filed | {name: value for name, value in given.items() if value is not None}
        if self.self_eval is not None:
            layered["evaluation"] = {**filed.get("evaluation", {}), "mode": self.self_eval}
        return load_config(layered)


@Parameter(name="*", group=JOURNAL)
@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """Where runs are recorded."""

    journal: Annotated[Path | None, Parameter(env_var="STATEWRIGHT_JOURNAL")] = None
    """The SQLite file of the runs (default: .statewright/runs.db). Only the default's folder is created."""

    def store(self, durability: Durability = "full", *, create: bool = False) -> SQLiteJournal:
        """The journal; ``create`` makes the default's folder. Raises JournalUnavailable where there is no default journal."""
        if create and self.journal is None:
            _make_default_folder()
        elif self.journal is None and not Path(DEFAULT_JOURNAL).exists():
            raise JournalUnavailable(
                "there is no journal yet",
                where=str(Path(DEFAULT_JOURNAL).absolute()),
                cure="`statewright run` begins one here; name another with --journal",
            )
        return SQLiteJournal(self.journal or DEFAULT_JOURNAL, durability=durability)

    def again(self) -> str:
        """This option as somebody would type it again."""
        return _typed(["--journal", str(self.journal)] if self.journal else [])


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What is shown of a run while it goes on, and how its outcome is printed."""

    json: bool = False
    """Print the outcome as one JSON document."""
    quiet: bool = False
    """Show nothing but the answer."""


DurabilityOption = Annotated[Durability, Parameter(group=JOURNAL)]
StreamOption = Annotated[bool | None, Parameter(group=OUTPUT, negative="--no-stream")]
NO_MODEL, NO_AGENT, NO_JOURNAL, NO_OUTPUT = ModelOptions(), AgentOptions(), JournalOptions(), OutputOptions()


def actor_named(given: str | None) -> str:
    """Who decides: the name given with ``--as``, else the login name."""
    try:
        return given or getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        raise ConfigurationError("this user has no login name", where="--as", cure="say who decides: --as NAME") from None


def actor_if_known(given: str | None) -> str | None:
    """Who asks for a run: as ``actor_named``, and None for a user without a name."""
    try:
        return actor_named(given)
    except ConfigurationError:
        return None


def _typed(words: list[str]) -> str:
    return "".join(f" {shlex.quote(word)}" for word in words)


def _make_default_folder() -> None:
    folder = Path(DEFAULT_JOURNAL).parent
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"the folder of the journal cannot be created: {error.strerror}",
            where=str(folder.absolute()),
            cure="work in a folder that you may write, or name a file with --journal",
        ) from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"the configuration cannot be read: {error.strerror}", where=str(path), cure="check the path after --config"
        ) from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigurationError(
            f"the configuration is not TOML: {error}", where=str(path), cure="mend it; see toml.io for the format"
        ) from error


def _check_file(path: Path, values: Mapping[str, Any]) -> None:
    """Name the file in what is wrong with it."""
    try:
        load_config(values)
    except ConfigurationError as error:
        raise ConfigurationError(error.what, where=f"{path}, {error.where}", cure=error.cure) from error
