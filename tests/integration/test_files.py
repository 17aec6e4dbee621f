"""Files through real cubicles: what a person uploads the agent reads, what the agent writes a person gets, byte for
byte; and an agent that swaps files for links gets nothing of the host's sent."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import secrets
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.real_app import RealApp, Talker
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

RACE_S = 10.0
HARMLESS = b"of the agent\n" * 5000


@pytest.fixture(scope="module")
def talker(install: RealApp) -> Talker:
    """An agent for all tests."""
    return install.agent()


def call(agent: Talker, method: str, path: str, **options: Any) -> requests.Response:
    """A call to the agent's files."""
    return agent.api.call(method, f"/agents/{agent.name}/files/{path}", **options)


def output(install: RealApp, agent: Talker, *commands: str) -> str:
    """What the last of some commands printed."""
    turn = agent.ask(install.plays.commands(*commands))
    step = turn["steps"][-1]
    assert step["exit_code"] == 0, step
    return str(step["output"])


def test_a_file_goes_in_is_worked_on_and_comes_out(install: RealApp, talker: Talker) -> None:
    """Uploaded, read by a command, written again, downloaded: the bytes that it should be, alone and in the archive."""
    content = os.urandom(3_000_001)
    stored = call(talker, "PUT", "in/my%20file.bin", data=content).json()
    assert (stored["path"], stored["sha256"]) == ("in/my%20file.bin", hashlib.sha256(content).hexdigest())
    said = output(
        install, talker, "sha256sum < '../in/my file.bin'", "base64 -w0 '../in/my file.bin' > ../out/coded.txt"
    )
    assert said == ""
    answer = call(talker, "GET", "out/coded.txt")
    assert answer.content == base64.b64encode(content)
    with zipfile.ZipFile(io.BytesIO(call(talker, "GET", "?zip=1").content)) as archive:
        assert archive.read("in/my file.bin") == content
        assert archive.read("out/coded.txt") == answer.content
        assert "work/.hermit.log" in archive.namelist()


def test_a_message_says_where_its_file_is(install: RealApp, talker: Talker) -> None:
    """The path that the agent is told is the path where it finds it."""
    path = call(talker, "PUT", "in/note.txt", data=b"the word is crabapple").json()["path"]
    text = install.plays.add(answers(terminal="cat /app/workspace/in/note.txt"))
    sent = talker.api.post(f"/agents/{talker.name}/messages", {"text": text, "files": [path], "wait": True})
    turn = talker.turn(sent["turn"])
    assert '"/app/workspace/in/note.txt" (21 bytes, text/plain)' in turn["prompt"]
    assert turn["steps"][0]["output"] == "the word is crabapple"
    assert any("in/note.txt" in str(request.json["messages"]) for request in install.model.requests)


def test_the_agent_can_not_change_what_was_uploaded(install: RealApp, talker: Talker) -> None:
    """``in`` is read-only to it, and nothing in it can get a second name."""
    call(talker, "PUT", "in/kept.txt", data=b"kept")
    for command in ("echo x > ../in/kept.txt", "rm -f ../in/kept.txt", "ln ../in/kept.txt ../out/x", "touch ../in/new"):
        turn = talker.ask(install.plays.commands(command))
        assert turn["steps"][0]["exit_code"] != 0, command
    assert call(talker, "GET", "in/kept.txt").content == b"kept"


def test_what_the_agent_deletes_and_what_we_delete_is_gone(install: RealApp, talker: Talker) -> None:
    """A deep, shut tree of another user's is deleted from outside; the agent goes on."""
    output(install, talker, "mkdir -p shut/a/b/c && echo x > shut/a/b/c/d && chmod -R 000 shut; true")
    assert call(talker, "DELETE", "work/shut").status_code == 204
    assert output(install, talker, "test ! -e shut && echo gone") == "gone\n"


def test_odd_things_that_an_agent_makes_are_not_sent(install: RealApp, talker: Talker) -> None:
    """Links, pipes, sockets and hard links, made inside, are 404 outside; odd names are fine."""
    output(
        install,
        talker,
        "mkdir -p ../out/odd && cd ../out/odd && ln -s /etc/passwd link && ln -s ../../../../../db/hermit.db up && "
        "mkfifo pipe && echo x > one && ln one two && ln -s . loop && printf odd > $'\\xff\\n.txt' && "
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'",
    )
    for name in ("link", "up", "pipe", "one", "two", "loop", "loop/one", "socket"):
        assert call(talker, "GET", f"out/odd/{name}").status_code == 404, name
    assert call(talker, "GET", "out/odd/%FF%0A.txt").content == b"odd"
    entries = call(talker, "GET", "out/odd").json()["entries"]
    assert {entry["kind"] for entry in entries if entry["name"] != "\\xff\\n.txt"} == {"other"}


SWAP = """
import itertools, os, time
os.chdir("/app/workspace/out")
os.makedirs("race", exist_ok=True)
os.chdir("race")
harmless = b"of the agent\\n" * 5000
os.makedirs("real", exist_ok=True)
with open("real/canary", "wb") as file:
    file.write(harmless)
end = time.monotonic() + SECONDS
for n in itertools.count():
    if time.monotonic() > end:
        break
    if n % 2:
        os.symlink("TARGET/canary", "fresh")
    else:
        with open("fresh", "wb") as file:
            file.write(harmless)
    os.replace("fresh", "file")
    os.symlink("TARGET", "dir")
    os.unlink("dir")
    os.rename("real", "dir")
    os.rename("dir", "real")
print(n)
"""
"""As the agent: a file and a folder that are links to the host's canary every other moment."""


def test_nothing_of_the_hosts_is_sent_however_fast_an_agent_swaps(
    install: RealApp, tmp_path: Path, talker: Talker
) -> None:
    """Ten seconds of swaps inside, downloads and archives outside: the agent's own bytes or nothing."""
    canary = secrets.token_bytes(16)
    (tmp_path / "canary").write_bytes(canary)
    program = SWAP.replace("SECONDS", str(RACE_S)).replace("TARGET", str(tmp_path))
    talker.change(command_timeout_s=60)
    coded = base64.b64encode(program.encode()).decode()
    turn = talker.send(install.plays.commands(f"echo {coded} | base64 -d | python3 -"))
    talker.running(turn)
    end = time.monotonic() + RACE_S - 1
    statuses: set[int] = set()
    packed = 0
    while time.monotonic() < end:
        for path in ("out/race/file", "out/race/dir/canary", "out/race/real/canary"):
            answer = call(talker, "GET", path)
            statuses.add(answer.status_code)
            assert canary not in answer.content
            assert answer.status_code != 200 or answer.content == HARMLESS
        answer = call(talker, "GET", "out?zip=1")
        assert answer.status_code == 200
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            contents = [archive.read(name) for name in archive.namelist()]
        assert not any(canary in content for content in contents)
        packed += HARMLESS in contents
    ended = talker.ended(turn)
    assert ended["steps"][0]["exit_code"] == 0, ended["steps"][0]
    assert int(ended["steps"][0]["output"]) > 100
    assert {200, 404} <= statuses <= {200, 404, 409}
    assert packed
