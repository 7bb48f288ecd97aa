"""The conversation as a reader wants it: text set as Markdown, each tool call and each result on a line that can be unfolded.

Whatever is shown is cut before it is set, so that a result of many megabytes costs no more than one that fits the screen.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from statewright.presentation.layout import arguments_in_brief, result_in_brief
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
NOTHING_UNFOLDED: tuple[int, ...] = ()


def conversation_pane(
    messages: Sequence[Message], *, unfolded: Container[int] = NOTHING_UNFOLDED, said: int = 0, first: int = 0
) -> RenderableType:
    """Messages in order, from number ``first`` on. ``unfolded`` are the numbers (from 0) of those that are shown whole.

    The last ``said`` ones are marked as those that the step has added.
    """
    names = called_names(messages)
    shown = [
        message_pane(
            message, unfolded=number in unfolded, name=names.get(message.tool_call_id or ""), new=number >= len(messages) - said
        )
        for number, message in enumerate(messages)
        if number >= first
    ]
    return Group(*shown) if shown else Lines([Line(Text("nothing has been said", style="dim"))])


def called_names(messages: Sequence[Message]) -> Mapping[str, str]:
    """The tool of each call, by the id of the call."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


@lru_cache(maxsize=MAX_KEPT)
def message_pane(message: Message, *, unfolded: bool = False, name: str | None = None, new: bool = False) -> RenderableType:
    """One message: who speaks, then its parts. ``name`` is the tool of a result, ``new`` marks what a step has added.

    Folded, a system prompt, a result and the arguments of a call take a line each; what persons and models say is shown whole.
    It is kept with its lines, so that a step through a long conversation sets what is new alone.
    """
    mark = (f"{ADDED} " if new else "", "bold")
    about = one_line("  ".join(filter(None, (name, message.tool_call_id))))
    head = Text.assemble(mark, (message.role, ROLE_STYLES.get(message.role, "bold")), (f"  {about}" if about else "", "dim"))
    return KeptLines(Group(head, *(Padding(part, (0, 0, 0, INDENT)) for part in _parts(message, unfolded=unfolded))))


def _parts(message: Message, *, unfolded: bool) -> Iterator[RenderableType]:
    quiet = message.role in ("system", "tool")
    for part in message.parts:
        match part:
            case TextPart():
                if part.text.strip():
                    yield _foldable(part.text, unfolded=unfolded) if quiet else markdown_text(cut(part.text))
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
    size = f"  {len(text):,} characters" if len(text) > 80 or "\n" in text.strip() else ""
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
