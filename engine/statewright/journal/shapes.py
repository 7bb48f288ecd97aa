"""The shapes of stored entries, for a reader that trusts nothing: every field, its type, and no field beside them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from statewright.journal.entry import FORMAT, decode, references

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""The name of a stored payload."""
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CommandId = Annotated[str, Field(pattern=r"^[0-9]{1,18}\.[0-9]{1,9}$")]
Count = Annotated[int, Field(ge=0)]
Answer = bool | str


class Shape(BaseModel):
    """Exactly the declared fields, of exactly the declared types."""

    # Most processes only write entries: what reads them is built at the first reading.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class HeaderShape(Shape):
    """What the first entry holds; ``Header`` in ``entry`` says what it means."""

    kind: Literal["header"]
    run_id: str
    at_us: Count
    engine: str
    model: str
    machine: str
    machines: dict[str, Digest]
    config: Digest
    task: Digest
    history: Digest
    tools: Digest
    hooks: Digest
    code: dict[str, Digest] = Field(default_factory=dict[str, Digest])
    """A run that was begun before code was pinned pins none."""
    policy: dict[str, str]
    stream: bool
    session: str | None
    parent: str | None
    requested_by: str | None
    format: int


class CommandShape(Shape):
    """A command as an entry lists it."""

    id: CommandId
    command: str
    data: dict[str, Any]


class EventShape(Shape):
    """What all entries of events hold, whatever was decided."""

    kind: Literal["event"]
    seq: Count
    at_us: Count
    machine: str
    instance: str
    cause: CommandId | None
    event: str
    data: dict[str, Any]
    answers: dict[str, Answer]
    source: str = Field(alias="from")

    @property
    def decided(self) -> str | None:
        """The id of the row or the ignore that decided; None for an event that was refused."""
        return None


class TakenShape(EventShape):
    """An event that a row took."""

    row: str
    to: str
    commands: list[CommandShape]
    facts: Hash

    @property
    def decided(self) -> str | None:
        """The row's id."""
        return self.row


class IgnoredShape(EventShape):
    """An event that was ignored, by declaration."""

    ignored: str

    @property
    def decided(self) -> str | None:
        """The ignore's id."""
        return self.ignored


class RefusedShape(EventShape):
    """An event that is not declared; ``refused`` says why, for people."""

    refused: str


class EndShape(Shape):
    """What the last entry holds; ``End`` in ``entry`` says what it means."""

    kind: Literal["end"]
    seq: Count
    at_us: Count
    status: str
    stop_reason: str
    output: Digest
    messages: Hash
    steps: Count
    model_calls: Count
    tool_calls: Count
    input_tokens: Count
    output_tokens: Count
    cost_microusd: Count
    verified: bool | None


EntryShape = HeaderShape | EventShape | EndShape

_DECISIONS: dict[str, type[EventShape]] = {"row": TakenShape, "ignored": IgnoredShape, "refused": RefusedShape}


def read_entry(data: bytes) -> tuple[EntryShape, list[str]]:
    """An entry and the digests of the payloads it names; raises ValueError with the reason in words."""
    try:
        value = decode(data)
        if not isinstance(value, dict):
            raise ValueError("it is no JSON object")  # noqa: TRY004 - the bytes are at fault, not a caller's type
        fields = cast("dict[str, Any]", value)
        return _model(fields).model_validate(fields), references(fields)
    except ValidationError as error:
        raise ValueError(in_words(error)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply to be an entry") from error


def in_words(error: ValidationError) -> str:
    """The first thing that is wrong: the field, and what it should be."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(step) for step in first["loc"])
    return f"its field {field!r} is not as it should be: {first['msg']}"


def _model(fields: dict[str, Any]) -> type[EntryShape]:
    match fields.get("kind"):
        case "header" if fields.get("format") != FORMAT:
            raise ValueError(f"it has the journal format {fields.get('format')!r}, and this version knows format {FORMAT}")
        case "header":
            return HeaderShape
        case "end":
            return EndShape
        case "event":
            decisions = [_DECISIONS[name] for name in _DECISIONS if name in fields]
            if len(decisions) != 1:
                raise ValueError("it must have exactly one of the fields 'row', 'ignored' and 'refused'")
            return decisions[0]
        case kind:
            raise ValueError(f"it is of no known kind: {kind!r}")
