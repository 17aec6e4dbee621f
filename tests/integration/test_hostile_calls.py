"""A real cubicle turned against its install, by way of the door: floods, forged files, roads to a decision. Its install
goes on, and so do the others."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchestrator.capabilities.calls import HOURLY_UNITS
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.models import CubicleKey
from tests.support.real_app import RealApp, run_inside

pytestmark = pytest.mark.docker

FLOOD = """
import collections, http.client, json, socket, threading
class Line(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect("/run/hermit/door.sock")
ended = collections.Counter()
def storm(thread):
    line = Line("door")
    for n in range(120):
        fields = {"text": f"{thread} {n} " + "x" * 1900}
        body = json.dumps({"call": f"{thread}-{n}", "name": "MEMORY_ADD", "fields": fields})
        line.request("POST", "/api/internal/calls", body, {"Content-Type": "application/json"})
        answer = line.getresponse()
        answer.read()
        ended[answer.status] += 1
threads = [threading.Thread(target=storm, args=(n,)) for n in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps(ended))
"""
FORGE = """
import json, os, sqlite3
done = []
def tried(what, deed):
    try:
        deed()
    except (OSError, sqlite3.Error):
        return
    done.append(what)
data = "/app/workspace/data"
for name in ("calendar.db", "rag.db", "hermit.json"):
    path = f"{data}/{name}"
    assert os.path.getsize(path) > 0
    tried(f"write {name}", lambda: open(path, "r+b"))
    tried(f"unlink {name}", lambda: os.unlink(path))
    tried(f"rename {name}", lambda: os.rename(path, f"{path}.old"))
    tried(f"replace {name}", lambda: os.rename("/tmp", path))
    tried(f"journal {name}", lambda: open(f"{path}-journal", "wb"))
    tried(f"insert {name}", lambda: sqlite3.connect(path).execute("CREATE TABLE mine (x)"))
    tried(f"chmod {name}", lambda: os.chmod(path, 0o777))
    tried(f"link {name}", lambda: os.link(path, "/app/workspace/work/linked"))
tried("packages", lambda: os.makedirs(f"{data}/packages/1"))
tried("rename data", lambda: os.rename(data, "/app/workspace/old"))
tried("lock", lambda: open("/run/hermit/hermit_approval.%s.lock", "w"))
tried("socket", lambda: os.unlink("/run/hermit/door.sock"))
print(json.dumps(done))
"""
ROADS = """
import json, sys
sys.path.insert(0, "/app")
from crab.door import Door, DoorRefused
told = []
with Door("/run/hermit/door.sock") as door:
    for route in ("approvals/%s", "assets/%s", "calls/%s/finish", "notifications/1", "questions/1", "agents", "hosts"):
        try:
            door.post(route % sys.argv[1] if "%" in route else route, {"decision": "approve", "do": "run"})
        except DoorRefused as refused:
            told.append(refused.code)
print(json.dumps(told))
"""


def test_a_cubicle_turned_against_its_install(install: RealApp) -> None:
    """It floods the door with all the connections it has, forges what it can reach and looks for a road to a decision:
    an hour's allowance is used up, nothing is forged, the question stays open, another agent is answered meanwhile, and
    its own next turn goes as ever."""
    bad, good = install.agent(toolsets=list(TOOLSETS)), install.agent(toolsets=list(TOOLSETS))
    bad.wake()
    good.wake()
    asked = run_inside(
        install.client, bad, "hermit", "fetch", "https://nobody.invalid/a", "--why", "x", "--no-wait", "--json"
    )
    assert asked.code == 0, asked
    (approval,) = [a for a in bad.api.get("/approvals", status="pending")["approvals"] if a["agent"] == bad.name]
    roads = run_inside(install.client, bad, "/usr/bin/python3", "-c", ROADS, approval["id"])
    assert (roads.code, set(json.loads(roads.out))) == (0, {"no_route"}), roads
    forged = run_inside(install.client, bad, "/usr/bin/python3", "-c", FORGE.replace("%s", approval["id"]))
    assert (forged.code, forged.out.strip()) == (0, "[]"), forged
    with ThreadPoolExecutor(1) as pool:
        flooding = pool.submit(run_inside, install.client, bad, "/usr/bin/python3", "-c", FLOOD)
        assert run_inside(install.client, good, "hermit", "memory", "add", "I go on").code == 0
    flood = flooding.result()
    assert flood.code == 0, flood
    ended = json.loads(flood.out)
    assert set(ended) == {"200", "429"}, ended
    assert ended["200"] <= HOURLY_UNITS // 2
    key = CubicleKey(bad.name, 1)
    assert len(install.app.services.memories.list_facts(key, limit=10_000)) == ended["200"]
    refused = run_inside(install.client, bad, "hermit", "memory", "add", "one more")
    assert (refused.code, "too much within an hour" in refused.err) == (1, True)
    turn = bad.ask(install.plays.commands("echo still here"))
    assert (turn["status"], turn["steps"][0]["output"].strip()) == ("done", "still here")
    assert bad.api.get("/approvals", status="pending")["approvals"] == [approval]
