"""Options that several commands share, and what is made of them. Defaults stand in ``config.py``; None is "not given"."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from statewright.agent.agent_files import Agent, Agents, AgentTable, check_table, merged
from statewright.agent.assemble import connect, shown_address
from statewright.journal import Durability, SQLiteJournal
from statewright.presentation.output import typed
from statewright.tools import ToolRegistry, load_tools
from statewright.workspace import workspace_tools
from statewright_states.errors import ConfigurationError, NoJournalYet
from statewright_states.words.ports import Provider

DEFAULT_JOURNAL = ".statewright/runs.db"
MODEL_VARIABLE = "STATEWRIGHT_MODEL"
PLANNER, BUILDER = "plan", "build"

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
    """openai:NAME (any Chat Completions server) or scripted:FILE (default: the run's or file's own, else STATEWRIGHT_MODEL).
    Keys come from the environment alone (OPENAI_API_KEY): an option would show them to everybody who lists processes."""
    base_url: str | None = None
    """The server's address, such as http://127.0.0.1:8080/v1."""
    tools: tuple[str, ...] = ()
    """Tools to load: module:attribute or path/to/file.py:attribute. May be given several times."""
    workspace: Path | None = None
    """A folder to work in: its file tree is in the system prompt, and tools read, search and change its files."""

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

    @property
    def layer(self) -> dict[str, Any]:
        """What these options say of an agent, as the highest layer."""
        given = {"model": self.model, "base_url": self.base_url, "tools": self.tools or None}
        return {key: value for key, value in given.items() if value is not None}

    def registry(self, hidden: Iterable[Path] = ()) -> ToolRegistry:
        """The tools asked for; ``hidden`` files are out of reach of those of the workspace."""
        registry = ToolRegistry([tool for specification in self.tools for tool in load_tools(specification)])
        for tool in workspace_tools(self.workspace, hidden=hidden) if self.workspace else ():
            registry.add(tool)
        return registry

    def again(self) -> str:
        """These options as somebody would type them for the same run; the run itself remembers its model.

        Where the address holds a key, ``[key]`` stands for it, to be typed in.
        """
        return again(self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The same, word by word."""
        given = ["--base-url", shown_address(self.base_url)] if self.base_url else []
        given += [word for tools in self.tools for word in ("--tools", tools)]
        return (*given, *(("--workspace", str(self.workspace)) if self.workspace else ()))


NO_MODEL = ModelOptions()


@Parameter(name="*", group=AGENT)
@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAgent:
    """An agent by its name."""

    agent: str | None = None
    """An agent: plan, build, review, resume (built in), or one that the --config file defines."""
    config: Path | None = None
    """A TOML file: fields of AgentConfig, such as max_steps = 10, for every agent, and [agents.NAME] tables for each."""

    @property
    def named(self) -> str | None:
        """The name of the agent that does the work; None for one without a name."""
        return self.agent

    def agents(self) -> Agents:
        """The agents that there are. Raises ConfigurationError for a file that is wrong."""
        return Agents.read(self.config) if self.config else Agents()

    def again(self) -> str:
        """What names the agent's model and tools again; the run itself remembers what the agent was told."""
        return again(self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The same, word by word."""
        named = ("--agent", self.named) if self.named else ()
        return ("--config", str(self.config), *named) if self.config else ()


@Parameter(name="*", group=AGENT)
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions(NamedAgent):
    """What the agent is told. The command line wins over the file, the file over the defaults."""

    mode: Literal["plan", "build", "mixed"] | None = None
    """plan: the agent plan, alone. build: the agent build, or the --agent. mixed: plan first, then build."""
    system: str | None = None
    """The system prompt."""
    confirm: Literal["yolo", "confirm-sensitive", "confirm-all"] | None = None
    """Which tool calls a person has to allow: none, those of sensitive tools (default), or all."""
    self_eval: Literal["off", "basic", "full"] | None = None
    """Judge the answer: not at all (default), once, or with corrections."""
    dry_run: bool | None = None
    """Execute no tools; the model is told so."""
    temperature: float | None = None
    """How freely the model chooses its words (default: the server's own)."""
    top_p: float | None = None
    """The share of likely words that the model chooses from, 0 to 1."""
    seed: int | None = None
    """Makes replies repeatable as far as the server can."""
    stop: tuple[str, ...] = ()
    """A text at which a reply ends. May be given several times."""
    reasoning_effort: str | None = None
    """How long a reasoning model thinks, in its own word: low, medium, high, ..."""
    tool_choice: str | None = None
    """auto, none, required, or the tool that has to be called in the first step."""
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

    @property
    def named(self) -> str | None:
        """The name of the agent that does the work. Raises ConfigurationError where two are meant."""
        if self.mode == PLANNER and self.agent not in (None, PLANNER):
            raise ConfigurationError(
                "the agent of this mode is plan, and another one is named",
                where=f"--mode plan --agent {self.agent}",
                cure=f"leave one of them out, or write --mode mixed --agent {self.agent}: plan, then the other one builds",
            )
        return self.agent or (BUILDER if self.mode == "mixed" else self.mode)

    def resolved(self, model: ModelOptions = NO_MODEL) -> Agent:
        """The agent that does the work. Raises ConfigurationError that names the key and where it stands."""
        return self.agents().choose(self.named, self._line(model))

    def planner(self, model: ModelOptions = NO_MODEL) -> Agent:
        """The agent that plans for the other one. It keeps its own prompt, and is not judged: a plan is no finished task.

        Nor is the call meant for it that ``--tool-choice`` demands.
        """
        line = {key: value for key, value in self._line(model).items() if key not in ("system_prompt", "tool_choice")}
        return self.agents().choose(PLANNER, merged(line, {"evaluation": {"mode": "off"}}))

    def _line(self, model: ModelOptions) -> dict[str, Any]:
        """The layer of the command line."""
        line = model.layer
        for option, values in self._given():
            given = {key: value for key, value in values.items() if value is not None}
            check_table(given, AgentTable, option)
            line |= given
        return line

    def _given(self) -> list[tuple[str, dict[str, Any]]]:
        """Each option with the key that it sets; None is not given."""
        return [
            ("--system", {"system_prompt": self.system}),
            ("--confirm", {"confirm_mode": self.confirm}),
            ("--self-eval", {"evaluation": {"mode": self.self_eval} if self.self_eval else None}),
            ("--dry-run", {"dry_run": self.dry_run}),
            ("--temperature", {"temperature": self.temperature}),
            ("--top-p", {"top_p": self.top_p}),
            ("--seed", {"seed": self.seed}),
            ("--stop", {"stop": self.stop or None}),
            ("--reasoning-effort", {"reasoning_effort": self.reasoning_effort}),
            ("--tool-choice", {"tool_choice": self.tool_choice}),
            ("--max-output-tokens", {"max_output_tokens": self.max_output_tokens}),
            ("--max-steps", {"max_steps": self.max_steps}),
            ("--step-timeout", {"step_timeout_s": self.step_timeout}),
            ("--tool-timeout", {"tool_timeout_s": self.tool_timeout}),
            ("--timeout", {"run_timeout_s": self.timeout}),
        ]


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
            raise NoJournalYet(
                "there is no journal yet",
                where=str(Path(DEFAULT_JOURNAL).absolute()),
                cure="`statewright run` begins one here; name another with --journal",
            )
        return SQLiteJournal(self.journal or DEFAULT_JOURNAL, durability=durability)

    @property
    def hidden(self) -> tuple[Path, ...]:
        """What no agent may reach: its own record."""
        return (Path(self.journal or DEFAULT_JOURNAL).absolute(),)

    def again(self) -> str:
        """This option as somebody would type it again."""
        return again(("--journal", str(self.journal)) if self.journal else ())


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What is shown of a run while it goes on, and how its outcome is printed."""

    json: bool = False
    """Print the outcome as one JSON document."""
    quiet: bool = False
    """Show nothing but the answer."""
    verbose: Annotated[bool, Parameter(name=("--verbose", "-v"))] = False
    """Write the log of the run to stderr too: each decision with its row, states and durations, and no text of a message."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions:
    """Whether a run is stepped through, and how."""

    debug: bool = False
    """Step through the run in the debugger: it waits for you before each event."""
    plain: bool = False
    """With --debug: read commands from stdin, and answer in text."""


RunName = Annotated[str, Parameter(help="The run's id, the beginning or the end of it, or `last`.")]
JsonList = Annotated[bool, Parameter(group=OUTPUT, help="Print a JSON list.")]
DurabilityOption = Annotated[Durability, Parameter(group=JOURNAL)]
StreamOption = Annotated[bool | None, Parameter(group=OUTPUT, negative="--no-stream")]
NO_NAME, NO_AGENT, NO_JOURNAL, NO_OUTPUT = NamedAgent(), AgentOptions(), JournalOptions(), OutputOptions()
NO_DEBUG = DebugOptions()


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


def again(words: Iterable[str]) -> str:
    """Words of a command as somebody can type them behind it."""
    return "".join(f" {typed(word)}" for word in words)


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
