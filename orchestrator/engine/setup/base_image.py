"""The Debian that cubicles are built from: ``debian:bookworm-slim`` where the engine can get it, else made here.

Made here means: ``debootstrap`` puts Debian's own signed packages into a folder, and the engine imports that under our
own name. It never imports half a tree, and it leaves no folder and no mount behind, however it ends.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests
import urllib3

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.apt import install_packages
from orchestrator.engine.setup.machine import Machine
from orchestrator.engine.setup.progress import SetupProgress, Task

logger = logging.getLogger(__name__)

SUITE = "bookworm"
OFFICIAL = "debian:bookworm-slim"
OWN = "hermitshell/debian-base:bookworm"

PULL_SILENCE_S = 15.0
"""A registry that says nothing for so long is not reachable; making the base here takes half a minute."""
PULL_TOTAL_S = 600.0
DEBOOTSTRAP_S = 900.0
NEEDED_BYTES = 1_500_000_000

_UNUSED = ("var/cache/apt", "var/lib/apt/lists", "usr/share/man", "usr/share/info", "usr/share/locale", "var/log")


def find_base(client: docker.DockerClient) -> str | None:
    """The id of a base that the engine has, or None."""
    for name in (OFFICIAL, OWN):
        try:
            return str(client.images.get(name).id)
        except docker.errors.ImageNotFound:
            continue
    return None


def ensure_base(client: docker.DockerClient, machine: Machine, progress: SetupProgress) -> str:
    """The id of the base image; pulls or makes it if the engine has none. Raises :class:`Unavailable`."""
    if found := find_base(client):
        return found
    with progress.task(f"Looking for {OFFICIAL} in a registry") as task:
        pulled = find_base(client) if _pull_image(client, task) else None
    if pulled:
        return pulled
    progress.print_line(f"No registry has {OFFICIAL}; building the base from Debian packages instead.")
    _make_image(client, machine, progress)
    made = find_base(client)
    if made is None:
        raise Unavailable("The engine lost the base image right after it was made; look at the engine's log.")
    return made


# --- from a registry -------------------------------------------------------------------------------------------


def _pull_image(client: docker.DockerClient, task: Task, *, silence_s: float = PULL_SILENCE_S) -> bool:
    """True when the registry gave the image. Any failure is a no: there is another way."""
    try:
        for event in _pull_events(client, silence_s):
            if "error" in event:
                logger.info("pulling %s failed: %s", OFFICIAL, event["error"])
                task.show_step("no registry answers")
                return False
            task.show_detail(f"{event.get('status', '')} {event.get('progress', '')}")
    except (
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        docker.errors.APIError,
        OSError,
        ValueError,
    ) as error:
        logger.info("pulling %s failed: %s", OFFICIAL, error)
        task.show_step("no registry answers")
        return False
    return True


def _pull_events(client: docker.DockerClient, silence_s: float) -> Iterator[dict[str, Any]]:
    """The engine's account of the pull. Not ``api.pull``, which knows no time limit."""
    name, _, tag = OFFICIAL.partition(":")
    api = client.api
    deadline = time.monotonic() + PULL_TOTAL_S
    url = f"{api.base_url}/v{api.api_version}/images/create"
    with api.post(url, params={"fromImage": name, "tag": tag}, stream=True, timeout=silence_s) as response:
        if not response.ok:
            yield {"error": response.text[:300]}
            return
        for line in response.iter_lines():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no image after {PULL_TOTAL_S:.0f} s")
            yield json.loads(line)


# --- from packages ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Archive:
    """Where Debian's packages come from; empty for the tool's own default."""

    main: str = ""
    security: str = ""


def archive_of(sources: list[str]) -> Archive:
    """Debian's archive as the host's apt sources name it, in either of their two formats."""
    main = security = ""
    for uri, suites, components in _list_archives(sources):
        if "main" not in components:
            continue
        if not security and any(re.fullmatch(r"[a-z]+-security", suite) for suite in suites):
            security = uri
        if not main and uri.rstrip("/").endswith("/debian") and any(re.fullmatch(r"[a-z]+", suite) for suite in suites):
            main = uri
    return Archive(main, security)


def _list_archives(sources: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """(URI, suites, components) of each binary archive over HTTP."""
    for text in sources:
        for line in re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?(https?://\S+)\s+(\S+)\s+(.*)$", text, re.MULTILINE):
            yield line[0], [line[1]], line[2].split()
        for stanza in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes").lower() == "no":
                continue
            for uri in fields.get("URIs", "").split():
                if uri.startswith(("http://", "https://")):
                    yield uri, fields.get("Suites", "").split(), fields.get("Components", "").split()


def _make_image(client: docker.DockerClient, machine: Machine, progress: SetupProgress) -> None:
    if not machine.is_root():
        raise Unavailable(
            f"No registry has {OFFICIAL}, and building it from packages needs root: run 'docker pull {OFFICIAL}' where"
            " a registry can be reached, or run this once as root."
        )
    if not machine.has_command("debootstrap"):
        install_packages(machine, progress, ["debootstrap", "debian-archive-keyring"], what="debootstrap")
    with progress.task("Making the base image from Debian packages") as task, _temporary_folder(machine) as folder:
        root = folder / "root"
        archive = archive_of(
            machine.read_files("/etc/apt/sources.list") + machine.read_files("/etc/apt/sources.list.d/*")
        )
        _run_debootstrap(machine, root, archive, task)
        _trim_tree(root, archive)
        task.show_step("handing it to the engine")
        _import_image(client, machine, folder)


@contextmanager
def _temporary_folder(machine: Machine) -> Iterator[Path]:
    """A folder for the tree, gone afterwards together with what is mounted in it."""
    place = Path("/var/tmp")  # noqa: S108 - mkdtemp makes a private folder in it; /tmp is often small or without devices
    free = machine.free_bytes(place)
    if free < NEEDED_BYTES:
        raise Unavailable(
            f"The disk of {place} has {free >> 20} MB left, and making the base image needs {NEEDED_BYTES >> 20} MB:"
            " free some, then try again."
        )
    folder = Path(tempfile.mkdtemp(prefix="hermitshell-base-", dir=place))
    try:
        yield folder
    finally:
        _delete_folder(folder, machine)


def _delete_folder(folder: Path, machine: Machine) -> None:
    """Deletes the folder, but never through a mount: that would delete what is mounted."""
    for mounted in reversed(_mounts_under(folder)):
        machine.run_command(["umount", "--lazy", mounted], timeout_s=20, log="umount.log")
    if _mounts_under(folder):
        logger.warning("something is still mounted under %s; the folder stays", folder)
        return
    shutil.rmtree(folder, ignore_errors=True)


def _mounts_under(folder: Path) -> list[str]:
    points = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
    return [point for point in points if point.startswith(f"{folder}/")]


def _run_debootstrap(machine: Machine, root: Path, archive: Archive, task: Task) -> None:
    argv = ["debootstrap", "--variant=minbase", SUITE, str(root)]
    if archive.main:
        argv.append(archive.main)
    if machine.run_command(["unshare", "--mount", "true"], timeout_s=20, log="unshare.log").code == 0:
        argv = ["unshare", "--mount", *argv]  # its mounts are its own, and end with it
    ran = machine.run_command(argv, timeout_s=DEBOOTSTRAP_S, log="base-image.log", on_line=_describe_to(task))
    if ran.code != 0:
        errors = [line for line in ran.output.splitlines() if line.startswith("E:")]
        why = errors[-1].removeprefix("E:").strip() if errors else ran.last_line
        raise Unavailable(
            f"debootstrap could not make the base image: {why}. Can this machine reach a Debian archive? The log is"
            f" {machine.state_dir / 'base-image.log'}."
        )


class _describe_to:  # noqa: N801 - reads as the function that it is; a class because it counts
    """Turns debootstrap's lines into what a person can follow."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._phase = ""

    def __call__(self, line: str) -> None:
        match = re.match(r"I: (Retrieving|Validating|Extracting|Unpacking|Configuring) (.+?)(\.\.\.)?$", line)
        if not match:
            return
        phase, what = match[1].lower(), match[2]
        if phase != self._phase and phase not in ("retrieving", "validating"):
            self._task.show_step(f"{phase} packages")
        elif not self._phase:
            self._task.show_step("fetching packages")
        self._phase = phase
        self._task.show_detail(f"{phase} {what}")


def _trim_tree(root: Path, archive: Archive) -> None:
    """Takes out what no cubicle needs, and names the archives that security updates come from."""
    for name in _UNUSED:
        folder = root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    for document in (root / "usr/share/doc").rglob("*"):
        if document.name != "copyright" and not document.is_dir():
            document.unlink()
    main = archive.main or "http://deb.debian.org/debian"
    security = archive.security or "http://deb.debian.org/debian-security"
    (root / "etc/apt/sources.list").write_text(
        f"deb {main} {SUITE} main\ndeb {main} {SUITE}-updates main\ndeb {security} {SUITE}-security main\n",
        encoding="utf-8",
    )
    (root / "etc/resolv.conf").unlink(missing_ok=True)  # the host's; the engine gives each container its own


def _import_image(client: docker.DockerClient, machine: Machine, folder: Path) -> None:
    # A whole file first: an import from a pipe would take a tree that was cut short for a good one.
    tar = folder / "root.tar"
    argv = ["tar", "--numeric-owner", "--one-file-system", "-C", str(folder / "root"), "-cf", str(tar), "."]
    ran = machine.run_command(argv, timeout_s=300, log="base-tar.log")
    if ran.code != 0:
        raise Unavailable(f"The base image could not be packed: {ran.last_line}")
    repository, _, tag = OWN.partition(":")
    changes = ['CMD ["/bin/bash"]', "LABEL hermitshell.base=debootstrap"]
    try:
        with tar.open("rb") as source:
            client.api.import_image(source, repository=repository, tag=tag, changes=changes)
    except docker.errors.APIError as error:
        raise Unavailable(f"The engine did not take the base image: {error.explanation}") from error
