"""The search engines that are set up: by the settings, or by an operator in the dashboard. A key goes in, comes out for
the request alone, and is never shown; a change holds from the next search on, without a restart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.agents.install_settings import InstallSettings
from orchestrator.capabilities.search.engines import ENGINES, SearchEngine
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.llm.key_store import KeyStore, OwnKey
from orchestrator.web.urls import UrlRules, parse_url

_KEY_CHARS = 500
_SERVER = re.compile(r"(https?)://([^?#]+)")
_NO_SERVER = "base_url: write the server's address, such as http://127.0.0.1:8888."
_BY_NAME = {engine.name: engine for engine in ENGINES}


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """What is needed to ask one engine."""

    engine: SearchEngine
    base_url: str
    """Without a slash at its end."""
    key: str = field(default="", repr=False)
    """Empty for one's own server."""


@dataclass(frozen=True, slots=True)
class EngineState:
    """One engine, and how it is set up."""

    name: str
    label: str
    origin: Literal["settings", "dashboard", ""]
    """Who set it up; empty: nobody yet."""
    setting: str
    """Of the environment or ``hermit.env``."""
    base_url: str
    """Of one's own server, where it is set up."""
    key_from: str
    """Where people get a key; empty where it needs none."""
    place: int
    """It is asked as the first (1), the second, and so on; 0 when it is not set up."""


class SearchEngines:
    """Which there are, and in which order they are asked: those of the settings first, then as they were added."""

    def __init__(
        self,
        given: Mapping[str, str],
        keys: KeyStore,
        install_settings: InstallSettings,
        *,
        blot: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``given`` are the settings of search engines, by their names; ``blot`` keeps a text out of the log."""
        self._given, self._keys, self._install_settings, self._blot = given, keys, install_settings, blot
        for own in keys.list_keys().values():
            blot(own.key)

    def list_setups(self) -> list[EngineSetup]:
        """Those that can be asked, in the order in which they are."""
        given = [_make_setup(one, self._given[one.setting], "") for one in ENGINES if self._given.get(one.setting)]
        taken = {setup.engine.name for setup in given}
        kept = [
            EngineSetup(_BY_NAME[name], own.base_url or _BY_NAME[name].base_url, own.key)
            for name, own in self._keys.list_keys().items()
            if name in _BY_NAME and name not in taken
        ]
        return [*given, *kept]

    def list_engines(self) -> list[EngineState]:
        """All that we know, those that nobody set up too."""
        setups = self.list_setups()
        places = {setup.engine.name: n for n, setup in enumerate(setups, start=1)}
        bases = {setup.engine.name: setup.base_url for setup in setups if setup.engine.is_own_server}
        return [
            EngineState(
                one.name,
                one.label,
                "settings" if self._given.get(one.setting) else "dashboard" if one.name in places else "",
                one.setting,
                bases.get(one.name, ""),
                one.key_from,
                places.get(one.name, 0),
            )
            for one in ENGINES
        ]

    def get_state(self, name: str) -> EngineState:
        """One of them; raises NotFound."""
        for state in self.list_engines():
            if state.name == name:
                return state
        raise NotFound(f"There is no search engine {name[:40]!r}; there are {', '.join(_BY_NAME)}.")

    def make_candidate(self, name: str, key: str, base_url: str) -> EngineSetup:
        """The engine as it would be with this key or address, to be tried; nothing is kept. Raises NotFound, BadInput,
        or Conflict where the settings come first."""
        state, engine = self.get_state(name), _BY_NAME.get(name)
        if engine is None or state.origin == "settings":
            raise Conflict(
                f"{state.label} is set by {state.setting} in the environment or hermit.env, which comes first. Change "
                "it there."
            )
        self._blot(key.strip())
        return _make_setup(engine, key.strip(), base_url.strip())

    def save_key(self, name: str, key: str, base_url: str, *, by: str) -> EngineState:
        """Keep this key or address, in the place of an older one. Raises as ``make_candidate``, and Unavailable."""
        setup = self.make_candidate(name, key, base_url)
        is_new = name not in self._keys.list_keys()
        own_url = setup.base_url if setup.engine.is_own_server else ""
        self._keys.save_key(name, OwnKey(setup.key, own_url))
        self._write_audit(f"{setup.engine.label} was {'set up' if is_new else 'changed'} for searching.", name, by)
        return self.get_state(name)

    def remove_key(self, name: str, *, by: str) -> None:
        """Forget what was given here; raises NotFound, or Unavailable."""
        if name not in self._keys.list_keys():
            raise NotFound(f"{self.get_state(name).label} was not set up in the dashboard.")
        self._keys.save_key(name, None)
        self._write_audit(f"{self.get_state(name).label} is not used for searching any more.", name, by)

    def _write_audit(self, said: str, name: str, by: str) -> None:
        self._install_settings.record_change("search.engine", f"{said} By {by}.", provider=name)


def rules_of(setup: EngineSetup) -> UrlRules:
    """Where the engine may be: one's own server wherever it stands, the others on the public internet."""
    if not setup.engine.is_own_server:
        return UrlRules()
    scheme, _, rest = setup.base_url.partition("://")
    return UrlRules.of_own_server(scheme, _port_of(scheme, rest))


def _make_setup(engine: SearchEngine, key: str, base_url: str) -> EngineSetup:
    if engine.is_own_server:
        return EngineSetup(engine, _read_server(base_url or key))
    if base_url:
        raise BadInput("base_url: leave it out; the address of this engine is known.")
    if not key or len(key) > _KEY_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise BadInput("key: paste the key that the search engine gave you.")
    return EngineSetup(engine, engine.base_url, key)


def _read_server(text: str) -> str:
    """The address of one's own server. Raises BadInput."""
    address = text.rstrip("/")
    found = _SERVER.fullmatch(address)
    if found is None:
        raise BadInput(_NO_SERVER)
    try:
        return parse_url(address, UrlRules.of_own_server(found[1], _port_of(found[1], found[2]))).url.rstrip("/")
    except BadInput as error:
        raise BadInput(f"{_NO_SERVER} {error.message}") from None


def _port_of(scheme: str, rest: str) -> int:
    _, separator, port = rest.partition("/")[0].rpartition(":")
    return int(port) if separator and port.isdecimal() and len(port) < 6 else {"http": 80, "https": 443}[scheme]
