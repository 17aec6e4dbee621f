"""Deliveries out of real cubicles: whatever programs inside do in ``out/``, the good files arrive, each once."""

from __future__ import annotations

import io
import random
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.delivery.debounce import QUIET_S
from orchestrator.core.rates import USUAL_RATES
from tests.support.real_app import AppProcess, RealApp, Talker, eventually
from tests.support.scripted_upstream import Reply, says

pytestmark = pytest.mark.docker

OUT = "/app/workspace/out"


@pytest.fixture
def agent(install: RealApp) -> Talker:
    """An agent of its own for each test, as caps are per cubicle; its cubicle runs."""
    made = install.agent()
    made.api.post(f"/agents/{made.name}/cubicle/start")
    return made


def delivered(agent: Talker) -> list[dict[str, Any]]:
    """All its deliveries, oldest first."""
    found: list[dict[str, Any]] = agent.api.get(f"/agents/{agent.name}/deliveries", limit=200)["deliveries"]
    return found[::-1]


def is_quiet(agent: Talker) -> bool:
    """Nothing is on its way any more."""
    return not agent.api.get(f"/agents/{agent.name}/deliveries")["settling"]


def named(agent: Talker, *names: str, patience_s: float = 30.0) -> list[dict[str, Any]]:
    """All deliveries, once those named are among them."""

    def look() -> list[dict[str, Any]]:
        found = delivered(agent)
        return found if set(names) <= {d["file"] for d in found if d["status"] == "sent"} else []

    return eventually(look, patience_s=patience_s)


def content(agent: Talker, delivery: dict[str, Any]) -> bytes:
    """What is downloaded."""
    answer = agent.api.call("GET", delivery["url"].removeprefix("/api"))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    return answer.content


def run(install: RealApp, agent: Talker, script: str) -> None:
    """A script inside, as the agent, to its end."""
    install.inside(agent, "bash", "-c", f"cd {OUT} && {{ {script}\n}}")


# --- whole files -----------------------------------------------------------------------------------------------


def test_a_file_of_a_turn_arrives_with_it(install: RealApp, agent: Talker) -> None:
    """It knows its turn, and its download is what was written."""
    turn = agent.ask(install.plays.commands("echo hello > ../out/hello.txt"))
    (made,) = named(agent, "hello.txt")
    assert (made["turn"], made["to"], made["status"], made["size"]) == (turn["id"], "dashboard", "sent", 6)
    assert content(agent, made) == b"hello\n"


def test_a_file_leaves_when_its_command_has_ended(install: RealApp, agent: Talker) -> None:
    """Without the quiet that is waited for while one runs; one that is still open comes later, whole."""
    background = "(echo one; sleep 2; echo two) > ../out/slow.txt 2> /dev/null < /dev/null &"
    turn = agent.ask(install.plays.commands(f"{background} sleep 0.2; echo hello > ../out/hello.txt; date +%s%N"))
    named(agent, "hello.txt")
    (made,) = delivered(agent)
    closed_at = int(turn["steps"][0]["output"]) / 1e9
    sent_at = datetime.fromisoformat(made["at"]).timestamp()
    assert 0 <= sent_at - closed_at < QUIET_S / 2
    assert content(agent, named(agent, "slow.txt")[-1]) == b"one\ntwo\n"
    eventually(lambda: is_quiet(agent))
    assert len(delivered(agent)) == 2


WRITERS = {
    "one handle, long pauses": 'python3 -c \'import time\nf=open("a.txt","w")\n'
    'for n in range(6):\n f.write(f"part {n}\\n"); f.flush(); time.sleep(0.6)\'',
    "a line at a time": "for n in 0 1 2 3 4 5; do echo part $n >> a.txt; sleep 0.5; done",
    "renamed into place": "for n in 0 1 2 3 4 5; do echo part $n >> .a; sleep 0.1; done; mv .a a.txt",
    "copied from elsewhere": "for n in 0 1 2 3 4 5; do echo part $n; done > ../work/a; mv ../work/a a.txt",
    "mapped": """python3 -c '
import mmap, time
f = open("a.txt", "w+b"); f.write(b"x" * 42); f.flush()
m = mmap.mmap(f.fileno(), 42); f.close(); time.sleep(2)
m[:] = b"".join(b"part %d\\n" % n for n in range(6)); m.close()
'""",
}


@pytest.mark.parametrize("script", WRITERS.values(), ids=WRITERS.keys())
def test_a_file_written_in_parts_arrives_once_and_whole(install: RealApp, agent: Talker, script: str) -> None:
    """However it is written."""
    run(install, agent, script)
    (made,) = named(agent, "a.txt")
    assert content(agent, made) == b"".join(b"part %d\n" % n for n in range(6))
    eventually(lambda: is_quiet(agent))
    assert len(delivered(agent)) == 1


def test_changed_content_arrives_again_and_touching_is_no_change(install: RealApp, agent: Talker) -> None:
    """Also with the same size and the same times."""
    run(install, agent, "echo one > a; touch -d 2446-01-01 a")
    named(agent, "a")
    run(install, agent, "touch -d 1901-01-01 a; chmod 600 a; cat a > /dev/null")
    run(install, agent, "echo two > a; touch -d 2446-01-01 a")
    eventually(lambda: len(delivered(agent)) == 2)
    eventually(lambda: is_quiet(agent))
    assert [content(agent, made) for made in delivered(agent)] == [b"one\n", b"two\n"]


def test_a_folder_arrives_as_one_zip(install: RealApp, agent: Talker) -> None:
    """Once it is quiet; and again when something in it changed and a turn ends."""
    run(install, agent, "mkdir -p plots/deep; for n in 1 2 3 4; do echo $n > plots/deep/$n.txt; sleep 0.3; done")
    (made,) = named(agent, "plots.zip")
    with zipfile.ZipFile(io.BytesIO(content(agent, made))) as archive:
        assert sorted(archive.namelist()) == [f"deep/{n}.txt" for n in range(1, 5)]
    agent.ask(install.plays.commands("echo 5 > ../out/plots/deep/5.txt"))
    eventually(lambda: len(delivered(agent)) == 2)


def test_what_programs_hide_stays(install: RealApp, agent: Talker) -> None:
    """Hidden and unfinished names are left alone; the good file arrives."""
    run(install, agent, "for n in .hidden a.part b.tmp c.crdownload d~; do echo x > $n; done; echo good > good.txt")
    assert [made["file"] for made in named(agent, "good.txt")] == ["good.txt"]


def test_an_answer_may_ask_for_a_file_by_name(install: RealApp, agent: Talker) -> None:
    """Once a turn, also when it was sent before; what is missing is said in the reply."""
    play = install.plays
    run(install, agent, "echo x > a.txt")
    named(agent, "a.txt")
    turn = agent.ask(play.add(_asking("FILE:a.txt")))
    eventually(lambda: [made["turn"] for made in delivered(agent)] == [None, turn["id"]])
    missing = agent.ask(play.add(_asking("FILE:nope.txt|../work/secret")))
    assert missing["reply"] == "Here.\n\n(Not sent, as it is not in out/: nope.txt, ../work/secret)"


def _asking(action: str) -> Reply:
    return says(f'{{"message": "Here.", "action": "{action}", "terminal": ""}}')


# --- odd things ------------------------------------------------------------------------------------------------

ODD = {
    "link to a host file": "ln -s /etc/passwd odd",
    "link to the host process": "ln -s /proc/self/environ odd",
    "dangling link": "ln -s /nowhere odd",
    "link to itself": "ln -s odd odd",
    "link to a folder": "ln -s / odd",
    "pipe": "mkfifo odd",
    "socket": "python3 -c 'import socket; socket.socket(1).bind(\"odd\")'",
    "two names": "echo x > odd; ln odd .other",
    "nothing, of great size": "truncate -s 1500M odd; ! truncate -s 1T odd2",
    "closed to all": "echo x > odd; chmod 000 odd; mkdir -m 000 oddfolder",
    "growing": "(while head -c 4M /dev/zero; do sleep 0.1; done > odd) < /dev/null > /dev/null 2>&1 &\nsleep 0.3",
    "shrinking": "(while truncate -s 1M odd; do truncate -s 0 odd; done) < /dev/null > /dev/null 2>&1 &\nsleep 0.3",
    "5,000 deep": 'python3 -c \'import os\nos.mkdir("odd"); os.chdir("odd")\n'
    'for _ in range(5000): os.mkdir("d"); os.chdir("d")\'',
    "a name of 255 bytes": "echo x > $(printf 'n%.0s' $(seq 255))",
    "names of no text": r"echo x > $'\xff\xfe'; echo x > $'a\nb'; echo x > $'\u202egpj.exe'; echo x > -rf",
    "times that never were": "echo x > odd; touch -d 2446-01-01 odd; echo x > odd2; touch -d 1901-01-01 odd2",
}


@pytest.mark.parametrize("script", ODD.values(), ids=ODD.keys())
def test_whatever_else_lies_there_the_good_file_arrives(install: RealApp, agent: Talker, script: str) -> None:
    """Within seconds, and nothing that is not the agent's own is in any copy."""
    run(install, agent, script)
    run(install, agent, "echo good > good.txt")
    found = named(agent, "good.txt", patience_s=15)
    for made in found:
        if made["url"] is not None:
            assert b"root:" not in content(agent, made)
    install.inside(agent, "bash", "-c", "pkill truncate; true")
    agent.api.call("DELETE", f"/agents/{agent.name}")
    assert not agent.work.parent.exists()


def test_a_flood_is_capped_and_told_once(install: RealApp, agent: Talker) -> None:
    """So many arrive, and one notice says how many did not."""
    run(install, agent, "for n in $(seq 1000); do echo $n > $n.txt; done")
    notice = eventually(lambda: [d for d in delivered(agent) if d["status"] == "withheld"], patience_s=60)
    eventually(lambda: is_quiet(agent))
    sent = [d for d in delivered(agent) if d["status"] == "sent"]
    assert len(sent) == USUAL_RATES.files_per_minute
    assert [d["file"] for d in notice] == [f"{1000 - USUAL_RATES.files_per_minute} files"]
    agent.ask(install.plays.add())
    eventually(lambda: is_quiet(agent))
    assert len(delivered(agent)) == USUAL_RATES.files_per_minute + 1


def test_after_an_overflow_of_events_the_last_file_arrives(install: RealApp, agent: Talker) -> None:
    """The kernel drops events of fifty thousand names; a look finds what came last."""
    run(
        install, agent, 'python3 -c \'import os\nfor n in range(50000): open(f".{n}","w").close(); os.unlink(f".{n}")\''
    )
    run(install, agent, "echo x > final.txt")
    assert len(named(agent, "final.txt")) == 1


def test_one_agent_s_work_keeps_no_other_waiting(install: RealApp, agent: Talker) -> None:
    """While one fills its outbox folder, another's file arrives."""
    other = install.agent()
    other.api.post(f"/agents/{other.name}/cubicle/start")
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(run, install, agent, "for n in $(seq 20000); do echo $n > $n.txt; done")
        run(install, other, "echo x > a.txt")
        named(other, "a.txt", patience_s=15)
        busy.result()


# --- deaths ----------------------------------------------------------------------------------------------------


def test_killed_at_any_moment_each_file_arrives_once(process: AppProcess) -> None:
    """Files are made all the while, in a cubicle that goes on."""
    agent = process.agent()
    process.api.post(f"/agents/{agent.name}/cubicle/start")
    names, dice = [f"{number}.txt" for number in range(18)], random.Random(7)  # noqa: S311 - dice that fall the same way each time
    ended = threading.Event()

    def fill() -> None:
        for name in names:
            container = process.client.containers.get(agent.container)
            container.exec_run(["bash", "-c", f"echo {name} > {OUT}/.{name}; mv {OUT}/.{name} {OUT}/{name}"])
            time.sleep(0.1)
        ended.set()

    filling = threading.Thread(target=fill)
    filling.start()
    while not ended.wait(dice.uniform(0.0, 0.5)):
        process.kill()
        process.start(is_awaited=dice.random() < 0.5)
    filling.join()
    process.restart()
    found = named(agent, *names, patience_s=60)
    eventually(lambda: is_quiet(agent))
    found = delivered(agent)
    assert sorted(d["file"] for d in found) == sorted(names)
    kept = sorted(path.name for path in Path(process.home, "outbox").iterdir())
    assert len(kept) == len(names)
    assert {content(agent, d) for d in found} == {f"{name}\n".encode() for name in names}
