"""Providers that are given while the install runs: which of them answers, what comes first, and where keys lie."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.agents.install_settings import InstallSettings
from orchestrator.cli.context import read_context
from orchestrator.cli.providers import with_own
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, ConfigError, Conflict, NotFound
from orchestrator.core.models import Upstream
from orchestrator.llm.key_store import KeyStore, OwnKey
from orchestrator.llm.pricing import load_prices, price_of
from orchestrator.llm.providers import Providers
from orchestrator.llm.upstreams.catalog import KEY_SETTINGS, LABELS, PRESETS, build_own
from orchestrator.llm.upstreams.rehearsal import Rehearsal
from orchestrator.llm.upstreams.shortlist import SHORTLIST

KEY = "sk-a-key-that-nobody-may-see-1234567890"


@dataclass
class Fixture:
    """Providers on a database and a file of their own."""

    store: Store
    folder: Path
    blotted: list[str] = field(default_factory=list)

    def providers(
        self, given: dict[str, Upstream] | None = None, default: str = "rehearsal", ollama_url: str = ""
    ) -> Providers:
        """As at a start."""
        return Providers(
            {"rehearsal": Rehearsal(), **(given or {})},
            default,
            KeyStore(self.folder / "providers.json"),
            InstallSettings(self.store),
            build=build_own,
            blot=self.blotted.append,
            ollama_url=ollama_url,
        )


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """Nothing given yet."""
    store = Store(tmp_path / "hermit.db")
    yield Fixture(store, tmp_path)
    store.close()


def test_everybody_with_a_key_has_a_name() -> None:
    """What can be chosen is what the catalog knows."""
    assert set(KEY_SETTINGS) == {preset.name for preset in PRESETS} | {"custom"}
    assert set(KEY_SETTINGS) < set(LABELS)


def test_an_ollama_that_does_not_run_is_missing(fixture: Fixture) -> None:
    """It can be chosen without a key, so whoever looks is told; of others nobody asks."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        providers = fixture.providers({"ollama": Rehearsal()}, ollama_url=url)
        assert not providers.is_missing("ollama")
    assert providers.is_missing("ollama")
    assert not providers.is_missing("rehearsal")
    assert not fixture.providers(ollama_url=url).is_missing("ollama")


def test_a_key_that_is_given_holds_at_once_and_after_a_start(fixture: Fixture) -> None:
    """It makes its provider usable and the default one; in the file, and in nobody's text."""
    providers = fixture.providers()
    assert (providers.default(), "openai" in providers) == ("rehearsal", False)
    state = providers.set_key("openai", f" {KEY}\n", "", by="ada")
    assert (state.origin, state.is_default, state.is_usable) == ("dashboard", True, True)
    file = fixture.folder / "providers.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text(encoding="utf-8"))["openai"]["key"] == KEY
    assert KEY not in repr(OwnKey(KEY))
    again = fixture.providers()
    assert again.default() == "openai"
    assert KEY in fixture.blotted
    again.remove_key("openai", by="ada")
    assert (again.default(), "openai" in again, KEY in file.read_text(encoding="utf-8")) == ("rehearsal", False, False)
    with pytest.raises(NotFound, match="No key of OpenAI"):
        again.remove_key("openai", by="ada")


def test_the_audit_log_names_the_provider_and_never_the_key(fixture: Fixture) -> None:
    """Set, replaced, removed; and no file beside the key's own holds it."""
    providers = fixture.providers()
    providers.set_key("groq", KEY, "", by="ada")
    providers.set_key("groq", KEY + "2", "", by="ada")
    providers.remove_key("groq", by="ada")
    with fixture.store.reading() as db:
        said = [
            row.text
            for row in audit_rows.search_records(db, words="", agent=None, kind="provider.key", before=None, limit=9)
        ]
    assert said == [f"The key of Groq was {done}. By ada." for done in ("removed", "replaced", "set")]
    fixture.store.close()
    for path in fixture.folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_what_the_settings_say_comes_first(fixture: Fixture) -> None:
    """A key here is refused where the settings have one, and an older one here rests."""
    fixture.providers().set_key("openai", KEY, "", by="ada")
    given = build_own("openai", "sk-of-the-environment-1")
    providers = fixture.providers({"openai": given}, default="openai")
    assert providers["openai"] is given
    assert providers.get_state("openai").origin == "settings"
    with pytest.raises(Conflict, match="OpenAI is set by OPENAI_API_KEY in the environment"):
        providers.set_key("openai", KEY, "", by="ada")
    providers.set_key("groq", KEY, "", by="ada")
    assert providers.default() == "openai"
    providers.choose_default("groq", by="ada")
    assert (providers.default(), fixture.providers({"openai": given}, default="openai").default()) == ("groq", "groq")
    providers.choose_default("", by="ada")
    assert providers.default() == "openai"


def test_a_model_that_is_chosen_is_asked_for(fixture: Fixture) -> None:
    """Until the choice is taken back; a server elsewhere begins again."""
    providers = fixture.providers()
    providers.set_key("custom", "", "http://127.0.0.1:9/v1", by="ada")
    assert providers["custom"].default_model == ""
    providers.choose_model("custom", " qwen3 ", by="ada")
    assert (providers["custom"].default_model, fixture.providers()["custom"].default_model) == ("qwen3", "qwen3")
    providers.set_key("custom", "", "http://127.0.0.1:8/v1", by="ada")
    assert providers["custom"].default_model == ""
    providers.set_key("mistral", KEY, "", by="ada")
    first = providers["mistral"].default_model
    providers.choose_model("mistral", "another", by="ada")
    providers.choose_model("mistral", "", by="ada")
    assert providers["mistral"].default_model == first


def test_a_model_of_the_settings_stays(fixture: Fixture) -> None:
    """HERMIT_LLM_MODEL comes first; a custom server without one may be given one."""
    fixed = build_own("custom", "", "http://127.0.0.1:9/v1")
    fixed.default_model = "theirs"
    providers = fixture.providers({"custom": fixed}, default="custom")
    with pytest.raises(Conflict, match="HERMIT_LLM_MODEL"):
        providers.choose_model("custom", "mine", by="ada")
    free = fixture.providers({"custom": build_own("custom", "", "http://127.0.0.1:9/v1")}, default="custom")
    free.choose_model("custom", "mine", by="ada")
    assert free["custom"].default_model == "mine"


@pytest.mark.parametrize(
    ("name", "key", "base_url", "said"),
    [
        ("openai", "", "", "key: paste the key"),
        ("openai", "two words", "", "The key is not a usable key"),
        ("openai", KEY, "http://127.0.0.1/v1", "its address is known"),
        ("custom", KEY, "", "base_url: write the server's address"),
        ("custom", KEY, "ftp://127.0.0.1", "must look like"),
        ("custom", KEY, "http://u:p@127.0.0.1/v1", "holds a password"),
        ("rehearsal", KEY, "", "Built-in demo takes no key"),
    ],
)
def test_what_is_no_use_is_refused_and_nothing_kept(
    fixture: Fixture, name: str, key: str, base_url: str, said: str
) -> None:
    """With a sentence that says what to write, without the key."""
    providers = fixture.providers()
    with pytest.raises(BadInput, match=said) as refused:
        providers.set_key(name, key, base_url, by="ada")
    assert KEY not in refused.value.message
    assert not (fixture.folder / "providers.json").exists()


def test_unknown_names_and_models_are_refused(fixture: Fixture) -> None:
    """None of them changes anything."""
    providers = fixture.providers()
    for deed in (
        lambda: providers.set_key("nobody", KEY, "", by="ada"),
        lambda: providers.choose_default("openai", by="ada"),
        lambda: providers.choose_model("rehearsal", "x", by="ada"),
        lambda: providers.choose_model("openai", "x" * 201, by="ada"),
    ):
        with pytest.raises((NotFound, BadInput)):
            deed()
    assert InstallSettings(fixture.store).list_settings() == {}


def test_a_file_that_is_broken_stops_the_start_and_is_not_quoted(fixture: Fixture) -> None:
    """Rather than lose keys by writing over them."""
    (fixture.folder / "providers.json").write_text('{"openai": "sk-half', encoding="utf-8")
    with pytest.raises(ConfigError, match="give the keys again") as refused:
        fixture.providers()
    assert "sk-half" not in refused.value.message


def test_the_doctor_knows_the_keys_that_were_given_here(tmp_path: Path) -> None:
    """Beside those of the settings, which come first."""
    (tmp_path / "keys").mkdir()
    KeyStore(tmp_path / "keys" / "providers.json").save_key("openai", OwnKey(KEY))
    for environment, default in (({}, "openai"), ({"GROQ_API_KEY": "gsk-of-the-environment"}, "groq")):
        upstreams, chosen = with_own(read_context({"HERMIT_HOME": str(tmp_path), **environment}))
        assert (chosen, "openai" in upstreams) == (default, True)


def test_suggestions_begin_with_what_is_asked_when_nothing_is_chosen() -> None:
    """And each has a known price: a list without one helps nobody to choose."""
    assert set(SHORTLIST) == {preset.name for preset in PRESETS}
    table = load_prices()
    for preset in PRESETS:
        models = SHORTLIST[preset.name]
        assert models[0].name == preset.default_model
        for model in models:
            assert price_of(preset.name, model.name, table).known, model.name


def test_a_model_chosen_for_a_key_that_is_gone_is_still_told(fixture: Fixture) -> None:
    """It counts again with the next key, so the page says so before."""
    providers = fixture.providers()
    providers.set_key("openai", KEY, "", by="ada")
    providers.choose_model("openai", "gpt-6-luna", by="ada")
    providers.remove_key("openai", by="ada")
    assert providers.get_state("openai").model == "gpt-6-luna"
    providers.set_key("openai", KEY, "", by="ada")
    assert providers["openai"].default_model == "gpt-6-luna"
