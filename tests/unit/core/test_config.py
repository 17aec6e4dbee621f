"""``orchestrator.core.config``: settings are read once, and a wrong one is named with its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.core.config import PROVIDER_KEYS, REMOTE_BROWSER, SETTINGS, Settings, load
from orchestrator.core.errors import ConfigError


def _load(tmp_path: Path, file: str | bytes = "", **environment: str) -> Settings:
    (tmp_path / "hermit.env").write_bytes(file if isinstance(file, bytes) else file.encode())
    return load({"HERMIT_HOME": str(tmp_path), **environment}, tmp_path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, False),
        ({"HERMIT_HOST": "127.0.0.2"}, False),
        ({"HERMIT_HOST": "::1"}, False),
        ({"HERMIT_HOST": "localhost"}, False),
        ({"HERMIT_HOST": "0.0.0.0"}, True),
        ({"HERMIT_HOST": "::"}, True),
        ({"HERMIT_HOST": "192.168.1.5"}, True),
        ({"HERMIT_HOST": "0.0.0.0", "HERMIT_PUBLIC_URL": "https://hermit.example"}, False),
        ({"HERMIT_HOST": "0.0.0.0", "HERMIT_PUBLIC_URL": "http://hermit.example"}, True),
    ],
)
def test_whether_others_can_listen_in(tmp_path: Path, given: dict[str, str], expected: object) -> None:
    """Anything but this machine itself, unless people come by way of https."""
    assert load(given, tmp_path).is_in_the_open is expected


def test_defaults(tmp_path: Path) -> None:
    """Without any setting it listens on this machine alone."""
    settings = load({}, tmp_path)
    assert (settings.home, settings.host, settings.port, settings.preview_port) == (
        tmp_path / "data",
        "127.0.0.1",
        3000,
        3001,
    )
    assert settings.url == "http://127.0.0.1:3000"
    assert settings.allowed_hosts == {"localhost", "127.0.0.1", "::1"}
    assert settings.telegram_operator_id is None
    assert settings.secrets.provider_keys() == {}


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    """Name by name; an empty variable is no setting."""
    settings = _load(tmp_path, "HERMIT_PORT=4000\nHERMIT_HOST=::1\n", HERMIT_PORT="5000", HERMIT_HOST="", OTHER="x")
    assert (settings.port, settings.host, settings.url) == (5000, "::1", "http://[::1]:5000")


def test_the_file_may_be_written_in_the_usual_ways(tmp_path: Path) -> None:
    """Comments, quotes, export, blanks, a byte order mark and Windows line ends."""
    text = (
        "\ufeff# mine\r\n\r\n export HERMIT_ADMIN_USER = \"ada l\"\r\nHERMIT_LLM_MODEL='m=1'\r\nHERMIT_HOST=0.0.0.0\r\n"
    )
    settings = _load(tmp_path, text)
    assert (settings.admin_user, settings.llm_model, settings.url) == ("ada l", "m=1", "http://127.0.0.1:3000")


WRONG = {
    "no setting": ("# a\nnonsense\n", "line 2"),
    "an unknown name": ("\n\nHERMIT_PROT=1\n", "line 3: there is no setting called HERMIT_PROT"),
    "no UTF-8": (b"HERMIT_HOST=\xff\n", "cannot be read"),
    "a port beyond ports": ("HERMIT_PORT=65536", "HERMIT_PORT"),
    "port 0": ("HERMIT_PORT=0", "HERMIT_PORT"),
    "a port in words": ("HERMIT_PORT=http", "HERMIT_PORT"),
    "a port of 5,000 digits": ("HERMIT_PORT=" + "9" * 5_000, "HERMIT_PORT"),
    "a negative port": ("HERMIT_PREVIEW_PORT=-1", "HERMIT_PREVIEW_PORT"),
    "no URL": ("HERMIT_LLM_BASE_URL=localhost:8080", "HERMIT_LLM_BASE_URL"),
    "a URL without a host": ("HERMIT_LLM_BASE_URL=http://", "HERMIT_LLM_BASE_URL"),
    "a broken bracket": ("HERMIT_LLM_BASE_URL=http://[::1", "HERMIT_LLM_BASE_URL"),
    "a port that is none": ("HERMIT_LLM_BASE_URL=http://a:99999", "HERMIT_LLM_BASE_URL"),
    "a file URL": ("HERMIT_TELEGRAM_API_URL=file:///etc/passwd", "HERMIT_TELEGRAM_API_URL"),
    "a name as Telegram id": ("HERMIT_TELEGRAM_OPERATOR_ID=@ada", "HERMIT_TELEGRAM_OPERATOR_ID"),
    "an endless Telegram id": ("HERMIT_TELEGRAM_OPERATOR_ID=" + "9" * 5_000, "HERMIT_TELEGRAM_OPERATOR_ID"),
    "a webhook without https": ("HERMIT_TELEGRAM_WEBHOOK_URL=http://crab.example", "https addresses alone"),
    "a control character": ("HERMIT_ADMIN_USER=a\x1bb", "HERMIT_ADMIN_USER"),
    "a format of the log that is none": ("HERMIT_LOG_FORMAT=xml", "HERMIT_LOG_FORMAT"),
    "days in words": ("HERMIT_KEEP_AUDIT_DAYS=ever", "HERMIT_KEEP_AUDIT_DAYS"),
    "files in words": ("HERMIT_FILES_PER_DAY=many", "HERMIT_FILES_PER_DAY"),
    "minutes in words": ("HERMIT_SLEEP_MINUTES=soon", "HERMIT_SLEEP_MINUTES"),
    "a switch half way": ("HERMIT_FETCH_HTTP=perhaps", "HERMIT_FETCH_HTTP"),
}


@pytest.mark.parametrize(("file", "named"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_named(tmp_path: Path, file: str | bytes, named: str) -> None:
    """The file's line, or the setting."""
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, file)
    assert named in refused.value.message


def test_bytes_in_the_environment_that_are_no_text_are_named(tmp_path: Path) -> None:
    """As Python hands them over."""
    with pytest.raises(ConfigError, match="HERMIT_ADMIN_USER"):
        _load(tmp_path, HERMIT_ADMIN_USER="a\udcff")


def test_the_webhook_and_its_host(tmp_path: Path) -> None:
    """None unless it is set; a Bot API server of one's own may post by plain HTTP."""
    assert _load(tmp_path).telegram_webhook_host == ""
    settings = _load(tmp_path, HERMIT_TELEGRAM_WEBHOOK_URL="https://Crab.Example:8443/")
    assert (settings.telegram_webhook_url, settings.telegram_webhook_host) == (
        "https://Crab.Example:8443",
        "crab.example",
    )
    own = {"HERMIT_TELEGRAM_API_URL": "http://127.0.0.1:1", "HERMIT_TELEGRAM_WEBHOOK_URL": "http://127.0.0.1:2"}
    assert _load(tmp_path, **own).telegram_webhook_host == "127.0.0.1"


def test_secrets_do_not_show(tmp_path: Path) -> None:
    """Neither in the settings' repr nor in that of the bundle."""
    settings = _load(tmp_path, OPENAI_API_KEY="sk-secret-1", HERMIT_ADMIN_PASSWORD="secret-2", GROQ_API_KEY="secret-3 ")
    assert "secret" not in repr(settings).replace("secrets", "")
    assert settings.secrets.get("GROQ_API_KEY") == "secret-3"
    assert settings.secrets.get("XAI_API_KEY") == ""
    assert settings.secrets.list_values() == {"sk-secret-1", "secret-2", "secret-3"}
    assert list(settings.secrets.provider_keys()) == ["OPENAI_API_KEY", "GROQ_API_KEY"]


def test_every_setting_has_a_help_text() -> None:
    """And no key of a provider is missing among them."""
    assert all(SETTINGS.values())
    assert len(PROVIDER_KEYS) == 8


def test_plain_http_is_a_choice(tmp_path: Path) -> None:
    """Off unless somebody switches it on."""
    chosen = {said: _load(tmp_path, HERMIT_FETCH_HTTP=said).fetch_http for said in ("", "0", "1")}
    assert chosen == {"": False, "0": False, "1": True}


def test_allowed_hosts(tmp_path: Path) -> None:
    """Names are small letters; a wildcard address is no name, another one is."""
    settings = _load(tmp_path, HERMIT_ALLOWED_HOSTS=" Crab.Example, ,10.0.0.7", HERMIT_HOST="192.168.1.5")
    assert settings.allowed_hosts == {"localhost", "127.0.0.1", "::1", "crab.example", "10.0.0.7", "192.168.1.5"}
    assert "0.0.0.0" not in _load(tmp_path, HERMIT_HOST="0.0.0.0").allowed_hosts


@pytest.mark.parametrize("name", ["HERMIT_PACKAGE_HOSTS", "HERMIT_PRIVATE_HOSTS"])
def test_hosts_with_or_without_a_port(tmp_path: Path, name: str) -> None:
    """A host alone means the ports of the web; addresses may be named too."""
    given = {"HERMIT_HOME": str(tmp_path), name: " Wiki.LAN, nas:8080,10.0.0.5, [fd00::1]:443 "}
    settings = load(given, tmp_path)
    found = settings.package_hosts if name == "HERMIT_PACKAGE_HOSTS" else settings.private_hosts
    assert found == {
        *(("wiki.lan", 80), ("wiki.lan", 443), ("nas", 8080)),
        *(("10.0.0.5", 80), ("10.0.0.5", 443), ("fd00::1", 443)),
    }


@pytest.mark.parametrize(
    "text", ["https://wiki.lan", "wiki.lan/x", "a b", "nas:", "nas:0", "nas:99999", "me@nas", "*.lan", "-x"]
)
def test_what_is_no_host(tmp_path: Path, text: str) -> None:
    """The error names the setting and shows how hosts are written."""
    with pytest.raises(ConfigError, match=r"HERMIT_PRIVATE_HOSTS is .* such as wiki\.lan or nas:8080"):
        load({"HERMIT_HOME": str(tmp_path), "HERMIT_PRIVATE_HOSTS": text}, tmp_path)


@pytest.mark.parametrize(
    "url", ["wss://connect.example.org?apiKey=k", "ws://10.0.0.5:9222/devtools/browser/k", "http://[::1]:9222", ""]
)
def test_a_remote_browser(tmp_path: Path, url: str) -> None:
    """Its address is a secret, as a key may be in it."""
    settings = _load(tmp_path, HERMIT_BROWSER_CDP_URL=url)
    assert settings.secrets.get(REMOTE_BROWSER) == url
    assert (url in settings.secrets.list_values()) is bool(url)
    assert not url or url not in repr(settings)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://k.example",
        "wss:///nowhere",
        "wss://name:k@b.example",
        "http://b.example#k",
        "ws://b.example:0/k",
        "just a word",
    ],
)
def test_what_is_no_remote_browser(tmp_path: Path, url: str) -> None:
    """It is named without what it holds."""
    with pytest.raises(ConfigError, match="HERMIT_BROWSER_CDP_URL") as caught:
        _load(tmp_path, HERMIT_BROWSER_CDP_URL=url)
    assert url not in str(caught.value)
