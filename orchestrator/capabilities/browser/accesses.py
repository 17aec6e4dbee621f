"""What all cubicles' browsers may reach, each with the gate that asks."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

from orchestrator.capabilities.browser.site_access import SiteAccess
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import HelperSpec
from orchestrator.gate.gate import Gates, OpenGate
from orchestrator.gate.traffic_log import GateUser


class BrowserWayOut:
    """The gate of one browser. With it ends what was allowed until its sites are left: no page of them is open."""

    def __init__(self, gate: OpenGate, access: SiteAccess) -> None:
        self._gate, self._access = gate, access

    def close(self) -> None:
        """Nothing gets out any more; again is fine."""
        self._access.set_open(())
        self._gate.close()


class BrowserAccesses:
    """One for each cubicle that had a browser. Any thread may call."""

    def __init__(
        self, gates: Gates, *, allows_static: bool, find_secret: Callable[[CubicleKey, str, str], str]
    ) -> None:
        """``find_secret`` has the value of a name for an origin, or raises NotFound."""
        self._gates, self._allows_static, self._find_secret = gates, allows_static, find_secret
        self._lock = threading.Lock()  # protects both below
        self._accesses: dict[CubicleKey, SiteAccess] = {}
        self._open: dict[CubicleKey, OpenGate] = {}

    def get_access(self, key: CubicleKey) -> SiteAccess:
        """That of one cubicle."""
        with self._lock:
            if key not in self._accesses:
                self._accesses[key] = SiteAccess(
                    allows_static=self._allows_static,
                    find_secret=partial(self._find_secret, key),
                    on_narrowed=partial(self._recheck_soon, key),
                )
            return self._accesses[key]

    def open_gate(self, key: CubicleKey, spec: HelperSpec) -> BrowserWayOut:
        """The way out of a browser that is being started. Raises Unavailable."""
        assert spec.sockets is not None  # noqa: S101 - it is a browser's
        user = GateUser("browser", key)
        gate = self._gates.open_gate(spec.sockets, self.get_access(key), user, uid=spec.uid, gid=spec.gid)
        with self._lock:
            self._open[key] = gate
        access = self.get_access(key)
        access.sent.change_gate()
        return BrowserWayOut(gate, access)

    def recheck(self, key: CubicleKey) -> None:
        """What is not allowed any more is cut, and what was sent is known."""
        with self._lock:
            gate = self._open.get(key)
        if gate is None:
            return
        gate.recheck()
        sent: Counter[str] = Counter()
        for one in gate.usage():
            sent[one.host] += one.up
        self.get_access(key).sent.set_usage(sent)

    def _recheck_soon(self, key: CubicleKey) -> None:
        """The same for whoever can't wait: it is done before anything else is let through."""
        with self._lock:
            gate = self._open.get(key)
        if gate is not None:
            gate.recheck_soon()
