"""A terminal in a real cubicle: what it shows and takes, its walls, and that nothing of it outlives it."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
import requests

from tests.support.real_app import (
    Api,
    AppProcess,
    RealApp,
    Talker,
    eventually,
    process_install,
    real_install,
    run_inside,
)

pytestmark = pytest.mark.docker

MARK = "HERMIT_TTY="


class Window:
    """What a page does, by hand: opens a terminal, reads all of it, confirms or not, types."""

    def __init__(self, api: Api, agent: str, *, confirms: bool = True) -> None:
        self.api, self.confirms = api, confirms
        opened = api.call("POST", f"/agents/{agent}/terminals", json={"columns": 100, "rows": 30})
        assert opened.status_code == 201, opened.text
        self.path = f"/agents/{agent}/terminals/{opened.json()['id']}"
        self.shown, self.why, self._typed = bytearray(), "", 0
        self._answer = requests.get(
            f"{api.url}/api{self.path}/output", headers=dict(api.session.headers), stream=True, timeout=120
        )
        assert self._answer.status_code == 200
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def type(self, text: str) -> None:
        """The next keys."""
        self._typed += 1
        assert self.post("input", {"seq": self._typed, "text": text}).status_code == 204

    def post(self, what: str, body: dict[str, Any]) -> requests.Response:
        """Another call about it."""
        return self.api.call("POST", f"{self.path}/{what}", json=body)

    def sees(self, text: str) -> None:
        """It is shown, sooner or later."""
        eventually(lambda: text.encode() in self.shown)

    def close(self) -> None:
        """As a page does that goes."""
        assert self.api.call("DELETE", self.path).status_code == 204
        self._thread.join(30)

    def ended(self) -> str:
        """Why, once it has ended."""
        return eventually(lambda: self.why)

    def _read(self) -> None:
        event = ""
        with contextlib.suppress(requests.RequestException), self._answer:
            for line in self._answer.iter_lines(decode_unicode=True):
                name, _, value = str(line).partition(": ")
                if name == "event":
                    event = value
                elif name == "data" and event == "closed":
                    self.why = json.loads(value)["why"]
                elif name == "data":
                    self.shown += base64.b64decode(value)
                    if self.confirms:
                        self.post("taken", {"offset": len(self.shown)})


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str]
) -> Iterator[RealApp]:
    """An install with terminals."""
    environment = {"HERMIT_TERMINAL": "1"}
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, environment=environment) as made:
        yield made


@pytest.fixture(scope="module")
def agent(install: RealApp) -> Talker:
    """An agent whose cubicle runs as soon as a terminal is opened in it."""
    return install.agent()


def left_inside(client: docker.DockerClient, agent: Talker) -> list[str]:
    """The command lines of what was started in terminals and still runs."""
    look = (
        "for p in /proc/[0-9]*; do if tr '\\0' '\\n' < $p/environ 2>/dev/null | grep -q ^HERMIT_TTY=; "
        "then tr '\\0' ' ' < $p/cmdline; echo; fi; done"
    )
    return run_inside(client, agent, "sh", "-c", look).out.split("\n")[:-1]


def test_a_command_runs_within_the_walls(install: RealApp, agent: Talker) -> None:
    """As the cubicle's own user, without privileges, capabilities or network, in the workspace."""
    window = Window(install.api, agent.name)
    window.type("id -u; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; ls /sys/class/net; pwd; stty size\r")
    window.sees("30 100")
    shown = window.shown.decode()
    user = install.client.api.inspect_container(agent.container)["Config"]["User"].partition(":")[0]
    assert user != "0"
    for line in (user, "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "lo", "/app/workspace/work"):
        assert f"{line}\r\n" in shown, shown
    assert "eth0" not in shown
    window.type("echo gr\u00fc\u00dfe > note; touch /etc/x\r")
    window.sees("Read-only file system")
    assert (agent.work / "note").read_text(encoding="utf-8") == "gr\u00fc\u00dfe\n"
    assert not (agent.work / ".bash_history").exists()
    assert not install.engine.is_at_rest(agent.container)  # so that nobody puts it to sleep meanwhile
    window.close()


def test_resizing_and_interrupting(install: RealApp, agent: Talker) -> None:
    """The shell hears of both."""
    window = Window(install.api, agent.name)
    assert window.post("size", {"columns": 61, "rows": 17}).status_code == 204
    window.type("stty size; trap 'echo heard-it' INT; sleep 600\r")
    window.sees("17 61")
    eventually(lambda: "sleep 600 " in left_inside(install.client, agent))
    window.type("\x03")
    window.sees("^C")
    window.type("echo still $((40 + 2))\r")
    window.sees("still 42")
    window.type("exit\r")
    assert window.ended() == "The shell has ended."
    assert left_inside(install.client, agent) == []


def test_a_flood_holds_nobody_up(install: RealApp, agent: Talker) -> None:
    """A page that takes nothing more makes the program wait; others are answered; Ctrl-C still ends it."""
    window = Window(install.api, agent.name, confirms=False)
    window.type("yes a-flood-of-words\r")
    eventually(lambda: len(window.shown) >= 256 * 1024)
    began, before = time.monotonic(), len(window.shown)
    for _ in range(20):
        assert install.api.is_healthy()
    assert time.monotonic() - began < 10
    assert len(window.shown) - before <= 64 * 1024
    window.type("\x03")
    window.confirms = True
    window.post("taken", {"offset": len(window.shown)})
    window.type("echo dry $((40 + 2))\r")
    window.sees("dry 42")
    window.close()


def test_closing_ends_everything_that_was_started(install: RealApp, agent: Talker) -> None:
    """What ran in the background, left the session or ignores a hang-up, too; and nothing else."""
    window = Window(install.api, agent.name)
    window.type("sleep 611 & (setsid sleep 612 &) ; nohup sleep 613 >/dev/null 2>&1 & echo on $((40 + 2))\r")
    window.sees("on 42")
    install.client.containers.get(agent.container).exec_run(["sleep", "614"], detach=True)
    eventually(lambda: len(left_inside(install.client, agent)) == 4)
    window.close()
    assert window.why == "Its page was closed."
    assert left_inside(install.client, agent) == []
    assert "sleep 614" in install.inside(agent, "ps", "-eo", "args")
    rows = install.api.get("/audit", kind="terminal.closed")["rows"]
    assert rows[0]["detail"]["bytes_out"] >= len(window.shown)


def test_a_log_out_ends_the_shell_inside(install: RealApp, agent: Talker) -> None:
    """Within moments, whatever runs in it."""
    users = install.app.services.users
    session = users.use_link(users.make_link(1))
    api = Api(install.api.url)
    login = requests.get(install.api.url, cookies={"hermit_session": session}, timeout=30)
    token = login.text.partition('name="csrf" content="')[2].partition('"')[0]
    api.session.headers.clear()
    api.session.headers.update(
        {"Cookie": f"hermit_session={session}", "X-CSRF-Token": token, "Origin": install.api.url}
    )
    window = Window(api, agent.name)
    window.type("sleep 620\r")
    eventually(lambda: "sleep 620 " in left_inside(install.client, agent))
    users.log_out(session)
    assert window.ended() == "The login that opened it has ended."
    eventually(lambda: not left_inside(install.client, agent))


def test_a_cubicle_that_is_stopped_takes_its_terminals_along(install: RealApp, agent: Talker) -> None:
    """And the next one starts it again."""
    window = Window(install.api, agent.name)
    install.api.post(f"/agents/{agent.name}/cubicle/stop")
    assert window.ended() == "The cubicle was stopped."
    again = Window(install.api, agent.name)
    again.type("echo back $((40 + 2))\r")
    again.sees("back 42")
    again.close()


def test_a_sudden_death_leaves_no_shell_after_the_next_start(
    tmp_path: Path, client: docker.DockerClient, image: str
) -> None:
    """Killed without a moment to tidy up: the next start finds what was left, and ends it."""
    with process_install(tmp_path, client, {"HERMIT_TERMINAL": "1"}) as process:
        died(process, client)


def died(process: AppProcess, client: docker.DockerClient) -> None:
    """The install of such a death."""
    agent = process.agent()
    window = Window(process.api, agent.name)
    window.type("sleep 631 & sleep 632\r")
    eventually(lambda: len(left_inside(client, agent)) == 3)
    process.kill()
    assert len(left_inside(client, agent)) == 3
    process.start()
    assert left_inside(client, agent) == []
    assert process.api.get("/audit", kind="terminal.ended")["rows"]
    assert window.why == ""
