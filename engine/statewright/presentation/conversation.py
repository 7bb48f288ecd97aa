"""The conversation as a reader wants it: text set as Markdown, each tool call and each result on a line that can be unfolded.

Whatever is shown is cut before it is set, so that a result of many megabytes costs no more than one that fits the screen.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.styled import Styled
from rich.text import Text

from statewright.presentation.layout import MAX_BRIEF_CHARS, arguments_in_brief, result_in_brief
from statewright.presentation.lines import KeptLines, Line, Lines
from statewright.presentation.markdown_text import markdown_text
from statewright.presentation.output import one_line
from statewright.presentation.panes import ADDED, cut
from statewright_states.words.messages import Message
from statewright_states.words.parts import Attachment, OpaquePart, ReasoningPart, TextPart, ToolCall, described, kind_of

ROLE_STYLES: Mapping[str, str] = {"system": "dim", "user": "bold blue", "assistant": "bold green", "tool": "bold magenta"}
FOLDED, UNFOLDED = "▸", "▾"
INDENT = 2
MAX_KEPT = 2048
"""So many messages are kept as they were set."""
QUIET = frozenset({"system", "tool"})
"""Roles whose texts take a line until they are unfolded."""
MESSAGE_NUMBER = "message_number"
"""The key of a cell's ``Style.meta`` that says to which message it belongs, where that can be unfolded and is numbered."""
NOTHING_UNFOLDED: tuple[int, ...] = ()


def conversation_pane(
    messages: Sequence[Message],
    *,
    unfolded: Container[int] = NOTHING_UNFOLDED,
    said: int = 0,
    first: int = 0,
    numbered: bool = False,
) -> RenderableType:
    """Messages in order, from number ``first`` on. ``unfolded`` are the numbers (from 0) of those that are shown whole.

    The last ``said`` ones are marked as those that the step has added. ``numbered`` writes before each its number, from 1.
    """
    names = called_names(messages)
    shown = [
        message_pane(
            message,
            unfolded=number in unfolded,
            name=names.get(message.tool_call_id or ""),
            new=number >= len(messages) - said,
            number=number + 1 if numbered else None,
        )
        for number, message in enumerate(messages)
        if number >= first
    ]
    return Group(*shown) if shown else Lines([Line(Text("nothing has been said", style="dim"))])


def called_names(messages: Sequence[Message]) -> Mapping[str, str]:
    """The tool of each call, by the id of the call."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


@lru_cache(maxsize=MAX_KEPT)
def message_pane(
    message: Message, *, unfolded: bool = False, name: str | None = None, new: bool = False, number: int | None = None
) -> RenderableType:
    """One message: who speaks, then its parts. ``name`` is the tool of a result, ``new`` marks what a step has added.

    A ``number`` is written before it, and kept in its cells where the message can be unfolded.

    Folded, a system prompt, a result and the arguments of a call take a line each; what persons and models say is shown whole.
    It is kept with its lines, so that a step through a long conversation sets what is new alone.
    """
    mark = (f"{ADDED} " if new else "", "bold")
    about = one_line("  ".join(filter(None, (name, message.tool_call_id))))
    numbered = (f"{number} " if number is not None else "", "dim")
    head = Text.assemble(
        mark, numbered, (message.role, ROLE_STYLES.get(message.role, "bold")), (f"  {about}" if about else "", "dim")
    )
    shown = Group(head, *(Padding(part, (0, 0, 0, INDENT)) for part in _parts(message, unfolded=unfolded)))
    if number is None or not can_unfold(message):
        return KeptLines(shown)
    return KeptLines(Styled(shown, Style(meta={MESSAGE_NUMBER: number})))


def can_unfold(message: Message) -> bool:
    """Whether a message is shown shorter than it is until it is unfolded: it has calls, or a long text of a quiet role."""
    texts = [part.text for part in message.parts if isinstance(part, TextPart)] if message.role in QUIET else []
    return bool(message.tool_calls) or any(map(_is_long, texts))


def _is_long(text: str) -> bool:
    """Whether a text does not fit a line."""
    return len(text) > MAX_BRIEF_CHARS or "\n" in text.strip()


def _parts(message: Message, *, unfolded: bool) -> Iterator[RenderableType]:
    for part in message.parts:
        match part:
            case TextPart():
                if part.text.strip():
                    yield _foldable(part.text, unfolded=unfolded) if message.role in QUIET else markdown_text(cut(part.text))
                yield from (Text(f"[{one_line(each.title or each.url or each.quote)}]", style="dim") for each in part.citations)
            case ToolCall():
                yield _call(part, unfolded=unfolded)
            case ReasoningPart():
                yield Text(cut(part.text), style="dim italic")
            case _:
                said, style = attached(part)
                yield Text(one_line(said), style=style)


def attached(part: Attachment | OpaquePart) -> tuple[str, str]:
    """What a part is that is neither text nor a call, and its style. What only an adapter reads is named by its size."""
    if isinstance(part, OpaquePart):
        return f"[for {part.provider_state.adapter}: {len(part.provider_state.data)} characters]", "dim"
    return f"[{kind_of(part)}: {described(part)}]", "magenta"


def _foldable(text: str, *, unfolded: bool) -> RenderableType:
    """A text on one line with its size, or as it is."""
    size = f"  {len(text):,} characters" if _is_long(text) else ""
    if not unfolded:
        return Lines([Line(Text.assemble((f"{FOLDED} " if size else "  ", "dim"), result_in_brief(text), (size, "dim")), 4)])
    return Group(Text.assemble((f"{UNFOLDED}{size}", "dim")), Text(cut(text)))


def _call(call: ToolCall, *, unfolded: bool) -> RenderableType:
    head = ("→ ", "dim"), (one_line(call.name), "bold cyan")
    if not unfolded:
        return Lines(
            [Line(Text.assemble(*head, f"  {arguments_in_brief(call.arguments)}", (f"  {one_line(call.id)}", "dim")), 4)]
        )
    return Group(Text.assemble(*head, (f"  {one_line(call.id)}", "dim")), Padding(Text(cut(call.arguments)), (0, 0, 0, INDENT)))
