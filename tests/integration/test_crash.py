"""Whatever dies at whatever moment, each message has exactly one outcome, nothing is run twice, and the next works."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from orchestrator.llm.reply_events import KEEP_EVERY_S
from tests.support.engine_proxy import EngineProxy
from tests.support.real_app import AppProcess, RealApp, Talker, eventually, real_install
from tests.support.scripted_upstream import Gate, answers, hangs, streams

pytestmark = pytest.mark.docker


def lines(agent: Talker, name: str) -> list[str]:
    """What commands wrote into a file of the working folder."""
    path = agent.work / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def works_again(install: AppProcess | RealApp, agent: Talker) -> bool:
    """The next message gets its reply, with a command on the way."""
    turn = agent.ask(install.plays.commands("echo alive", reply="Yes."))
    return bool(turn["reply"] == "Yes." and turn["steps"][0]["output"] == "alive\n")


def one_outcome(install: AppProcess | RealApp, agent: Talker, turn: int) -> dict[str, Any]:
    """The turn has ended, and the audit log knows one end of it."""
    ended = agent.ended(turn)
    rows = install.api.get("/audit", agent=agent.name)["rows"]
    ends = [r["kind"] for r in rows if r["turn"] == turn and r["kind"] in ("turn.done", "turn.failed", "turn.stopped")]
    assert ends == [f"turn.{ended['status']}"]
    return ended


# --- the orchestrator is killed --------------------------------------------------------------------------------


@pytest.fixture
def agent(process: AppProcess) -> Talker:
    """An agent whose container runs."""
    made = process.agent()
    made.ask(process.plays.add(answers("Here.")))
    return made


def test_killed_with_messages_in_the_queue(process: AppProcess) -> None:
    """Nothing was begun: after the restart all are answered, in order."""
    agent = process.agent()
    turns = [agent.send(process.plays.commands(f"echo {n} >> order", reply=f"Reply {n}.")) for n in range(3)]
    process.restart()
    assert [one_outcome(process, agent, turn)["reply"] for turn in turns] == ["Reply 0.", "Reply 1.", "Reply 2."]
    assert lines(agent, "order") == ["0", "1", "2"]


def test_killed_in_a_model_call(process: AppProcess, agent: Talker) -> None:
    """The crab asks again at the new door, in the same container; the turn goes on to its end."""
    container = process.client.containers.get(agent.container).id
    gate = Gate()
    turn = agent.send(process.plays.add(hangs(gate), answers(terminal="echo once >> model"), answers("Still here.")))
    assert gate.reached.wait(10)
    process.restart()
    gate.open()
    ended = one_outcome(process, agent, turn)
    assert ended["reply"] == "Still here."
    assert lines(agent, "model") == ["once"]
    assert process.client.containers.get(agent.container).id == container


def test_killed_between_words(process: AppProcess, agent: Talker) -> None:
    """What had been read is there after the restart, though the one who was to finish it is gone."""
    pause, gate = Gate(), Gate()
    story = streams(['{"message": "Once', pause, " upon a", gate, ' time"}'])
    turn = agent.send(process.plays.add(answers("I begin.", terminal="true"), story))
    assert pause.reached.wait(10)
    time.sleep(KEEP_EVERY_S)  # so that what comes next is kept at once
    pause.open()
    assert gate.reached.wait(10)
    assert eventually(lambda: _kept(process, turn) == "Once upon a")
    process.kill()
    process.client.containers.get(agent.container).remove(force=True)
    gate.open()
    process.start()
    ended = one_outcome(process, agent, turn)
    assert (ended["status"], ended["reply"]) == ("failed", "Once upon a")
    assert works_again(process, agent)


def _kept(process: AppProcess, turn: int) -> str | None:
    """What the database has of a reply that is being written."""
    with sqlite3.connect(process.home / "db" / "hermit.db", timeout=10) as db:
        return str(db.execute("SELECT written FROM turns WHERE id = ?", (turn,)).fetchone()[0])


def test_killed_in_a_command(process: AppProcess, agent: Talker) -> None:
    """The command goes on without us; what it printed is there after the restart, and it ran once."""
    command = "echo begun >> command; until [ -e go ]; do sleep 0.05; done; echo ended >> command; echo output"
    turn = agent.send(process.plays.commands(command))
    agent.running(turn)
    eventually(lambda: lines(agent, "command"))
    process.kill()
    (agent.work / "go").touch()
    process.start()
    ended = one_outcome(process, agent, turn)
    assert ended["reply"] == "All done."
    assert ended["steps"][0]["output"] == "output\n"
    assert lines(agent, "command") == ["begun", "ended"]


def test_killed_while_a_question_waits(process: AppProcess) -> None:
    """It waits on; the answer after the restart holds, and the command runs once."""
    agent = process.agent(approval="all")
    turn = agent.send(process.plays.commands("echo ran >> asked"))
    question = agent.question(turn)
    process.restart()
    assert agent.question(turn)["id"] == question["id"]
    assert lines(agent, "asked") == []
    assert agent.decide(question["id"], "approve").status_code == 200
    assert one_outcome(process, agent, turn)["status"] == "done"
    assert lines(agent, "asked") == ["ran"]
    assert list(agent.run_folder.glob("*.lock")) == []


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_killed_right_behind_a_decision(process: AppProcess, decision: str) -> None:
    """The decision stands: approved runs once, denied never."""
    agent = process.agent(approval="all")
    turn = agent.send(process.plays.commands("echo ran >> decided"))
    agent.decide(agent.question(turn)["id"], decision)
    process.restart()
    assert one_outcome(process, agent, turn)["status"] == "done"
    assert lines(agent, "decided") == (["ran"] if decision == "approve" else [])


def test_killed_again_and_again(process: AppProcess, agent: Talker) -> None:
    """Ten steps and five kills at odd moments: each step ran once, in order."""
    turn = agent.send(process.plays.commands(*(f"echo {n} >> steps; sleep 0.1" for n in range(10))))
    for number in range(5):
        eventually(lambda: len(lines(agent, "steps")) > number)  # noqa: B023 - asked at once
        process.restart()
    ended = one_outcome(process, agent, turn)
    assert lines(agent, "steps") == [str(n) for n in range(10)]
    assert (ended["status"], len(ended["steps"])) == ("done", 10)


def test_stopped_while_it_was_down(process: AppProcess, agent: Talker) -> None:
    """A stop that was asked for just before the kill is heeded after the restart."""
    turn = agent.send(process.plays.commands("echo x >> stopped; sleep 300"))
    agent.running(turn)
    agent.stop(turn)
    process.restart()
    assert one_outcome(process, agent, turn)["status"] == "stopped"
    assert works_again(process, agent)


def test_the_cubicle_dies_while_the_orchestrator_is_down(process: AppProcess, agent: Talker) -> None:
    """A command had begun, so the turn is not done over: it fails with one clear sentence."""
    turn = agent.send(process.plays.commands("echo begun >> both; sleep 300"))
    agent.running(turn)
    eventually(lambda: lines(agent, "both"))
    process.kill()
    process.client.containers.get(agent.container).remove(force=True)
    process.start()
    ended = one_outcome(process, agent, turn)
    assert ended["status"] == "failed"
    assert "interrupted" in ended["error"]
    assert works_again(process, agent)
    assert lines(agent, "both") == ["begun"]


def test_an_orderly_end_in_the_middle_of_a_turn(process: AppProcess, agent: Talker) -> None:
    """SIGTERM, as at an update: the cubicle is adopted afterwards and the turn goes on."""
    container = process.client.containers.get(agent.container).id
    turn = agent.send(process.plays.commands("echo begun >> orderly; until [ -e go2 ]; do sleep 0.05; done"))
    agent.running(turn)
    process.terminate()
    (agent.work / "go2").touch()
    process.start()
    assert one_outcome(process, agent, turn)["reply"] == "All done."
    assert lines(agent, "orderly") == ["begun"]
    assert process.client.containers.get(agent.container).id == container


def test_an_orderly_end_under_load(process: AppProcess, agent: Talker) -> None:
    """With commands, a model call that hangs, people who listen and an upload under way: it ends at once and in order,
    however impatient somebody is, and the cubicles go on."""
    gate = Gate()
    turns = [process.agent().send(process.plays.commands("sleep 60")) for _ in range(2)]
    agent.send(process.plays.add(hangs(gate)))
    eventually(lambda: all(process.api.get(f"/turns/{turn}")["steps"] for turn in turns))
    login = f"Host: 127.0.0.1\r\nAuthorization: {process.api.session.headers['Authorization']!s}\r\n"
    upload = f"PUT /api/agents/{agent.name}/files/in/big HTTP/1.1\r\nContent-Length: 9000000\r\n{login}\r\n"
    asked = [f"GET /api/events HTTP/1.1\r\n{login}\r\n"] * 10 + [upload + "x" * 100_000]
    clients = [socket.create_connection(("127.0.0.1", process.port)) for _ in asked]
    for client, text in zip(clients, asked, strict=True):
        client.sendall(text.encode())
    for client in clients[:10]:
        assert client.recv(1) == b"H"
    before = time.monotonic()
    code = process.terminate(signals=(signal.SIGTERM, signal.SIGTERM, signal.SIGINT))
    took_s = time.monotonic() - before
    gate.open()
    for client in clients:
        client.close()
    assert code == 0, process.diagnostics()
    assert took_s < 10
    assert process.client.containers.get(agent.container).status == "running"
    assert "Traceback" not in process.diagnostics()
    process.start()


def test_a_second_orchestrator_of_the_same_home_is_refused(process: AppProcess, agent: Talker) -> None:
    """It ends with a sentence and changes nothing."""
    ran = process.command("serve")
    assert ran.returncode == 1
    assert "already running" in ran.stderr
    assert works_again(process, agent)


# --- the cubicle is killed -------------------------------------------------------------------------------------

DEATHS: dict[str, Callable[[Any], object]] = {
    "docker kill": lambda container: container.kill(),
    "docker rm": lambda container: container.remove(force=True),
    "kill -9 -1 inside": lambda container: container.exec_run(["/bin/bash", "-c", "kill -9 -1"]),
    "kill -9 of the crab": lambda container: container.exec_run(["/usr/bin/pkill", "-9", "-f", "crab-start"]),
}


@pytest.mark.parametrize("die", DEATHS.values(), ids=DEATHS.keys())
def test_the_cubicle_dies_in_a_command(install: RealApp, die: Callable[[Any], object]) -> None:
    """The turn fails with one clear sentence, the command is not run again, and the next message works."""
    agent = install.agent()
    turn = agent.send(install.plays.commands("echo begun >> died; sleep 300"))
    agent.running(turn)
    eventually(lambda: lines(agent, "died"))
    die(install.client.containers.get(agent.container))
    ended = one_outcome(install, agent, turn)
    assert ended["status"] == "failed"
    assert "interrupted" in ended["error"]
    assert works_again(install, agent)
    assert lines(agent, "died") == ["begun"]


def test_the_agent_kills_its_own_crab(install: RealApp) -> None:
    """A command that ends everything it can reach is one failed turn, no more."""
    agent = install.agent()
    turn = agent.send(install.plays.commands("echo begun >> own; kill -9 -1; sleep 300"))
    assert one_outcome(install, agent, turn)["status"] == "failed"
    assert works_again(install, agent)
    assert lines(agent, "own") == ["begun"]


@pytest.mark.parametrize("die", DEATHS.values(), ids=DEATHS.keys())
def test_the_cubicle_dies_in_a_model_call(install: RealApp, die: Callable[[Any], object]) -> None:
    """Nothing had been done yet, so the turn begins again by itself and is answered."""
    agent, gate = install.agent(), Gate()
    turn = agent.send(install.plays.add(hangs(gate), answers("After all.")))
    assert gate.reached.wait(10)
    die(install.client.containers.get(agent.container))
    ended = one_outcome(install, agent, turn)
    gate.open()
    assert ended["reply"] == "After all."


def test_the_cubicle_dies_while_a_question_waits(install: RealApp) -> None:
    """The question is withdrawn: nobody can approve what nobody waits for."""
    agent = install.agent(approval="all")
    turn = agent.send(install.plays.commands("echo never >> waited"))
    question = agent.question(turn)
    install.client.containers.get(agent.container).kill()
    assert one_outcome(install, agent, turn)["status"] == "failed"
    assert agent.decide(question["id"], "approve").status_code == 409
    assert lines(agent, "waited") == []


def test_the_cubicle_dies_idle(install: RealApp) -> None:
    """The next message starts it again."""
    agent = install.agent()
    for die in DEATHS.values():
        assert works_again(install, agent)
        die(install.client.containers.get(agent.container))
    assert works_again(install, agent)


def test_a_container_that_the_engine_forgot(install: RealApp) -> None:
    """It lives on, with a crab in it: the next container has a door of its own, what was begun in the other is done
    once, and that one can't ask for anything any more."""
    agent, gate = install.agent(), Gate()
    turn = agent.send(install.plays.add(hangs(gate), answers(terminal="echo once >> forgotten"), answers("After all.")))
    assert gate.reached.wait(10)
    forgotten = install.client.containers.get(agent.container)
    forgotten.rename(f"{agent.container}-forgotten")
    try:
        install.api.post(f"/agents/{agent.name}/cubicle/start")
        gate.open()
        assert one_outcome(install, agent, turn)["reply"] == "After all."
        assert lines(agent, "forgotten") == ["once"]
        assert works_again(install, agent)
        forgotten.reload()
        assert forgotten.status == "running"
        assert forgotten.exec_run(["/bin/ls", "-A", "/run/hermit"]).output == b""
    finally:
        forgotten.remove(force=True)


# --- the engine does not answer --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProxy]:
    """A wire to the engine that this module may cut."""
    target = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not target.startswith("unix://"):
        pytest.skip("the engine is not at a unix socket")
    made = EngineProxy(tmp_path_factory.mktemp("wire") / "engine.sock", target.removeprefix("unix://"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def wired(
    wire: EngineProxy,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RealApp]:
    """An install whose engine is at the other end of that wire."""
    near = docker.DockerClient(base_url=f"unix://{wire.path}", version="auto", timeout=3)
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, engine_client=near) as made:
        yield made
    near.close()


@pytest.fixture
def served(wired: RealApp) -> Talker:
    """An agent whose container runs."""
    made = wired.agent()
    made.ask(wired.plays.add(answers("Here.")))
    return made


def test_a_message_waits_for_an_engine_that_comes_back(wired: RealApp, wire: EngineProxy) -> None:
    """A cubicle can't be started meanwhile; health says so, and the message is answered afterwards."""
    agent = wired.agent()
    wire.cut()
    turn = agent.send(wired.plays.add(answers("Better late.")))
    assert wired.api.call("GET", "/health").status_code == 503
    assert "engine" in wired.api.get("/status")["engine"]
    assert agent.turn(turn)["status"] == "running"
    wire.join_up()
    assert one_outcome(wired, agent, turn)["reply"] == "Better late."
    assert wired.api.is_healthy()


def test_a_turn_goes_on_without_the_engine(wired: RealApp, wire: EngineProxy, served: Talker) -> None:
    """A cubicle that runs needs its door alone: an engine that is gone for a moment ends no turn."""
    gate = Gate()
    turn = served.send(wired.plays.add(hangs(gate), answers(terminal="echo once >> cut"), answers("No matter.")))
    assert gate.reached.wait(10)
    wire.cut()
    gate.open()
    ended = one_outcome(wired, served, turn)
    wire.join_up()
    assert ended["reply"] == "No matter."
    assert lines(served, "cut") == ["once"]
    assert works_again(wired, served)


def test_a_turn_goes_on_beside_an_engine_that_hangs(wired: RealApp, wire: EngineProxy, served: Talker) -> None:
    """Nobody who talks to a running cubicle waits for the engine."""
    wire.hold()
    try:
        asked = time.monotonic()
        assert works_again(wired, served)
        assert time.monotonic() - asked < 20
    finally:
        wire.let_go()
    assert works_again(wired, served)


def test_the_engine_hangs_while_a_cubicle_is_started(wired: RealApp, wire: EngineProxy) -> None:
    """It is tried again, and one container comes of it."""
    agent = wired.agent()
    wire.hold()
    turn = agent.send(wired.plays.add(answers("There.")))
    with pytest.raises(AssertionError):
        agent.ended(turn, patience_s=1)
    wire.let_go()
    assert one_outcome(wired, agent, turn)["reply"] == "There."
    found = wired.client.api.containers(all=True, filters={"name": f"^/{agent.container}$"})
    assert len(found) == 1
