"""Terminals: who may have one, what they take and show, and what ends them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dashboard.api.openapi import build_document
from dashboard.api.terminal import _output_stream
from dashboard.app import create_app
from orchestrator.apps.terminals import output_buffer as screens
from orchestrator.apps.terminals.output_buffer import OutputPace, Screen
from orchestrator.apps.terminals.terminal import Opener, Terminal
from orchestrator.apps.terminals.terminals import IDLE_S, LOST_S, MOST, Terminals
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.tty import MARK, Size
from tests.support.app_fixture import AppFixture, run_app
from tests.support.fake_ttys import ScriptedTty, ScriptedTtys
from tests.support.real_app import eventually
from tests.unit.conftest import OWN_ORIGIN, Browser, logged_in

WITH_TERMINALS = {"HERMIT_TERMINAL": "1"}
CRAB = CubicleKey("crab", 1)
PATH = "/api/agents/crab/terminals"


@pytest.fixture(scope="module")
def all_lines() -> ScriptedTtys:
    """What shells of the shared install print and take."""
    return ScriptedTtys()


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory, all_lines: ScriptedTtys) -> Iterator[AppFixture]:
    """An install with terminals, for all tests that leave it standing."""
    with run_app(tmp_path_factory.mktemp("install"), environment=WITH_TERMINALS, crabs=False, lines=all_lines) as made:
        yield made


@pytest.fixture
def lines(install: AppFixture, all_lines: ScriptedTtys) -> Iterator[ScriptedTtys]:
    """The same, of one test alone."""
    all_lines.lines, all_lines.hung_up, all_lines.is_broken = [], [], False
    yield all_lines
    all_lines.is_broken = False
    for terminal in install.services.terminals._list_all():
        install.services.terminals.end_terminal(terminal, "The test is over.")


@pytest.fixture
def key(install: AppFixture, lines: ScriptedTtys) -> CubicleKey:
    """A cubicle of an agent that no other test has."""
    name = f"a{len(install.services.agents.list_agents())}"
    return CubicleKey(install.services.agents.create({"name": name}).name, 1)


@pytest.fixture
def terminals(install: AppFixture) -> Terminals:
    """Its terminals."""
    return install.services.terminals


@pytest.fixture
def web(install: AppFixture) -> Flask:
    """Its dashboard."""
    return create_app(install.services)


@pytest.fixture
def ada(install: AppFixture, web: Flask) -> Browser:
    """The operator in a browser."""
    return logged_in(install, web, install.services.users.get_operator())


def opened(install: AppFixture, key: CubicleKey, *, is_welcome: bool = True) -> Terminal:
    """A terminal of somebody."""
    opener = Opener(install.services.users.get_operator(), "login", lambda: is_welcome)
    return install.services.terminals.open_terminal(key, opener, Size(80, 24))


def audited(install: AppFixture, kind: str, key: CubicleKey | None = None) -> list[Any]:
    """What the audit log says of terminals."""
    return install.services.audit.search_records(kind=f"terminal.{kind}", agent=key.agent if key else None)


def delete(who: Browser, path: str) -> int:
    """A call as our own script makes it; its status."""
    return who.client.delete(path, headers={"Origin": OWN_ORIGIN, "X-CSRF-Token": who.csrf}).status_code


# --- what is shown ---------------------------------------------------------------------------------------------


def test_a_page_gets_what_it_has_not_taken_from_where_it_is() -> None:
    """In pieces, again and again until it says that it has it."""
    screen = Screen()
    assert screen.append_output(b"hello ")
    assert screen.append_output(b"world")
    assert (screen.read_after(0, 0), screen.read_after(6, 0), screen.read_after(11, 0)) == (
        b"hello world",
        b"world",
        b"",
    )
    screen.confirm_taken(6)
    assert screen.read_after(6, 0) == b"world"
    for place in (0, 5, 12):
        with pytest.raises(BadInput):
            screen.read_after(place, 0)
    with pytest.raises(BadInput):
        screen.confirm_taken(12)
    screen.close()
    assert (screen.read_after(6, 9), screen.read_after(11, 9), screen.append_output(b"more")) == (b"world", None, False)


def test_who_prints_waits_for_a_page_that_is_behind() -> None:
    """Until it has taken something, or has gone."""
    screen, printed = Screen(), list[int]()
    piece = bytes(screens.PIECE_BYTES)

    def flood() -> None:
        while screen.append_output(piece):
            printed.append(1)

    thread = threading.Thread(target=flood)
    thread.start()
    most = screens.WINDOW_BYTES // screens.PIECE_BYTES
    eventually(lambda: len(printed) == most)
    screen.confirm_taken(screens.PIECE_BYTES)
    eventually(lambda: len(printed) == most + 1)
    assert len(screen.read_after(screens.PIECE_BYTES, 0) or b"") == screens.PIECE_BYTES
    screen.close()
    thread.join()
    assert len(printed) == most + 1


def test_a_flood_is_slowed_down_and_a_page_of_text_is_not() -> None:
    """As much as anybody reads comes at once."""
    pace = OutputPace()
    assert pace.delay_for(screens.BURST_BYTES // 2) == 0
    assert 3 < pace.delay_for(screens.BURST_BYTES // 2 + 4 * screens.RATE) <= 4


# --- what is typed ---------------------------------------------------------------------------------------------


def test_what_is_typed_arrives_once_and_in_order(install: AppFixture, key: CubicleKey, lines: ScriptedTtys) -> None:
    """A piece sent twice is typed once, and none is skipped."""
    terminal = opened(install, key)
    terminal.type_text(1, "ec")
    terminal.type_text(1, "ec")
    terminal.type_text(2, "ho ü\n")
    with pytest.raises(Conflict):
        terminal.type_text(4, "rm -rf .\n")
    with pytest.raises(BadInput):
        terminal.type_text(3, "x" * (64 * 1024 + 1))
    assert lines.lines[0].typed == "echo ü\n".encode()
    terminal.resize(Size(100, 30))
    assert lines.lines[0].sizes == [Size(80, 24), Size(100, 30)]


@pytest.mark.parametrize(("columns", "rows"), [(0, 24), (80, 0), (1001, 24), (80, 1001)])
def test_a_window_has_a_size(columns: int, rows: int) -> None:
    """Neither none nor a size that would cost memory."""
    with pytest.raises(BadInput):
        Size(columns, rows)


def test_the_shell_knows_its_terminal_and_the_zone(install: AppFixture, key: CubicleKey, lines: ScriptedTtys) -> None:
    """The mark is how everything that it starts is found again."""
    terminal = opened(install, key)
    assert lines.lines[0].environment == {MARK: terminal.id, "TZ": "UTC"}


# --- what ends one ---------------------------------------------------------------------------------------------


def test_closing_ends_what_runs_inside_and_is_written_down(
    install: AppFixture, key: CubicleKey, lines: ScriptedTtys
) -> None:
    """With who, how long and how much, and nothing of what."""
    terminal = opened(install, key)
    lines.lines[0].say(b"secret output")
    eventually(lambda: terminal.bytes_out)
    terminal.type_text(1, "secret input")
    install.services.terminals.end_terminal(terminal, "Its page was closed.")
    install.services.terminals.end_terminal(terminal, "Its page was closed.")
    assert lines.hung_up == [(install.services.cubicles.container_name(key), terminal.id)]
    assert lines.lines[0].is_closed
    (begun,), (done,) = audited(install, "opened", key), audited(install, "closed", key)
    assert begun.text == f"ada opened a terminal in the cubicle of {key.agent}."
    assert (done.detail["bytes_in"], done.detail["bytes_out"]) == (12, 13)
    assert "secret" not in json.dumps([begun.text, done.text, done.detail])
    with pytest.raises(NotFound, match="page was closed"):
        terminal.type_text(2, "more")


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("login", "The login that opened it has ended."),
        ("idle", "Nobody typed for 15 minutes."),
        ("lost", "Its page was closed."),
    ],
)
def test_its_time_comes(install: AppFixture, key: CubicleKey, what: str, why: str) -> None:
    """With the login, after a while without a key, a minute after the page was seen last."""
    terminal = opened(install, key, is_welcome=what != "login")
    if what == "idle":
        terminal._typed_at -= IDLE_S + 1
    if what == "lost":
        terminal._left_at -= LOST_S + 1
    install.services.terminals.end_expired()
    eventually(lambda: audited(install, "closed", key))
    assert terminal.why == why


def test_one_that_is_used_stays(install: AppFixture, key: CubicleKey) -> None:
    """However long it has been there, while somebody looks and types."""
    terminal = opened(install, key)
    with terminal.looked_at():
        terminal._left_at -= LOST_S + 1
        terminal._typed_at -= IDLE_S - 60
        install.services.terminals.end_expired()
        assert not terminal.is_over


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_shell_that_ends_says_why(
    install: AppFixture, key: CubicleKey, lines: ScriptedTtys, *, is_stopped: bool
) -> None:
    """By itself, or with its cubicle."""
    terminal = opened(install, key)
    if is_stopped:
        install.services.cubicles.stop(key)
    lines.lines[0].say(b"")
    eventually(lambda: audited(install, "closed", key))
    assert terminal.why == ("The cubicle was stopped." if is_stopped else "The shell has ended.")
    assert len(lines.hung_up) == 1


def test_the_install_takes_its_terminals_along(tmp_path: Path, lines: ScriptedTtys) -> None:
    """When it is stopped, none is open and nothing of them runs."""
    with run_app(tmp_path, environment=WITH_TERMINALS, lines=lines) as made:
        made.services.cubicles.start(CRAB)
        terminal = opened(made, CRAB)
    assert terminal.why == "HermitShell was stopped."
    assert [number for _, number in lines.hung_up] == [terminal.id]
    with pytest.raises(Unavailable):
        opened(made, CRAB)


def test_what_a_dead_install_left_is_ended_by_the_next(tmp_path: Path, lines: ScriptedTtys) -> None:
    """Also when the engine did not answer at first; and where nothing was left, nobody is asked."""
    with run_app(tmp_path, environment=WITH_TERMINALS, lines=lines) as made:
        opened(made, CRAB)
        lines.is_broken = True
        name = made.services.cubicles.container_name(CRAB)
    with run_app(tmp_path, lines=lines):
        assert lines.hung_up == []
    lines.is_broken = False
    for _ in range(2):
        with run_app(tmp_path, lines=lines) as made:
            assert lines.hung_up == [(name, "")]
            assert len(audited(made, "ended")) == 1


def test_there_are_a_few_at_once(install: AppFixture, key: CubicleKey, terminals: Terminals) -> None:
    """One more is refused with a remedy, until another is closed."""
    found = [opened(install, key) for _ in range(MOST)]
    with pytest.raises(TooMany, match="Close one"):
        opened(install, key)
    terminals.end_terminal(found[0], "Its page was closed.")
    opened(install, key)


def test_a_broken_engine_takes_no_place(install: AppFixture, key: CubicleKey, lines: ScriptedTtys) -> None:
    """It is said, and there is room for the next."""
    lines.is_broken = True
    for _ in range(MOST + 1):
        with pytest.raises(Unavailable):
            opened(install, key)
    lines.is_broken = False
    opened(install, key)


def test_the_watch_rests_when_none_is_open(install: AppFixture, key: CubicleKey, terminals: Terminals) -> None:
    """An install without terminals has no thread for them."""
    terminals.end_terminal(opened(install, key), "Its page was closed.")
    eventually(lambda: terminals._watch is None)


# --- the routes ------------------------------------------------------------------------------------------------


def test_without_the_setting_there_is_nothing(app: Flask, browser: Browser) -> None:
    """No route, no page, no link, for the operator neither."""
    calls = [("", "post"), ("/x/input", "post"), ("/x/taken", "post"), ("/x/size", "post"), ("/x", "delete")]
    sent = {"Origin": OWN_ORIGIN, "X-CSRF-Token": browser.csrf}
    for path, method in calls:
        assert browser.client.open(f"{PATH}{path}", method=method, headers=sent, json={}).status_code == 404
    for path in (f"{PATH}/x/output", "/agents/crab/terminal"):
        assert browser.client.get(path).status_code == 404
    assert "/terminal" not in browser.client.get("/agents/crab").get_data(as_text=True)


def test_members_have_none(tmp_path: Path) -> None:
    """Every route says 403, and no page shows the way."""
    with run_app(tmp_path, environment=WITH_TERMINALS, lines=ScriptedTtys()) as made:
        ben = logged_in(made, create_app(made.services), made.services.users.add({"name": "ben"}))
        for path in ("", "/x/input", "/x/taken", "/x/size"):
            assert ben.post(f"{PATH}{path}", {}).status_code == 403
        assert delete(ben, f"{PATH}/x") == 403
        for path in (f"{PATH}/x/output", "/agents/crab/terminal"):
            assert ben.client.get(path).status_code == 403
        assert "/terminal" not in ben.client.get("/agents/crab").get_data(as_text=True)


def test_no_foreign_page_opens_one(ada: Browser, lines: ScriptedTtys) -> None:
    """The session, its token and our own origin are asked for."""
    for given in ({"Origin": "https://evil.example"}, {"X-CSRF-Token": ""}, {"Origin": ""}):
        assert ada.post(PATH, {}, **given).status_code == 403
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    number = ada.post(PATH, {}).get_json()["id"]
    assert ada.client.get(f"{PATH}/{number}/output", headers=foreign).status_code == 403
    assert len(lines.lines) == 1


def test_a_terminal_belongs_to_the_login_that_opened_it(
    install: AppFixture, web: Flask, ada: Browser, lines: ScriptedTtys
) -> None:
    """Another login of the same person, and another agent's address, find nothing."""
    number = ada.post(PATH, {"columns": 90, "rows": 20}).get_json()["id"]
    again = logged_in(install, web, install.services.users.get_operator())
    install.services.agents.create({"name": "other"})
    assert len(lines.lines) == 1
    assert again.post(f"{PATH}/{number}/input", {"seq": 1, "text": "x"}).status_code == 404
    assert ada.post(f"/api/agents/other/terminals/{number}/input", {"seq": 1, "text": "x"}).status_code == 404
    assert ada.post(f"{PATH}/{number}/input", {"seq": 1, "text": "x"}).status_code == 204


def test_the_whole_way(install: AppFixture, key: CubicleKey, ada: Browser, lines: ScriptedTtys) -> None:
    """Opened, typed into, resized, read, closed; the log-out of its login ends the next."""
    base = f"/api/agents/{key.agent}/terminals"
    number = ada.post(base, {"columns": 90, "rows": 20}).get_json()["id"]
    path, line = f"{base}/{number}", lines.lines[0]
    assert ada.post(f"{path}/input", {"seq": 1, "text": "ls\r"}).status_code == 204
    assert ada.post(f"{path}/size", {"columns": 50, "rows": 40}).status_code == 204
    assert (line.typed, line.sizes) == (b"ls\r", [Size(90, 20), Size(50, 40)])
    line.say(b"event: closed\ndata: x\n\n\xff")
    terminal = install.services.terminals._open[number]
    eventually(lambda: terminal.bytes_out)
    assert ada.post(f"{path}/taken", {"offset": 0}).status_code == 204
    assert ada.post(f"{path}/taken", {"offset": 99}).status_code == 400
    stream = ada.client.get(f"{path}/output")
    assert stream.mimetype == "text/event-stream"
    stream.close()
    pieces = _output_stream(terminal, 0, 15)
    assert next(pieces).startswith("retry:")
    said = re.fullmatch(r"id: 24\ndata: (\S+)\n\n", next(pieces))
    assert said is not None
    assert base64.b64decode(said[1]) == b"event: closed\ndata: x\n\n\xff"
    assert delete(ada, path) == 204
    assert next(pieces) == 'event: closed\ndata: {"why": "Its page was closed."}\n\n'
    assert ada.client.get(f"{path}/output").status_code == 404
    ada.post(base, {})
    install.services.users.log_out(ada.session)
    eventually(lambda: len(audited(install, "closed", key)) == 2)
    assert lines.lines[1].is_closed


def test_the_description_is_true_with_terminals(web: Flask) -> None:
    """The document names their routes where they are there, and refers to nothing that is not."""
    real = {
        (method.lower(), re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule))
        for rule in web.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for method in (rule.methods or set()) - {"HEAD"}
    }
    said = web.test_client().get("/api/openapi.json").get_json()
    assert {(method, path) for path, methods in said["paths"].items() for method in methods} == real
    assert said == json.loads(json.dumps(build_document(terminal=True)))
    assert set(re.findall(r"#/components/schemas/(\w+)", json.dumps(said))) == set(said["components"]["schemas"])


def test_the_page_loads_from_us_alone(ada: Browser) -> None:
    """With the policy of every page."""
    answer = ada.client.get("/agents/crab/terminal")
    text = answer.get_data(as_text=True)
    assert "'unsafe-inline'" not in answer.headers["Content-Security-Policy"]
    assert set(re.findall(r'(?:src|href)="(https?:[^"]*)"', text)) == set()
    own = [name for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', text) if "term" in name]
    assert [name.rpartition("/")[2] for name in own] == ["terminal.css", "xterm.mjs", "addon-fit.mjs", "terminal.js"]
    for name in own:
        with ada.client.get(name) as sent:
            assert sent.status_code == 200


def test_the_library_is_as_its_makers_published_it() -> None:
    """Each file has the digest that the documentation names, and its licence beside it."""
    root = Path(__file__).resolve().parents[3]
    folder = root / "dashboard" / "static" / "vendor"
    table = (root / "docs" / "dependencies.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| `((?:xterm|mermaid|codemirror)/\S+)` \|.*`([0-9a-f]{64})` \|$", table, re.MULTILINE))
    loaded = (path for path in folder.rglob("*") if path.suffix in (".mjs", ".css") or "mermaid" in path.name)
    found = {str(path.relative_to(folder)): path for path in loaded}
    found = {name: path for name, path in found.items() if path.is_file()}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()} == said
    for name in ("LICENSE", "LICENSE-addon-fit"):
        assert "Permission is hereby granted" in (folder / "xterm" / name).read_text(encoding="utf-8")


def test_lines_of_tests_know_when_they_are_closed() -> None:
    """A stand-in says what the real one says."""
    line = ScriptedTty(Size(80, 24), {})
    line.close()
    assert line.read() == b""
    with pytest.raises(Unavailable):
        line.write(b"x")
