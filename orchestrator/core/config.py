"""Settings: read once from the environment and ``HERMIT_HOME/hermit.env``, frozen, passed down. Nobody else reads them.

A name set in the environment wins over the file. ``SETTINGS`` lists every name with its help, for ``--help`` and the
docs.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.core.errors import ConfigError
from orchestrator.core.oidc_settings import OidcSettings, may_be_plain, parse_oidc
from orchestrator.core.rates import USUAL_RATES, Rates

SETTINGS = {
    "HERMIT_HOME": "where everything persistent is stored (default: data/ in the program's folder)",
    "HERMIT_HOST": "address of the dashboard and API (default 127.0.0.1)",
    "HERMIT_PORT": "port of the dashboard and API (default 3000)",
    "HERMIT_PREVIEW_PORT": "port of the web-app previews, a separate origin (default 3001)",
    "HERMIT_PUBLIC_URL": "address of the dashboard behind your proxy or tunnel, for links (default: none)",
    "HERMIT_PREVIEW_URL": "address of the previews there, with another host name than the dashboard's (default: none)",
    "HERMIT_ADMIN_USER": "the operator's name",
    "HERMIT_ADMIN_PASSWORD": "the operator's password (without it `up` prints a one-time login link)",
    "HERMIT_API_TOKEN": "a fixed operator API token, for automation",
    "HERMIT_OIDC_ISSUER": "address of an OpenID Connect provider by which people log in too (default: none)",
    "HERMIT_OIDC_CLIENT_ID": "the id that it gave this application",
    "HERMIT_OIDC_CLIENT_SECRET": "the secret that it gave with that",
    "HERMIT_OIDC_NAME": "what people call the provider, e.g. Authentik (default: single sign-on)",
    "HERMIT_OIDC_NEW_PEOPLE": "members makes a member of whoever comes in by it for the first time (default: no)",
    "HERMIT_OIDC_GROUP": "only people in this group of the provider's come in by it, new ones as members",
    "HERMIT_LLM_BASE_URL": "any OpenAI-compatible model server",
    "HERMIT_LLM_API_KEY": "its key",
    "HERMIT_LLM_MODEL": "the model to ask it for",
    "HERMIT_EMBEDDINGS_BASE_URL": "an OpenAI-compatible embeddings server, to find memories by meaning",
    "HERMIT_EMBEDDINGS_API_KEY": "its key",
    "HERMIT_EMBEDDINGS_MODEL": "the embedding model to ask it for; local: one in this process (optional packages)",
    "OPENROUTER_API_KEY": "key for OpenRouter",
    "OPENAI_API_KEY": "key for OpenAI",
    "ANTHROPIC_API_KEY": "key for Anthropic",
    "GEMINI_API_KEY": "key for Google Gemini",
    "GROQ_API_KEY": "key for Groq",
    "MISTRAL_API_KEY": "key for Mistral",
    "DEEPSEEK_API_KEY": "key for DeepSeek",
    "XAI_API_KEY": "key for xAI",
    "HERMIT_SEARXNG_URL": "your own SearXNG server, which agents search the web with",
    "BRAVE_SEARCH_API_KEY": "key for Brave Search",
    "TAVILY_API_KEY": "key for Tavily, a search engine",
    "EXA_API_KEY": "key for Exa, a search engine",
    "SERPER_API_KEY": "key for Serper, which searches with Google",
    "KAGI_API_KEY": "key for Kagi, a search engine",
    "JINA_API_KEY": "key for Jina, a search engine",
    "TELEGRAM_BOT_TOKEN": "a bot for the first agent",
    "HERMIT_TELEGRAM_OPERATOR_ID": "the operator's numeric Telegram id",
    "HERMIT_TELEGRAM_API_URL": "Bot API server (default https://api.telegram.org)",
    "HERMIT_TELEGRAM_WEBHOOK_URL": "public https address of the dashboard where Telegram posts updates (else polled)",
    "HERMIT_ALLOWED_HOSTS": "other Host names that the dashboard answers to, separated by commas",
    "HERMIT_PUSH_HOSTS": "other push services for notifications, e.g. push.example.org, separated by commas",
    "HERMIT_CUBICLE_RUNTIME": "OCI runtime of the cubicles, e.g. runsc (default: the engine's)",
    "HERMIT_PIP_INDEX_URL": "package index for Python (default: pip's own)",
    "HERMIT_NPM_REGISTRY": "package registry for Node (default: npm's own)",
    "HERMIT_PACKAGE_HOSTS": "other hosts where your package index keeps files, separated by commas",
    "HERMIT_PRIVATE_HOSTS": "hosts of your own network that may be reached, e.g. wiki.lan or nas:8080, by commas",
    "HERMIT_UPDATE_URL": "https address that is asked once a day whether there is a new version (default: none)",
    "HERMIT_SLEEP_MINUTES": "idle minutes after which an agent's container stops until its next message (60; 0: never)",
    "HERMIT_FILES_PER_MINUTE": "files that a cubicle can deliver within a minute (default 20)",
    "HERMIT_FILES_PER_DAY": "the same within a day (default 200)",
    "HERMIT_INSTALLS_PER_HOUR": "package requests of a cubicle within an hour (default 10)",
    "HERMIT_LOG_FORMAT": "json writes the orchestrator's log as JSON lines (default: text)",
    "HERMIT_KEEP_CONVERSATIONS_DAYS": "days after which messages and answers are deleted (default 0: never)",
    "HERMIT_KEEP_DETAILS_DAYS": "the same for output of commands, notices, questions, old approvals (365; 0: never)",
    "HERMIT_KEEP_AUDIT_DAYS": "the same for the audit log (default 0: never)",
    "HERMIT_KEEP_BACKUPS_DAYS": "the same for backups in HERMIT_HOME/backups, except the newest (default 0: never)",
    "HERMIT_BROWSER_STATIC_HOSTS": "0 keeps pages in agents' browsers from well-known hosts of fonts and scripts",
    "HERMIT_BROWSER_CDP_URL": "a remote browser's address (ws, wss, http, https), in place of one in a container here",
    "HERMIT_APP_PICTURES": "0 takes no pictures of web apps or PDFs, and never builds the image for that",
    "HERMIT_FETCH_HTTP": "1 also allows approved downloads over plain http, which anybody on the way can change",
    "HERMIT_TERMINAL": "1 gives operators a terminal in their own cubicles, in the dashboard",
}

REMOTE_BROWSER = "HERMIT_BROWSER_CDP_URL"
SEARCH_SETTINGS = (
    "HERMIT_SEARXNG_URL",
    "BRAVE_SEARCH_API_KEY",
    "TAVILY_API_KEY",
    "EXA_API_KEY",
    "SERPER_API_KEY",
    "KAGI_API_KEY",
    "JINA_API_KEY",
)
"""Those of search engines, in the order in which they are asked."""
_MODELS = (name for name in SETTINGS if not name.startswith("HERMIT_") and name not in SEARCH_SETTINGS)
PROVIDER_KEYS = tuple(name for name in _MODELS if name.endswith("_API_KEY"))

TELEGRAM_API_URL = "https://api.telegram.org"
_HOST_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?)(?::([0-9]{1,5}))?")
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


@dataclass(frozen=True, slots=True)
class Keep:
    """For how many days what is kept; 0 for ever."""

    conversations_days: int
    details_days: int
    audit_days: int
    backups_days: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What this install was told. ``repr`` shows no secret."""

    home: Path
    host: str
    port: int
    preview_port: int
    public_url: str
    """The dashboard's origin as people reach it by way of a proxy, or empty."""
    preview_url: str
    """The previews' origin likewise."""
    admin_user: str
    allowed_hosts: frozenset[str]
    push_hosts: tuple[str, ...]
    """Origins of further push services, such as ``https://push.example.org``."""
    package_hosts: frozenset[tuple[str, int]]
    """Hosts and ports where an index keeps files, beside its own."""
    private_hosts: frozenset[tuple[str, int]]
    """Hosts and ports of a private network that the gate lets through where somebody agreed to them."""
    browser_static: bool
    """Pages in agents' browsers may load from well-known hosts of fonts and scripts without a question."""
    runtime: str
    llm_base_url: str
    llm_model: str
    embeddings_base_url: str
    embeddings_model: str
    telegram_operator_id: int | None
    telegram_api_url: str
    telegram_webhook_url: str
    """Where Telegram reaches the dashboard, or empty: then the bots ask for their updates themselves."""
    searxng_url: str
    """The operator's own search engine, or empty."""
    update_url: str
    """Who is asked whether there is a new version; empty: nobody."""
    sleep_after_s: float
    """How long a cubicle is idle before it is stopped; 0 for never."""
    log_format: str
    """``text`` or ``json``."""
    keep: Keep
    rates: Rates
    oidc: OidcSettings
    app_pictures: bool
    """Pictures of web apps are taken."""
    fetch_http: bool
    """Approved downloads may come without encryption too."""
    terminal: bool
    """Operators have terminals in the dashboard."""
    secrets: Secrets

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the dashboard."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def is_in_the_open(self) -> bool:
        """Others on the network reach the dashboard without encryption: passwords can be read on the way."""
        if self.public_url.startswith("https://") or self.host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # a name, which may be any address
            return True

    @property
    def link_url(self) -> str:
        """Where people find the dashboard: in links that leave this machine."""
        return self.public_url or self.url

    @property
    def is_arranged(self) -> bool:
        """They say already who the operator is, or which model answers: nobody needs the first-run page."""
        named = self.admin_user or self.secrets.get("HERMIT_ADMIN_PASSWORD")
        return bool(named or self.llm_base_url or self.secrets.provider_keys())

    @property
    def has_own_bot_server(self) -> bool:
        """Bots are at another Bot API server than Telegram's, which may give tokens of its own form."""
        return self.telegram_api_url != TELEGRAM_API_URL

    @property
    def telegram_webhook_host(self) -> str:
        """The host name of the webhook's address, or empty."""
        return urlsplit(self.telegram_webhook_url).hostname or ""


class Secrets:
    """Values that must reach no log, page or error text."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __repr__(self) -> str:
        return f"<{len(self._values)} secrets>"

    def get(self, name: str) -> str:
        """The secret, or an empty string when it is not set."""
        return self._values.get(name, "")

    def list_values(self) -> set[str]:
        """All of them, for blotting them out."""
        return {value for value in self._values.values() if value}

    def provider_keys(self) -> dict[str, str]:
        """The provider keys that are set, by their setting's name, in order of preference."""
        return self._set_among(PROVIDER_KEYS)

    def search_keys(self) -> dict[str, str]:
        """The keys of search engines that are set, in the order in which they are asked."""
        return self._set_among(SEARCH_SETTINGS)

    def _set_among(self, names: tuple[str, ...]) -> dict[str, str]:
        return {name: self._values[name] for name in names if self._values.get(name)}


def load(environment: Mapping[str, str], root: Path) -> Settings:
    """Read the settings; ``root`` is the program's folder, to which a relative HERMIT_HOME belongs.

    Raises ConfigError that names the setting and what it must be.
    """
    home = (root / Path(environment.get("HERMIT_HOME") or "data").expanduser()).resolve()
    values = {**_read_file(home / "hermit.env"), **{k: v for k, v in environment.items() if k in SETTINGS and v}}
    secret_names = tuple(name for name in SETTINGS if name.endswith(("_PASSWORD", "_TOKEN", "_API_KEY", "_SECRET")))
    for name, value in values.items():
        _check_text(name, value)
    _check_reachable(values)
    return Settings(
        home=home,
        host=values.get("HERMIT_HOST", "127.0.0.1"),
        port=_parse_port(values, "HERMIT_PORT", 3000),
        preview_port=_parse_port(values, "HERMIT_PREVIEW_PORT", 3001),
        public_url=(public := _parse_origin(values, "HERMIT_PUBLIC_URL")),
        preview_url=_preview_origin(values, public),
        admin_user=values.get("HERMIT_ADMIN_USER", ""),
        allowed_hosts=_parse_hosts(values.get("HERMIT_ALLOWED_HOSTS", ""), values.get("HERMIT_HOST", ""))
        | ({urlsplit(public).hostname or ""} - {""}),
        push_hosts=_parse_push_hosts(values),
        package_hosts=_parse_host_ports(values, "HERMIT_PACKAGE_HOSTS"),
        private_hosts=_parse_host_ports(values, "HERMIT_PRIVATE_HOSTS"),
        browser_static=_parse_switch(values, "HERMIT_BROWSER_STATIC_HOSTS", default="1"),
        runtime=values.get("HERMIT_CUBICLE_RUNTIME", ""),
        llm_base_url=_parse_url(values, "HERMIT_LLM_BASE_URL"),
        llm_model=values.get("HERMIT_LLM_MODEL", ""),
        embeddings_base_url=_parse_url(values, "HERMIT_EMBEDDINGS_BASE_URL"),
        embeddings_model=values.get("HERMIT_EMBEDDINGS_MODEL", "").strip(),
        telegram_operator_id=_telegram_id(values, "HERMIT_TELEGRAM_OPERATOR_ID"),
        telegram_api_url=_parse_url(values, "HERMIT_TELEGRAM_API_URL") or TELEGRAM_API_URL,
        telegram_webhook_url=_parse_webhook(values),
        searxng_url=_parse_url(values, "HERMIT_SEARXNG_URL"),
        update_url=_parse_https(values, "HERMIT_UPDATE_URL"),
        sleep_after_s=60.0 * _parse_int(values, "HERMIT_SLEEP_MINUTES", 60, "minutes"),
        log_format=_parse_choice(values, "HERMIT_LOG_FORMAT", "text", "json"),
        keep=_parse_keep(values),
        rates=Rates(
            files_per_minute=_parse_int(values, "HERMIT_FILES_PER_MINUTE", USUAL_RATES.files_per_minute, "files"),
            files_per_day=_parse_int(values, "HERMIT_FILES_PER_DAY", USUAL_RATES.files_per_day, "files"),
            installs_per_hour=_parse_int(values, "HERMIT_INSTALLS_PER_HOUR", USUAL_RATES.installs_per_hour, "requests"),
        ),
        oidc=parse_oidc(values),
        app_pictures=_parse_switch(values, "HERMIT_APP_PICTURES", default="1"),
        fetch_http=_parse_switch(values, "HERMIT_FETCH_HTTP"),
        terminal=_parse_switch(values, "HERMIT_TERMINAL"),
        secrets=Secrets(
            {name: values.get(name, "").strip() for name in secret_names}
            | _parse_indexes(values)
            | _parse_remote_browser(values)
        ),
    )


def _check_reachable(values: Mapping[str, str]) -> None:
    """A provider sends browsers back to one address, which has to be known."""
    host = values.get("HERMIT_HOST", "127.0.0.1")
    host = f"[{host}]" if ":" in host else host
    if values.get("HERMIT_OIDC_ISSUER") and not values.get("HERMIT_PUBLIC_URL") and not may_be_plain(f"//{host}"):
        raise ConfigError(
            "HERMIT_OIDC_ISSUER needs HERMIT_PUBLIC_URL: the address of the dashboard to which it sends people back."
        )


def _read_file(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    values = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ConfigError(f"{path}, line {number}: write NAME=value.")
        if match[1] not in SETTINGS:
            raise ConfigError(f"{path}, line {number}: there is no setting called {match[1]}.")
        values[match[1]] = _strip_quotes(match[2])
    return values


def _strip_quotes(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _parse_port(values: Mapping[str, str], name: str, default: int) -> int:
    text = values.get(name, "").strip() or str(default)
    if not text.isdecimal() or len(text) > 5 or not 1 <= int(text) <= 65535:
        raise ConfigError(f"{name} is {text[:40]!r}; it must be a port number from 1 to 65535.")
    return int(text)


def _parse_keep(values: Mapping[str, str]) -> Keep:
    def days(what: str, default: int = 0) -> int:
        return _parse_int(values, f"HERMIT_KEEP_{what}_DAYS", default, "days")

    return Keep(days("CONVERSATIONS"), days("DETAILS", 365), days("AUDIT"), days("BACKUPS"))


def _parse_choice(values: Mapping[str, str], name: str, *words: str) -> str:
    """One of the words; the first when nothing is said."""
    text = values.get(name, "").strip().lower() or words[0]
    if text not in words:
        raise ConfigError(f"{name} is {text[:40]!r}; it must be {' or '.join(words)}.")
    return text


def _parse_int(values: Mapping[str, str], name: str, default: int, what: str) -> int:
    text = values.get(name, "").strip() or str(default)
    if not text.isdecimal() or len(text) > 6:
        raise ConfigError(f"{name} is {text[:40]!r}; it must be a whole number of {what}, or 0.")
    return int(text)


def _parse_url(values: Mapping[str, str], name: str) -> str:
    text = values.get(name, "").strip().rstrip("/")
    if text and not _is_url(text):
        raise ConfigError(f"{name} is {text!r}; it must be a URL such as https://example.org/v1.")
    return text


def _parse_origin(values: Mapping[str, str], name: str) -> str:
    url = _parse_url(values, name)
    parts = urlsplit(url)
    if url and (parts.path or parts.query or parts.fragment):
        raise ConfigError(
            f"{name} is {url!r}; it must be an address without a path, such as https://hermit.example.org."
        )
    return f"{parts.scheme}://{parts.netloc.lower()}" if url else ""


def _preview_origin(values: Mapping[str, str], public: str) -> str:
    """Another name than the dashboard's: under the same one, an app could act for the dashboard."""
    name = "HERMIT_PREVIEW_URL"
    url = _parse_origin(values, name)
    if url and public and urlsplit(url).hostname == urlsplit(public).hostname:
        raise ConfigError(f"{name} is {url!r}; it must have another host name than HERMIT_PUBLIC_URL.")
    return url


def _parse_indexes(values: Mapping[str, str]) -> dict[str, str]:
    """Secrets, as they may hold a name and a password."""
    return {name: _parse_url(values, name) for name in ("HERMIT_PIP_INDEX_URL", "HERMIT_NPM_REGISTRY")}


def _parse_remote_browser(values: Mapping[str, str]) -> dict[str, str]:
    """A secret, as a service's address holds its key: no message shows it."""
    text = values.get(REMOTE_BROWSER, "").strip()
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("ws", "wss", "http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket or a port that is none
        is_good = False
    if text and (not is_good or "@" in parts.netloc or parts.fragment or len(text) > 2000):
        raise ConfigError(
            f"{REMOTE_BROWSER} can't be used. Write an address such as wss://browser.example.org?token=… or "
            "http://127.0.0.1:9222, without a name or password before the host."
        )
    return {REMOTE_BROWSER: text}


def _parse_https(values: Mapping[str, str], name: str) -> str:
    url = _parse_url(values, name)
    if url and not url.startswith("https:"):
        raise ConfigError(f"{name} is {url!r}; write an https address.")
    return url


def _parse_push_hosts(values: Mapping[str, str]) -> tuple[str, ...]:
    """Whole origins; a bare name means https. Without encryption only on this machine."""
    name, found = "HERMIT_PUSH_HOSTS", []
    for text in filter(None, (part.strip().lower() for part in values.get(name, "").split(","))):
        url = text if "://" in text else f"https://{text}"
        parts = urlsplit(url)
        is_bad = not _is_url(url) or parts.path not in ("", "/") or parts.query or parts.fragment or parts.username
        if is_bad or (parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1")):
            raise ConfigError(f"{name} is {text[:100]!r}; it must list https hosts such as push.example.org.")
        found.append(url.rstrip("/"))
    return tuple(found)


def _parse_host_ports(values: Mapping[str, str], name: str) -> frozenset[tuple[str, int]]:
    """Hosts and ports; a host without a port means those of the web."""
    found: set[tuple[str, int]] = set()
    for text in filter(None, (part.strip().lower() for part in values.get(name, "").split(","))):
        matched = _HOST_PORT.fullmatch(text)
        port = int(matched[2] or 0) if matched else -1
        if matched is None or not 0 <= port <= 65535 or matched[2] == "0":
            raise ConfigError(f"{name} is {text[:100]!r}; it must list hosts such as wiki.lan or nas:8080.")
        host = matched[1].strip("[]")
        found |= {(host, port)} if port else {(host, 80), (host, 443)}
    return frozenset(found)


def _parse_webhook(values: Mapping[str, str]) -> str:
    """Telegram itself posts to https alone; a Bot API server of one's own takes any address."""
    name = "HERMIT_TELEGRAM_WEBHOOK_URL"
    url = _parse_url(values, name)
    if url.startswith("http:") and not values.get("HERMIT_TELEGRAM_API_URL", "").strip():
        raise ConfigError(f"{name} is {url!r}; Telegram posts to https addresses alone.")
    return url


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket or a port that is none
        return False


def _parse_switch(values: Mapping[str, str], name: str, *, default: str = "0") -> bool:
    text = values.get(name, "").strip() or default
    if text not in ("0", "1"):
        raise ConfigError(f"{name} is {text[:40]!r}; it must be 1 or 0.")
    return text == "1"


def _telegram_id(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name, "").strip()
    if text and (not text.isdecimal() or len(text) > 15 or int(text) == 0):
        raise ConfigError(f"{name} must be a number. Write to @userinfobot in Telegram to see yours.")
    return int(text) if text else None


def _check_text(name: str, value: str) -> None:
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in value):
        raise ConfigError(f"{name} holds a control character or bytes that are no UTF-8. Write it anew.")


def _parse_hosts(text: str, host: str) -> frozenset[str]:
    named = {name.strip().lower() for name in text.split(",") if name.strip()}
    bound = {host.lower()} - {"", "0.0.0.0", "::"}  # noqa: S104 - a wildcard is no name
    return frozenset({"localhost", "127.0.0.1", "::1"} | named | bound)
