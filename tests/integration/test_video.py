"""Videos on the real engine: asked for by a panel action or a command, drawn in a container without network, delivered
as every file is, and played by a real player's library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from tests.support.real_app import AppProcess, RealApp, Talker, eventually, process_install
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

PROBE = "ffprobe -v error -show_entries stream=codec_name,codec_type,width,height,pix_fmt,nb_read_frames -count_frames"
TEXT = "Title: Good news\nSales are up by ten percent. Nobody's data left the house: {x} | %d \\\\n 'q' [in]; drawtext"


@pytest.fixture(autouse=True)
def _studio(image_tag: Callable[[str], str]) -> None:
    """The image is there before anybody waits for it."""
    image_tag("studio")


def delivered(agent: Talker, patience_s: float = 90.0) -> Iterator[dict[str, Any]]:
    """Its deliveries, once there is one."""
    path = f"/agents/{agent.name}/deliveries"
    found = eventually(
        lambda: [d for d in agent.api.get(path)["deliveries"] if d["status"] == "sent"], patience_s=patience_s
    )
    yield from found


def probed(install: RealApp, agent: Talker, file: str) -> dict[str, Any]:
    """What ffprobe inside the cubicle reads of a file in ``out/``, every frame decoded."""
    command = f"{PROBE} -show_entries format=duration -of json ../out/{file}"
    read: dict[str, Any] = json.loads(install.inside(agent, "bash", "-c", f"cd /app/workspace/work && {command}"))
    (stream,) = read["streams"]
    return {**stream, "seconds": float(read["format"]["duration"])}


def test_a_panel_action_becomes_a_video_that_plays(install: RealApp) -> None:
    """The turn goes on at once; the video comes by itself, as asked: length, size, codec, every frame."""
    agent = install.agent(image="studio")
    action = {"name": "CLAWMOTION", "prompt": TEXT, "duration": 4, "output_file": "intro.mp4"}
    ended = agent.ask(install.plays.add(answers("It is being made.", actions=[action]), answers("Done.")))
    assert ended["status"] == "done"
    (made,) = delivered(agent)
    assert (made["file"], made["to"]) == ("intro.mp4", "dashboard")
    told = probed(install, agent, "intro.mp4")
    assert (told["codec_name"], told["pix_fmt"], told["width"], told["height"]) == ("h264", "yuv420p", 1280, 720)
    assert (round(told["seconds"], 1), int(told["nb_read_frames"])) == (4.0, 96)
    content = agent.api.call("GET", made["url"].removeprefix("/api")).content
    assert content[4:8] == b"ftyp"
    assert content.index(b"moov") < content.index(b"mdat")
    owner = install.inside(agent, "bash", "-c", "cd ../out && rm intro.mp4 && ls -A && id -u").split()
    assert owner[-1:] == owner  # nothing else lies there, and the agent may do with it as it likes


@pytest.mark.parametrize(
    ("name", "codec", "size", "frames"), [("a.webm", "vp9", (1280, 720), 48), ("a.gif", "gif", (640, 360), 25)]
)
def test_the_command_waits(install: RealApp, name: str, codec: str, size: tuple[int, int], frames: int) -> None:
    """It ends when the file is there, with its path."""
    agent = install.agent(image="studio")
    ended = agent.ask(
        install.plays.commands(f"hermit video 'Hello there' --seconds 2 --out {name} --json 2>/dev/null"), timeout=90
    )
    assert json.loads(ended["steps"][0]["output"])["file"] == f"out/{name}"
    told = probed(install, agent, name)
    assert (told["codec_name"], (told["width"], told["height"])) == (codec, size)
    assert int(told["nb_read_frames"]) == frames


def test_what_can_not_be_drawn(install: RealApp) -> None:
    """It is said, with a code for scripts."""
    agent = install.agent()
    ended = agent.ask(install.plays.commands("hermit video 你好 --seconds 2; echo code $?"), timeout=90)
    assert "no letters that can be drawn" in ended["steps"][0]["output"]
    assert "code 1" in ended["steps"][0]["output"]


def test_walls_and_a_death_in_the_middle(tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient) -> None:
    """No network, no privileges, two private folders; killed while it is drawn, the install has it drawn again,
    once.
    """
    with process_install(tmp_path_factory.mktemp("home"), client) as install:
        agent = install.agent()
        turn = agent.send(install.plays.commands("hermit video 'A long one' --seconds 60 --out long.mp4; ls -A ../out"))
        first = _container(install, client)
        host, facts = first["HostConfig"], first
        assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
        assert facts["Config"]["User"] not in ("", "0", "0:0")
        assert sorted((m["Destination"], m["RW"]) for m in facts["Mounts"]) == [
            ("/helper/in", False),
            ("/helper/out", True),
        ]
        install.restart()
        ended = agent.ended(turn, patience_s=180)
        assert ended["steps"][-1]["output"].splitlines()[-1] == "long.mp4", ended
        assert "out/long.mp4" in ended["steps"][-1]["output"]
        assert list((install.home / "studio").iterdir()) == []
        assert client.api.containers(all=True, filters={"label": f"hermitshell.videos-of={install.install}"}) == []


def _container(install: AppProcess, client: docker.DockerClient) -> dict[str, Any]:
    label = f"hermitshell.videos-of={install.install}"
    found = eventually(lambda: client.api.containers(filters={"label": label}))
    facts: dict[str, Any] = client.api.inspect_container(found[0]["Id"])
    return facts
