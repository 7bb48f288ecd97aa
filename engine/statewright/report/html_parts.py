"""HTML by its elements: text is escaped where it is put in, so that nothing of a run can become markup.

Characters that steer or deceive (terminal escapes, marks that reorder text) are spelled out, as everywhere else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape

from statewright.presentation.output import printable
from statewright.report.model import BoundedText


class Html(str):
    """Markup. Every other text is text."""

    __slots__ = ()


Content = str | Html | Iterable["Content"] | None
"""What an element holds: text, markup, several of them, or nothing."""
VOID = frozenset(("br", "hr", "meta", "input", "rect"))
NOTHING = Html("")


def shown(text: str) -> str:
    """Foreign text as it may stand in a page, in an element or an attribute."""
    return escape(printable(text), quote=True)


def joined(content: Content) -> Html:
    """The content as markup, one after the other."""
    if content is None:
        return NOTHING
    if isinstance(content, Html):
        return content
    if isinstance(content, str):
        return Html(shown(content))
    return Html("".join(joined(each) for each in content))


def element(name: str, /, *content: Content, **attributes: str | bool | None) -> Html:
    """An element. ``class_`` and ``for_`` are written without their underscore, others with hyphens for underscores.

    An attribute that is None or False is left out, one that is True has no value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{written}>" if name != "rect" else f"<{name}{written}/>")
    return Html(f"<{name}{written}>{joined(content)}</{name}>")


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{shown(value)}"'


def content_hash(text: str) -> str:
    """The source expression of a policy that admits exactly this style sheet or script."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# -- small things ----------------------------------------------------------------------------------------------------


def link(to: str, *content: Content, class_: str | None = None) -> Html:
    """A link within the page, or to a page beside it."""
    return element("a", *content, href=to, class_=class_)


def to_decision(number: int, *content: Content) -> Html:
    """A link to a decision; by its number where nothing else is said."""
    return link(decision_link(number), *(content or (str(number),)))


def decision_link(number: int) -> str:
    """Where a decision stands in the page."""
    return f"#decision/{number}"


def code(text: str) -> Html:
    """Something that is read letter by letter."""
    return element("code", text)


def moment(at_us: int, *, exact: bool = False) -> Html:
    """A time, in UTC: to the second, or to the millisecond."""
    at = datetime.fromtimestamp(at_us / 1_000_000, UTC)
    told = at.isoformat(sep=" ", timespec="milliseconds" if exact else "seconds").removesuffix("+00:00")
    return element("time", f"{told} UTC", datetime=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def percent(share: float) -> str:
    """A share in whole percent; a small one is not nothing."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def definitions(pairs: Iterable[tuple[Content, Content]], class_: str | None = None) -> Html:
    """Terms with what is said of them."""
    return element("dl", ([element("div", element("dt", term), element("dd", said))] for term, said in pairs), class_=class_)


def table(caption: str, heads: Sequence[Content], rows: Iterable[Sequence[Content]], numbers: Collection[int] = ()) -> Html:
    """A table that can be scrolled where it is too wide; the first cell of each row names it. ``numbers`` are its columns."""

    def cell(at: int, content: Content, scope: str | None) -> Html:
        named = "th" if scope else "td"
        return element(named, content, scope=scope, class_="number" if at in numbers else None)

    head = element("tr", [cell(at, each, "col") for at, each in enumerate(heads)])
    body = [element("tr", [cell(at, each, None if at else "row") for at, each in enumerate(cells)]) for cells in rows]
    found = element("table", element("caption", caption), element("thead", head), element("tbody", body))
    return element("div", found, class_="wide", tabindex="0", role="region", aria_label=caption)


def folded(summary: Content, *content: Content, open_: bool = False, class_: str | None = None) -> Html:
    """What is shown when somebody asks for it."""
    return element("details", element("summary", summary), *content, open=open_, class_=class_)


def verbatim(bounded: BoundedText, more: str) -> Html:
    """A text as it is, in lines; ``more`` is the command that shows all of it, where a part is left out."""
    begins = "\n" if bounded.text.startswith("\n") else ""  # the first line feed of an element is taken for layout
    return joined([element("pre", begins, bounded.text), left_out(bounded, more)])


def left_out(bounded: BoundedText, more: str) -> Html:
    """How much of a text is not here."""
    if not bounded.left_out:
        return NOTHING
    told = f"{bounded.left_out:,} more characters are left out here. All of it: "
    return element("p", told, code(more), class_="left-out")


def as_lines(arguments: str) -> str:
    """Arguments in JSON, in lines; text that is none as it is."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments
