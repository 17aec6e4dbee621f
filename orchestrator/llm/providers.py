"""The model providers that can be asked at this moment, and which one answers for agents that name none.

Owns what the settings gave and what was added in the dashboard (its key in the ``KeyStore``), and the operator's
choices over both. A change holds from the next call on, without a restart; the settings' own keys come first. It makes
no call itself, and a key that was given never comes out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.agents.install_settings import DEFAULT_PROVIDER, MODEL_OF, InstallSettings
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import Upstream
from orchestrator.languages.told import worded
from orchestrator.llm.key_store import KeyStore, OwnKey
from orchestrator.llm.upstreams.catalog import CUSTOM, KEY_SETTINGS, LABELS, OLLAMA, OLLAMA_URL, is_listening
from orchestrator.llm.upstreams.rehearsal import NAME as REHEARSAL
from orchestrator.llm.upstreams.shortlist import SHORTLIST, Suggestion

Build = Callable[[str, str, str], Upstream]
"""Name, key and base URL of a provider make it one that can be asked. Raises ConfigError."""
_MAX_MODEL = 200


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One provider, and how it is set up."""

    name: str
    label: str
    origin: Literal["settings", "dashboard", "built-in", ""]
    """Who made it usable; empty: nobody yet."""
    setting: str
    """Of the environment or ``hermit.env``, where its key may be; empty for one that needs none."""
    base_url: str
    """Of a server of one's own that was given in the dashboard."""
    model: str
    """Asked for when an agent names none; empty: the first that it lists."""
    is_default: bool

    @property
    def is_usable(self) -> bool:
        """Agents may be given it."""
        return bool(self.origin)

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """Models to choose among before there is a key, the recommended one first; none for a server of one's own."""
        return SHORTLIST.get(self.name, ())


class Providers(Mapping[str, Upstream]):
    """Every provider that can be asked, by name. Thread-safe."""

    def __init__(
        self,
        given: Mapping[str, Upstream],
        default: str,
        keyring: KeyStore,
        install_settings: InstallSettings,
        *,
        build: Build,
        blot: Callable[[str], None] = lambda _: None,
        ollama_url: str = OLLAMA_URL,
    ) -> None:
        """``given`` and ``default`` are what the settings come to; ``blot`` keeps a text out of the log. Raises
        ConfigError for a key that no longer serves."""
        self._given, self._given_default = dict(given), default
        self._keyring, self._install_settings, self._build, self._blot = keyring, install_settings, build, blot
        self._ollama_url = ollama_url
        self._lock = threading.Lock()  # held over each change
        self._own: dict[str, Upstream] = {}
        for name, own in keyring.list_keys().items():
            blot(own.key)
            if name not in given:
                self._own[name] = build(name, own.key, own.base_url)
        self._first_models = {name: upstream.default_model for name, upstream in {**self._own, **given}.items()}
        self._live: dict[str, Upstream] = {}
        self._reload()

    # --- as a mapping -------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Upstream:
        return self._live[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    # --- looking ------------------------------------------------------------------------------------------------

    def default(self) -> str:
        """Who answers for agents that name none: the operator's choice, else what the settings say, else the first that
        was added here, else Ollama or the rehearsal."""
        chosen = self._install_settings.list_settings().get(DEFAULT_PROVIDER, "")
        if chosen in self._live:
            return chosen
        if self._given_default not in (OLLAMA, REHEARSAL):
            return self._given_default
        return next(iter(self._own), self._given_default)

    def list_providers(self) -> list[ProviderState]:
        """All that we know, those that nobody set up too."""
        names = [*LABELS, *(name for name in self._live if name not in LABELS)]
        default, keys, chosen = self.default(), self._keyring.list_keys(), self._install_settings.list_settings()
        return [self._get_state(name, default, keys, chosen.get(MODEL_OF + name, "")) for name in names]

    def get_state(self, name: str) -> ProviderState:
        """One of them; raises NotFound."""
        for state in self.list_providers():
            if state.name == name:
                return state
        raise NotFound(f"There is no provider {name[:40]!r}; there are {', '.join(LABELS)}.")

    def is_missing(self, name: str) -> bool:
        """It needs no key, but nothing takes connections where it would be on this machine."""
        return name == OLLAMA and name in self._live and not is_listening(self._ollama_url)

    def as_json(self) -> dict[str, Any]:
        """Which models there are to choose from."""
        providers = [{"name": name, "default_model": upstream.default_model} for name, upstream in self._live.items()]
        return {"default": self.default(), "providers": providers}

    # --- changing -----------------------------------------------------------------------------------------------

    def make_candidate(self, name: str, key: str, base_url: str) -> Upstream:
        """The provider as it would be with this key, to be tried; nothing is kept. Raises NotFound, BadInput, or
        Conflict where the settings come first."""
        state = self.get_state(name)
        if state.origin == "settings" and state.setting:
            raise Conflict(
                f"{state.label} is set by {state.setting} in the environment or hermit.env, which comes first. Change "
                "it there."
            )
        if name not in KEY_SETTINGS:
            raise BadInput(worded("%(name)s takes no key.", name=state.label))
        if name == CUSTOM and not base_url.strip():
            raise BadInput("base_url: write the server's address, such as http://127.0.0.1:8080/v1.")
        if name != CUSTOM and (base_url or not key.strip()):
            raise BadInput("key: paste the key that the provider gave you; its address is known.")
        self._blot(key.strip())
        return self._build(name, key.strip(), base_url.strip())

    def set_key(self, name: str, key: str, base_url: str, *, by: str) -> ProviderState:
        """Keep this key, in the place of an older one; it holds from the next call on. Raises as
        ``make_candidate``, and Unavailable; then nothing has changed.
        """
        upstream = self.make_candidate(name, key, base_url)
        with self._lock:
            old = self._keyring.list_keys().get(name)
            self._keyring.save_key(name, OwnKey(key.strip(), base_url.strip()))
            self._own[name] = upstream
            self._first_models[name] = upstream.default_model
            if old is not None and old.base_url != base_url.strip():
                self._install_settings.save_setting(
                    MODEL_OF + name, "", f"Another server has other models: {name}.", by=by
                )
            self._reload()
        self._write_audit(f"The key of {LABELS[name]} was {'set' if old is None else 'replaced'}.", name, by)
        return self.get_state(name)

    def remove_key(self, name: str, *, by: str) -> None:
        """Forget the key that was given here; raises NotFound, or Unavailable."""
        with self._lock:
            if name not in self._keyring.list_keys():
                raise NotFound(f"No key of {LABELS.get(name, name[:40])} was given in the dashboard.")
            self._keyring.save_key(name, None)
            self._own.pop(name, None)
            self._reload()
        self._write_audit(f"The key of {LABELS[name]} was removed.", name, by)

    def choose_default(self, provider: str, *, by: str) -> None:
        """This one answers for agents that name none; empty: as if nobody had chosen. Raises BadInput."""
        if provider and provider not in self._live:
            raise BadInput(
                worded("default_provider: choose one of %(names)s, or leave it empty.", names=", ".join(self._live))
            )
        said = f"The default provider is {LABELS.get(provider, provider)} now." if provider else "No default provider."
        self._install_settings.save_setting(DEFAULT_PROVIDER, provider, said, by=by)

    def choose_model(self, provider: str, model: str, *, by: str) -> None:
        """This model is asked for when an agent names none; empty: the provider's first default. Raises NotFound,
        BadInput, or Conflict where the settings name one."""
        state, model = self.get_state(provider), model.strip()
        if len(model) > _MAX_MODEL or not model.isprintable():
            raise BadInput(
                worded("model: write its name as the provider does, at most %(count)s characters.", count=_MAX_MODEL)
            )
        if provider == REHEARSAL:
            raise BadInput("model: the rehearsal is a script and has one voice only.")
        if provider == CUSTOM and self._is_given_model(provider):
            raise Conflict("The model is set by HERMIT_LLM_MODEL, which comes first. Change it there.")
        with self._lock:
            said = f"{state.label} is asked for {model or 'its first default'} now."
            self._install_settings.save_setting(MODEL_OF + provider, model, said, by=by)
            self._reload()

    # --- under the lock -----------------------------------------------------------------------------------------

    def _reload(self) -> None:
        """Those in force; what was replaced is let go with its connections once its last call has ended."""
        merged = {**self._own, **self._given}
        live = {name: merged[name] for name in [*LABELS, *merged] if name in merged}
        chosen = self._install_settings.list_settings()
        for name, upstream in live.items():
            is_fixed = name == REHEARSAL or (name == CUSTOM and self._is_given_model(name))
            if not is_fixed:  # one without a first default finds it out again
                upstream.default_model = chosen.get(MODEL_OF + name) or self._first_models[name]
        self._live = live

    def _is_given_model(self, name: str) -> bool:
        return name in self._given and bool(self._first_models[name])

    def _get_state(self, name: str, default: str, keys: Mapping[str, OwnKey], chosen_model: str) -> ProviderState:
        upstream = self._live.get(name)
        setting = KEY_SETTINGS.get(name, "")
        origin: Literal["settings", "dashboard", "built-in", ""] = ""
        if name in self._given:
            origin = "settings" if setting or name not in LABELS else "built-in"
        elif name in self._own:
            origin = "dashboard"
        return ProviderState(
            name=name,
            label=LABELS.get(name, name),
            origin=origin,
            setting=setting,
            base_url=keys[name].base_url if origin == "dashboard" and name in keys else "",
            model=chosen_model if upstream is None else upstream.default_model,
            is_default=name == default,
        )

    def _write_audit(self, said: str, name: str, by: str) -> None:
        self._install_settings.record_change("provider.key", f"{said} By {by}.", provider=name)
