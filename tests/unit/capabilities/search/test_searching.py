"""Searching the web: engines are asked one after the other, an operator sets them up, agents hear what was found. The
engines are one server on loopback.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.approvals import source_rows
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.search.engines import SearchQuery
from orchestrator.core.errors import BadInput, Forbidden, NotFound, OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.web.fetcher import tls_context
from orchestrator.web.limits import Internet
from orchestrator.web.urls import parse_url
from tests.support.app_fixture import PATIENCE_S, AppFixture, run_app
from tests.support.fake_internet import PUBLIC, FakeInternet, FakeSite, Visit, answer, make_certificate, opened
from tests.unit.capabilities.search.test_engines import ANSWERS, PAGE
from tests.unit.conftest import Api, someone

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")

KEY = CubicleKey("crab", 1)
HOSTS = {"api.search.brave.com": "brave", "api.tavily.com": "tavily", "kagi.com": "kagi", "search.lan": "searxng"}
LAN = "192.168.7.7"


@dataclass
class Engines:
    """The engines, what each does when it is asked, and what it heard."""

    does: dict[str, Callable[[Visit], None]] = field(default_factory=dict)
    heard: list[tuple[str, str]] = field(default_factory=list)

    def serve(self, visit: Visit) -> None:
        """One request."""
        host = next(line[6:] for line in visit.head.split("\r\n") if line.lower().startswith("host: "))
        name = HOSTS[host.partition(":")[0]]
        self.heard.append((name, visit.head))
        if name in self.does:
            self.does[name](visit)
        else:
            visit.send(answer(json.dumps(ANSWERS[name]).encode()))

    def asked(self) -> list[str]:
        """Who was asked, in order; from now on anew."""
        names = [name for name, _ in self.heard]
        self.heard.clear()
        return names


@dataclass
class Town:
    """An install whose way out leads to the engines."""

    install: AppFixture
    engines: Engines
    internet: FakeInternet
    api: Api
    calls: int = 0

    def search(self, words: str = "tea", **fields: Any) -> tuple[str, str, Any]:
        """As the agent does it: how the call ended, its text and its result."""
        self.calls += 1
        calls, name = self.install.app._capabilities.calls, f"c{self.calls}"
        calls.run_command(Caller(KEY, None), name, "SEARCH", {"words": words, **fields})
        call = calls.wait_call(KEY, name, PATIENCE_S)
        return call.status, call.text, call.result

    def put(self, engine: str, **body: str) -> Any:
        """An operator sets one up."""
        return self.api.call("PUT", f"/search-engines/{engine}", body)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """One for all engines."""
    names = ",".join(f"DNS:{host}" for host in HOSTS)
    return make_certificate(tmp_path_factory.mktemp("tls"), names)


@pytest.fixture
def town(tmp_path: Path, certificates: tuple[Path, Any]) -> Iterator[Town]:
    """Nothing is set up yet."""
    path, server = certificates
    engines = Engines()
    with opened(engines.serve, server) as site, opened(engines.serve) as plain:
        internet = FakeInternet({host: [[PUBLIC]] for host in HOSTS}, {PUBLIC: site, LAN: plain})
        internet.names["search.lan"] = [[LAN]]
        with run_app(tmp_path / "home", internet=Internet(internet, tls_context(str(path)))) as install:
            operator = install.services.users.get_operator()
            yield Town(install, engines, internet, someone(install, install.app.dashboard, operator))


def status(code: str) -> Callable[[Visit], None]:
    """Answers so."""
    return sends(answer(b"{}", code))


def sends(data: bytes) -> Callable[[Visit], None]:
    """Answers with these bytes."""

    def serve(visit: Visit) -> None:
        visit.send(data)

    return serve


def test_without_an_engine_it_is_said_who_can_add_one(town: Town) -> None:
    """And nobody is asked."""
    state, text, _ = town.search()
    assert state == "failed"
    assert "The operator can add one in the dashboard" in text
    assert town.internet.connected == []


def test_an_agent_hears_what_was_found(town: Town) -> None:
    """As text and as JSON; the audit log has the words, who was asked and how much came. The key is nowhere."""
    assert town.put("brave", key="brave-secret").status_code == 200
    state, text, result = town.search("green tea", count=1)
    assert state == "done"
    assert text == f"1 result from Brave Search:\n1. A title (2026-01-02)\n   {PAGE}\n   Some words."
    assert result == {
        "engine": "Brave Search",
        "results": [{"title": "A title", "url": PAGE, "snippet": "Some words.", "date": "2026-01-02"}],
    }
    ((_, head),) = town.engines.heard
    assert "q=green%20tea" in head
    assert "X-Subscription-Token: brave-secret" in head
    records = town.install.services.audit.search_records(kind="search.done")
    assert [record.text for record in records] == ["Brave Search was asked for “green tea” and found 1."]
    told = json.dumps(town.api.get("/search-engines"))
    log = json.dumps([record.text + str(record.detail) for record in town.install.services.audit.search_records()])
    assert "brave-secret" not in told + log


def test_what_was_found_is_read_and_its_addresses_are_known(town: Town) -> None:
    """In the conversation of the turn that searched, whole and exact; a search that found nothing let nothing in."""
    town.put("brave", key="b")
    services = town.install.services
    turn = services.turns.submit(KEY, "go", source="test")
    calls = town.install.app._capabilities.calls

    def search(name: str) -> str:
        calls.run_command(Caller(KEY, turn.id), name, "SEARCH", {"words": "tea"})
        return calls.wait_call(KEY, name, PATIENCE_S).status

    town.engines.does["brave"] = sends(answer(b'{"web": {"results": []}}'))
    assert search("none") == "done"
    assert services.conversations.list_sources(turn.conversation) == []
    town.engines.does.clear()
    assert search("some") == "done"
    (source,) = services.conversations.list_sources(turn.conversation)
    assert (source.kind, source.subject, source.turn) == ("search", "Brave Search", turn.id)
    assert source.detail == parse_url(PAGE).host
    with town.install.app._store.reading() as db:
        assert source_rows.has_link(db, turn.id, parse_url(PAGE).url)
        assert not source_rows.has_link(db, turn.id, f"{parse_url(PAGE).url}x")


@pytest.mark.parametrize("code", ["402 Payment Required", "429 Too Many Requests", "500 Oops", "401 No", "301 Moved"])
def test_the_next_one_is_asked(town: Town, code: str) -> None:
    """Where one is exhausted, busy, broken, or wrongly set up; in the order in which they were added."""
    town.put("kagi", key="k")
    town.put("brave", key="b")
    town.engines.does["kagi"] = status(code)
    state, text, _ = town.search()
    assert state == "done"
    assert "from Brave Search" in text
    assert town.engines.asked() == ["kagi", "brave"]


def test_one_that_asks_for_it_is_left_alone(town: Town) -> None:
    """For as long as it says; others answer meanwhile."""
    town.put("kagi", key="k")
    town.put("brave", key="b")

    town.engines.does["kagi"] = sends(b"HTTP/1.1 429 Too Many\r\nRetry-After: 900\r\nContent-Length: 0\r\n\r\n")
    assert town.search()[0] == "done"
    town.engines.does.clear()
    assert town.search()[0] == "done"
    assert town.engines.asked() == ["kagi", "brave", "brave"]


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"\xff", b'{"a": NaN}', b'{"web": ' + b"[" * 500 + b"]" * 500 + b"}", b"x" * (3 << 20)],
)
def test_an_answer_that_is_none_is_said(town: Town, body: bytes) -> None:
    """And costs nothing but that search."""
    town.put("brave", key="b")
    town.engines.does["brave"] = sends(answer(body))
    state, text, _ = town.search()
    assert state == "failed"
    assert text.startswith("Nothing was searched.")
    town.engines.does.clear()
    assert town.search()[0] == "done"


def test_the_reasons_of_all_are_told(town: Town) -> None:
    """When none answers, each with what can be done about it."""
    town.put("tavily", key="t")
    town.put("searxng", key="http://search.lan:8888")
    town.engines.does["tavily"] = status("401 Unauthorized")
    town.engines.does["searxng"] = status("403 Forbidden")
    state, text, _ = town.search()
    assert state == "failed"
    assert "Tavily refuses the key (status 401)." in text
    assert "add json to search.formats" in text


def test_ones_own_server_may_stand_in_the_house(town: Town) -> None:
    """Without encryption and at any port, as the operator named it; a known engine never may."""
    town.put("searxng", base_url="http://search.lan:8888/")
    assert town.search()[0] == "done"
    assert town.internet.connected == [(LAN, 8888)]
    assert town.api.call("DELETE", "/search-engines/searxng").status_code == 204
    town.put("brave", key="b")
    town.internet.names["api.search.brave.com"] = [[LAN]]
    state, text, _ = town.search()
    assert state == "failed"
    assert "inside a private network" in text
    assert town.engines.asked() == ["searxng"]


def test_settings_come_first(tmp_path: Path, certificates: tuple[Path, Any]) -> None:
    """In the order of the table; what they give can't be changed here."""
    environment = {"KAGI_API_KEY": "k", "HERMIT_SEARXNG_URL": "http://search.lan:8888"}
    path, server = certificates
    engines = Engines()
    with opened(engines.serve, server) as site, opened(engines.serve) as plain:
        names = {host: [[PUBLIC]] for host in HOSTS} | {"search.lan": [[LAN]]}
        internet = Internet(FakeInternet(names, {PUBLIC: site, LAN: plain}), tls_context(str(path)))
        with run_app(tmp_path / "home", internet=internet, environment=environment) as install:
            known = install.services.search_engines
            known.save_key("brave", "b", "", by="ada")
            states = {state.name: (state.place, state.origin) for state in known.list_engines() if state.place}
            assert states == {"searxng": (1, "settings"), "kagi": (2, "settings"), "brave": (3, "dashboard")}
            with pytest.raises(OrchestratorError, match="KAGI_API_KEY in the environment"):
                known.save_key("kagi", "other", "", by="ada")
            with pytest.raises(NotFound):
                known.remove_key("kagi", by="ada")


def test_what_was_set_up_outlives_a_restart(tmp_path: Path) -> None:
    """In a file that its owner alone can read."""
    with run_app(tmp_path / "home") as install:
        install.services.search_engines.save_key("exa", "exa-key", "", by="ada")
    with run_app(tmp_path / "home") as install:
        assert install.services.search_engines.get_state("exa").place == 1
        assert install.services.search_engines.list_setups()[0].key == "exa-key"
        file = tmp_path / "home" / "keys" / "search.json"
        assert file.stat().st_mode & 0o777 == 0o600
        install.services.search_engines.remove_key("exa", by="ada")
        assert install.services.search_engines.list_setups() == []


@pytest.mark.parametrize(
    ("engine", "body", "said"),
    [
        ("brave", {"key": ""}, "key: paste the key"),
        ("brave", {"key": "two words"}, "key: paste the key"),
        ("brave", {"key": "k\r\nX: y"}, "key"),
        ("brave", {"key": "k" * 501}, "key: paste the key"),
        ("brave", {"key": "k", "base_url": "https://evil.example"}, "base_url: leave it out"),
        ("brave", {"kee": "k"}, "kee"),
        ("searxng", {"base_url": "search.lan"}, "base_url: write the server's address"),
        ("searxng", {"base_url": "ftp://search.lan"}, "base_url: write the server's address"),
        ("searxng", {"base_url": "http://search.lan/?q=x"}, "base_url: write the server's address"),
        ("searxng", {"base_url": "http://a:b@search.lan"}, "base_url: write the server's address"),
        ("searxng", {"base_url": "http://search.lan:99999999"}, "base_url: write the server's address"),
        ("nothing", {"key": "k"}, "There is no search engine"),
    ],
)
def test_what_is_wrong_is_said_by_field(town: Town, engine: str, body: dict[str, str], said: str) -> None:
    """And nothing has changed."""
    status_code, message = town.api.refused("PUT", f"/search-engines/{engine}", body)
    assert status_code in (400, 404)
    assert said in message
    assert all(state.place == 0 for state in town.install.services.search_engines.list_engines())


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"count": 0}, "count must be"), ({"count": 21}, "count: ask for 1 to 20"), ({"words": "語" * 401}, "words"),
     ({"words": "語" * 399 + "é" * 4}, "words"), ({"words": ""}, "words"), ({"words": "a\nb"}, "words")],
)  # fmt: skip
def test_an_agent_that_asks_wrongly_hears_why(town: Town, fields: dict[str, Any], said: str) -> None:
    """Before anything leaves."""
    town.put("brave", key="b")
    with pytest.raises(BadInput, match=said):
        town.search(**{"words": "tea", **fields})
    assert town.engines.heard == []


def test_an_agent_without_the_toolset_has_no_search(town: Town) -> None:
    """Nor a line about it in its prompt."""
    town.put("brave", key="b")
    agents = town.install.services.agents
    agents.update_agent("crab", {"toolsets": ["memory"]})
    with pytest.raises(OrchestratorError):
        town.search()
    assert town.engines.heard == []


def test_each_can_be_tried(town: Town) -> None:
    """With a key that isn't kept, or as it is set up; why it failed is said."""
    tried = town.api.post("/search-engines/kagi/test", {"key": "k"})
    assert tried == {"ok": True, "message": f"Kagi works: a search for “weather” found {PAGE}."}
    assert town.install.services.search_engines.list_setups() == []
    assert town.api.refused("POST", "/search-engines/kagi/test", {})[0] == 409
    town.put("kagi", key="k")
    town.engines.does["kagi"] = status("402 Pay")
    assert town.api.post("/search-engines/kagi/test", {}) == {
        "ok": False,
        "message": "Kagi wants to be paid: its credit is used up (status 402).",
    }


def test_a_redirect_is_not_followed(town: Town) -> None:
    """The words and the key go where the operator meant them, and nowhere else."""
    town.put("brave", key="b")

    away = b"HTTP/1.1 302 Found\r\nLocation: https://kagi.com/steal\r\nContent-Length: 0\r\n\r\n"
    town.engines.does["brave"] = sends(away)
    assert town.search()[0] == "failed"
    assert town.engines.asked() == ["brave"]


def test_an_engine_that_is_away_is_said(town: Town, certificates: tuple[Path, Any]) -> None:
    """Nobody at its address, or somebody with another certificate."""
    town.put("brave", key="b")
    town.internet.names["api.search.brave.com"] = [["93.184.215.99"]]
    assert "could not be reached" in town.search()[1]
    with opened(town.engines.serve, None) as site:
        assert isinstance(site, FakeSite)
        town.internet.sites["93.184.215.99"] = site
        assert "does not answer over an encrypted connection" in town.search()[1]
    assert town.engines.heard == []


def test_a_private_address_for_a_known_engine_is_forbidden(town: Town) -> None:
    """Also when an operator tries it out."""
    town.internet.names["kagi.com"] = [["127.0.0.1"]]
    setup = town.install.services.search_engines.make_candidate("kagi", "k", "")
    with pytest.raises(Forbidden):
        town.install.services.search_chain.ask_engine(setup, SearchQuery("tea", 1))
