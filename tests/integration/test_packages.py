"""Packages on the real engine: asked for inside a real cubicle, agreed to over the API, fetched by a package
resolver that has no network either, through a gate, from an index on this machine, and used by the agent.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from tests.support.package_index import PackageIndex, wheel
from tests.support.real_app import AppProcess, RealApp, Talker, eventually, process_install, real_install

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def index() -> Iterator[PackageIndex]:
    """An index on this machine's own loopback, which no container reaches but through a gate."""
    made = PackageIndex()
    with made:
        made.wheel(
            "greeter", "1.2.0", {"greeter.py": "import words\ndef hello(): return words.HELLO\n"}, needs=("words",)
        )
        made.wheel("words", "0.9", {"words.py": "HELLO = 'ahoy'\n"})
        made.wheel("unwanted", "1.0", {"unwanted.py": ""})
        made.tarball("left-side", "1.0.0", {"index.js": "module.exports = 'left'\n"})
        made.tarball(
            "both-sides",
            "2.1.0",
            {"index.js": "module.exports = require('left-side') + ' and right'\n", "run.js": "#!/usr/bin/env node\n"},
            needs={"left-side": "^1.0.0"},
            bin={"sides": "run.js"},
            scripts={"postinstall": "echo gotcha > /helper/out/gotcha"},
        )
        yield made


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    index: PackageIndex,
) -> Iterator[RealApp]:
    """An install that knows this index alone."""
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, environment=index.settings) as made:
        yield made


def question(install: RealApp | AppProcess, turn: int) -> dict[str, Any]:
    """The open question of a turn about a whole list: the one about the names, where there is one, is agreed to before.
    The package resolver's image may have to be built first."""
    found = open_question(install, turn)
    if found["kind"] == "package_names":
        install.api.call("POST", f"/approvals/{found['id']}", json={"decision": "approve"})
        found = eventually(lambda: (now := open_question(install, turn))["kind"] == "packages" and now, patience_s=400)
    return found


def with_any_name(install: RealApp) -> Talker:
    """An agent that may look up packages without a question."""
    agent = install.agent()
    for system in ("pip", "npm"):
        grant = {"kind": "command", "subject": f"look up packages of {system}", "scope": "always"}
        assert install.api.call("POST", f"/agents/{agent.name}/grants", json=grant).status_code == 201
    return agent


def open_question(install: RealApp | AppProcess, turn: int) -> dict[str, Any]:
    """The question of a turn that waits for a person."""
    return eventually(
        lambda: next(
            (a for a in install.api.get("/approvals", status="pending")["approvals"] if a["turn"] == turn), None
        ),
        patience_s=400,
    )


def test_a_package_with_what_it_needs(install: RealApp, index: PackageIndex) -> None:
    """The whole list is what a person agrees to; nothing is downloaded before; then the agent imports it."""
    agent = install.agent()
    turn = agent.send(
        install.plays.commands(
            "hermit install pip greeter", "python3 -c 'import greeter; print(greeter.hello())'", reply="Installed."
        )
    )
    asked = question(install, turn)
    lines = asked["text"].splitlines()
    assert (asked["kind"], lines[0]) == ("packages", "pip install")
    assert [line.split()[0] for line in lines[1:]] == ["greeter==1.2.0", "words==0.9"]
    assert all("sha256:" in line and " KB " in line for line in lines[1:])
    assert asked["detail"]["asked"] == ["greeter"]
    assert [package["name"] for package in asked["detail"]["packages"]] == ["greeter", "words"]
    assert agent.decide(asked["id"], "approve").status_code == 200
    ended = agent.ended(turn, patience_s=60)
    outputs = [step["output"] for step in ended["steps"]]
    assert (ended["status"], "They are installed." in outputs[0], outputs[1].strip()) == ("done", True, "ahoy")
    shelf = agent.work.parent / "data" / "packages"
    files = sorted(path.name for path in shelf.rglob("*") if path.is_file())
    assert files == [
        "greeter-1.2.0-py3-none-any.whl",
        "packages.json",
        "requirements.txt",
        "words-0.9-py3-none-any.whl",
    ]
    assert list(install.home.joinpath("helpers").iterdir()) == []
    assert (
        install.inside(agent, "sh", "-c", "touch /app/workspace/data/packages/x 2>/dev/null || echo no").strip() == "no"
    )
    before = len(index.asked)
    again = agent.ask(install.plays.commands("hermit install pip greeter --json"))
    assert json.loads(again["steps"][0]["output"])["packages"][0] == {"name": "greeter", "version": "1.2.0"}
    assert len(index.asked) == before


def test_no_name_leaves_before_a_person_agreed(install: RealApp, index: PackageIndex) -> None:
    """The first question shows the names; after a no the index has heard nothing."""
    index.wheel("not-yet-told", "1.0", {"not_yet_told.py": ""})
    agent = install.agent()
    turn = agent.send(install.plays.commands("hermit install pip not-yet-told; echo code $?"))
    asked = open_question(install, turn)
    assert (asked["kind"], asked["text"]) == ("package_names", "pip look-up\nnot-yet-told")
    assert not any("not-yet-told" in path for path in index.asked)
    agent.decide(asked["id"], "deny")
    assert "code 3" in agent.ended(turn)["steps"][0]["output"]
    assert not any("not-yet-told" in path for path in index.asked)


def test_npm_runs_no_scripts_and_links_commands(install: RealApp) -> None:
    """The tree that npm planned lies in the agent's work folder, and no script of a package ran anywhere."""
    agent = install.agent()
    turn = agent.send(
        install.plays.commands(
            "hermit install npm both-sides@2.1.0",
            "node -e \"console.log(require('both-sides'))\"",
            "test -x node_modules/.bin/sides && echo linked",
        )
    )
    asked = question(install, turn)
    assert [line.split()[0] for line in asked["text"].splitlines()[1:]] == ["both-sides@2.1.0", "left-side@1.0.0"]
    agent.decide(asked["id"], "approve")
    ended = agent.ended(turn, patience_s=60)
    outputs = [step["output"].strip() for step in ended["steps"]]
    assert outputs[1:] == ["left and right", "linked"], outputs


def test_no_is_no(install: RealApp, index: PackageIndex) -> None:
    """A denial reaches the program that waits with a code of its own, and nothing is downloaded."""
    agent = install.agent()
    turn = agent.send(install.plays.commands("hermit install pip unwanted; echo code $?"))
    agent.decide(question(install, turn)["id"], "deny")
    ended = agent.ended(turn)
    assert "said no" in ended["steps"][0]["output"]
    assert "code 3" in ended["steps"][0]["output"]
    assert not (agent.work.parent / "data" / "packages").exists()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("pip nothing-of-this-name", "no such package"),
        ("npm nothing-of-this-name", "no such package"),
        ("pip greeter==9", "no such package"),
        ("pip git+https://example.com/x", "is no package of pip's"),
        ("npm ../x", "is no package of npm's"),
    ],
)
def test_what_can_not_be_had(install: RealApp, wanted: str, said: str) -> None:
    """A sentence says what is wrong, and nobody is asked."""
    agent = with_any_name(install)
    ended = agent.ask(install.plays.commands(f"hermit install {wanted}; echo code $?"), timeout=120)
    assert said in ended["steps"][0]["output"]
    assert "code 1" in ended["steps"][0]["output"]


def test_another_file_than_agreed_is_refused(install: RealApp, index: PackageIndex) -> None:
    """The index serves other bytes after the approval: nothing of them reaches the cubicle."""
    index.wheel("shifty", "1.0", {"shifty.py": "GOOD = True\n"})
    agent = install.agent()
    turn = agent.send(install.plays.commands("hermit install pip shifty"))
    asked = question(install, turn)
    index.offer("shifty", "shifty-1.0-py3-none-any.whl", wheel("shifty", "1.0", {"shifty.py": "GOOD = None\n"}))
    agent.decide(asked["id"], "approve")
    assert "not what was agreed to" in agent.ended(turn, patience_s=60)["steps"][0]["output"]
    assert not (agent.work.parent / "data" / "packages").exists()


def test_the_resolver_has_walls(install: RealApp, client: docker.DockerClient, index: PackageIndex) -> None:
    """No privileges, nothing of the host but two private folders; and it is gone afterwards."""
    index.wheel("slow-one", "1.0", {"slow_one.py": ""})
    agent = install.agent()
    turn = agent.send(install.plays.commands("hermit install pip slow-one"))
    asked = question(install, turn)
    index.going.clear()
    agent.decide(asked["id"], "approve")
    label = f"hermitshell.helper-of={install.install}"
    found = eventually(lambda: client.api.containers(filters={"label": label}))
    facts = client.api.inspect_container(found[0]["Id"])
    looked = client.api.exec_create(found[0]["Id"], ["sh", "-c", "ls /sys/class/net; cat /proc/net/route | wc -l"])
    inside = client.api.exec_start(looked["Id"]).decode().split()
    index.going.set()
    assert inside == ["lo", "1"]
    host = facts["HostConfig"]
    assert (host["ReadonlyRootfs"], host["Privileged"], host["CapDrop"]) == (True, False, ["ALL"])
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert any(option.startswith("seccomp={") for option in host["SecurityOpt"])
    assert facts["Config"]["User"] not in ("", "0", "0:0")
    assert sorted((m["Destination"], m["RW"]) for m in facts["Mounts"]) == [
        ("/helper/in", False),
        ("/helper/out", True),
        ("/run/helper", False),
    ]
    assert (host["NetworkMode"], list(facts["NetworkSettings"]["Networks"])) == ("none", ["none"])
    assert not any("docker.sock" in m["Source"] for m in facts["Mounts"])
    assert agent.ended(turn, patience_s=60)["status"] == "done"
    eventually(lambda: not client.api.containers(all=True, filters={"label": label}))


@pytest.mark.parametrize("system", ["pip", "npm"])
@pytest.mark.parametrize("place", ["loopback", "bridge", "metadata", "name"])
def test_an_index_leads_nowhere_else(
    install: RealApp, client: docker.DockerClient, index: PackageIndex, system: str, place: str
) -> None:
    """A hostile index, or what a package says of itself, names a host of this machine's networks or any other: it is
    refused at the gate, nothing connects there, and a person can read in the audit log where it wanted to go."""
    config = client.networks.get("bridge").attrs["IPAM"]["Config"][0]
    bridge = config.get("Gateway") or str(ipaddress.ip_network(config["Subnet"]).network_address + 1)
    host = {"loopback": "127.0.0.1", "bridge": bridge, "metadata": "169.254.169.254", "name": "evil.example"}[place]
    address = host if place in ("loopback", "bridge") else "127.0.0.1"
    name = f"leads-to-{place}-{system}"
    with socket.create_server((address, 0)) as inner:
        inner.setblocking(False)
        port = inner.getsockname()[1] if place in ("loopback", "bridge") else 80
        url = f"http://{host}:{port}/{name.replace('-', '_') if system == 'pip' else name}"
        if system == "pip":
            file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
            link = f'<a href="{url}-1.0-py3-none-any.whl#sha256={"0" * 64}">{file}</a>'
            index.publish(f"/simple/{name}/", "text/html", f"<!DOCTYPE html><html><body>{link}</body></html>".encode())
        else:
            dist = {"tarball": f"{url}-1.0.0.tgz", "integrity": "sha512-" + base64.b64encode(b"0" * 64).decode()}
            told = {"name": name, "version": "1.0.0", "dist": dist}
            page = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": told}}
            index.publish(f"/npm/{name}", "application/json", json.dumps(page).encode())
        agent = with_any_name(install)
        ended = agent.ask(install.plays.commands(f"hermit install {system} {name}; echo code $?"), timeout=120)
        output = ended["steps"][0]["output"]
        with pytest.raises(BlockingIOError):
            inner.accept()
    assert "code 1" in output
    assert f"sends to {host}" in output, output
    rows = eventually(lambda: install.api.get("/audit", kind="gate.refused", agent=agent.name)["rows"])
    assert [(row["detail"]["for"], row["detail"]["host"], row["detail"]["port"]) for row in rows] == [
        ("packages", host, port)
    ]


def test_a_death_in_the_middle(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    index: PackageIndex,
) -> None:
    """Killed while a package resolver fetches, the install sends another at its start; the program inside waits."""
    image_tag("resolver")
    index.wheel("held-back", "1.0", {"held_back.py": "HERE = 'here'\n"})
    with process_install(tmp_path_factory.mktemp("home"), client, index.settings) as install:
        agent = install.agent()
        turn = agent.send(
            install.plays.commands(
                "hermit install pip held-back", "python3 -c 'import held_back; print(held_back.HERE)'"
            )
        )
        asked = question(install, turn)
        index.going.clear()
        agent.decide(asked["id"], "approve")
        label = f"hermitshell.helper-of={install.install}"
        first = eventually(lambda: client.api.containers(filters={"label": label}))[0]["Id"]
        install.restart()
        eventually(lambda: [c for c in client.api.containers(filters={"label": label}) if c["Id"] != first])
        index.going.set()
        ended = agent.ended(turn, patience_s=60)
        assert ended["steps"][-1]["output"].strip() == "here", ended
        assert client.api.containers(all=True, filters={"label": label}) == []
