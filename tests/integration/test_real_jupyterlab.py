"""A model works in JupyterLab by the browser's commands, in a real cubicle and a real browser: it logs in, makes a
notebook, runs a cell, whose output comes over a WebSocket, and answers a question of the page. It is installed with 220
MB, so it is run by ``--big-apps`` alone.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.app_town import AppTown, served
from tests.support.foreign_packages import pip_folder
from tests.support.free_ports import free_port
from tests.support.page_shell import FIND, decide_all
from tests.support.real_app import RealApp, eventually, real_install

pytestmark = [pytest.mark.docker, pytest.mark.thirdparty, pytest.mark.big_apps]

TOKEN = "a-long-token-of-the-lab"


@dataclass(frozen=True)
class Lab:
    """The application, and the folder that it shows."""

    port: int
    home: Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """It runs, and shows an empty folder."""
    packages, port, folder = pip_folder("jupyterlab"), free_port(), tmp_path_factory.mktemp("lab")
    home = folder / "notebooks"
    home.mkdir()
    environment = {
        "PYTHONPATH": str(packages),
        "HOME": str(folder),
        "JUPYTER_PATH": str(packages / "share/jupyter"),
        "JUPYTER_CONFIG_PATH": str(packages / "etc/jupyter"),
        "JUPYTERLAB_DIR": str(packages / "share/jupyter/lab"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home}"]
    command += ["--ServerApp.allow_remote_access=True", "--LabApp.news_url=", "--LabApp.extension_manager=readonly"]
    with served(command, environment, folder / "log", f"http://127.0.0.1:{port}/login"):
        yield Lab(port, home)


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str], lab: Lab
) -> Iterator[RealApp]:
    """An install whose way out leads there, and whose operator named it: it has no encryption."""
    internet = Internet(AppTown({"lab.test": lab.port}))
    home, named = tmp_path_factory.mktemp("home"), {"HERMIT_PRIVATE_HOSTS": "lab.test:80"}
    with real_install(home, client, image_tag, internet=internet, environment=named) as made:
        yield made


COMMANDS = (
    f"echo {shlex.quote(FIND)} > find.sh; hermit browser open http://lab.test/lab --why 'the sums'",
    (
        ". ./find.sh; hermit browser fill $(ref 'Password or token') --secret lab; "
        "hermit browser click $(ref 'Log in'); until_it_shows 'Python File'"
    ),
    ". ./find.sh; hermit browser click $(ref '!.Python 3'); until_it_shows '| Idle'",
    (
        ". ./find.sh; hermit browser type $(last 'textbox e[0-9]+') 'sum(range(100)) * 3'; "
        "hermit browser press Shift+Enter; until_it_shows 14850"
    ),
    ". ./find.sh; hermit browser click $(ref File); hermit browser click $(ref 'Rename Notebook')",
    (
        ". ./find.sh; hermit browser type $(last 'textbox e[0-9]+ = .Untitled') sums.ipynb; "
        "hermit browser click $(ref 'Rename.$'); until_it_shows sums.ipynb"
    ),
    ". ./find.sh; hermit browser click $(ref 'Save and create checkpoint'); hermit browser snapshot --find 14850",
)


def test_a_cell_is_run(install: RealApp, lab: Lab) -> None:
    """Its output is on the page, and the notebook has it."""
    agent = install.agent(toolsets=["browser"])
    install.api.post("/me/page-secrets", {"name": "lab", "host": "lab.test", "value": TOKEN})
    turn = agent.send(install.plays.commands(*COMMANDS))
    decide_all(install, agent, turn)
    steps = agent.ended(turn, patience_s=60)["steps"]
    told = [step["output"] for step in steps]
    assert len(steps) == len(COMMANDS), told
    assert not [one for one in told if "does not show" in one], told
    assert "14850" in told[3], told
    assert "--- dialog" in told[4], told
    assert "Rename File" in told[4], told
    (cell, *_) = eventually(lambda: _cells(lab.home / "sums.ipynb"))
    assert cell["source"] == ["sum(range(100)) * 3"], told
    assert cell["outputs"][0]["data"]["text/plain"] == ["14850"], told
    assert TOKEN not in "".join(told)


def _cells(notebook: Path) -> list[dict[str, Any]]:
    """Once it has been saved with its output."""
    cells = json.loads(notebook.read_text())["cells"] if notebook.exists() else []
    return cells if cells and cells[0]["outputs"] else []
