"""Runs in a peer's own environment: ``python peer_driver.py PEER MODEL_URL IMAGE FOLDER COUNT`` drives it by its
Python interface and prints what it took, as JSON. It imports nothing of ours."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

_STEPS = 10
Run = Callable[[str], object]


def _milliseconds(run: Run, text: str, count: int) -> list[float]:
    run(text)
    times = []
    for _ in range(count):
        began = time.perf_counter()
        run(text)
        times.append((time.perf_counter() - began) * 1000)
    return times


def _rss_mib() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _found(name: str, run: Run, count: int, suffix: str = "") -> dict[str, Any]:
    plain = _milliseconds(run, f"steps=0{suffix}", count)
    longer = _milliseconds(run, f"steps={_STEPS}{suffix}", max(3, count // 5))
    median = sorted(plain)[len(plain) // 2]
    return {
        "version": version(name),
        "turn": plain,
        "step": [(ms - median) / _STEPS for ms in longer],
        "rss_mib": _rss_mib(),
    }


def mini_swe_agent(url: str, image: str, _folder: str, count: int) -> dict[str, Any]:
    """Its agent ends by a command, so its shortest run has one."""
    agents = importlib.import_module("minisweagent.agents.default")
    docker = importlib.import_module("minisweagent.environments.docker")
    models = importlib.import_module("minisweagent.models.litellm_model")
    model = models.LitellmModel(
        model_name="openai/scripted",
        model_kwargs={"api_base": url, "api_key": "sk-test", "drop_params": True},
        cost_tracking="ignore_errors",
    )
    place = docker.DockerEnvironment(
        image=image, cwd="/tmp", run_args=["--rm", "--network", "none", "--entrypoint", ""], interpreter=["bash", "-c"]
    )

    def run(text: str) -> object:
        agent = agents.DefaultAgent(
            model, place, system_template="You help.", instance_template="{{task}}", cost_limit=0
        )
        ended = agent.run(text)
        assert ended.get("exit_status") == "Submitted", ended
        return ended

    try:
        return _found("mini-swe-agent", run, count, " submit")
    finally:
        place.cleanup()


def nanobot_ai(url: str, _image: str, folder: str, count: int) -> dict[str, Any]:
    """Its shell runs on the host itself: it has no container."""
    config = Path(folder) / "config.json"
    config.write_text(
        json.dumps(
            {
                "providers": {"custom": {"apiKey": "sk-test", "apiBase": url}},
                "agents": {"defaults": {"model": "scripted", "provider": "custom", "workspace": f"{folder}/work"}},
            }
        )
    )
    bots = importlib.import_module("nanobot.nanobot")
    loop = asyncio.new_event_loop()
    bot = bots.Nanobot.from_config(config_path=config)
    number = iter(range(10**6))

    def run(text: str) -> object:
        said = loop.run_until_complete(bot.run(text, session_key=f"bench:{next(number)}"))
        assert said.content.strip() == "done", said
        return said

    return _found("nanobot-ai", run, count)


def hermes_agent(url: str, image: str, folder: str, count: int) -> dict[str, Any]:
    """By its Docker backend, without its delay between tools."""
    os.environ.update({"HERMES_HOME": folder, "TERMINAL_ENV": "docker", "TERMINAL_DOCKER_IMAGE": image, "HOME": folder})
    os.environ.update({"TERMINAL_DOCKER_NETWORK": "false", "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES": "false"})
    hermes = importlib.import_module("run_agent")
    agent = hermes.AIAgent(
        base_url=url,
        api_key="sk-test",
        provider="custom",
        model="scripted",
        enabled_toolsets=["terminal"],
        quiet_mode=True,
        skip_context_files=True,
        tool_delay=0.0,
    )

    def run(text: str) -> object:
        ended = agent.run_conversation(text, conversation_history=[])
        assert ended["final_response"].strip() == "done", ended["final_response"]
        return ended

    try:
        return _found("hermes-agent", run, count)
    finally:
        importlib.import_module("tools.terminal_tool").cleanup_all_environments()


def main() -> None:
    """One peer."""
    name, url, image, folder, count = sys.argv[1:]
    found = globals()[name.replace("-", "_")](url, image, folder, int(count))
    print("\nFOUND " + json.dumps(found), flush=True)
    os._exit(0)  # some keep threads that nobody ends


if __name__ == "__main__":
    main()
