"""What carries out a run from the command line: one agent, or one that plans and one that builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from statewright.agent.agent_files import Agent
from statewright.cli.options import ModelOptions
from statewright.config.settings import AgentConfig
from statewright.core.inputs import RunInputs
from statewright.tools import ToolRegistry
from statewright.workspace import RepoIndex, workspace_prompt
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass, replace
from statewright_states.plan_build.facts import Phase
from statewright_states.words.ports import Provider


@dataclass(frozen=True, slots=True)
class Worker:
    """An agent with its model and its tools."""

    name: str | None
    provider: Provider
    tools: ToolRegistry
    config: AgentConfig
    equipment: ModelOptions


def worker(agent: Agent, model: ModelOptions, hidden: Sequence[Path]) -> Worker:
    """An agent for a new run, whose options are in it already. ``hidden`` files are out of reach of workspace tools."""
    equipment = replace(model, model=agent.model, base_url=agent.base_url, tools=agent.tools)
    tools = equipment.registry(hidden)
    config = agent.config_for(tools)
    if equipment.workspace:
        config = workspace_prompt(config, RepoIndex(equipment.workspace, hidden=hidden))
    return Worker(agent.name, equipment.provider(), tools, config, equipment)


def worker_again(inputs: RunInputs, agent: Agent, model: ModelOptions, hidden: Sequence[Path]) -> Worker:
    """The agent of a run on record: its configuration and model are the recorded ones, the rest is as given now."""
    equipment = replace(model, base_url=agent.base_url, tools=agent.tools)
    tools = equipment.registry(hidden)
    _require_tools(inputs, tools)
    return Worker(None, equipment.provider(inputs.model), tools, inputs.config, equipment)


def sharing(workers: Mapping[Phase, Worker]) -> dict[Phase, Worker]:
    """The workers with one connection where they ask the same model at the same address: a script is followed once."""
    asked = {(worker.provider.model, worker.equipment.base_url): worker.provider for worker in workers.values()}
    return {
        phase: replace(worker, provider=asked[worker.provider.model, worker.equipment.base_url])
        for phase, worker in workers.items()
    }


def _require_tools(inputs: RunInputs, tools: ToolRegistry) -> None:
    """The model was told of these tools: without them, its calls would fail as unknown."""
    missing = [name for name in inputs.cards if name not in tools]
    if missing:
        raise ConfigurationError(
            f"the run began with tools that are not given: {', '.join(missing)}",
            where=f"run {inputs.run_id}",
            cure="name what holds them: --tools module:attribute, --workspace DIR, or --config FILE --agent NAME",
        )
