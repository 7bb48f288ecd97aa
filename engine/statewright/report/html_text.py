"""Markdown as models write it, as HTML that hides nothing and leads nowhere.

Raw HTML, pictures and definitions of links are text like any other. A link shows its address and is none: what a model says
must not take a reader anywhere. Headings are no headings of the page.
"""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from statewright.presentation.output import printable
from statewright.report.html_parts import Html, element, joined, left_out, verbatim
from statewright.report.model import BoundedText


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "reference"])


def rendered(bounded: BoundedText, more: str) -> Html:
    """A text: Markdown as set, any other in its lines; and how much of it is left out."""
    if not bounded.markdown:
        return verbatim(bounded, more)
    parser = _parser()
    tokens = parser.parse(printable(bounded.text))
    for token in tokens:
        _tame(token)
    said = Html(parser.renderer.render(tokens, parser.options, {}))
    return joined([element("div", said, class_="said"), left_out(bounded, more)])


def _tame(token: Token) -> None:
    """Take from a token what a page of ours does not let in: styles, headings, links."""
    style = token.attrs.pop("style", None)
    if isinstance(style, str):
        token.attrs["class"] = style.partition(":")[2]
    if token.type in ("heading_open", "heading_close"):
        token.tag = "p"
        if token.nesting == 1:
            token.attrs["class"] = "heading"
    if token.children:
        token.children = _without_links(token.children)


def _without_links(children: list[Token]) -> list[Token]:
    """The text of each link, and behind it its address where it is another."""
    found: list[Token] = []
    address, text = "", ""
    for child in children:
        _tame(child)
        if child.type == "link_open":
            address, text = str(child.attrs.get("href", "")), ""
            child.tag, child.attrs = "span", {"class": "link"}
        elif child.type == "link_close":
            child.tag = "span"
            if text != address:
                found.append(Token("text", "", 0, content=f" ({address})"))
        else:
            text += child.content
        found.append(child)
    return found
