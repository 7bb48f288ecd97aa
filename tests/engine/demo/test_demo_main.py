from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from demo_run import DATA
from statewright import RetryConfig, cli
from statewright.demo.screen import DemoScreen
from statewright.journal.verify import Problem, Verification

GOOD, BAD = (
    json.dumps({"completed": completed, "confidence": 1.0, "issues": ["nothing is done"]}) for completed in (True, False)
)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def main(words: list[str]) -> int:
    """The command in this process, whose Ctrl-C stays what it was."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        return cli.main(["demo", *words])
    finally:
        signal.signal(signal.SIGINT, handler)


def script(*replies: dict[str, Any]) -> str:
    Path("script.json").write_text(json.dumps({"replies": replies}), encoding="utf-8")
    return "scripted:script.json"


def posting(reference: str, amount: str) -> dict[str, Any]:
    arguments = {"day": "2025-06-30", "reference": reference, "text": "Correction", "amount": amount}
    return {"tool_calls": [{"name": "post_adjustment", "arguments": arguments}]}


def ledgers() -> list[bytes]:
    return [path.read_bytes() for path in Path(".statewright/demo").glob("*/ledger.csv")]


# -- other models, the same agent ------------------------------------------------------------------------------------


def test_the_controller_rejects_what_the_rules_do_not_allow_and_nothing_is_posted(capsys: pytest.CaptureFixture[str]) -> None:
    model = script(posting("PAY-1041", "-36.00"), {"content": "Reported to the accountant."}, {"content": GOOD})
    assert main(["--model", model]) == 0
    shown = capsys.readouterr().out
    assert "rejected by demo-controller: PAY-1041 is no bank charge" in shown
    assert "the agent wrote none" in shown
    assert ledgers() == [(DATA / "ledger.csv").read_bytes()]


def test_an_answer_that_never_passes_its_judgement_is_partial(capsys: pytest.CaptureFixture[str]) -> None:
    model = script({"content": "Done."}, {"content": BAD}, {"content": "Done."}, {"content": BAD})
    assert main(["--model", model]) == 3
    assert "evaluation_failed" in capsys.readouterr().out


def test_a_model_that_cannot_be_asked_is_a_failed_run_that_still_verifies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", script({"error": {"type": "RequestRejected", "message": "no"}})]) == 1
    shown = capsys.readouterr().out
    assert "llm_error" in shown
    assert "verified " in shown


def test_with_a_server_the_same_agent_runs_on_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server("All differences are reported.", GOOD) as (base_url, requests):
        assert main(["--model", "openai:local", "--base-url", base_url]) == 0
    first, judgement = requests
    assert "All differences are reported." in capsys.readouterr().out
    assert [offered["function"]["name"] for offered in first["tools"]] == [
        "read_ledger",
        "read_bank_statement",
        "read_posting_rules",
        "compare_books",
        "post_adjustment",
        "write_report",
    ]
    assert not judgement.get("tools")


@contextmanager
def chat_server(*contents: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A Chat Completions server on 127.0.0.1 that gives these replies in order; the address, and the requests so far."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            message = {"role": "assistant", "content": contents[len(requests) - 1]}
            body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that its base gives it
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# -- where things go, and what can be wrong --------------------------------------------------------------------------


def test_the_journal_can_be_put_elsewhere() -> None:
    assert main(["--model", script({"content": "Done."}, {"content": GOOD}), "--journal", "mine.db"]) == 0
    assert Path("mine.db").exists()
    assert not Path(".statewright/demo.db").exists()


def test_an_unknown_model_is_a_usage_error_and_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "nonsense:x"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("statewright: there is no provider 'nonsense'")
    assert "cure:" in complaint
    assert not Path(".statewright").exists()


def test_a_journal_that_is_none_is_a_usage_error_and_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.txt").write_text("not a journal, but long enough to be looked at as one\n" * 4, encoding="utf-8")
    before = Path("notes.txt").read_bytes()
    assert main(["--journal", "notes.txt"]) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert Path("notes.txt").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".statewright").write_text("in the way", encoding="utf-8")
    assert main([]) == 2
    assert "the books cannot be copied" in capsys.readouterr().err


def test_a_record_that_is_not_whole_is_shown_with_its_problems() -> None:
    console = Console(file=StringIO())
    problem = Problem(7, "its bytes do not give its hash", "run run-1, entry 7")
    DemoScreen(console, RetryConfig()).verification(
        Verification("run-1", False, 9, 20, 3, True, "success", "completed", "0" * 64, (problem,))
    )
    assert isinstance(console.file, StringIO)
    assert "PROBLEM    run run-1, entry 7: its bytes do not give its hash" in console.file.getvalue()
