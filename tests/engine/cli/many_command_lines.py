"""Carries out many command lines in one process: a JSON list of them comes in, one of (code, stdout, stderr) goes out."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

from statewright.cli import main


def outcome(words: list[str]) -> tuple[int, str, str]:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(words)
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    outcomes = [outcome(words) for words in json.loads(sys.argv[1])]
    print(json.dumps(outcomes))
