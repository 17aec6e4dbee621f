"""The second half of ``hermit install``, a program of its own: what the host laid into ``data/packages`` is installed
for the agent, without any index.

Python's wheels by pip, which lies in the image as one file; Node's tarballs are unpacked to where npm had planned them.
Nothing of a package runs while it is installed. Where a file is not what the host's list says, nothing is done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
import tarfile
from typing import Any

PIP_FOLDER = "/usr/share/python-wheels"
PYTHON = "/usr/bin/python3"
CHUNK = 1 << 20
MOST_FILES = 60_000
MOST_BYTES = 2_000_000_000


class NotInstalled(Exception):
    """It went wrong; the text is a sentence."""


def main(arguments: list[str]) -> int:
    """``FOLDER WORK``: what lies in the folder is installed into the other; the exit code, a sentence on stderr."""
    try:
        install_all(*arguments)
    except NotInstalled as error:
        os.write(2, f"hermit: {error}\n".encode("utf-8", "replace"))
        return 1
    return 0


def install_all(folder: str, work: str) -> None:
    """What lies in ``folder`` is installed into ``work``, or for Python into the agent's home. Raises NotInstalled."""
    try:
        with open(f"{folder}/packages.json", encoding="utf-8") as file:
            listed = json.load(file)
        packages = listed["packages"]
        for package in packages:
            _check_folder(folder, package)
        if listed["system"] == "pip":
            _install_python(folder)
        else:
            _install_npm(folder, packages, work)
    except (OSError, tarfile.TarError, EOFError, UnicodeError) as error:
        raise NotInstalled(f"the packages could not be installed: {error}. 'hermit status' shows your disk.") from None


def _check_folder(folder: str, package: dict[str, Any]) -> None:
    digest = hashlib.sha256()
    with open(f"{folder}/{package['file']}", "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != package["sha256"]:
        raise NotInstalled(f"{package['file']} is not what the host's list says, so nothing was installed.")


# --- Python ----------------------------------------------------------------------------------------------------


def _install_python(folder: str) -> None:
    wheels = sorted(name for name in os.listdir(PIP_FOLDER) if name.startswith("pip-") and name.endswith(".whl"))
    if not wheels:
        raise NotInstalled("this image has no pip.")
    options = ["--user", "--no-index", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-cache-dir"]
    options += ["--break-system-packages", "--no-warn-script-location", "--no-input", "--quiet", "--no-compile"]
    # Not isolated: --user must find the agent's own folder. It starts where no file of the agent's can be imported.
    arguments = [PYTHON, f"{PIP_FOLDER}/{wheels[-1]}/pip", "install", *options]
    arguments += ["--find-links", folder, "--requirement", f"{folder}/requirements.txt"]
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONSAFEPATH": "1"}
    if os.spawnve(os.P_WAIT, PYTHON, arguments, {**kept, **settings}):  # noqa: S606 - no shell is wanted
        raise NotInstalled("pip could not install them; what it says stands above.")


# --- Node ------------------------------------------------------------------------------------------------------


def _install_npm(folder: str, packages: list[dict[str, Any]], work: str) -> None:
    """Parents come before what lies within them. Each is unpacked beside its place first, so none is half there."""
    planned = sorted((place, package["file"]) for package in packages for place in package["places"])
    for place, file in planned:
        target = f"{work}/{place}"
        stage = f"{target}.{os.getpid()}.new"
        try:
            _unpack_tarball(f"{folder}/{file}", stage)
            _remove_path(target)
            os.rename(stage, target)
        finally:
            _remove_path(stage)
        _link_commands(target, f"{target[: target.rindex('node_modules/')]}node_modules/.bin")


def _unpack_tarball(tarball: str, target: str) -> None:
    """Plain files and folders alone, all of them beneath ``target``; a tarball's first folder is left out."""
    os.makedirs(target)
    total = 0
    with tarfile.open(tarball, "r:gz") as archive:
        for number, entry in enumerate(archive):
            parts = [part for part in entry.name.split("/") if part not in ("", ".")][1:]
            if not entry.isfile() or not parts:
                continue
            total += entry.size
            if ".." in parts or number > MOST_FILES or total > MOST_BYTES:
                raise NotInstalled(f"{os.path.basename(tarball)} holds what no package may hold.")
            path = os.path.join(target, *parts)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            source = archive.extractfile(entry)
            if source is None:
                continue
            with source, open(path, "wb") as file:
                shutil.copyfileobj(source, file)
            os.chmod(path, 0o755 if entry.mode & stat.S_IXUSR else 0o644)


def _link_commands(package: str, commands: str) -> None:
    """The package's programs are found in ``node_modules/.bin``, as npm does it."""
    try:
        with open(f"{package}/package.json", encoding="utf-8") as file:
            described = json.load(file)
    except (OSError, ValueError):
        return
    named = described.get("bin") if isinstance(described, dict) else None
    name = str(described.get("name", "")).rpartition("/")[2] if isinstance(described, dict) else ""
    programs = {name: named} if isinstance(named, str) else named if isinstance(named, dict) else {}
    for command, script in programs.items():
        path = os.path.normpath(os.path.join(package, str(script)))
        if not command or "/" in command or command.startswith(".") or not path.startswith(f"{package}/"):
            continue
        if os.path.isfile(path):
            os.makedirs(commands, exist_ok=True)
            _remove_path(f"{commands}/{command}")
            os.symlink(os.path.relpath(path, commands), f"{commands}/{command}")
            os.chmod(path, 0o755)  # noqa: S103 - a program, as npm leaves it


def _remove_path(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
