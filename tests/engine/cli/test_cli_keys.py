"""The key reaches the model's server, and neither the record nor the screen, whatever the server says of it."""

from __future__ import annotations

import pytest

from command_line import Messages, Place, asks_for, model_server

KEY = "sk-proj/Sentinel+0123456789=abcd"


def says_the_key(messages: Messages) -> dict[str, object]:
    """Asks for a posting that holds the key, in its id and its arguments too; then says it."""
    if messages[-1]["role"] == "tool":
        return {"content": f"Posted for {KEY}, which is {KEY.replace('/', '%2F')}."}
    return {**asks_for("post", KEY, amount=5, account=KEY), "content": f"For {KEY}:"}


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_a_key_that_the_server_says_again_reaches_neither_the_record_nor_the_screen(place: Place, stream: str) -> None:
    with model_server(says_the_key) as server:
        options = ("--confirm", "yolo", "--tools", "tools:tools", "--run-id", "mine", stream)
        done = place.run("run", "post it", *server.options, *options, OPENAI_API_KEY=KEY)
    assert (done.code, done.out) == (0, "Posted for [key], which is [key].\n")
    shown = done.out + done.err + "".join(place.run(*words, "mine").out for words in (("show",), ("show", "--json")))
    recorded = b"".join(path.read_bytes() for path in (place.folder / ".statewright").iterdir()).decode(errors="replace")
    for piece in (KEY[:8], KEY[8:16], KEY[-8:]):
        assert piece not in shown
        assert piece not in recorded
    assert place.run("verify", "mine").code == 0
    assert place.run("replay", "mine").code == 0


def test_a_key_in_the_address_stands_in_no_command_to_type_again(place: Place) -> None:
    with model_server(lambda _: asks_for("post", "call_7", amount=5)) as server:
        address = f"{server.options[3]}?api-version=2024-10-21&api-key={KEY}"
        options = ("--model", "openai:stub", "--base-url", address, "--tools", "tools:tools", "--run-id", "mine")
        done = place.run("run", "post it", *options)
    assert done.code == 4
    assert f"statewright resume mine --base-url '{server.options[3]}?api-version=2024-10-21&api-key=[key]'" in done.err
    assert "Sentinel" not in done.err


@pytest.mark.parametrize(
    "address", ["ftp://me:hunter22@h/v1", "http://me:hunter22", "h?api-key=hunter22", "http://me:hunter22@h/v1"]
)
def test_a_wrong_address_is_refused_without_what_is_secret_in_it(place: Place, address: str) -> None:
    done = place.run("run", "x", "--model", "openai:stub", "--base-url", address)
    assert done.code == 2
    assert "hunter22" not in done.err + done.out
