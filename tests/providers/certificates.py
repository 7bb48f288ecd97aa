"""A certificate authority for the length of the tests: contexts for servers that it vouches for, and for those who trust it."""

from __future__ import annotations

import ssl

import trustme

AUTHORITY = trustme.CA()


def server_tls(*names: str) -> ssl.SSLContext:
    """What a server shows itself with; it is 127.0.0.1 unless told otherwise."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
    return context


def client_tls() -> ssl.SSLContext:
    """Trusts the authority, and nobody else."""
    context = ssl.create_default_context(cadata=AUTHORITY.cert_pem.bytes().decode())
    assert context.verify_mode is ssl.CERT_REQUIRED
    return context
