"""The packages of MCP servers: fetched to the byte that the index names, laid out in a helper container, and kept as
one archive for each list of packages. The host unpacks none of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from orchestrator.capabilities.packages.input import NPM, PIP, read_requests
from orchestrator.capabilities.packages.lists import MOST_BYTES, Package, write_list
from orchestrator.capabilities.packages.resolver import Brought, PackageResolver
from orchestrator.core.errors import Conflict, OrchestratorError, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import escape_invisible, one_line
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import MCP_PACKER, HelperSpec
from orchestrator.engine.protocol import HelperEngine
from orchestrator.gate.traffic_log import GateUser
from orchestrator.mcp_servers.models import McpServer

logger = logging.getLogger(__name__)

_PROGRAM: Final = Path(__file__).resolve().parents[2] / "cubicle" / "mcp_pack.py"
_PACK_S = 300.0
_REPORT_BYTES = 100_000
_ROOM_FACTOR = 8
"""So much more room than they take packed may packages need."""
_MOST_TREE = 384 << 20
"""The largest archive: it is unpacked into a server's memory."""
_NO_DISK = "The folder of MCP servers in HERMIT_HOME can't be written. Look at the disk."


class ServerFiles:
    """Every archive. Any thread may call; one fetch at a time."""

    def __init__(
        self, helpers: HelperEngine, resolver: PackageResolver, *, folder: Path, image: Callable[[], str]
    ) -> None:
        """``folder`` is private to this; ``image`` gives that of the package resolver, built first where missing."""
        self._helpers, self._resolver, self._image = helpers, resolver, image
        self._store, self._work = folder / "packages", folder / "packing"
        self._lock = threading.Lock()  # one fetch at a time
        self._number = 0

    def start(self) -> None:
        """Nothing of an earlier run is under way, as far as the engine answers. Raises Unavailable for a disk that
        refuses."""
        try:
            self._helpers.clear_helpers(MCP_PACKER)
        except Unavailable as error:
            logger.warning("packages of MCP servers may still be laid out: %s", error.message)
        try:
            self._store.mkdir(mode=0o700, parents=True, exist_ok=True)
            helper_folder.empty_all(self._work)
        except OSError as error:
            raise Unavailable(_NO_DISK) from error

    def find_tree(self, server: McpServer) -> Path:
        """The archive of its packages. Raises Conflict when they were not fetched yet."""
        path = self._tree_of(server.packages_digest)
        if not server.packages_digest or not path.is_file():
            raise Conflict(
                f"The packages of {server.name} are not here. The operator fetches them: './hermit mcp check "
                f"{server.name}'."
            )
        return path

    def has_tree(self, server: McpServer) -> bool:
        """Its packages are here."""
        return bool(server.packages_digest) and self._tree_of(server.packages_digest).is_file()

    def fetch(self, server: McpServer, *, is_wanted: Callable[[], bool] = lambda: True) -> str:
        """Its packages and all that they need are here; the digest of their list. Raises Unavailable and Stopped."""
        system = NPM if server.how == "npm" else PIP
        asked = read_requests(system, [server.package])
        with self._lock:
            self._number += 1
            number, user = self._number, GateUser("mcp packages")
            try:
                packages = self._resolver.resolve_packages(number, system, asked, user=user, is_wanted=is_wanted)
                digest = digest_of(packages)
                if not self._tree_of(digest).is_file():
                    files = self._resolver.fetch_files(number, system, packages, user=user, is_wanted=is_wanted)
                    self._pack(number, system, files, digest, is_wanted)
            except Unavailable:
                raise
            except OrchestratorError as error:
                raise Unavailable(f"The packages of {server.name} could not be fetched. {error.message}") from error
            finally:
                self._resolver.drop_files(number)
        return digest

    def keep_only(self, digests: set[str]) -> None:
        """Archives that no server has go."""
        if self._store.is_dir():
            for path in self._store.iterdir():
                if path.name.partition(".")[0] not in digests:
                    path.unlink(missing_ok=True)

    def _tree_of(self, digest: str) -> Path:
        return self._store / f"{digest}.tar"

    def _pack(
        self, number: int, system: str, files: Sequence[Brought], digest: str, is_wanted: Callable[[], bool]
    ) -> None:
        packages = [one.package for one in files]
        task = json.dumps({"system": system, "packages": write_list(packages)}).encode()
        room = min(MOST_BYTES, _ROOM_FACTOR * sum(one.size for one in packages) + (8 << 20), _MOST_TREE)
        name = str(number)
        try:
            spec = helper_folder.make_folder(
                self._work,
                name,
                MCP_PACKER,
                self._image(),
                {"task.json": task, "mcp_pack.py": _PROGRAM.read_bytes()},
                time_s=_PACK_S,
                max_bytes=room,
            )
            for one in files:
                _give(spec, one.path)
            self._helpers.run_helper(spec, is_wanted=is_wanted)
            self._take(spec, digest)
        except OSError as error:
            raise Unavailable(_NO_DISK) from error
        finally:
            helper_folder.remove_folder(self._work, name)

    def _take(self, spec: HelperSpec, digest: str) -> None:
        """The archive is in its place, whole. Raises Unavailable and OSError."""
        report = _read_report(spec)
        if report.get("ok") is not True:
            said = one_line(escape_invisible(str(report.get("said", ""))), 300)
            raise Unavailable(f"The packages could not be laid out. It was said: {said}")
        with (
            helper_folder.open_result(spec.brought / "tree.tar") as source,
            tempfile.NamedTemporaryFile(dir=self._store, delete=False) as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())
            os.fchmod(target.fileno(), 0o444)
        Path(target.name).replace(self._tree_of(digest))


def digest_of(packages: Sequence[Package]) -> str:
    """SHA-256 over what is pinned of a list: names, versions, hashes and places."""
    pinned = sorted([one.name, one.version, one.hash, list(one.places)] for one in packages)
    return hashlib.sha256(json.dumps(pinned, separators=(",", ":")).encode()).hexdigest()


def _give(spec: HelperSpec, path: Path) -> None:
    """The file is among those that the helper gets."""
    target = spec.given / path.name
    shutil.copyfile(path, target, follow_symlinks=False)
    target.chmod(0o400)
    if os.geteuid() == 0:
        os.chown(target, spec.uid, spec.gid)


def _read_report(spec: HelperSpec) -> dict[str, object]:
    try:
        with helper_folder.open_result(spec.brought / "report.json") as file:
            return read_object(file.read(_REPORT_BYTES))
    except OSError:
        raise Unavailable(
            "Laying out the packages took too long or needed too much room. Choose a smaller server."
        ) from None
