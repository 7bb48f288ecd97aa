"""Markdown as pages that any browser opens from the disk: no script, no network, light and dark."""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #c9d1d9; --soft: #f3f5f7; --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --paper: #14181d; --line: #3b434c; --soft: #1d232a; --link: #8ab4f8; }
}
body { margin: 2rem auto; max-width: 84rem; padding: 0 1.5rem; color: var(--ink); background: var(--paper);
       font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
div.table { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
td:first-child { min-width: 4rem; }
code, pre { font: .88em/1.45 ui-monospace, monospace; }
code { background: var(--soft); padding: .05rem .25rem; }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; }
pre code { padding: 0; }
img { max-width: 100%; }
"""
_LOCAL_MARKDOWN = re.compile(r'href="(?![a-z]+:|#)([^"#]*)\.md(#[^"]*)?"')


def page(markdown: str, up: str) -> str:
    """A Markdown document as an HTML page; ``up`` is the address of the page that it hangs under, empty for the first."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    body = _LOCAL_MARKDOWN.sub(lambda found: f'href="{found[1]}.html{found[2] or ""}"', body)
    body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    back = f'<p><a href="{up}">all evidence</a></p>\n' if up else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title_of(markdown))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{back}{body}</body>\n</html>\n"
    )


def title_of(markdown: str) -> str:
    """The first heading of a document."""
    found = re.search(r"^#+ (.+)$", markdown, re.MULTILINE)
    return found[1] if found else "Evidence"
