"""The evidence folder: one subfolder per section, pages to read, an index, and a list of digests.

Everything but ``times.json`` is the same, byte for byte, when the tables and the tests are the same.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath

from pages import page
from statewright.version import VERSION
from statewright_evidence.section import Outcome, Section
from statewright_states.requirements import TABLES

TIMES = "times.json"
DIGESTS = "digests.txt"
WORDS = {Outcome.HOLDS: "holds", Outcome.BROKEN: "**broken**", Outcome.NOT_CHECKED: "**not checked**"}


def write_folder(folder: Path, sections: Sequence[Section]) -> None:
    """Write the folder anew. What stood there before is removed."""
    if folder.exists():
        shutil.rmtree(folder)
    files = dict(_pages({"index.md": index(sections), **_all_files(sections)}))
    digests = "".join(f"{sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    times = {section.name: round(section.seconds, 1) for section in sections}
    files |= {DIGESTS: digests, TIMES: json.dumps(times, indent=2) + "\n"}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def _all_files(sections: Sequence[Section]) -> dict[str, str]:
    return {f"{section.name}/{name}": text for section in sections for name, text in section.files.items()}


def _pages(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every file, and beside each Markdown document its page."""
    for name, text in files.items():
        yield name, text
        path = PurePosixPath(name)
        if path.suffix == ".md":
            up = "../" * (len(path.parts) - 1) + "index.html" if name != "index.md" else ""
            yield str(path.with_suffix(".html")), page(text, up)


def index(sections: Sequence[Section]) -> str:
    """The first page."""
    lines = [
        "# Evidence",
        "",
        f"What was checked of Statewright {VERSION}, what came of it, and the files that show it. The guide says how to read",
        "it, what is proven, tested, assumed and out of scope, and how to check each without trusting us.",
        "",
        "| section | result | in short |",
        "|---|---|---|",
    ]
    for section in sections:
        first = next(iter(section.files))
        lines.append(f"| [{section.title}]({section.name}/{first}) | {WORDS[section.outcome]} | {section.summary} |")
    lines += [
        "",
        "## The machines",
        "",
        "| table | rows | ignores | fingerprint (SHA-256 of its canonical form) |",
        "|---|---|---|---|",
    ]
    for table in TABLES:
        lines.append(f"| {table.name} | {len(table.rows)} | {len(table.ignores)} | `{table.fingerprint}` |")
    lines += [
        "",
        f"`{DIGESTS}` holds the SHA-256 of every file here (`sha256sum --check {DIGESTS}`); `{TIMES}` says how long each",
        "section took, and is the only file that differs from one making to the next.",
    ]
    return "\n".join(lines) + "\n"


def verdict(sections: Sequence[Section]) -> int:
    """The exit code: 1 when something is broken; what could not be checked is said, and is no failure."""
    return int(any(section.outcome is Outcome.BROKEN for section in sections))


def dead_links(folder: Path) -> list[str]:
    """Every link of a page that leads to no file of the folder, and every address outside that a page would load."""
    dead: list[str] = []
    for path in sorted(folder.rglob("*.html")):
        for kind, target in re.findall(r'(href|src)="([^"]*)"', path.read_text(encoding="utf-8")):
            address, _, _ = target.partition("#")
            outside = re.match(r"[a-z]+:", address)
            if outside and kind == "src":
                dead.append(f"{path.relative_to(folder)} loads {target}")
            elif not outside and address and not (path.parent / address).resolve().is_file():
                dead.append(f"{path.relative_to(folder)} -> {target}")
    return dead
