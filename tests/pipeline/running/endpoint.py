"""An HTTP endpoint of the standard library, in a thread, that answers as it is told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, int], int | tuple[int, dict[str, str]]]
"""From the id of a delivery, and how often it has come, to the status, maybe with headers."""


class Endpoint:
    """What came, and how it is answered."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.came: Counter[str] = Counter()
        self.bodies: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.taken: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self.lock = threading.Lock()
        self.url = ""


@contextmanager
def endpoint(answer: Answer) -> Iterator[Endpoint]:
    """The endpoint, until the block ends."""
    told = Endpoint(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            key = self.headers["Idempotency-Key"]
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with told.lock:
                told.came[key] += 1
                told.at_once += 1
                told.most_at_once = max(told.most_at_once, told.at_once)
                told.bodies[key] = body
                told.headers[key] = {name.lower(): value for name, value in self.headers.items()}
            try:
                answered = told.answer(key, told.came[key])
            finally:
                with told.lock:
                    told.at_once -= 1
            status, headers = answered if isinstance(answered, tuple) else (answered, {})
            if status == 200:
                told.taken[key] += 1
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
