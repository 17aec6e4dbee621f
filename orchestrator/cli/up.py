"""``up``, ``down`` and ``restart``: set everything up and run it, stop it, begin again."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.app.app import App
from orchestrator.app.wiring import Edges
from orchestrator.capabilities.packages.indexes import read_indexes
from orchestrator.cli import doctor, telegram
from orchestrator.cli.backup import end_cubicles
from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.cli.providers import load_embedder, load_providers, provider_factory
from orchestrator.cli.tunnel import ssh_command
from orchestrator.core import fd_limit as descriptors
from orchestrator.core import logs
from orchestrator.core.errors import Conflict, OrchestratorError, Unavailable
from orchestrator.core.home import HomeLock, claimed_at, running_pid, runs_elsewhere
from orchestrator.core.ports import who_listens
from orchestrator.core.text import terminal_safe
from orchestrator.engine.docker.cubicles import DockerCubicles
from orchestrator.engine.docker.engine import build_engine
from orchestrator.engine.docker.images import DockerImages
from orchestrator.engine.setup.cubicle_image import ensure_image
from orchestrator.engine.setup.docker_setup import ensure_engine, find_engine
from orchestrator.gate.upstream_proxy import read_upstream_proxies
from orchestrator.operations.backup import recovery as rescue
from orchestrator.operations.backup.restore import finish_restore
from orchestrator.operations.backup.staged import apply_staged, get_staged

READY_WITHIN_S = 60.0
STOPPED_WITHIN_S = 60.0
_PROGRAM = ("orchestrator", "dashboard", "crab", "cubicle")
_SOURCES = frozenset({".py", ".html", ".js", ".css", ".json", ".md"})
_AT_ONCE = 8
"""Containers that are stopped side by side."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the three commands."""
    up = commands.add_parser("up", help="set everything up and run it; safe to run again")
    up.add_argument("-d", "--detach", action="store_true", help="return when it is healthy, and leave it running")
    up.set_defaults(run=run_up)
    down = commands.add_parser("down", help="stop the orchestrator and its cubicles; nothing is lost")
    down.set_defaults(run=run_down)
    again = commands.add_parser("restart", help="stop the orchestrator and start it again; cubicles go on meanwhile")
    again.set_defaults(run=run_restart)
    served = commands.add_parser("serve")  # what `up -d` starts; not for people, so without help
    served.set_defaults(run=lambda context, _options: run_server(context))
    add_help(
        up,
        "Set everything up and run it: an engine, the cubicle's image, the orchestrator and a first agent.\n"
        "Safe to run again.",
        "up",
        "up -d",
    )
    add_help(down, "Stop the orchestrator and its cubicles. Nothing is lost.", "down")
    add_help(
        again,
        "Stop the orchestrator and start it again in the background, with the program and settings as they are now.\n"
        "Cubicles, and what runs in them, go on meanwhile. Starts it where it isn't running.",
        "restart",
    )


def run_up(context: Context, options: argparse.Namespace) -> int:
    """Set up, then run until Ctrl-C, or in the background with ``-d``."""
    if running_pid(context.settings.home) is not None:
        if not context.client.is_healthy():
            print("HermitShell is running but not healthy: './hermit status' shows why.", file=sys.stderr)
            return 1
        _greet(context)
        if is_older(context.settings.home, context.root):
            print("It was started before the program was last changed: './hermit restart' starts the new one.")
        return 0
    _check_port(context)
    _apply_restore(context)
    _set_up(context)
    return _detach(context) if options.detach else run_server(context)


def run_server(context: Context) -> int:
    """Be the orchestrator until a signal ends it."""
    os.umask(0o077)
    _apply_restore(context)
    home = context.home
    claim = HomeLock(home)
    secrets = context.settings.secrets
    blots = logs.to_file(
        home.log, secrets.list_values() | {home.command_token}, as_json=context.settings.log_format == "json"
    )
    rescue.check_database(home.path, now=time.time())
    descriptors.raise_limit()
    # Threads here work for a millisecond between waits: one that wakes should not wait five for the one that runs.
    sys.setswitchinterval(0.001)
    ending = threading.Event()
    by_signal: list[int] = []

    def end(number: int, _frame: object) -> None:
        by_signal.append(number)
        ending.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    app = App(context.settings, home, _parts(context, blots))
    app.start()
    _greet(context)
    ending.wait()
    # Ctrl-C is a person who wants everything to end; SIGTERM may be a restart, and running cubicles are adopted then.
    app.stop(stop_cubicles=by_signal[0] == signal.SIGINT)
    claim.release()
    # An impatient second signal must not make a crash of an orderly end while Python takes itself down.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return 0


def run_down(context: Context, _options: argparse.Namespace) -> int:
    """Stop the orchestrator if it runs, then whatever cubicles are left."""
    pid = running_pid(context.settings.home)
    if pid is not None:
        _end(context, pid, "docker-compose down")
    client = find_engine(context.machine).client
    if client is not None:
        _stop_cubicles(context, DockerCubicles(client, context.home.install))
    print("HermitShell is stopped." if pid is not None else "HermitShell was not running.")
    return 0


def run_restart(context: Context, _options: argparse.Namespace) -> int:
    """Stop the orchestrator and start it in the background. Cubicles go on meanwhile, and what runs in them. Raises
    Conflict where something else looks after it."""
    pid = running_pid(context.settings.home)
    if pid is not None:
        if not runs_elsewhere(context.settings.home) and is_a_service(pid):
            raise Conflict("systemd runs HermitShell: restart it with 'systemctl restart hermitshell' (or '--user').")
        _set_up(context)  # before anything ends: what can't be set up again goes on as it is
        _end(context, pid, "docker-compose restart")
    return run_up(context, argparse.Namespace(detach=True))


def _apply_restore(context: Context) -> None:
    """What was chosen on the page of backups is restored before anything is opened; then we begin again, as the
    settings may be others."""
    home = context.settings.home
    if get_staged(home) is None:
        finish_restore(home)
        return
    done = apply_staged(home, make_way=lambda: end_cubicles(context, home), now=time.time())
    if done is not None and not done.problem:
        print(f"{done.file} is restored. What was there before is in {done.before}.", flush=True)
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - ourselves, as we were called


def is_older(home: Path, root: Path) -> bool:
    """The orchestrator that runs was started before a file of the program in ``root`` was changed, as by an update."""
    if runs_elsewhere(home):
        return False
    since = claimed_at(home)
    files = (path for folder in _PROGRAM for path in (root / folder).rglob("*"))
    return any(path.suffix in _SOURCES and path.stat().st_mtime > since for path in files)


def _set_up(context: Context) -> None:
    """An engine answers and has the cubicle's image."""
    client = ensure_engine(context.machine, context.progress)
    ensure_image(client, "base", machine=context.machine, progress=context.progress, root=context.root)
    client.close()


def is_a_service(pid: int, processes: Path = Path("/proc")) -> bool:
    """systemd started it by the unit that ``service print`` makes, and would take its end for meant."""
    try:
        groups = (processes / str(pid) / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux, or it has just ended
        return False
    return any(group.endswith("/hermitshell.service") for group in groups)


def _end(context: Context, pid: int, elsewhere: str) -> None:
    """The orchestrator ends; ``elsewhere`` is the command for one that runs in a container."""
    if runs_elsewhere(context.settings.home):
        raise Unavailable(f"HermitShell runs in a container: use '{elsewhere}' where it was started.")
    os.kill(pid, signal.SIGTERM)
    _await_end(context, pid)


def _parts(context: Context, blots: logs.SecretFilter) -> Edges:
    machine, progress = context.machine, context.progress
    client = ensure_engine(machine, progress)
    upstreams, default_provider = load_providers(context)
    return Edges(
        engine=build_engine(client, context.home, DockerImages(client, machine, progress, context.root)),
        upstreams=upstreams,
        default_provider=default_provider,
        build_provider=provider_factory(context),
        blot=blots.add_secret,
        outside=read_indexes(context.settings, context.environment),
        upstream_proxies=read_upstream_proxies(context.environment),
        examine=lambda: doctor.run_checks(context),
        embedder=load_embedder(context),
    )


def _detach(context: Context) -> int:
    """Start ``run_server`` in a session of its own and wait until it is healthy."""
    log = context.home.path / "logs" / "start.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "orchestrator", "serve"],
            env=dict(context.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise OrchestratorError(said[-1].removeprefix("hermit: ") if said else f"It ended at once; see {log}.")
        if context.client.is_healthy():
            process.returncode = 0  # it goes on without us, and that is meant
            _greet(context)
            return 0
        time.sleep(0.05)
    raise Unavailable(f"It doesn't become healthy. See {context.home.log}.")


def _greet(context: Context) -> None:
    """Say where the dashboard is; to somebody with no password yet, how to get in; what bots wait for."""
    print(f"HermitShell is ready: {context.settings.url}")
    if context.settings.is_in_the_open:
        print(
            f"Warning: HERMIT_HOST={context.settings.host} lets others on your network reach the dashboard, without "
            "encryption: passwords can be read on the way. Better leave HERMIT_HOST out and use a tunnel or a proxy "
            "with https, then set HERMIT_PUBLIC_URL to its address."
        )
    with context.client as client:
        if not context.settings.secrets.get("HERMIT_ADMIN_PASSWORD"):
            is_set_up = client.get("/settings")["is_set_up"]
            words = "Log in once with:    " if is_set_up else "Set it up, once, with:"
            print(f"{words} {client.post('/login-links')['url']}")
        if line := ssh_command(context.settings, context.environment):
            print(f"On another computer, first run this there: {line}")
        for bot in telegram.list_bots(client):
            if bot["state"] != "paired":
                print(f"Telegram, {bot['agent']}: {terminal_safe(telegram.to_do(bot))}")
    sys.stdout.flush()


def _check_port(context: Context) -> None:
    holder = who_listens(context.settings.port)
    if holder:
        raise Unavailable(
            f"Port {context.settings.port} is taken by {holder}. Stop that, or choose another HERMIT_PORT."
        )


def _await_end(context: Context, pid: int) -> None:
    deadline = time.monotonic() + STOPPED_WITHIN_S
    while running_pid(context.settings.home) == pid:
        if time.monotonic() > deadline:
            raise Unavailable(f"The orchestrator (process {pid}) does not stop. Try again, or 'kill -9 {pid}'.")
        time.sleep(0.05)


def _stop_cubicles(context: Context, cubicles: DockerCubicles) -> None:
    names = [container.name for container in cubicles.list_containers()]
    if not names:
        return
    told = context.progress.task(f"Stopping {len(names)} {'cubicle' if len(names) == 1 else 'cubicles'}")
    with told, ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(cubicles.remove, names))
