"""What a transport tells of the connection that a request goes over."""

from __future__ import annotations

from collections.abc import Mapping


class ConnectionUse:
    """Whether a request went over a connection that was open before: told by the transport, while it sends.

    A transport that tells nothing (in tests, or a caller's own) counts as one that opens a connection for each request.
    httpx's own tells each stage to the extension ``trace``: https://www.encode.io/httpcore/extensions/
    """

    def __init__(self) -> None:
        self.connected = False
        self.sent = False

    async def __call__(self, event: str, info: Mapping[str, object]) -> None:
        if event.startswith("connection.connect_"):
            self.connected = True
        elif event.endswith(".send_request_headers.started"):
            self.sent = True

    @property
    def reused(self) -> bool:
        """Whether the request was sent, and no connection made for it."""
        return self.sent and not self.connected
