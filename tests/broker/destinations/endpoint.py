"""A real HTTP server for the tests, which answers as the path of the request says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

PATIENCE = 30
"""Seconds after which a test that went wrong ends."""


class Received(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes
    port: int
    """The client's, which tells connections apart."""


class Endpoint(ThreadingHTTPServer):
    """Answers ``/status/503`` with that status, and the other paths as the methods of ``Handler`` say."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: list[Received] = []
        self.answer_headers: dict[str, str] = {}
        self.answer_body = b"because"
        self.over = threading.Event()
        self.pair = threading.Barrier(2)
        self.under_way = 0
        self.most_under_way = 0
        self.counting = threading.Lock()

    def url(self, path: str) -> str:
        """The URL of a path."""
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Endpoint

    def _handle(self) -> None:
        endpoint = self.server
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        endpoint.received.append(Received(self.command, self.path, headers, body, self.client_address[1]))
        _, kind, *rest = self.path.split("/")
        getattr(self, f"answer_{kind}")(*rest)

    do_POST = do_PUT = do_PATCH = do_GET = _handle  # noqa: N815 (the names that http.server looks for)

    def answer_status(self, status: str) -> None:
        """With a status, a body and the headers that the test wants."""
        self.send_response(int(status))
        for name, value in self.server.answer_headers.items():
            self.send_header(name, value)
        body = b"" if status == "204" else self.server.answer_body
        if status != "204":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_never(self) -> None:
        """Not at all, until the test is over."""
        self.server.over.wait(PATIENCE)
        self.close_connection = True

    def answer_hangup(self) -> None:
        """By closing the connection."""
        self.close_connection = True

    def answer_begun(self, status: str) -> None:
        """With a status and a body that never ends, and then a closed connection or silence."""
        self.send_response(int(status))
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"the beginning")
        self.wfile.flush()
        self.close_connection = True

    def answer_silent(self, status: str) -> None:
        """With a status and then nothing, until the test is over."""
        self.send_response(int(status))
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.flush()
        self.answer_never()

    def answer_endless(self, status: str) -> None:
        """With a body that goes on until the client has enough."""
        self.send_response(int(status))
        self.end_headers()
        self.close_connection = True
        try:
            while not self.server.over.is_set():
                self.wfile.write(b"on and on " * 1000)
        except OSError:
            self.server.over.set()

    def answer_pair(self) -> None:
        """Once a second request is under way."""
        server = self.server
        with server.counting:
            server.under_way += 1
            server.most_under_way = max(server.most_under_way, server.under_way)
        server.pair.wait(PATIENCE)
        with server.counting:
            server.under_way -= 1
        self.answer_status("204")

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (as http.server calls it)
        """Say nothing."""


@contextmanager
def running_endpoint() -> Iterator[Endpoint]:
    """An endpoint that is served until the end of the block."""
    with Endpoint() as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield endpoint
        finally:
            endpoint.over.set()
            endpoint.shutdown()
            thread.join()
