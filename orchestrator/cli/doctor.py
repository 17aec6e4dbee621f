"""``doctor``: looks at every part and says how it is, with the fix. Works whether HermitShell runs or not."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.capabilities.packages.indexes import read_indexes
from orchestrator.channels.telegram import doctor as telegram
from orchestrator.cli.colors import Paint
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.cli.providers import load_embedder, with_own
from orchestrator.core.errors import NotFound, OrchestratorError, Unavailable
from orchestrator.core.fd_limit import used_of
from orchestrator.core.finding import Finding, FindingState, fail, finding_json, ok, warn
from orchestrator.core.home import running_pid
from orchestrator.core.text import terminal_safe
from orchestrator.engine.browser_sandbox import PART as BROWSER
from orchestrator.engine.browser_sandbox import examine_sandbox, try_sandbox
from orchestrator.engine.docker.client import DockerFacts
from orchestrator.engine.docker.cubicles import DockerCubicles
from orchestrator.engine.docker.exec import DockerExec
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.docker.images import DockerImages
from orchestrator.engine.sandbox_probe import PART as WALLS
from orchestrator.engine.sandbox_probe import examine_walls
from orchestrator.engine.setup.docker_setup import find_engine, require_usable
from orchestrator.gate.upstream_proxy import read_upstream_proxies
from orchestrator.operations.backup import recovery as rescue
from orchestrator.operations.doctor import surroundings
from orchestrator.operations.doctor.embeddings import EMBEDDINGS, examine_embeddings
from orchestrator.operations.doctor.engine import ENGINE, IMAGE, examine_engine, examine_image
from orchestrator.operations.doctor.indexes import PACKAGES, examine_indexes
from orchestrator.operations.doctor.oidc import LOGIN, examine_oidc
from orchestrator.operations.doctor.previews import examine_previews
from orchestrator.operations.doctor.reach import examine_reach
from orchestrator.operations.doctor.remote_browser import REMOTE, examine_remote_browser
from orchestrator.operations.doctor.services import MODEL, examine_model
from orchestrator.web.limits import Internet

_CHANNELS = {telegram.TELEGRAM: telegram.check_bots}
"""What each chat app says of itself."""
HERMITSHELL, DATABASE = "hermitshell", "database"
_AGAIN = "Fix that, then run './hermit doctor' again."


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    doctor = commands.add_parser("doctor", help="check every part, and say how to fix what is wrong")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=run)
    add_help(
        doctor,
        "Check every part, whether it is running or not: engine, image, air gap, model, Telegram, disk and more.\n"
        "Each line is ok, warn or fail with how to fix it; the exit code is 1 when something failed.",
        "doctor",
        "doctor --json",
    )


def run(context: Context, options: argparse.Namespace) -> int:
    """The exit code is 1 when something failed."""
    found = run_checks(context)
    body = {"findings": [finding_json(finding) for finding in found]}
    print_body(body, as_json=options.json, lines=[line for finding in found for line in _lines(finding, context.paint)])
    return 1 if any(finding.state is FindingState.FAIL for finding in found) else 0


def run_checks(context: Context) -> list[Finding]:
    """Every finding. What is wrong with the home is looked at first, before anything could put it in order."""
    found = surroundings.examine_permissions(context.settings.home)
    if not surroundings.is_ours(context.settings.home):
        return found
    found += _tried(DATABASE, lambda: _database(context))
    info: Mapping[str, Any] = {}
    try:
        with contextlib.closing(require_usable(find_engine(context.machine), context.machine)) as client:
            info = _with_engine(context, client, found)
    except OrchestratorError as error:
        found.append(fail(ENGINE, error.message, "'./hermit up' starts an engine where it can."))
    found += _tried(MODEL, lambda: [_model(context)])
    found += _tried(EMBEDDINGS, lambda: _embeddings(context))
    found += _tried(PACKAGES, lambda: [_indexes(context)])
    for name, examine_channel in _CHANNELS.items():
        found += _tried(name, partial(examine_channel, context.settings))
    found += surroundings.examine_openness(context.settings.host, is_open=context.settings.is_in_the_open)
    found.append(examine_reach(context.settings))
    found += _tried(LOGIN, lambda: examine_oidc(context.settings, Internet()))
    found += _tried(REMOTE, lambda: examine_remote_browser(context.settings, Internet()))
    found += surroundings.examine_disk(context.machine, _places(context, info))
    found.append(
        surroundings.examine_clock(
            time.time(),
            newest_file=surroundings.newest_change(context.root / "orchestrator"),
            engine_time=str(info.get("SystemTime", "")),
        )
    )
    found.append(surroundings.examine_crashes(context.machine))
    found.append(surroundings.examine_watches(context.machine))
    pid = running_pid(context.settings.home)
    found.append(surroundings.examine_descriptors(None if pid is None else used_of(pid)))
    return found + _itself(context)


def _with_engine(context: Context, client: Any, found: list[Finding]) -> Mapping[str, Any]:
    """Adds what only an engine can tell, asked by ``client``; returns what it says of itself."""
    try:
        facts = DockerFacts(client)
        info = facts.info()
        found += examine_engine(facts.version(), info)
        image = examine_image(DockerImages(client, context.machine, context.progress, context.root))
    except Unavailable:
        found.append(fail(ENGINE, "The engine stopped answering.", _AGAIN))
        return {}
    found.append(image)
    if image.state is FindingState.OK:
        install, name, runtime = context.home.install, image.text.split()[0], context.settings.runtime
        cubicles, programs = DockerCubicles(client, install), DockerExec(client, install)
        found += _tried(WALLS, lambda: examine_walls(cubicles, programs, context.home, image=name, runtime=runtime))
        found += _tried(BROWSER, lambda: [_browser(context, client)])
    else:
        found.append(warn(WALLS, f"Not tried: there is no {IMAGE} yet.", "Run './hermit up', then this again."))
    return info


def _browser(context: Context, client: Any) -> Finding:
    """Whether Chromium's own sandbox stands in a live browser's container; its image is not built for that."""
    try:
        image = DockerImages(client, context.machine, context.progress, context.root).find_image("browser").name
    except NotFound:
        return ok(BROWSER, "Not tried: the image of browsers is built when one is first needed.")
    helpers = DockerHelpers(client, context.home.install, str(context.home.path))
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=context.home.path / "run") as folder:
        return examine_sandbox(try_sandbox(helpers, Path(folder), image, name="doctor"))


def _model(context: Context) -> Finding:
    return examine_model(*with_own(context))


def _indexes(context: Context) -> Finding:
    """As the package resolver would reach them."""
    settings, environment = context.settings, context.environment
    indexes, proxies = read_indexes(settings, environment), read_upstream_proxies(environment)
    return examine_indexes(indexes, Internet().network, proxies, settings.private_hosts)


def _embeddings(context: Context) -> list[Finding]:
    """Nothing where no embedding model is set up."""
    found = load_embedder(context)
    if found is None:
        return []
    try:
        return [examine_embeddings(found)]
    finally:
        found.close()


def _database(context: Context) -> list[Finding]:
    home = context.settings.home
    found = rescue.find_trouble(home)
    if found is not None:
        is_running = found.is_damaged and running_pid(home) is not None
        stop = "Stop it first: './hermit down'. " if is_running else ""
        return [fail(DATABASE, found.text, stop + found.fix)]
    return [ok(DATABASE, "It is intact." if rescue.database_path(home).exists() else "There is none yet.")]


def _places(context: Context, info: Mapping[str, Any]) -> dict[str, Path]:
    """What is kept where, as far as it is on this machine."""
    places = {"your agents' files": context.settings.home}
    engines = Path(str(info.get("DockerRootDir") or "/nonexistent"))
    if engines.exists():
        places["the engine's images"] = engines
    return places


def _itself(context: Context) -> list[Finding]:
    settings = context.settings
    if running_pid(settings.home) is None:
        ports = {"HERMIT_PORT": settings.port, "HERMIT_PREVIEW_PORT": settings.preview_port}
        idle = warn(HERMITSHELL, "It is not running.", "Start it with './hermit up -d'.")
        return [*surroundings.examine_ports(ports), idle]
    with context.client as client:
        if client.is_healthy():
            previews = examine_previews(settings.host, settings.preview_port)
            return [previews, ok(HERMITSHELL, f"Running and healthy: {settings.url}")]
    return [fail(HERMITSHELL, "Running, but not healthy.", "'./hermit status' shows which part is not.")]


def _tried(part: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return look()
    except OrchestratorError as error:
        return [fail(part, error.message, _AGAIN)]


def _lines(finding: Finding, paint: Paint) -> list[str]:
    lines = [f"{paint.state(f'{finding.state:4}')}  {finding.part:11}  {terminal_safe(finding.text)}"]
    return [*lines, f"{'':19}{terminal_safe(finding.fix)}"] if finding.fix else lines
