"""What a run is given at its start, as its header pins it: configuration, task, history, tools, model.

Replay and resume read these back from the journal, so that a run means the same wherever it is read.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field
from typing import Any, Protocol

from statewright.config.settings import AgentConfig
from statewright.hooks import HookCard
from statewright.journal.entry import FORMAT, MACHINES, TABLES, Header, decode, digest, encode, listed
from statewright.journal.recorder import Payloads
from statewright.tools import Tool
from statewright.tools.ask_if import asked_if_in_words
from statewright.tools.declaration import ask_if_name
from statewright.tools.sensitive_paths import sensitive_argument
from statewright_states.errors import JournalDamaged
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import RunAdmitted
from statewright_states.run.facts import RunSettings
from statewright_states.words.approval import ApprovalRule, WithoutAPerson
from statewright_states.words.messages import Message, ToolCall, ToolSchema
from statewright_states.words.tool_effects import ConfirmMode, ToolEffect, needs_person
from statewright_states.words.vocabulary import AskedIf, ToolRequest

HOW_TO_DECLARE = (
    "This tool declares no effect, so it counts as irreversible. Declare what it does: "
    '@tool(effect="read"), "idempotent" or "irreversible".'
)


@dataclass(frozen=True, slots=True)
class ToolCard:
    """What a run knows about a tool without having its function."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: ToolEffect
    sensitive: bool
    parallel: bool
    timeout_s: float | None
    sensitive_paths: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    ask_if: str = ""
    """The name of the function that says of the arguments whether a person is asked; empty where there is none."""

    @classmethod
    def of(cls, tool: Tool) -> ToolCard:
        """The card of a declared tool."""
        parameters = decode(tool.schema.parameters_json)
        question = "" if tool.ask_if is None else ask_if_name(tool.ask_if)
        policy = (tool.effect, tool.sensitive, tool.parallel, tool.timeout_s, tool.sensitive_paths, question)
        return cls(tool.name, tool.description, parameters, *policy)

    def schema(self) -> ToolSchema:
        """What the model is told."""
        return ToolSchema(self.name, self.description, encode(self.parameters))

    def shape(self) -> dict[str, Any]:
        """The card as it is recorded."""
        shape = asdict(self)
        return {name: value for name, value in shape.items() if value or name not in ("sensitive_paths", "ask_if")}

    def is_sensitive(self, arguments: str) -> bool:
        """Whether a person is asked about a call with these arguments under ``confirm-sensitive``."""
        return self.sensitive or sensitive_argument(arguments, self.sensitive_paths) is not None

    def remark(self, arguments: str, asked_if: AskedIf | None = None) -> str:
        """What a person who is asked about a call should know besides; empty where there is nothing."""
        if asked_if is not None and asked_if.answer:
            return asked_if_in_words(asked_if)
        if self.effect is ToolEffect.UNDECLARED:
            return HOW_TO_DECLARE
        path = None if self.sensitive else sensitive_argument(arguments, self.sensitive_paths)
        return "" if path is None else f"This path may hold keys or passwords: {path}"


class Inputs(Protocol):
    """What a run of any machine is given at its start."""

    @property
    def run_id(self) -> str: ...

    def header(self, at_us: int, engine: str, payloads: Payloads) -> Header:
        """The header that pins these inputs."""
        ...

    def admitted(self, task: str) -> Event:
        """The first event; ``task`` is the digest of the prompt."""
        ...


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Everything that a run is given. ``cards`` holds the tools that it may use, by name; ``hooks`` in order."""

    run_id: str
    model: str
    config: AgentConfig
    task: str
    history: tuple[Message, ...]
    cards: Mapping[str, ToolCard]
    stream: bool = False
    session: str | None = None
    hooks: tuple[HookCard, ...] = ()
    parent: str | None = None
    """The command of another run that began this one: ``RUN/COMMAND``."""
    requested_by: str | None = None
    """Who asked for the run, where that is known."""
    http: str = ""
    """Whose connections carry the requests; see ``OverHttp``."""
    agent: str | None = None
    """The name of the agent, where it has one."""
    equipment: tuple[str, ...] = ()
    """The words of a command line that give the model's address and the tools again."""

    @property
    def rule(self) -> ApprovalRule | None:
        """What a call's approval takes; None where one person is enough, whoever it is."""
        return self.config.approval.rule(self.requested_by)

    def run_settings(self) -> RunSettings:
        """What the run table's questions ask for."""
        unasked = WithoutAPerson(self.config.approval.without_a_person)
        return replace(self.config.run_settings(), approval=self.rule, without_a_person=unasked)

    def admitted(self, task: str) -> RunAdmitted:
        """The first event; ``task`` is the digest of the prompt."""
        return RunAdmitted(self.run_settings(), task)

    @property
    def ask_ifs(self) -> dict[str, str]:
        """The tools whose ``ask_if`` decides whether a person is asked, each with the name of the function."""
        asks = self.config.confirm_mode is ConfirmMode.CONFIRM_SENSITIVE and not self.config.dry_run
        return {name: card.ask_if for name, card in self.cards.items() if asks and card.ask_if and not card.sensitive}

    def request(self, tool: str, call: ToolCall, asked_if: AskedIf | None = None) -> ToolRequest:
        """A tool call with what is declared about its tool; an unknown tool runs nothing, so it needs no person.

        ``asked_if`` is what the tool's ``ask_if`` said of these arguments, as it is on record.
        """
        card = self.cards.get(call.name)
        digest = call_digest(call.name, call.arguments)
        if card is None:
            return ToolRequest(tool, call.id, call.name, digest, ToolEffect.UNDECLARED, person=False, parallel=True)
        sensitive = card.is_sensitive(call.arguments) or (asked_if is not None and asked_if.answer)
        person = needs_person(self.config.confirm_mode, sensitive) and not self.config.dry_run
        return ToolRequest(tool, call.id, call.name, digest, card.effect, person, card.parallel, asked_if=asked_if)

    def remark(self, request: ToolRequest, arguments: str) -> str:
        """What a person who is asked about this call should know besides."""
        card = self.cards.get(request.name)
        return "" if card is None else card.remark(arguments, request.asked_if)

    def header(self, at_us: int, engine: str, payloads: Payloads) -> Header:
        """The run's header; what it refers to is put among the payloads."""
        return Header(
            format=FORMAT,
            run_id=self.run_id,
            at_us=at_us,
            engine=engine,
            model=self.model,
            machine="run",
            machines={name: payloads.put(TABLES[name].canonical) for name in MACHINES["run"]},
            config=payloads.put(encode(self.config.model_dump(mode="json"))),
            task=payloads.put(encode(self.task)),
            history=payloads.put_messages(self.history),
            tools=payloads.put(encode([card.shape() for card in self.cards.values()])),
            hooks=payloads.put(encode([asdict(card) for card in self.hooks])),
            code={name: payloads.put(TABLES[name].code_form) for name in MACHINES["run"]},
            policy={"confirm_mode": self.config.confirm_mode.value},
            stream=self.stream,
            session=self.session,
            parent=self.parent,
            requested_by=self.requested_by,
            http=self.http,
            agent=self.agent,
            equipment=self.equipment,
        )


def call_digest(name: str, arguments: str) -> str:
    """The name of exactly this call: SHA-256 over its tool and its argument text, 64 hexadecimal digits."""
    return digest([name, arguments])


def cards_of(tools: Sequence[Tool]) -> dict[str, ToolCard]:
    """The cards of these tools, by name."""
    return {tool.name: ToolCard.of(tool) for tool in tools}


def card_from(shape: Mapping[str, Any]) -> ToolCard:
    """A card as it was recorded."""
    paths = {name: tuple(patterns) for name, patterns in shape.get("sensitive_paths", {}).items()}
    fields: dict[str, Any] = {**shape, "effect": ToolEffect(shape["effect"]), "sensitive_paths": paths}
    return ToolCard(**fields)


def header_references(header: Header) -> list[str]:
    """The payloads that ``inputs_from`` needs."""
    return [header.config, header.task, header.history, header.tools, header.hooks]


def inputs_from(header: Header, blobs: Mapping[str, bytes]) -> RunInputs:
    """The inputs that a header pins; raises JournalDamaged when they cannot be read."""
    with header_is_read():
        config, tools, hooks = (decode(blobs[name]) for name in (header.config, header.tools, header.hooks))
        given = run_inputs(header, blobs, header.model, config, tools, hooks)
        return replace(given, stream=header.stream, session=header.session, parent=header.parent)


def run_inputs(
    header: Header,
    blobs: Mapping[str, bytes],
    model: str,
    config: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]],
    hooks: Sequence[Mapping[str, Any]],
) -> RunInputs:
    """What a header pins of every run that begins with it, and what it pins of this one: model, configuration, tools, hooks."""
    cards = [card_from(shape) for shape in tools]
    return RunInputs(
        run_id=header.run_id,
        model=model,
        config=AgentConfig(**config),
        task=decode(blobs[header.task]),
        history=tuple(Message.from_encoded(blobs[digest]) for digest in listed(blobs[header.history])),
        cards={card.name: card for card in cards},
        hooks=tuple(HookCard(**card) for card in hooks),
        requested_by=header.requested_by,
        agent=header.agent,
        equipment=header.equipment,
    )


@contextmanager
def header_is_read() -> Generator[None]:
    """Raises JournalDamaged for what goes wrong while the inputs that a header pins are read."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise JournalDamaged(
            f"the header's inputs cannot be read: {type(error).__name__}: {error}",
            where="entry 0",
            cure="verify the journal",
            seq=0,
        ) from error
