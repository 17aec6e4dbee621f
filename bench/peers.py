"""Other agents and proxies, each in an environment of its own under the user's cache, driven by one scripted model as
we are. What could not be installed or run is said, with its reason; nothing here belongs to the program."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from bench import processes, proxying
from bench.environments import newest
from bench.figures import Found, number, p99
from bench.install import fast_upstream, program, running_install
from bench.proxying import Way, straight
from bench.wire import post
from tests.support.free_ports import free_port

_PATIENCE_S = 480
_OFFLINE = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Nobody looks for prices on the network before they answer."""
_AGENTS = ("mini-swe-agent", "nanobot-ai", "hermes-agent")
_PACKAGES = {
    "mini-swe-agent": ("mini-swe-agent", "mcp")
}  # the newest litellm that it takes wants mcp, and does not say so
_NOTES = {
    "HermitShell": "asked over HTTP; commands in its air-gapped container; the orchestrator's memory",
    "mini-swe-agent": "its shortest run holds one command, which ends it",
    "nanobot-ai": "commands run on the host, without a container",
    "hermes-agent": "Docker backend",
}


def measure(*, is_quick: bool) -> Found:
    """Agents by what a turn and a command take, proxies by what they add."""
    count = 10 if is_quick else 40
    lines = [
        "| agent | version | plain turn p50 | p99 ms | command step p50 ms | resident MiB | |",
        "|---|---|---:|---:|---:|---:|---|",
        *_ours(count),
    ]
    lines += [_agent_line(name, count) for name in _AGENTS]
    lines += ["", "| proxy | version | adds p50 | p99 ms | calls/s by 8 | by 32 | resident MiB |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|", *_proxies(count * 5)]
    return Found("\n".join(lines))


def _ours(count: int) -> Iterator[str]:
    """The same turns of ours, measured as theirs are: from asking to the answer, the model's time included."""
    with running_install() as install:
        times: dict[int, list[float]] = {0: [], 10: []}
        for steps, found in times.items():
            install.say(f"steps={steps}")
            for _ in range(count if steps == 0 else max(3, count // 5)):
                began = time.perf_counter()
                install.say(f"steps={steps}")
                found.append((time.perf_counter() - began) * 1000)
                install.call("DELETE", "/agents/crab/history")
        median = sorted(times[0])[count // 2]
        step = sorted((ms - median) / 10 for ms in times[10])
        rss = processes.rss_mib(install.pid)
    yield _line("HermitShell", "this", times[0], step, rss=rss)


def _agent_line(name: str, count: int) -> str:
    try:
        found = _driven(name, count)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        return f"| {name} | | | | | | could not be measured: {_brief(error)} |"
    return _line(name, found["version"], found["turn"], found["step"], rss=found["rss_mib"])


def _line(name: str, version: str, turn: list[float], step: list[float], *, rss: float) -> str:
    middle, steps = sorted(turn)[len(turn) // 2], sorted(step)[len(step) // 2]
    figures = " | ".join(number(value) for value in (middle, p99(turn), steps, rss))
    return f"| {name} | {version} | {figures} | {_NOTES[name]} |"


def _driven(name: str, count: int) -> dict[str, Any]:
    python = newest(name, *_PACKAGES.get(name, (name,)))
    with tempfile.TemporaryDirectory(prefix="hermit-peer-") as folder, program("peer_model.py") as url:
        ran = subprocess.run(
            [str(python), str(Path(__file__).with_name("peer_driver.py")), name, url, _image(), folder, str(count)],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, **_OFFLINE},
        )
    _, marked, found = ran.stdout.rpartition("\nFOUND ")
    if not marked:
        raise RuntimeError((ran.stderr.strip() or ran.stdout.strip() or "it printed nothing").splitlines()[-1])
    return dict(json.loads(found))


def _image() -> str:
    """Any image with bash: the cubicle's own."""
    listed = subprocess.run(
        [shutil.which("docker") or "docker", "images", "--format", "{{.Repository}}:{{.Tag}}", "hermitshell/cubicle"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return next(name for name in listed if ":base-" in name)


def _proxies(count: int) -> Iterator[str]:
    with fast_upstream() as url:
        direct = proxying.one_caller(straight(url), count)
        with running_install({"HERMIT_LLM_BASE_URL": url}) as install:
            agents = ["crab", *(f"caller-{n}" for n in range(3))]
            for agent in agents[1:]:
                install.new_agent(agent)
            for agent in agents:
                install.call("POST", f"/agents/{agent}/cubicle/start")
            ways = (proxying.through(install, agents[:1]), proxying.through(install, agents))
            yield _proxy_line("HermitShell", "this", ways, direct, pid=install.pid)
        try:
            with _litellm(url) as (way, pid, version):
                yield _proxy_line("LiteLLM proxy", version, (way, way), direct, pid=pid)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            yield f"| LiteLLM proxy | | could not be measured: {_brief(error)} | | | | |"


def _proxy_line(name: str, version: str, ways: tuple[Way, Way], direct: list[float], *, pid: int) -> str:
    floor = sorted(direct)[len(direct) // 2]
    added = sorted(ms - floor for ms in proxying.one_caller(ways[0], len(direct)))
    rates = [proxying.rate(way, connections, 3.0) for way, connections in zip(ways, (8, 32), strict=True)]
    figures = (added[len(added) // 2], p99(added), *rates, processes.rss_mib(pid))
    return f"| {name} | {version} | {' | '.join(map(number, figures))} |"


@contextmanager
def _litellm(url: str) -> Iterator[tuple[Way, int, str]]:
    python = newest("litellm", "litellm[proxy]")
    asked = [str(python), "-c", "from importlib.metadata import version; print(version('litellm'))"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    port, key = free_port(), f"sk-{secrets.token_hex(16)}"
    with tempfile.TemporaryDirectory(prefix="hermit-peer-") as folder:
        config = Path(folder) / "config.yaml"
        model = {"model": "openai/scripted-large", "api_base": url, "api_key": "sk-test"}
        listed = [{"model_name": "scripted-large", "litellm_params": model}]
        config.write_text(json.dumps({"model_list": listed}), encoding="utf-8")
        process = subprocess.Popen(
            [str(python.with_name("litellm")), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **_OFFLINE, "LITELLM_MASTER_KEY": key, "HOME": folder},
            start_new_session=True,
        )
        try:
            _await(f"http://127.0.0.1:{port}/health/liveliness", process)
            headers = f"Authorization: Bearer {key}\r\n"
            body = {"model": "scripted-large", "stream": True, "messages": [{"role": "user", "content": "Ready?"}]}
            yield (
                Way([("127.0.0.1", port)], post("/chat/completions", body, headers)),
                process.pid,
                version,
            )
        finally:
            process.terminate()
            process.wait(30)


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if requests.get(url, timeout=2).ok:
                return
        except requests.RequestException:
            time.sleep(0.25)
    raise RuntimeError("it does not get ready")


def _brief(error: Exception) -> str:
    return str(error).replace("|", "/").replace("\n", " ")[:200]
