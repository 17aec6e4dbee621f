"""``hermit`` in real cubicles: what it says, what it does, and with which code it ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.models import CubicleKey
from tests.support.real_app import AppProcess, Ran, RealApp, Talker, eventually, run_inside

pytestmark = pytest.mark.docker

IN_PYTHON = 'import subprocess as s; print(s.check_output(["hermit", "status", "--json"], text=True))'
TRAP = "raise SystemExit(9)"
SPEED = "for i in 1 2 3 4 5; do hermit status > /tmp/x; done"
LOOK = """
import json, sys
sys.path.insert(0, "/app")
from crab.door import Door, DoorRefused
try:
    print(json.dumps(Door("/run/hermit/door.sock").get("calls/" + sys.argv[1])))
except DoorRefused as refused:
    print(refused.code)
"""


@pytest.fixture(scope="module")
def agent(install: RealApp) -> Talker:
    """An agent with everything, whose cubicle runs."""
    made = install.agent(toolsets=list(TOOLSETS))
    made.wake()
    return made


@pytest.fixture(scope="module")
def bare(install: RealApp) -> Talker:
    """An agent without any toolset."""
    made = install.agent(toolsets=[])
    made.wake()
    return made


def hermit(install: RealApp, agent: Talker, *words: str) -> Ran:
    """``hermit WORDS`` as the agent runs it."""
    return run_inside(install.client, agent, "hermit", *words)


def bash(install: RealApp, agent: Talker, script: str, *, folder: str | None = None) -> Ran:
    """A script as the agent runs it."""
    return run_inside(install.client, agent, "bash", "-c", script, folder=folder)


def deliveries(agent: Talker) -> list[dict[str, Any]]:
    """What left its out/, oldest first."""
    listed: list[dict[str, Any]] = agent.api.get(f"/agents/{agent.name}/deliveries")["deliveries"]
    return listed[::-1]


def question(agent: Talker) -> dict[str, Any]:
    """The open question of this agent, once there is one."""
    return eventually(
        lambda: next(
            (q for q in agent.api.get("/questions", status="pending")["questions"] if q["agent"] == agent.name), {}
        )
    )


# --- what there is -------------------------------------------------------------------------------------------------


def test_help_lists_what_the_agent_has(install: RealApp, agent: Talker, bare: Talker) -> None:
    """And nothing that would end with code 4."""
    everything, little = hermit(install, agent, "--help"), hermit(install, bare)
    assert (everything.code, everything.err, little.code) == (0, "", 0)
    for words in ("calendar add", "memory search", "fetch", "install", "ask", "send", "status"):
        assert f"hermit {words} " in everything.out
        assert (f"hermit {words} " in little.out) == (words in ("send", "status"))


def test_an_agent_without_a_toolset(install: RealApp, bare: Talker) -> None:
    """Code 4 and the reason, for programs too."""
    ran = hermit(install, bare, "memory", "add", "something", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (4, "not_available")
    assert "switched off for this agent" in ran.err
    assert hermit(install, bare, "calendar", "list").code == 4
    assert hermit(install, bare, "ask", "Shall I?").code == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["dance"], "there is no hermit dance"),
        (["calendar"], "another word"),
        (["calendar", "dance"], "add, list, update, rm"),
        (["send"], "FILE is missing"),
        (["status", "--loud"], "there is no --loud"),
        (["fetch", "https://example.org/a"], "--why is missing"),
    ],
)
def test_what_is_no_command(install: RealApp, agent: Talker, words: list[str], told: str) -> None:
    """Code 2 and one line that says what to do."""
    ran = hermit(install, agent, *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_status(install: RealApp, agent: Talker) -> None:
    """The day's money, the disk, what waits, what comes next and what it may call."""
    ran, told = hermit(install, agent, "status"), hermit(install, agent, "status", "--json").json
    assert "of $1000.00 spent" in ran.out
    assert "Disk: " in ran.out
    assert told["budget"]["left_usd"] == 1000
    assert told["disk"]["limit_bytes"] > told["disk"]["used_bytes"]
    assert told["waiting"] == {"questions": 0, "approvals": 0}
    assert {"STATUS", "SEND", "MEMORY_ADD"} <= set(told["commands"])
    assert told["toolsets"] == list(TOOLSETS)


@pytest.mark.parametrize(
    "script",
    [
        "cd / && hermit status --json",
        "env -i /usr/local/bin/hermit status --json",
        "PYTHONPATH=/nonsense PYTHONHOME=/nonsense LC_ALL=C hermit status --json",
        f"python3 -c '{IN_PYTHON}'",
        "(setsid hermit status --json > /tmp/t 2>&1 &); until grep -q '^}' /tmp/t; do sleep 0.05; done; cat /tmp/t",
        f"mkdir -p crab && echo '{TRAP}' | tee crab/__init__.py json.py && hermit status --json; rm -r crab json.py",
    ],
)
def test_from_anywhere(install: RealApp, agent: Talker, script: str) -> None:
    """From any folder, environment, program or background; nothing that lies there gets in its way."""
    ran = bash(install, agent, script)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out[ran.out.index("{") :])["budget"]["budget_usd"] == 1000


def test_it_starts_quickly(install: RealApp, agent: Talker) -> None:
    """Little more than Python itself: scripts may call it often."""
    script = f"began=$(date +%s%N); {SPEED}; echo $(( ($(date +%s%N) - began) / 5000000 ))"
    milliseconds = min(int(bash(install, agent, script).out) for _ in range(3))
    assert milliseconds < 500


# --- sending -------------------------------------------------------------------------------------------------------


def test_send(install: RealApp, agent: Talker) -> None:
    """A file of work/ is copied into out/ and reaches the person once, with its word."""
    before = len(deliveries(agent))
    ran = bash(
        install,
        agent,
        "mkdir -p a && echo 'x y' > 'a/my chart.csv' && cd a && hermit send 'my chart.csv' --caption 'Sales & more'",
    )
    assert (ran.code, ran.err) == (0, "my chart.csv is being sent.\n")
    assert ran.out == "my chart.csv (4 bytes) is on its way to the person.\n"
    eventually(lambda: not install.app._outbox_watcher.is_settling(key(agent)))
    (made,) = deliveries(agent)[before:]
    assert (made["file"], made["caption"], made["size"]) == ("my chart.csv", "“Sales & more”", 4)
    assert bash(install, agent, "ls -A ../out | grep -c part").out == "0\n"


def key(agent: Talker) -> CubicleKey:
    """Whose cubicle it is."""
    return CubicleKey(agent.name, agent.user)


def test_send_again(install: RealApp, agent: Talker) -> None:
    """What lies in out/ is sent again; changed content replaces what was there."""
    before = len(deliveries(agent))
    first, second = "echo one > r.txt; hermit send r.txt", "hermit send ../out/r.txt --caption again"
    assert bash(install, agent, f"{first} && {second} && echo two2 > r.txt && hermit send r.txt").code == 0
    eventually(lambda: not install.app._outbox_watcher.is_settling(key(agent)))
    assert [(made["size"], made["caption"]) for made in deliveries(agent)[before:]] == [
        (4, ""),
        (4, "“again”"),
        (5, ""),
    ]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("hermit send none.txt", "none.txt: No such file"),
        ("hermit send /etc/shadow", "Permission denied"),
        ("hermit send .", "is a folder"),
        ("ln -sf /nowhere l && hermit send l", "No such file"),
        ("mkfifo p; hermit send p; code=$?; rm p; exit $code", "not a plain file"),
    ],
)
def test_what_can_not_be_sent(install: RealApp, agent: Talker, script: str, told: str) -> None:
    """Code 1, one line, nothing left in out/."""
    ran = bash(install, agent, script)
    assert ran.code == 1
    assert told in ran.err
    left = bash(install, agent, "ls -A ../out | grep -c part")
    assert (left.code, left.out, left.err) == (1, "0\n", "")


def test_a_folder_of_out(install: RealApp, agent: Talker) -> None:
    """As one zip, with its word."""
    ran = bash(
        install,
        agent,
        "mkdir -p ../out/set && echo a > ../out/set/a && sleep 1.5 && hermit send ../out/set --caption both --json",
    )
    assert (ran.code, ran.json["file"]) == (0, "set.zip")


# --- asking --------------------------------------------------------------------------------------------------------


def ask(install: RealApp, agent: Talker, words: str, answer: str | None) -> Ran:
    """``hermit ask``, answered meanwhile by the person."""
    ended: list[Ran] = []
    thread = threading.Thread(target=lambda: ended.append(bash(install, agent, f"hermit ask {words}")))
    thread.start()
    if answer is not None:
        asked = question(agent)
        agent.api.post(f"/questions/{asked['id']}", {"answer": answer})
    thread.join(30)
    return ended[0]


def test_ask(install: RealApp, agent: Talker) -> None:
    """The answer alone is on stdout; that somebody is asked is said on stderr."""
    ran = ask(install, agent, "'Which one, please?' --choices pdf,docx", "docx")
    assert (ran.code, ran.out) == (0, "docx\n")
    assert "asked" in ran.err
    told = ask(install, agent, "Free or not? --choice 'yes, please' --choice no --free-text --json", "perhaps é").json
    assert (told["answer"], told["is_choice"]) == ("perhaps é", False)


def test_nobody_answers(install: RealApp, agent: Talker) -> None:
    """Code 3, for programs with the reason."""
    ran = ask(install, agent, "'Are you there?' --timeout 1 --json", None)
    assert (ran.code, ran.json["error"]["code"], ran.err.splitlines()[-1]) == (
        3,
        "expired",
        "hermit: Nobody answered in time.",
    )


def test_a_person_s_time_is_not_the_command_s(install: RealApp) -> None:
    """A turn's command that asks outlives its time limit, and goes on with the answer."""
    agent = install.agent(toolsets=["questions"], command_timeout_s=1)
    turn = agent.send(
        install.plays.commands('a=$(hermit ask "Go on?" --choices yes,no); echo "got $a"; sleep 0.2; echo end')
    )
    asked = question(agent)
    began = time.monotonic()
    eventually(lambda: time.monotonic() - began > 2)
    agent.api.post(f"/questions/{asked['id']}", {"answer": "yes"})
    step = agent.ended(turn)["steps"][0]
    assert (step["exit_code"], step["output"].splitlines()[-2:]) == (0, ["got yes", "end"])


def test_a_turn_that_is_stopped_asks_no_more(install: RealApp) -> None:
    """The stop ends the command that waits, and its question."""
    agent = install.agent(toolsets=["questions"])
    turn = agent.send(install.plays.commands("hermit ask 'Go on?' --choices yes,no"))
    asked = question(agent)
    agent.stop(turn)
    assert agent.ended(turn)["status"] == "stopped"
    eventually(
        lambda: not any(q["id"] == asked["id"] for q in agent.api.get("/questions", status="pending")["questions"])
    )


# --- many, and strangers -------------------------------------------------------------------------------------------


def test_twenty_at_once(install: RealApp, agent: Talker) -> None:
    """Each is done once."""
    script = (
        'for i in $(seq 20); do hermit memory add "fact number $i" & done; wait; hermit memory list --limit 50 --json'
    )
    ran = bash(install, agent, script)
    assert ran.code == 0
    facts = agent.api.get(f"/agents/{agent.name}/memories")["memories"]
    assert sorted(f["text"] for f in facts if "fact number" in f["text"]) == sorted(
        f"fact number {i}" for i in range(1, 21)
    )


def test_cubicles_do_not_see_each_other_s_calls(install: RealApp, agent: Talker, bare: Talker) -> None:
    """Another's call is none, whatever one knows of it."""
    with install.app._store.reading() as db:
        row = db.execute("SELECT id FROM calls WHERE agent = ? AND status = 'done' LIMIT 1", (agent.name,)).fetchone()
    mine = run_inside(install.client, agent, "python3", "-c", LOOK, row["id"])
    theirs = run_inside(install.client, bare, "python3", "-c", LOOK, row["id"])
    assert json.loads(mine.out)["status"] == "done"
    assert theirs.out == "not_found\n"


# --- restarts ------------------------------------------------------------------------------------------------------


@pytest.fixture
def asking(process: AppProcess) -> Iterator[tuple[Talker, list[Ran]]]:
    """An agent of an install that can be killed, with a command that waits for its person."""
    agent = process.agent(toolsets=["questions"])
    agent.wake()
    eventually(lambda: "running" in str(process.client.containers.get(agent.container).status))
    ended: list[Ran] = []
    words = ("hermit", "ask", "Still there?", "--choices", "yes,no")
    thread = threading.Thread(target=lambda: ended.append(run_inside(process.client, agent, *words)))
    thread.start()
    yield agent, ended
    thread.join(30)


def test_the_install_restarts_while_a_command_waits(process: AppProcess, asking: tuple[Talker, list[Ran]]) -> None:
    """The question is still there, and the answer reaches the command that asked before."""
    agent, ended = asking
    asked = question(agent)
    process.restart()
    agent.api.post(f"/questions/{asked['id']}", {"answer": "yes"})
    ran = eventually(lambda: ended[0] if ended else None)
    assert (ran.code, ran.out) == (0, "yes\n")
