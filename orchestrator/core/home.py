"""HERMIT_HOME: the folder of everything persistent, readable by its owner alone, and used by one orchestrator at a
time."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.core.errors import Conflict, Unavailable

_FOLDERS = (
    *("db", "keys", "workspaces", "run", "backups", "logs", "outbox", "telegram"),
    *("helpers", "studio", "browser", "browsers", "pages", "thumbnails", "history", "mcp"),
)
_CLAIM_TRIES, _CLAIM_PAUSE_S = 10, 0.02
"""A command that looks whether we run holds the claim for a moment."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where things are."""

    path: Path
    install: str
    """A short id made once, so that two installs share an engine in peace."""
    command_token: str
    """What the command on this machine proves itself with; whoever can read this folder is the operator."""
    link_key: str
    """What download links are signed with."""

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / "db" / "hermit.db"

    @property
    def outbox(self) -> Path:
        """Private copies of what agents deliver."""
        return self.path / "outbox"

    @property
    def backups(self) -> Path:
        """Copies of the database from before an upgrade, and what people put there."""
        return self.path / "backups"

    @property
    def scratch(self) -> Path:
        """Files that are being made and are moved elsewhere when whole."""
        return self.path / "scratch"

    @property
    def helpers(self) -> Path:
        """The folders of helper containers that run: what they are given and what they bring."""
        return self.path / "helpers"

    @property
    def studio(self) -> Path:
        """Videos while they are being made."""
        return self.path / "studio"

    @property
    def browser(self) -> Path:
        """Copies of web apps while pictures are taken of them."""
        return self.path / "browser"

    @property
    def browsers(self) -> Path:
        """What agents' live browsers are given and bring, and the sockets that they speak through."""
        return self.path / "browsers"

    @property
    def mcp(self) -> Path:
        """The packages of MCP servers, and what those that run are given and bring."""
        return self.path / "mcp"

    @property
    def pages(self) -> Path:
        """Pages of PDFs while they are drawn and looked at."""
        return self.path / "pages"

    @property
    def thumbnails(self) -> Path:
        """Pictures of web apps."""
        return self.path / "thumbnails"

    @property
    def history(self) -> Path:
        """Points of time of the workspaces, a folder for each cubicle."""
        return self.path / "history"

    @property
    def reserve_file(self) -> Path:
        """A file that can be let go when the disk is full; nothing of worth is in it."""
        return self.path / "db" / "ballast"

    @property
    def log(self) -> Path:
        """The orchestrator's own log."""
        return self.path / "logs" / "orchestrator.log"

    @property
    def keyring(self) -> Path:
        """Keys of model providers that were given in the dashboard; it need not exist."""
        return self.path / "keys" / "providers.json"

    @property
    def search_keys(self) -> Path:
        """Keys of search engines that were given in the dashboard; it need not exist."""
        return self.path / "keys" / "search.json"

    @property
    def mcp_secrets(self) -> Path:
        """Values of the secrets of MCP servers; it need not exist."""
        return self.path / "keys" / "mcp.json"

    @property
    def push_key(self) -> Path:
        """What notifications on devices are signed with; it need not exist."""
        return self.path / "keys" / "push.key"

    @property
    def prices(self) -> Path:
        """The person's own prices over ours; it need not exist."""
        return self.path / "prices.json"


def prepare_home(path: Path) -> Home:
    """The folder exists with all that belongs in it. Raises Unavailable, with what to do about it."""
    try:
        for folder in (path, *(path / name for name in _FOLDERS)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
        _close_to_others(path / "hermit.env")
        install = read_or_create(path / "keys" / "install-id", lambda: secrets.token_hex(4))
        token = read_or_create(path / "keys" / "command.token", lambda: "hs_" + secrets.token_urlsafe(32))
        link_key = read_or_create(path / "keys" / "link.key", lambda: secrets.token_urlsafe(32))
    except OSError as error:
        raise Unavailable(_explain_error(path, error)) from error
    return Home(path, install, token, link_key)


class HomeLock:
    """The right to be the one orchestrator of a home; it ends with the process, however that ends."""

    def __init__(self, home: Home) -> None:
        """Raises Conflict when another orchestrator uses this home."""
        path = home.path / "run" / "orchestrator.pid"
        path.touch(mode=0o600)
        self._file = path.open("r+", encoding="ascii")
        if not _is_locked_by_us(self._file, tries=_CLAIM_TRIES):
            self._file.close()
            raise Conflict(f"HermitShell is already running with HERMIT_HOME={home.path}.")
        self._file.truncate(0)
        self._file.write(f"{os.getpid()} {_process_namespace()}\n")
        self._file.flush()

    def release(self) -> None:
        """Another orchestrator may begin."""
        self._file.truncate(0)
        self._file.close()


@contextmanager
def hold_unused(path: Path) -> Iterator[None]:
    """No orchestrator uses this home, and none begins to meanwhile. Raises Conflict."""
    try:
        file = (path / "run" / "orchestrator.pid").open("r+", encoding="ascii")
    except (FileNotFoundError, NotADirectoryError):
        yield
        return
    with file:
        if not _is_locked_by_us(file, tries=_CLAIM_TRIES):
            raise Conflict(f"HermitShell runs with HERMIT_HOME={path}. Stop it first: './hermit down'.")
        yield


def running_pid(path: Path) -> int | None:
    """The process id of the orchestrator that uses this home, or None when there is none."""
    try:
        with (path / "run" / "orchestrator.pid").open("r+", encoding="ascii") as file:
            if _is_locked_by_us(file, tries=1):
                return None
            pid = file.read().partition(" ")[0].strip()
            return int(pid) if pid.isdecimal() else None
    except FileNotFoundError:
        return None


def claimed_at(path: Path) -> float:
    """When the orchestrator that uses this home was started."""
    return (path / "run" / "orchestrator.pid").stat().st_mtime


def runs_elsewhere(path: Path) -> bool:
    """The orchestrator that uses this home runs in a container (or we do): its process id means nothing here."""
    text = (path / "run" / "orchestrator.pid").read_text(encoding="ascii")
    return text.partition(" ")[2].strip() not in ("", _process_namespace())


def _process_namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _is_locked_by_us(file: IO[str], *, tries: int) -> bool:
    """Nobody else holds the file; the lock is ours until it is closed."""
    for attempt in range(1, tries + 1):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt < tries:
                time.sleep(_CLAIM_PAUSE_S)
        else:
            return True
    return False


def _close_to_others(path: Path) -> None:
    """The settings that a person wrote, keys among them, are for their owner alone."""
    with suppress(OSError):  # not there, or on a read-only mount: then it stays as it is, and the doctor says so
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and facts.st_mode & 0o077:
            path.chmod(stat.S_IMODE(facts.st_mode) & 0o700)


def read_or_create(path: Path, make: Callable[[], str]) -> str:
    """The secret in a file, made on first use; written whole or not at all."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    fresh = path.with_suffix(f".{secrets.token_hex(8)}.new")
    fresh.touch(mode=0o600)
    try:
        with fresh.open("w", encoding="ascii") as file:
            file.write(f"{make()}\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(fresh)
    except FileExistsError:
        pass  # another command of this moment was faster; its secret is the one
    finally:
        fresh.unlink()
    return path.read_text(encoding="ascii").strip()


def _explain_error(path: Path, error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"I can't write to {path}. Set HERMIT_HOME to a folder of yours."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk of {path} is full. Free some space, then try again."
    return f"{path} can't be used as HERMIT_HOME ({error.strerror}). Choose another folder."
