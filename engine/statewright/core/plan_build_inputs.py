"""What a task that is planned, then built, is given at its start, as its header pins it: the inputs of both its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from statewright.config.prompts import filled
from statewright.core.inputs import RunInputs, header_is_read, run_inputs
from statewright.journal.entry import FORMAT, MACHINES, TABLES, Header, decode, encode
from statewright.journal.recorder import Payloads
from statewright_states.frozen import dataclass, replace
from statewright_states.plan_build.events import TaskAdmitted
from statewright_states.plan_build.facts import Phase, PlanBuildSettings
from statewright_states.plan_build.table import PLAN_BUILD


@dataclass(frozen=True, slots=True)
class PlanBuildInputs:
    """Everything that the task is given: what each of its runs would be given if it were alone, and the setting."""

    run_id: str
    phases: Mapping[Phase, RunInputs]
    accept_partial_plan: bool = False

    @property
    def task(self) -> str:
        """The prompt."""
        return self.phases[Phase.BUILD].task

    def child_id(self, phase: Phase) -> str:
        """The id of the run of this phase."""
        return f"{self.run_id}.{phase}"

    def child(self, phase: Phase, task: str, command: str) -> RunInputs:
        """What the run of this phase is given; ``command`` is the id of the command that begins it."""
        link = f"{self.run_id}/{command}"
        return replace(self.phases[phase], run_id=self.child_id(phase), task=task, parent=link)

    def build_task(self, plan: str) -> str:
        """The prompt of the build: the task and the plan, marked."""
        return filled(self.phases[Phase.BUILD].config.prompts.building, {"task": self.task, "plan": plan})

    def header(self, at_us: int, engine: str, payloads: Payloads) -> Header:
        """The header of the task's own record; what it refers to is put among the payloads."""
        build = self.phases[Phase.BUILD]
        configs = {phase.value: given.config.model_dump(mode="json") for phase, given in self.phases.items()}
        models = {phase.value: given.model for phase, given in self.phases.items()}
        tools = {phase.value: [card.shape() for card in given.cards.values()] for phase, given in self.phases.items()}
        hooks = {phase.value: [asdict(card) for card in given.hooks] for phase, given in self.phases.items()}
        config = {"accept_partial_plan": self.accept_partial_plan, "models": models, **configs}
        return Header(
            format=FORMAT,
            run_id=self.run_id,
            at_us=at_us,
            engine=engine,
            model=build.model,
            machine=PLAN_BUILD.name,
            machines={name: payloads.put(TABLES[name].canonical) for name in MACHINES[PLAN_BUILD.name]},
            config=payloads.put(encode(config)),
            task=payloads.put(encode(self.task)),
            history=payloads.put_messages(build.history),
            tools=payloads.put(encode(tools)),
            hooks=payloads.put(encode(hooks)),
            code={name: payloads.put(TABLES[name].code_form) for name in MACHINES[PLAN_BUILD.name]},
            policy={f"{phase}.confirm_mode": given.config.confirm_mode.value for phase, given in self.phases.items()},
            stream=build.stream,
            requested_by=build.requested_by,
            agent=build.agent,
            equipment=build.equipment,
        )

    def admitted(self, task: str) -> TaskAdmitted:
        """The first event; ``task`` is the digest of the prompt."""
        return TaskAdmitted(PlanBuildSettings(self.accept_partial_plan), task)


def plan_build_inputs_from(header: Header, blobs: Mapping[str, bytes]) -> PlanBuildInputs:
    """The inputs that a header pins; raises JournalDamaged when they cannot be read."""
    with header_is_read():
        config, tools, hooks = (decode(blobs[name]) for name in (header.config, header.tools, header.hooks))
        phases = {
            phase: run_inputs(header, blobs, config["models"][phase], config[phase], tools[phase], hooks[phase])
            for phase in Phase
        }
        phases[Phase.PLAN] = replace(phases[Phase.PLAN], agent=None)  # the name is that of the agent that builds
        phases[Phase.BUILD] = replace(phases[Phase.BUILD], stream=header.stream)
        return PlanBuildInputs(header.run_id, phases, bool(config["accept_partial_plan"]))
