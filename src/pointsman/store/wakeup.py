"""Waking those who wait, in this process and in others, without their asking again and again.

Who waits makes a named pipe in the folder ``FILE-bells`` beside the database, and changes a few bytes that all who have
it open share (``Board``); who has committed something new writes a byte into each pipe, and looks for new ones when
these have changed. A pipe whose process is gone is removed by the next one to ring. A process that is killed between
its commit and its ringing leaves a message that nobody is woken for: so a wait is never longer than ``LONGEST``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Protocol

from pointsman.errors import StoreError
from pointsman.store.commit_mark import take_after
from pointsman.store.connection import MOVED

LONGEST = 1.0
"""Seconds that one wait takes at most."""


class Board(Protocol):
    """Where it is said that somebody has begun to wait."""

    @property
    def waiting(self) -> bytes:
        """Other bytes whenever somebody has."""

    def announce(self) -> None:
        """Somebody has."""


class OwnBoard:
    """For a database that only one process has."""

    def __init__(self) -> None:
        self.waiting = b""

    def announce(self) -> None:
        """Another value."""
        self.waiting = os.urandom(8)


class Listener:
    """The place of one who waits; ``fileno`` is readable once the bell has rung."""

    def __init__(self, path: Path, bell: Bell, like: os.stat_result) -> None:
        self._path = path
        self._bell = bell
        self._process = os.getpid()
        os.mkfifo(path, 0o600)
        take_after(path, like)
        # For writing too, so that it is not at its end whenever nobody else has it open.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    @property
    def name(self) -> str:
        """By which ``Bell.hears`` finds it, from any process."""
        return self._path.name

    def fileno(self) -> int:
        """For ``select`` and event loops."""
        return self._descriptor

    def wait(self, timeout: float) -> bool:
        """Waits until the bell rings, ``LONGEST`` at most; whether it rang."""
        readable, _, _ = select.select([self._descriptor], [], [], max(0.0, min(timeout, LONGEST)))
        return self.clear() if readable else False

    def clear(self) -> bool:
        """Forgets that the bell rang; whether it had."""
        rang = False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._descriptor, 4096):
                rang = True
        return rang

    def close(self) -> None:
        """Waits no more."""
        if self._descriptor >= 0:
            if os.getpid() == self._process:
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
            self._bell.forget(self)


class Bell:
    """The bell of a database. ``ring`` and ``listen`` are to be called with nobody else doing so."""

    def __init__(self, database: str | None, board: Board) -> None:
        self._board = board
        self._own: tempfile.TemporaryDirectory[str] | None = None
        if database is None:
            self._own = tempfile.TemporaryDirectory(prefix="pointsman-bells-")
            self._folder = Path(self._own.name)
        else:
            self._folder = Path(f"{database}-bells")
        self._like = self._folder if database is None else Path(database)
        """What new pipes take their mode from."""
        self._listeners: list[Listener] = []
        self._pipes: dict[str, int] = {}
        self._seen: bytes | None = None
        self._numbers = count()

    def listen(self) -> Listener:
        """A new place to wait at.

        Raises ``StoreError``: ``side-file-refused`` if the folder is none, or a link, and ``store-moved``.
        """
        try:
            like = self._like.stat()
        except FileNotFoundError:
            raise StoreError("store-moved", MOVED, file=str(self._like)) from None
        path = self._folder / f"{os.getpid()}-{id(self):x}-{next(self._numbers)}"
        while True:
            with contextlib.suppress(FileExistsError):
                self._folder.mkdir(mode=0o700)
                take_after(self._folder, like, execute=True)
            # Another process may have removed the folder again, as nobody waited there.
            with contextlib.suppress(FileNotFoundError):
                if not stat.S_ISDIR(self._folder.lstat().st_mode):
                    raise StoreError("side-file-refused", "it is no folder, or a link to one", file=str(self._folder))
                listener = Listener(path, self, like)
                self._listeners.append(listener)
                self._board.announce()
                return listener

    def ring(self) -> None:
        """Wakes all who wait; never fails."""
        self._look()
        for name, pipe in list(self._pipes.items()):
            try:
                os.write(pipe, b"!")
            except BlockingIOError:
                continue
            except OSError:
                self._drop(name)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody may be waiting; may be asked at any time."""
        return bool(self._pipes) or self._board.waiting != self._seen

    def hears(self, name: str) -> bool:
        """Whether a listener of this name waits, in whichever process; by its pipe, as numbers of processes recur."""
        try:
            os.close(self._open_pipe(Path(name).name))
        except OSError as error:
            return error.errno not in (errno.ENXIO, errno.ENOENT, errno.EISDIR)
        return True

    def forget(self, listener: Listener) -> None:
        """A listener is closed."""
        self._listeners.remove(listener)

    def close(self) -> None:
        """Closes everything that this process has open, and removes the folder if nobody waits."""
        for listener in list(self._listeners):
            listener.close()
        for pipe in self._pipes.values():
            os.close(pipe)
        self._pipes.clear()
        if self._own is not None:
            self._own.cleanup()
        else:
            with contextlib.suppress(OSError):
                self._folder.rmdir()

    def _look(self) -> None:
        """Opens the pipes of those who came since the last time."""
        waiting = self._board.waiting
        if waiting == self._seen:
            return
        self._seen = waiting
        try:
            folder = self._folder.lstat()
            names = {path.name for path in self._folder.iterdir()} if stat.S_ISDIR(folder.st_mode) else set()
        except OSError:
            return
        for name in names - self._pipes.keys():
            try:
                self._pipes[name] = self._open_pipe(name)
            except OSError as error:
                if error.errno == errno.ENXIO and self._is_past(folder.st_mtime_ns):
                    (self._folder / name).unlink(missing_ok=True)
        for name in self._pipes.keys() - names:
            self._drop(name)

    def _open_pipe(self, name: str) -> int:
        """The pipe of a listener. Raises OSError, also for what is no pipe, into which nothing must be written."""
        path = self._folder / name
        if not stat.S_ISFIFO(path.lstat().st_mode):
            raise OSError(errno.EISDIR, "it is no pipe")
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)

    @staticmethod
    def _is_past(moment: int) -> bool:
        return time.time_ns() - moment > 50_000_000

    def _drop(self, name: str) -> None:
        os.close(self._pipes.pop(name))
        (self._folder / name).unlink(missing_ok=True)
