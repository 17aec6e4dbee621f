"""Turns through real cubicles: a message goes in, commands run inside, exactly one outcome comes out."""

from __future__ import annotations

import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orchestrator.turns.prompts import MAX_PROMPT_CHARS
from tests.support.real_app import RealApp, Talker, eventually
from tests.support.scripted_upstream import Gate, answers, cut, garbage, hangs, hangs_up, says, status, streams

pytestmark = pytest.mark.docker

SLOW = "echo begun; sleep 300"
"""A command that only a stop or a time limit ends."""


@pytest.fixture(scope="module")
def talker(install: RealApp) -> Talker:
    """An agent for all tests that leave nothing behind in it."""
    return install.agent()


def processes(install: RealApp, agent: Talker) -> str:
    """The commands that run in an agent's container, one a line."""
    top = install.client.containers.get(agent.container).top(ps_args="-o pid,args")
    return "\n".join(row[-1] for row in top["Processes"])


# --- a message and its reply -----------------------------------------------------------------------------------


def test_a_message_gets_its_reply(install: RealApp, talker: Talker) -> None:
    """The model's message is the turn's reply."""
    turn = talker.ask(install.plays.add(answers("Hello, Grüße 🦀!")))
    assert (turn["status"], turn["reply"], turn["error"]) == ("done", "Hello, Grüße 🦀!", None)
    assert turn["steps"] == []
    assert turn["tokens"] > 0


COMMANDS: dict[str, tuple[str, int, str]] = {
    "output": ("echo hi; echo there", 0, "hi\nthere\n"),
    "both streams": ("echo out; echo err >&2", 0, "out\nerr\n"),
    "exit code": ("exit 3", 3, ""),
    "no such command": ("no-such-command-here", 127, "bash: line 1: no-such-command-here: command not found\n"),
    "a signal": ("kill -SEGV $$", 139, ""),
    "unicode": ("printf 'naïve 🦀'", 0, "naïve 🦀"),
    "no utf-8": (r"printf 'a\xffb'", 0, "a\ufffdb"),
    "where it starts": ("pwd; echo $HOME", 0, "/app/workspace/work\n/app/workspace/work\n"),
    "several lines": ("for i in 1 2; do\n  echo $i\ndone", 0, "1\n2\n"),
}


@pytest.mark.parametrize(("command", "code", "output"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_and_what_comes_of_it(install: RealApp, talker: Talker, command: str, code: int, output: str) -> None:
    """Exit code and output are recorded, and told to the model, exactly."""
    turn = talker.ask(install.plays.add(answers("I look.", terminal=command)))
    (step,) = turn["steps"]
    assert (step["command"], step["exit_code"], step["output"], step["status"]) == (command, code, output, "done")
    assert turn["reply"].startswith(f"Told: Exit code {code} after ")
    assert output.strip() in turn["reply"]


def test_a_file_outlives_its_turn_and_is_the_agents(install: RealApp, talker: Talker) -> None:
    """What one turn writes the next one reads; on the host it belongs to the cubicle's own user."""
    talker.ask(install.plays.commands("echo kept > note.txt"))
    turn = talker.ask(install.plays.add(answers(terminal="cat note.txt")))
    assert turn["steps"][0]["output"] == "kept\n"
    assert (talker.work / "note.txt").stat().st_uid >= 20_000


def test_long_output_is_cut_in_the_middle(install: RealApp, talker: Talker) -> None:
    """Head and tail of what a command printed get through, within the limit."""
    turn = talker.ask(install.plays.commands("seq 1 100000"))
    output = turn["steps"][0]["output"]
    assert output.startswith("1\n2\n")
    assert output.endswith("99999\n100000\n")
    assert len(output) < 20_000


def test_the_conversation_is_passed_on(install: RealApp) -> None:
    """The model sees what was said and done before, and nothing of another agent's."""
    one, other = install.agent(), install.agent()
    one.ask(install.plays.add(answers(terminal="echo the-secret-word"), answers("I told you.")))
    other.ask(install.plays.add(answers("Something else.")))
    one.ask(install.plays.add(answers("And again.")))
    sent = json.dumps(install.model.calls[-1].json["messages"])
    assert "the-secret-word" in sent
    assert "I told you." in sent
    assert "Something else." not in sent


def test_history_is_cleared_when_a_person_wants_it(install: RealApp) -> None:
    """The next turn starts again."""
    agent = install.agent()
    agent.ask(install.plays.add(answers("It is 4711.")))
    assert agent.api.call("DELETE", f"/agents/{agent.name}/history").status_code == 204
    agent.ask(install.plays.add(answers("Which number?")))
    assert "4711" not in json.dumps(install.model.calls[-1].json["messages"])


# --- time and stops --------------------------------------------------------------------------------------------


def test_a_command_that_takes_too_long_leaves_nothing(install: RealApp) -> None:
    """At its deadline it ends with all that it started, however well hidden."""
    agent = install.agent(command_timeout_s=1)
    hidden = "setsid nohup sleep 301 & (trap '' TERM; sleep 302) & echo begun; sleep 303"
    turn = agent.ask(install.plays.add(answers(terminal=hidden)))
    (step,) = turn["steps"]
    assert (step["exit_code"], step["output"]) == (124, "begun\n")
    assert "ran out of time" in turn["reply"]
    assert "sleep" not in processes(install, agent)


def test_a_server_outlives_its_step(install: RealApp, talker: Talker) -> None:
    """A background process with its output elsewhere neither holds the step up nor ends with it."""
    start = "python3 -m http.server 8123 --bind 127.0.0.1 >server.log 2>&1 & echo started"
    look = (
        "curl -s --retry 30 --retry-connrefused --retry-delay 0 -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/"
    )
    turn = talker.ask(install.plays.add(answers(terminal=start), answers(terminal=look)))
    assert [step["output"] for step in turn["steps"]] == ["started\n", "200"]
    assert "http.server" in processes(install, talker)


def test_stop_in_the_middle_of_a_command(install: RealApp) -> None:
    """The command ends with all that it started, the turn is stopped, and the agent is there for the next."""
    agent = install.agent()
    turn = agent.send(install.plays.add(answers(terminal=f"setsid sleep 304 & {SLOW}")))
    agent.running(turn)
    eventually(lambda: "sleep 300" in processes(install, agent))
    asked = time.monotonic()
    agent.stop(turn)
    ended = agent.ended(turn)
    assert time.monotonic() - asked < 10
    assert ended["status"] == "stopped"
    assert "sleep" not in processes(install, agent)
    assert list(agent.run_folder.glob("*.lock")) == []
    assert agent.ask(install.plays.add(answers("Here.")))["reply"] == "Here."


@pytest.mark.parametrize("when", ["before its head", "between its words"])
def test_stop_in_the_middle_of_a_model_call(install: RealApp, talker: Talker, when: str) -> None:
    """The call is cut at once: the provider sees its client leave. What had been written by then is the reply."""
    gate = Gate()
    reply = hangs(gate) if when == "before its head" else streams(['{"message": "Once', gate, ' upon"}'])
    watching = install.app.services.broker.subscribe("delta")
    turn = talker.send(install.plays.add(reply))
    assert gate.reached.wait(10)
    if when == "between its words":  # the host has read them too
        assert watching.get(10) is not None
    install.app.services.broker.unsubscribe(watching)
    asked = time.monotonic()
    talker.stop(turn)
    ended = talker.ended(turn)
    assert (ended["status"], ended["error"]) == ("stopped", None)
    assert ended["reply"] == ("Once" if when == "between its words" else "")
    assert time.monotonic() - asked < 10
    gate.open()
    assert talker.ask(install.plays.add(answers("Here.")))["reply"] == "Here."


def test_stop_while_it_waits_in_the_queue(install: RealApp) -> None:
    """A turn that was never begun ends at once, and the one before it goes on."""
    agent, gate = install.agent(), Gate()
    first = agent.send(install.plays.add(hangs(gate, answers("First."))))
    assert gate.reached.wait(10)
    second = agent.send(install.plays.add(answers("Second.")))
    agent.stop(second)
    assert agent.turn(second)["status"] == "stopped"
    gate.open()
    assert agent.ended(first)["reply"] == "First."


def test_stop_of_what_has_ended_changes_nothing(install: RealApp, talker: Talker) -> None:
    """A late tap on the button is harmless."""
    turn = talker.ask(install.plays.add(answers("Done.")))
    talker.stop(turn["id"])
    assert talker.turn(turn["id"])["status"] == "done"


# --- approvals -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def careful(install: RealApp) -> Talker:
    """An agent that asks about every command."""
    return install.agent(approval="all")


def test_an_approved_command_runs_once(install: RealApp, careful: Talker) -> None:
    """The question shows the exact text; after the approval it runs, and the lock file goes."""
    turn = careful.send(install.plays.commands("echo ran >> approved.txt"))
    question = careful.question(turn)
    assert careful.turn(turn)["status"] == "waiting_approval"
    assert question["text"] == "echo ran >> approved.txt"
    assert careful.decide(question["id"], "approve").json()["status"] == "approved"
    assert careful.ended(turn)["reply"] == "All done."
    assert (careful.work / "approved.txt").read_text() == "ran\n"
    assert list(careful.run_folder.glob("*.lock")) == []
    assert careful.decide(question["id"], "deny").status_code == 409


def test_a_denied_command_does_not_run(install: RealApp, careful: Talker) -> None:
    """The model is told what the person said, and the turn goes on."""
    turn = careful.send(install.plays.add(answers(terminal="touch denied.txt")))
    careful.decide(careful.question(turn)["id"], "deny")
    ended = careful.ended(turn)
    assert "said no" in ended["reply"]
    assert ended["steps"][0]["status"] == "denied"
    assert not (careful.work / "denied.txt").exists()


def test_a_no_with_words_reaches_the_model(install: RealApp, careful: Talker) -> None:
    """It reads them instead of the command's output, and goes on."""
    turn = careful.send(install.plays.add(answers(terminal="touch denied.txt")))
    careful.decide(careful.question(turn)["id"], "deny", note="No, use the trash.")
    assert "No, use the trash." in careful.ended(turn)["reply"]
    assert not (careful.work / "denied.txt").exists()


def test_a_script_that_was_swapped_does_not_run(install: RealApp, careful: Talker) -> None:
    """A program inside changes it between the question and the yes; what ran would not be what was agreed to."""
    (careful.work / "x.sh").write_text("touch harmless.txt\n")
    turn = careful.send(install.plays.add(answers(terminal="bash x.sh")))
    question = careful.question(turn)
    assert [script["path"] for script in question["detail"]["scripts"]] == ["work/x.sh"]
    (careful.work / "x.sh").write_text("touch evil.txt\n")
    careful.decide(question["id"], "approve")
    assert "was changed" in careful.ended(turn)["reply"]
    assert not (careful.work / "evil.txt").exists()
    assert not (careful.work / "harmless.txt").exists()


def test_a_question_that_nobody_answers_expires(install: RealApp) -> None:
    """After its time the command is not run, the model is told, and a late approval is refused."""
    agent = install.agent(approval="all", approval_timeout_s=5)
    turn = agent.send(install.plays.add(answers(terminal="touch late.txt")))
    question = agent.question(turn)
    ended = agent.ended(turn)
    assert "not run" in ended["reply"]
    assert ended["steps"][0]["status"] == "expired"
    late = agent.decide(question["id"], "approve")
    assert late.status_code == 409
    assert not (agent.work / "late.txt").exists()


def test_a_question_is_cancelled_with_its_turn(install: RealApp, careful: Talker) -> None:
    """A stop withdraws what was asked; nothing runs, whatever is pressed afterwards."""
    turn = careful.send(install.plays.add(answers(terminal="touch cancelled.txt")))
    question = careful.question(turn)
    careful.stop(turn)
    assert careful.ended(turn)["status"] == "stopped"
    assert careful.decide(question["id"], "approve").status_code == 409
    assert careful.api.get("/approvals", status="pending")["approvals"] == []
    assert not (careful.work / "cancelled.txt").exists()


def test_an_approval_is_for_one_text(install: RealApp, careful: Talker) -> None:
    """The same command again, or another, is asked about again: one approval serves once."""
    turn = careful.send(install.plays.commands("echo a >> many.txt", "echo a >> many.txt", "echo b >> many.txt"))
    asked = []
    for _ in range(3):
        question = careful.question(turn)
        asked.append((question["id"], question["sha256"]))
        careful.decide(question["id"], "approve")
    assert careful.ended(turn)["status"] == "done"
    assert len({name for name, _ in asked}) == 3
    assert len({digest for _, digest in asked}) == 2
    assert (careful.work / "many.txt").read_text() == "a\na\nb\n"


def test_a_dangerous_command_asks_and_a_harmless_one_does_not(install: RealApp) -> None:
    """With the usual policy only what may do harm waits for a person."""
    agent = install.agent(approval="dangerous")
    turn = agent.send(install.plays.commands("mkdir -p build && echo x > build/x", "rm -r build"))
    question = agent.question(turn)
    assert question["text"] == "rm -r build"
    assert question["reason"]
    agent.decide(question["id"], "approve")
    assert [step["verdict"] for step in agent.ended(turn)["steps"]] == ["run", "ask"]


def test_three_refusals_end_a_turn(install: RealApp, careful: Talker) -> None:
    """A model that goes on trying what it may not is stopped."""
    turn = careful.send(install.plays.add(*(answers(terminal=f"touch try{n}") for n in range(9))))
    for _ in range(3):
        careful.decide(careful.question(turn)["id"], "deny")
    ended = careful.ended(turn)
    assert len(ended["steps"]) == 3
    assert ended["status"] == "failed"


# --- several at once -------------------------------------------------------------------------------------------


def test_messages_are_answered_one_after_the_other(install: RealApp) -> None:
    """A second message waits for the first, and both are answered in order."""
    agent, gate = install.agent(), Gate()
    first = agent.send(install.plays.add(hangs(gate, answers("One."))))
    assert gate.reached.wait(10)
    second = agent.send(install.plays.add(answers("Two.")))
    assert agent.turn(second)["started_at"] is None
    gate.open()
    turns = [agent.ended(first), agent.ended(second)]
    assert [turn["reply"] for turn in turns] == ["One.", "Two."]
    assert turns[0]["ended_at"] <= turns[1]["started_at"]


def test_agents_work_side_by_side(install: RealApp) -> None:
    """Four agents started at the same moment each do their own work in their own place."""
    agents = [install.agent() for _ in range(4)]
    prompts = [install.plays.commands(f"echo {agent.name} > mine", "cat mine") for agent in agents]
    with ThreadPoolExecutor(4) as pool:
        turns = list(pool.map(lambda agent, prompt: agent.ask(prompt), agents, prompts))
    assert [turn["steps"][1]["output"].strip() for turn in turns] == [agent.name for agent in agents]


def test_two_people_share_an_agent_and_nothing_else(install: RealApp, talker: Talker) -> None:
    """Each person has a cubicle, a workspace and a conversation of their own."""
    eve = install.api.post("/users", {"name": "eve", "role": "member"})
    token = install.api.post("/tokens", {"name": "eve's", "user": eve["id"]})["token"]
    talker.ask(install.plays.commands("echo operator > whose.txt"))
    with_token = type(install.api)(install.api.url, token)
    hers = Talker(with_token, talker.name, eve["id"], install.home, install.install)
    turn = hers.ask(install.plays.add(answers(terminal="cat whose.txt || echo nothing here")))
    with_token.session.close()
    assert turn["steps"][0]["output"].endswith("nothing here\n")
    assert hers.container != talker.container


# --- limits and odd messages -----------------------------------------------------------------------------------


def test_the_step_limit_ends_a_turn_that_would_go_on(install: RealApp) -> None:
    """After the last step the model is told to sum up; more commands are not run."""
    agent = install.agent(step_limit=3)
    turn = agent.ask(install.plays.add(*(answers("Going on.", terminal=f"echo {n} >> n") for n in range(9))))
    assert turn["status"] == "done"
    assert "limit of 3 steps" in turn["reply"]
    assert (agent.work / "n").read_text() == "0\n1\n2\n"


@pytest.mark.parametrize(("text", "code"), [("", 400), (" \n\t ", 400), ("x" * (MAX_PROMPT_CHARS + 1), 413)])
def test_messages_that_are_refused(install: RealApp, talker: Talker, text: str, code: int) -> None:
    """Empty or far too long: refused at once, and no turn comes of it."""
    answer = install.api.call("POST", f"/agents/{talker.name}/messages", json={"text": text, "wait": True})
    assert answer.status_code == code
    assert answer.json()["error"]["message"]


def test_ten_megabytes_are_refused(install: RealApp, talker: Talker) -> None:
    """The install stays quick and says so."""
    try:
        answer = install.api.call("POST", f"/agents/{talker.name}/messages", json={"text": "x" * 10_000_000})
        assert answer.status_code == 413
    finally:
        assert install.api.is_healthy()


def test_an_unknown_agent(install: RealApp) -> None:
    """404, with the way to those that there are."""
    answer = install.api.call("POST", "/agents/nobody/messages", json={"text": "hi"})
    assert answer.status_code == 404
    assert "agent list" in answer.json()["error"]["message"]


def test_the_longest_message_gets_through(install: RealApp, talker: Talker) -> None:
    """Every character of it reaches the model."""
    text = f"{install.plays.add(answers('Read.'))} {'🦀' * (MAX_PROMPT_CHARS - 100)}"
    assert talker.ask(text)["reply"] == "Read."
    assert "🦀" * (MAX_PROMPT_CHARS - 100) in install.model.calls[-1].json["messages"][-1]["content"]


# --- models that misbehave -------------------------------------------------------------------------------------

PASSING: dict[str, list[Any]] = {
    "asked too often": [status(429, Retry_After="0")],
    "broken for a moment": [status(500), status(529)],
    "cut in the middle": [cut("x" * 200, at=400)],
    "hung up on": [hangs_up(), hangs_up()],
    "a page for people": [garbage()],
}


@pytest.mark.parametrize("replies", PASSING.values(), ids=PASSING.keys())
def test_a_passing_failure_is_not_noticed(install: RealApp, talker: Talker, replies: list[Any]) -> None:
    """The call is made again, and the person gets the answer."""
    turn = talker.ask(install.plays.add(*replies, answers("There it is.")))
    assert (turn["status"], turn["reply"]) == ("done", "There it is.")


LASTING: dict[str, tuple[Any, str]] = {
    "a refused key": (status(401), "refused the key (401)"),
    "broken for good": (status(500), "(500)"),
    "too often for good": (status(429), "(429)"),
    "cut each time": (cut("x" * 200, at=400), "broke off"),
}


@pytest.mark.parametrize(("reply", "says_so"), LASTING.values(), ids=LASTING.keys())
def test_a_lasting_failure_is_one_clear_sentence(install: RealApp, talker: Talker, reply: Any, says_so: str) -> None:
    """The turn fails and says why, without a secret; the next one works."""
    turn = talker.ask(install.plays.add(*itertools.repeat(reply, 12)))
    assert (turn["status"], turn["reply"]) == ("failed", turn["reply"] or turn["reply"])
    assert says_so in turn["error"]
    assert "sk-test" not in turn["error"]
    assert talker.ask(install.plays.add(answers("Better.")))["reply"] == "Better."


NONSENSE: dict[str, tuple[list[Any], str, str]] = {
    "plain words": ([says("Just words.")], "done", "Just words."),
    "a fence around it": ([says('```json\n{"message": "Fenced."}\n```')], "done", "Fenced."),
    "the old form": ([says("ACTION: EXECUTE\nCOMMAND: echo old"), says("Done.")], "done", "Done."),
    "empty, then an answer": ([says(""), answers("Now.")], "done", "Now."),
    "a wrong type, then an answer": ([says('{"message": "x", "terminal": 7}'), answers("Sorry.")], "done", "Sorry."),
    "empty for ever": ([says("")] * 9, "failed", "empty answer"),
    "wrong for ever": ([says('{"message": "x", "terminal": [1]}')] * 9, "failed", "agreed form"),
}


@pytest.mark.parametrize(("replies", "ends", "with_text"), NONSENSE.values(), ids=NONSENSE.keys())
def test_answers_that_are_no_answers(
    install: RealApp, talker: Talker, replies: list[Any], ends: str, with_text: str
) -> None:
    """Read leniently; what can't be read is told to the model, and three times in a row end the turn."""
    turn = talker.ask(install.plays.add(*replies))
    assert turn["status"] == ends
    assert with_text in (turn["reply"] if ends == "done" else turn["error"])


def test_over_budget(install: RealApp) -> None:
    """Nothing is sent to the provider, and the person hears why."""
    agent = install.agent(daily_budget_usd=0)
    before = len(install.model.calls)
    turn = agent.ask(install.plays.add(answers("Never.")))
    assert turn["status"] == "failed"
    assert "budget" in turn["error"]
    assert len(install.model.calls) == before


# --- settings --------------------------------------------------------------------------------------------------


def test_other_limits_hold_from_the_next_turn(install: RealApp) -> None:
    """A running container stays as it is under its turn; the next turn gets one with the new limits."""
    agent, gate = install.agent(), Gate()
    first = agent.send(install.plays.add(hangs(gate, answers(terminal="cat /sys/fs/cgroup/pids/pids.max"))))
    assert gate.reached.wait(10)
    before = install.client.containers.get(agent.container).id
    agent.change(limits={"pids": 99, "memory_mb": 300})
    second = agent.send(install.plays.add(answers("Now.")))
    assert install.client.containers.get(agent.container).id == before
    gate.open()
    assert agent.ended(first)["status"] == "done"
    assert agent.ended(second)["reply"] == "Now."
    config = install.client.containers.get(agent.container).attrs["HostConfig"]
    assert (config["PidsLimit"], config["Memory"]) == (99, 300 * 2**20)


def test_another_image_holds_from_the_next_turn(install: RealApp) -> None:
    """An agent that gets the studio has its tools in its next turn, over the same files."""
    agent = install.agent()
    turn = agent.ask(install.plays.commands("echo kept > kept.txt; python3 -c 'import pandas'"))
    assert turn["steps"][0]["exit_code"] == 1
    agent.change(image="studio")
    turn = agent.ask(
        install.plays.commands("cat kept.txt; python3 -c 'import pandas; print(pandas.Series([1, 2]).sum())'")
    )
    assert turn["steps"][0]["output"] == "kept\n3\n"


def test_the_agents_own_log(install: RealApp) -> None:
    """Thought, command, output, exit code and reply are in ``.hermit.log``, which the API shows."""
    agent = install.agent()
    agent.ask(install.plays.add(answers("I look around.", terminal="echo seen; exit 5"), answers("That was it.")))
    log = install.api.get(f"/agents/{agent.name}/log")["log"]
    for part in ("I look around.", "echo seen; exit 5", "seen", "5 exited", "That was it."):
        assert part in log


def test_everything_is_in_the_audit_log(install: RealApp) -> None:
    """Question, command, its end and the reply are found by their words."""
    agent = install.agent()
    agent.ask(install.plays.commands("echo audited-word"))
    rows = install.api.get("/audit", agent=agent.name)["rows"]
    kinds = [row["kind"] for row in rows]
    assert {"turn.asked", "command", "command.ended", "turn.done"} <= set(kinds)
    assert install.api.get("/audit", q="audited-word")["rows"]


def test_an_agent_that_is_deleted_leaves_nothing(install: RealApp) -> None:
    """Container, workspace and door are gone, in the middle of a turn too; and it may be made again, empty."""
    agent = install.agent()
    turn = agent.send(install.plays.add(answers(terminal=f"mkdir -p deep/er; chmod 0 deep/er; {SLOW}")))
    agent.running(turn)
    assert install.api.call("DELETE", f"/agents/{agent.name}").status_code == 204
    assert not agent.work.exists()
    assert not agent.run_folder.exists()
    assert agent.container not in {c.name for c in install.engine.list_containers()}
    install.api.post("/agents", {"name": agent.name, "approval": "off"})
    assert (
        agent.ask(install.plays.add(answers(terminal="ls -A | grep -v hermit.log; true")))["steps"][0]["output"] == ""
    )


def test_the_workspace_holds_only_its_folders(install: RealApp, talker: Talker) -> None:
    """What the host keeps for a cubicle is the five folders and a word about them; the door lies elsewhere."""
    names = {path.name for path in Path(talker.work).parent.iterdir() if path.is_dir()}
    assert names == {"work", "in", "out", "www", "data"}
