"""The project's texts speak of the project alone, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from house import ROOT, text_files

FOREIGN = {
    "a path of one machine": re.compile(r"(?<![\w.~/-])/(?:work|opt|root|home)/\w|(?<![\w.~/-])/tmp/[a-z]"),
    "the host of a package registry": re.compile(r"pypi\.org|pythonhosted\.org|registry\.npmjs|npmjs\.com|deb\.debian"),
}
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("kind", FOREIGN)
def test_no_text_speaks_of_the_place_where_it_was_written(kind: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path, text in text_files()
        for number, line in enumerate(text.splitlines(), 1)
        if FOREIGN[kind].search(line)
    ]
    assert found == []


def test_every_link_between_documents_leads_to_a_file() -> None:
    dead = [
        f"{path.relative_to(ROOT)} -> {target}"
        for path, text in text_files()
        if path.suffix == ".md"
        for target in LINK.findall(text)
        if not (path.parent / target).exists()
    ]
    assert dead == []


def test_test_modules_have_names_of_their_own() -> None:
    """Tests are no package: helpers beside them are imported by their plain names, so a name may be used once."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert repeated(files) == []


def repeated(files: list[Path]) -> list[str]:
    names = [path.name for path in files]
    return sorted({name for name in names if names.count(name) > 1})
