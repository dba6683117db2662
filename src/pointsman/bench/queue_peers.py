"""Other queues on SQLite, each used as its documentation says.

None of them has routing keys: they store the body alone. They use the ``sqlite3`` of Python, in write-ahead logging,
as the project's queue does. Each can be told by a pragma to wait for the disk at each commit, or not to.
"""
# ruff: noqa: SLF001 - what a connection waits for can only be asked where the peers keep it

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pointsman.bench.queue_contenders import Contender, Execute
from pointsman.errors import MissingExtraError

LITEQUEUE, PERSIST, HUEY, DISKCACHE = "litequeue", "persist-queue", "huey", "diskcache"
PEERS = (LITEQUEUE, PERSIST, HUEY, DISKCACHE)
PACKAGES = {"litequeue": LITEQUEUE, "persistqueue": PERSIST, "huey.storage": HUEY, "diskcache": DISKCACHE}


def package(module: str, name: str) -> ModuleType:
    """A module of a package that may not be installed. Raises ``MissingExtraError``."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError("bench", name) from None


def check_packages() -> None:
    """Raises ``MissingExtraError`` when one of the peers is not installed."""
    for module, name in PACKAGES.items():
        package(module, name)


class LiteQueue(Contender):
    """litequeue: durability normal by default. It can put in a transaction, but not pop in one."""

    name = LITEQUEUE
    pops_batches = False

    def __init__(self, folder: Path, durability: str) -> None:
        self._queue: Any = package("litequeue", LITEQUEUE).LiteQueue(str(folder / "litequeue.db"), timeout=10)
        self.synchronise(durability)

    def item(self, body: bytes, key: str) -> Any:  # noqa: ARG002 - it has none
        """Texts are what it stores."""
        return body.decode()

    def put(self, item: Any) -> object:
        """Commits by itself."""
        return self._queue.put(item)

    def put_many(self, items: Sequence[Any]) -> object:
        """Within its own ``transaction``."""
        with self._queue.transaction(mode="IMMEDIATE"):
            for item in items:
                self._queue.put(item)
        return None

    def pop(self) -> Any:
        """Locks the message; it stays locked until it is done or retried."""
        return self._queue.pop()

    def ack(self, message: Any) -> object:
        """By ``done``."""
        return self._queue.done(message.message_id)

    def body(self, message: Any) -> bytes:
        """The text, encoded."""
        text: str = message.data
        return text.encode()

    def connections(self) -> list[Execute]:
        """The only one."""
        return [self._queue.conn.execute]

    def close(self) -> None:
        """Closes it."""
        self._queue.close()


class PersistQueue(Contender):
    """``SQLiteAckQueue`` of persist-queue: durability full by default, each call a commit. Without its pickles."""

    name = PERSIST
    puts_batches = pops_batches = False

    def __init__(self, folder: Path, durability: str) -> None:
        serializer = package("persistqueue.serializers.json", PERSIST)
        self._empty: Any = package("persistqueue.exceptions", PERSIST).Empty
        # What another process has taken would otherwise be ready again as soon as a second one opens the file.
        self._queue: Any = package("persistqueue", PERSIST).SQLiteAckQueue(
            str(folder / "persist"), serializer=serializer, auto_commit=True, auto_resume=False, timeout=10
        )
        self.synchronise(durability)

    def item(self, body: bytes, key: str) -> Any:  # noqa: ARG002 - it has none
        """Texts are what JSON has."""
        return body.decode()

    def put(self, item: Any) -> object:
        """Commits by itself."""
        return self._queue.put(item)

    def pop(self) -> Any:
        """With the number that ``ack`` needs."""
        try:
            return self._queue.get(block=False, raw=True)
        except self._empty:
            return None

    def ack(self, message: Any) -> object:
        """By its number."""
        return self._queue.ack(id=message["pqid"])

    def body(self, message: Any) -> bytes:
        """The text, encoded."""
        text: str = message["data"]
        return text.encode()

    def connections(self) -> list[Execute]:
        """Those for putting and for getting, which may be the same one."""
        return [self._queue._putter.execute, self._queue._getter.execute]

    def close(self) -> None:
        """Closes it."""
        self._queue.close()


class Huey(Contender):
    """``SqliteStorage`` of huey: durability full by default; its pop deletes the message, so at most once."""

    name = HUEY
    acknowledges = puts_batches = pops_batches = False

    def __init__(self, folder: Path, durability: str) -> None:
        self._storage: Any = package("huey.storage", HUEY).SqliteStorage(
            "bench", filename=str(folder / "huey.db"), timeout=10
        )
        self.synchronise(durability)

    def item(self, body: bytes, key: str) -> Any:  # noqa: ARG002 - it has none
        """The bytes themselves."""
        return body

    def put(self, item: Any) -> object:
        """By ``enqueue``."""
        return self._storage.enqueue(item)

    def pop(self) -> Any:
        """By ``dequeue``."""
        return self._storage.dequeue()

    def body(self, message: Any) -> bytes:
        """The bytes themselves."""
        return bytes(message)

    def connections(self) -> list[Execute]:
        """The only one."""
        return [self._storage.conn.execute]

    def close(self) -> None:
        """Closes it."""
        self._storage.close()


class DiskCache(Contender):
    """``Deque`` of diskcache: durability normal by default; its pop deletes the message, so at most once."""

    name = DISKCACHE
    acknowledges = False

    def __init__(self, folder: Path, durability: str) -> None:
        module: Any = package("diskcache", DISKCACHE)
        self._cache: Any = module.Cache(str(folder / "diskcache"), eviction_policy="none", timeout=10)
        self._deque: Any = module.Deque.fromcache(self._cache)
        self.synchronise(durability)

    def item(self, body: bytes, key: str) -> Any:  # noqa: ARG002 - it has none
        """The bytes themselves, which it does not pickle."""
        return body

    def put(self, item: Any) -> object:
        """By ``append``."""
        return self._deque.append(item)

    def put_many(self, items: Sequence[Any]) -> object:
        """Within its own ``transact``."""
        with self._deque.transact():
            for item in items:
                self._deque.append(item)
        return None

    def pop(self) -> Any:
        """By ``popleft``, which raises when it is empty."""
        try:
            return self._deque.popleft()
        except IndexError:
            return None

    def pop_many(self, count: int) -> list[Any]:
        """Within its own ``transact``."""
        with self._deque.transact():
            found = [self.pop() for _ in range(count)]
        return [each for each in found if each is not None]

    def body(self, message: Any) -> bytes:
        """The bytes themselves."""
        return bytes(message)

    def connections(self) -> list[Execute]:
        """That of this thread."""
        return [self._cache._sql]

    def close(self) -> None:
        """Closes it."""
        self._cache.close()
