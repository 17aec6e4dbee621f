"""The faults of the chaos suite: each begins, and ends after its time. What was broken is whole again then, or at the
latest when everything is healed."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sqlite3
import subprocess
from collections.abc import Callable

import docker
import requests
from docker.models.containers import Container

from tests.chaos.install import Install
from tests.chaos.plan import ENGINE_RESTARTED, Deed
from tests.support.bot_api_faults import Fault

_CALLS = ("sendMessage", "sendMessage", "sendDocument", "getUpdates", "editMessageText", "*")
_LOSING = ("sendMessage", "sendDocument")
_PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_KILL_CRAB = (
    "for p in /proc/[0-9]*; do n=${p#/proc/}; [ $n = $$ ] || [ $n = 1 ] || "
    "case \"$(tr '\\0' ' ' < $p/cmdline)\" in */app/crab-start*) kill -9 $n && echo $n;; esac; done"
)


class Breaker:
    """Breaks things, and fixes them."""

    def __init__(self, install: Install, restart_engine: str = "") -> None:
        """``restart_engine`` is a command; without one the engine is left alone."""
        self._install = install
        self._restart_engine = restart_engine
        self._filler = install.home.parent / "filler"
        self._lock: sqlite3.Connection | None = None
        self._at_bots: list[Fault] = []
        self._begin: dict[str, Callable[[Deed], bool]] = {
            "orchestrator killed": lambda _: install.kill(),
            "orchestrator restarted": lambda _: install.terminate(),
            "crab killed": lambda deed: self._to_container(deed, _kill_crab),
            "container killed": lambda deed: self._to_container(deed, lambda found: found.kill()),
            "container removed": lambda deed: self._to_container(deed, lambda found: found.remove(force=True)),
            "engine gone": lambda _: self._done(install.wire.cut),
            "engine hangs": lambda _: self._done(install.wire.hold),
            ENGINE_RESTARTED: lambda _: self._engine(),
            "disk full": lambda _: self._fill(leave_bytes=0),
            "disk nearly full": lambda _: self._fill(leave_bytes=7 << 20),
            "database locked": lambda _: self._hold_database(),
        }

    def begin(self, deed: Deed) -> bool:
        """It goes wrong; False when there was nothing to break just now."""
        if deed.what.startswith("model "):
            return self._done(lambda: self._install.moods.turn(deed.what))
        if deed.what.startswith("telegram "):
            return self._bots(deed)
        return self._begin[deed.what](deed)

    def end(self, deed: Deed) -> None:
        """Its time is over. What starts the orchestrator again is whoever called, since that takes a while."""
        if deed.what.startswith("model "):
            self._install.moods.turn("")
        elif deed.what.startswith("telegram "):
            self._fix_bots()
        elif deed.what.startswith("engine "):
            self._install.wire.join_up()
            self._install.wire.let_go()
        elif deed.what.startswith("disk "):
            self._filler.unlink(missing_ok=True)
        elif deed.what == "database locked":
            self._let_database_go()

    def heal(self) -> None:
        """Nothing is broken any more, but for an orchestrator that is down."""
        self._install.moods.turn("")
        self._fix_bots()
        self._install.wire.join_up()
        self._install.wire.let_go()
        self._filler.unlink(missing_ok=True)
        self._let_database_go()

    # --- one by one --------------------------------------------------------------------------------------------

    def _done(self, deed: Callable[[], object]) -> bool:
        deed()
        return True

    def _to_container(self, deed: Deed, break_it: Callable[[Container], object]) -> bool:
        label = f"hermitshell.install={self._install.install_id}"
        try:
            found = self._install.client.containers.list(filters={"label": label}, ignore_removed=True)
            if not found:
                return False
            break_it(sorted(found, key=lambda one: str(one.name))[int(deed.pick * len(found))])
        except (docker.errors.APIError, requests.RequestException):
            return False  # it went away by itself at this very moment, or the engine is being restarted
        return True

    def _engine(self) -> bool:
        if not self._restart_engine:
            return False
        subprocess.run(shlex.split(self._restart_engine), check=True, timeout=120)
        return True

    def _bots(self, deed: Deed) -> bool:
        bots = self._install.bots
        method = _CALLS[int(deed.pick * len(_CALLS))]
        times = 1 + int(deed.pick * 100) % 4
        if deed.what == "telegram offline":
            bots.offline()
        elif deed.what == "telegram 429":
            self._at_bots.append(bots.fail_next(method, retry_after=1 + int(deed.for_s), times=1))
        elif deed.what == "telegram 5xx":
            self._at_bots.append(bots.fail_next(method, 502, times=times))
        elif deed.what == "telegram html":
            self._at_bots.append(bots.fail_next(method, 502, html=_PAGE, times=times))
        elif deed.what == "telegram silent":
            self._at_bots.append(bots.fail_next(method, hang=True, times=times))
        elif deed.what == "telegram reset":
            self._at_bots.append(bots.fail_next(method, times=times))
        else:
            lost = _LOSING[int(deed.pick * len(_LOSING))]
            self._at_bots.append(bots.fail_next(lost, after=True, times=times))
        return True

    def _fix_bots(self) -> None:
        bots = self._install.bots
        bots.online()
        with bots.world.changed:
            for fault in self._at_bots:
                fault.left = 0
                fault.release()
        self._at_bots.clear()

    def _fill(self, *, leave_bytes: int) -> bool:
        """Of a disk that is ours alone, only so much is left."""
        disk = self._filler.parent
        if not os.path.ismount(disk):
            return False
        facts = os.statvfs(disk)
        size = facts.f_bavail * facts.f_frsize - leave_bytes
        try:
            with self._filler.open("ab") as file:
                if size > 0:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
                while leave_bytes == 0:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, facts.f_frsize)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        return True

    def _hold_database(self) -> bool:
        if self._lock is not None:
            return False
        lock = sqlite3.connect(self._install.database, isolation_level=None, timeout=2, check_same_thread=False)
        try:
            lock.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            lock.close()
            return False
        self._lock = lock
        return True

    def _let_database_go(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(sqlite3.OperationalError):
                lock.execute("ROLLBACK")
            lock.close()


def _kill_crab(container: Container) -> None:
    container.exec_run(["sh", "-c", _KILL_CRAB])
