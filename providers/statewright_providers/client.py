"""The httpx client of an endpoint, for one event loop: over aiohttp's connections, or over those of httpx itself.

aiohttp's are the default: httpx's own cost more CPU with each request that is under way (benchmarks/README.md). A proxy
that the environment names is spoken to over httpx's own, which know every kind of proxy. The environment's proxies and
certificate bundle (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, ...) are honoured, for that is how a company lets traffic out at all;
a loopback address is never reached through a proxy. No cookies are kept.
"""

from __future__ import annotations

import importlib
import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.request import getproxies

import httpx

from statewright_providers.address import is_loopback
from statewright_providers.connection import HttpTransport
from statewright_states.errors import RequestRejected

KEEP_IDLE_S = 30.0
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEP_IDLE_S)
"""As many connections as requests: how many may be under way is for whoever starts runs to say, and nobody waits here."""


def new_client(url: httpx.URL, http: HttpTransport) -> httpx.AsyncClient:
    """A client for ``url``, as the environment says. Reads the certificate bundle if the address needs it.

    Raises RequestRejected where the environment names a proxy or a bundle that cannot be used.
    """
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    try:
        if _has_proxy(url):
            return httpx.AsyncClient(limits=LIMITS, cookies=no_cookies)
        # Reading the certificate bundle takes 50 ms, and plain HTTP has no use for it: there, nobody is believed.
        believed = httpx.create_ssl_context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx.AsyncClient(transport=_transport(http, believed), cookies=no_cookies, trust_env=False)
    except (OSError, ImportError) as error:  # no such bundle, or nothing of use in it; a SOCKS proxy without its package
        raise _no_way(url, f": {error}") from error
    except (ValueError, httpx.InvalidURL):
        raise _no_way(url, "") from None  # the text may hold the proxy's password


def transport_for(url: httpx.URL, http: HttpTransport) -> HttpTransport:
    """Whose connections a new client for ``url`` uses, where ``http`` is asked for."""
    return "httpx" if _has_proxy(url) else http


def _has_proxy(url: httpx.URL) -> bool:
    return not is_loopback(url.host) and bool({url.scheme, "all"} & getproxies().keys())


def _transport(http: HttpTransport, believed: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    if http == "httpx":
        return httpx.AsyncHTTPTransport(verify=believed, limits=LIMITS)
    # Importing aiohttp takes as long as importing httpx: only who sends something over it pays for it.
    module = importlib.import_module("statewright_providers.aiohttp_transport")
    over_aiohttp: httpx.AsyncBaseTransport = module.AiohttpConnections(believed, keep_idle_s=KEEP_IDLE_S)
    return over_aiohttp


def _no_way(url: httpx.URL, why: str) -> RequestRejected:
    return RequestRejected(
        f"the proxy or the certificate bundle that the environment names cannot be used{why}",
        where=str(url.copy_with(query=None)),
        cure="check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
    )
