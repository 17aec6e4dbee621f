"""The cubicle's image: built from this repository's files alone, named by what they hold, rebuilt when that changes.

It removes images only of its own label, and never one that a container uses. Nothing an agent wrote enters a build.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import docker
import requests

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.apt import carried_settings
from orchestrator.engine.setup.base_image import ensure_base
from orchestrator.engine.setup.machine import Machine
from orchestrator.engine.setup.progress import SetupProgress, Task

logger = logging.getLogger(__name__)

Target = Literal["base", "studio", "resolver", "browser"]

REPOSITORY = "hermitshell/cubicle"
CONTENT_LABEL = "hermitshell.content"
TARGET_LABEL = "hermitshell.target"
BASE_LABEL = "hermitshell.base"
BUILD_SILENCE_S = 600
"""A build that prints nothing for so long hangs."""
NEEDED_BYTES = {"base": 1_500_000_000, "studio": 3_500_000_000, "resolver": 1_500_000_000, "browser": 2_000_000_000}
APART = {
    "resolver": ("cubicle/resolver.Dockerfile", "cubicle/resolver.py", "cubicle/gateway.py", "cubicle/install"),
    "browser": (
        "cubicle/browser.Dockerfile",
        "cubicle/browser.py",
        "cubicle/live_browser.py",
        "cubicle/pages.py",
        "cubicle/install",
    ),
}
"""Images that have nothing to do with the cubicles', by their files: they are not made again when the crab changes."""
KEEP_OLD_S = 3600.0
"""An image younger than this stays: somebody may be about to start it."""
_TAIL_LINES = 15
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WORDS = {"cubicle-install": "Debian packages", "cubicle-people": "users and folders", "/app/crab": "the crab"}

ROOT = Path(__file__).resolve().parents[3]


def ensure_image(
    client: docker.DockerClient, target: Target, *, machine: Machine, progress: SetupProgress, root: Path = ROOT
) -> str:
    """The name of the up-to-date image for ``target``; builds it when it is missing or stale.

    Costs two questions to the engine when there is nothing to do. Raises :class:`Unavailable`.
    """
    try:
        base = ensure_base(client, machine, progress)
        files = context_files(root, target)
        content = content_hash(files, target, base)
        name = f"{REPOSITORY}:{target}-{content[:12]}"
        if _has_image(client, name, content):
            return name
        _check_room(client, target, machine)
        labels = {CONTENT_LABEL: content, TARGET_LABEL: target, BASE_LABEL: base}
        with progress.task(f"Building the {'' if target in APART else 'cubicle '}image ({target})") as task:
            events = _build_image(client, name, labels, context_tar(files), apt_options=carried_settings(machine))
            _follow_build(events, machine.state_dir / f"image-{target}.log", task)
            _remove_old(client, target, content, older_than_s=KEEP_OLD_S)
    except (requests.RequestException, docker.errors.DockerException) as error:
        logger.info("the engine failed while the image was ensured: %s", error)
        raise Unavailable(
            "The container engine stopped answering while the image was made: start it, try again."
        ) from error
    return name


# --- what an image is made of ----------------------------------------------------------------------------------


def context_files(root: Path, target: Target = "base") -> dict[str, tuple[bytes, int]]:
    """Every file that enters the build, by its name in it: content and mode. Only this repository's own."""
    if target in APART:
        paths = [root / name for name in APART[target]]
    else:
        apart = {name for names in APART.values() for name in names} - {"cubicle/install"}
        paths = [path for path in (root / "cubicle").iterdir() if path.suffix not in (".json", ".md")]
        paths = [path for path in paths if path.relative_to(root).as_posix() not in apart]
        paths += [path for path in (root / "crab").rglob("*") if path.suffix in (".py", ".md", ".json", ".txt")]
    files = {}
    for path in paths:
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            mode = 0o755 if path.read_bytes()[:2] == b"#!" else 0o644
            files[path.relative_to(root).as_posix()] = (path.read_bytes(), mode)
    return dict(sorted(files.items()))


def content_hash(files: dict[str, tuple[bytes, int]], target: str, base: str) -> str:
    """The same for the same image, different for any other."""
    digest = hashlib.sha256(f"{target}\0{base}\0".encode())
    for name, (content, mode) in files.items():
        digest.update(f"{name}\0{mode:o}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def context_tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    """The build's context; the same bytes for the same files, whoever's and whenever written."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, 0
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


# --- building --------------------------------------------------------------------------------------------------


def _has_image(client: docker.DockerClient, name: str, content: str) -> bool:
    try:
        return client.images.get(name).labels.get(CONTENT_LABEL) == content
    except docker.errors.ImageNotFound:
        return False


def _check_room(client: docker.DockerClient, target: Target, machine: Machine) -> None:
    where = Path(client.info().get("DockerRootDir") or "/var/lib/docker")
    free = machine.free_bytes(where)
    if free < NEEDED_BYTES[target]:
        raise Unavailable(
            f"The engine's disk ({where}) has {free >> 20} MB left, and building the image needs about"
            f" {NEEDED_BYTES[target] >> 20} MB: free some ('docker system df' shows what it holds), then try again."
        )


def _build_image(
    client: docker.DockerClient, name: str, labels: dict[str, str], context: bytes, *, apt_options: str
) -> Iterable[dict[str, Any]]:
    target = labels[TARGET_LABEL]
    return client.api.build(
        fileobj=io.BytesIO(context),
        custom_context=True,
        dockerfile=APART[target][0] if target in APART else "cubicle/Dockerfile",
        target="" if target in APART else target,
        tag=name,
        labels=labels,
        buildargs={"BASE": labels[BASE_LABEL], "APT_OPTIONS": apt_options},
        rm=True,
        forcerm=True,
        decode=True,
        timeout=BUILD_SILENCE_S,
    )


def _follow_build(events: Iterable[dict[str, Any]], log: Path, task: Task) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    if failure := follow_build(events, log, task):
        raise Unavailable(f"The cubicle image could not be built: {failure}. What the build said is in {log}.")


def follow_build(events: Iterable[dict[str, Any]], log: Path, task: Task) -> str:
    """Shows a build's progress and writes it all to ``log``; returns why it failed, or an empty text."""
    said: list[str] = []
    failure = ""
    with log.open("w", encoding="utf-8") as sink:
        for event in events:
            for line in _COLOUR.sub("", str(event.get("stream") or event.get("error") or "")).splitlines():
                sink.write(line + "\n")
                if line.strip():
                    said.append(line.strip())
                    _show_line(line.strip(), task)
            failure = failure or str(event.get("error") or "")
        if failure:
            sink.write("\nIts last output:\n" + "".join(f"  {line}\n" for line in said[-_TAIL_LINES:]))
    return _explain_failure(failure, said) if failure else ""


def _show_line(line: str, task: Task) -> None:
    if step := re.match(r"Step (\d+/\d+) : (\w+) +(.*)", line):
        text = next((words for part, words in _WORDS.items() if part in step[3]), "")
        if step[2] == "RUN" and text:
            task.show_step(f"step {step[1]}: {text}")
        else:
            task.show_detail(f"step {step[1]}")
    elif line.startswith("step: "):
        task.show_step(line.removeprefix("step: "))
    elif re.match(r"Get:\d|Unpacking |Setting up ", line):
        task.show_detail(line)


def _explain_failure(failure: str, said: list[str]) -> str:
    """apt's own complaint if there is one, as it names what is missing; else what was said last before the end."""
    before = [line for line in said if line not in failure and not line.startswith(("--->", "Removing intermediate"))]
    complaints = [line for line in before if re.match(r"(E|Err\S*|error): ?", line, re.IGNORECASE)]
    last = (complaints or before or [failure])[-1]
    return last.strip().rstrip(".")[:300]


# --- leaving no litter -----------------------------------------------------------------------------------------


def _remove_old(client: docker.DockerClient, target: str, content: str, *, older_than_s: float) -> None:
    """Older images of the same target go, unless a container uses them or somebody may be about to."""
    for image in client.api.images(filters={"label": [f"{TARGET_LABEL}={target}", CONTENT_LABEL]}):
        if image["Labels"][CONTENT_LABEL] == content or time.time() - image["Created"] < older_than_s:
            continue
        for tag in _own_tags(image):
            try:
                client.api.remove_image(tag)  # the engine itself refuses while a container uses it
            except docker.errors.APIError as error:
                logger.info("the old image %s stays: %s", tag, error.explanation)


def _own_tags(image: dict[str, Any]) -> Iterator[str]:
    return (tag for tag in image.get("RepoTags") or [] if tag.startswith(f"{REPOSITORY}:"))
