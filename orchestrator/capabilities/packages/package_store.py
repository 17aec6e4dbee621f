"""The shelf: ``data/packages`` of a cubicle, where an installation's files lie in a folder of their own, or nothing is.
The agent sees it read-only; the host puts plain files there and takes folders away, and looks into none."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence

from orchestrator.capabilities.packages.resolver import Brought
from orchestrator.core import dirs as folders
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.files import tree
from orchestrator.files import uploads as arrivals
from orchestrator.files.workspace import Workspaces

INSIDE = "/app/workspace/data/packages"
"""Where the agent finds it."""
MANIFEST, REQUIREMENTS = "packages.json", "requirements.txt"
_FOLDER = "packages"
_MANIFEST_BYTES = 2_000_000
_REFUSED = "The files could not be put into the cubicle's data folder: the disk or the folder refuses. Try again."


class PackageStore:
    """The shelves of all cubicles."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def store_files(self, key: CubicleKey, number: int, system: str, brought: Sequence[Brought]) -> None:
        """The files are in ``packages/NUMBER``, with a list of them. Raises Unavailable; then nothing is there."""
        name, stage = str(number), f".{number}"
        try:
            with self._workspaces.data_folder(key) as data:
                folders.make_folder(data, _FOLDER, 0o755)
                with folders.open_child(data, _FOLDER) as shelf:
                    tree.remove_tree(shelf, stage)
                    tree.remove_tree(shelf, name)
                    folders.make_folder(shelf, stage, 0o755)
                    with folders.open_child(shelf, stage) as folder:
                        self._fill_folder(folder, system, brought)
                    os.rename(stage, name, src_dir_fd=shelf, dst_dir_fd=shelf)
                    os.fsync(shelf)
        except OSError as error:
            raise Unavailable(_REFUSED) from error

    def has_folder(self, key: CubicleKey, number: int) -> bool:
        """The folder is there."""
        try:
            with self._workspaces.data_folder(key) as data, folders.open_child(data, _FOLDER) as shelf:
                os.stat(f"{number}/{MANIFEST}", dir_fd=shelf, follow_symlinks=False)
        except OSError:
            return False
        return True

    def remove_folder(self, key: CubicleKey, number: int) -> None:
        """The folder is gone; gone already is success. Raises Unavailable."""
        try:
            with self._workspaces.data_folder(key) as data, folders.open_child(data, _FOLDER) as shelf:
                tree.remove_tree(shelf, str(number))
                tree.remove_tree(shelf, f".{number}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise Unavailable(_REFUSED) from error

    def _fill_folder(self, folder: int, system: str, brought: Sequence[Brought]) -> None:
        for one in brought:
            with one.path.open("rb") as file:
                stored = arrivals.replace_upload(folder, one.package.file, file, max_bytes=one.package.size)
            if stored.sha256 != one.sha256:
                raise Unavailable("A file was changed while it was put into the cubicle's data folder. Try again.")
        for name, text in ((MANIFEST, _manifest(system, brought)), (REQUIREMENTS, _requirements(system, brought))):
            arrivals.replace_upload(folder, name, io.BytesIO(text.encode()), max_bytes=_MANIFEST_BYTES)


def _manifest(system: str, brought: Sequence[Brought]) -> str:
    """What the command inside goes by."""
    files = [
        {
            "name": one.package.name,
            "version": one.package.version,
            "file": one.package.file,
            "sha256": one.sha256,
            "places": list(one.package.places),
        }
        for one in brought
    ]
    return json.dumps({"system": system, "packages": files})


def _requirements(system: str, brought: Sequence[Brought]) -> str:
    """The list as pip reads it, each to its hash; of npm's packages for people alone."""
    sign = "==" if system == "pip" else "@"
    lines = [f"{one.package.name}{sign}{one.package.version} --hash=sha256:{one.sha256}" for one in brought]
    return "\n".join(lines) + "\n"
