"""Who is let in: a page and its WebSocket only with the token, from the address itself, and nothing else."""

from __future__ import annotations

import hmac
import html
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from simloop.studio.report import in_script
from simloop.studio.view.viewer import LOOPBACK, Address
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

_SCRIPTS = ("scene.js", "strip.js", "steer.js", "live.js")


class Door:
    """Answers what is not a WebSocket, and refuses WebSockets that have no business here."""

    def __init__(self, address: Address, hello: Mapping[str, Any]) -> None:
        self._address = address
        self._page = _page(hello)

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """None lets a WebSocket in."""
        try:
            path = urlsplit(request.path)
            given = parse_qs(path.query).get("token", [""])[0].encode(errors="replace")
        except ValueError:
            return _respond(HTTPStatus.BAD_REQUEST, "That is no address of a page.\n")
        if not hmac.compare_digest(given, self._address.token.encode()):
            return _respond(HTTPStatus.FORBIDDEN, "This page needs the token of the address that simloop printed.\n")
        host = _one(request.headers, "Host")
        if not self._is_ours(host):
            return _respond(HTTPStatus.FORBIDDEN, "This page is not served under that name.\n")
        if path.path == "/live":
            if _one(request.headers, "Origin") != f"http://{host}":
                return _respond(HTTPStatus.FORBIDDEN, "Only simloop's own page may connect here.\n")
            return None
        if path.path == "/":
            return _respond(HTTPStatus.OK, self._page, "text/html", _policy(host))
        return _respond(HTTPStatus.NOT_FOUND, "There is nothing here.\n")

    def _is_ours(self, host: str) -> bool:
        """On loopback only loopback's names: another name that leads here is someone's trick."""
        if not self._address.is_loopback:
            return re.fullmatch(r"[\w.\-\[\]:]+", host) is not None
        port = "" if self._address.port == 80 else f":{self._address.port}"
        return host in {f"{name}{port}" for name in (self._address.host, LOOPBACK, "localhost", "[::1]")}


def _one(headers: Headers, name: str) -> str:
    """A header that must be there once."""
    values = headers.get_all(name)
    return values[0] if len(values) == 1 else ""


def _policy(host: str) -> str:
    """No request leaves the page but to where it came from."""
    inline = "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {inline}; connect-src ws://{host}; frame-ancestors 'none'; base-uri 'none'"


def _respond(status: HTTPStatus, text: str, kind: str = "text/plain", policy: str = "default-src 'none'") -> Response:
    body = text.encode()
    headers = Headers()
    headers["Content-Type"] = f"{kind}; charset=utf-8"
    headers["Content-Length"] = str(len(body))
    headers["Content-Security-Policy"] = policy
    headers["Referrer-Policy"] = "no-referrer"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cache-Control"] = "no-store"
    headers["Connection"] = "close"
    return Response(status.value, status.phrase, headers, body)


def _page(hello: Mapping[str, Any]) -> str:
    room = files("simloop.studio.view")
    texts = {
        "title": html.escape(str(hello["scenario"])),
        "style": (room / "live.css").read_text(encoding="utf-8"),
        "scripts": "\n".join((room / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        "hello": in_script(json.dumps(hello)),
    }
    template = (room / "live.html").read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda place: texts[place.group(1)], template)
