"""The package resolver: sends a helper container with a task in a private folder and a gate to the hosts of the index,
and reads what it brought as a stranger's word.

The host looks at the report as text and at files as plain bytes: it compares sizes and hashes, and unpacks, loads or
runs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.capabilities.packages.indexes import PackageIndexes
from orchestrator.capabilities.packages.input import PIP
from orchestrator.capabilities.packages.lists import MOST_BYTES, Package, read_list, size_in_words, write_list
from orchestrator.core.errors import BadInput, Stopped, TooLarge, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import escape_invisible, one_line
from orchestrator.engine import helper_folder
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import RESOLVER, HelperSpec
from orchestrator.engine.protocol import HelperEngine
from orchestrator.gate.gate import Gates, OpenGate
from orchestrator.gate.policy import ExactHosts
from orchestrator.gate.refusals import Reason
from orchestrator.gate.traffic import OTHERS, GateVerdict, HostUsage
from orchestrator.gate.traffic_log import GateUser

RESOLVE_S, FETCH_S = 180, 900
REPORT_BYTES = 2_000_000
MOST_UP_BYTES = 8_000_000
"""To one host, in one task: three hundred packages need a quarter of it."""
_MOST_SHOWN = 3
_SPARE_S = 15.0
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Brought:
    """One file of a helper container, checked."""

    package: Package
    path: Path
    sha256: str


class PackageResolver:
    """Sends helper containers, one at a time."""

    def __init__(
        self,
        helpers: HelperEngine,
        gates: Gates,
        *,
        folder: Path,
        image: Callable[[], str],
        outside: PackageIndexes,
        prefix: str = "",
    ) -> None:
        """``folder`` is private to this package resolver; ``image`` gives its image, built first where it is missing.
        ``prefix`` tells its helper containers from those of another."""
        self._prefix = prefix
        self._helpers, self._gates = helpers, gates
        self._folder = folder
        self._image = image
        self._outside = outside

    def clear_leftovers(self) -> None:
        """No helper container is under way, and nothing of one is left."""
        self._helpers.clear_helpers(RESOLVER)
        helper_folder.empty_all(self._folder)

    def resolve_packages(
        self, number: int, system: str, asked: Sequence[str], *, user: GateUser, is_wanted: Callable[[], bool]
    ) -> tuple[Package, ...]:
        """Everything that the request comes to; ``user`` is for whom the index is asked. Raises Failed, Stopped,
        Unavailable."""
        task = {"do": "resolve", "system": system, "asked": list(asked), "time_s": RESOLVE_S}
        try:
            report = self._run_helper(
                self._name(number, "resolve"), task, user, max_bytes=REPORT_BYTES, is_wanted=is_wanted
            )
            return read_list(system, report.get("packages"))
        except TooLarge as error:
            raise Failed(error.message) from error
        except BadInput as error:
            raise Failed(f"The index gave an answer that can't be used: {error.message}.") from error
        finally:
            self._drop_folder(self._name(number, "resolve"))

    def fetch_files(
        self, number: int, system: str, packages: Sequence[Package], *, user: GateUser, is_wanted: Callable[[], bool]
    ) -> tuple[Brought, ...]:
        """The packages' files, to the byte those of the list; drop them (``drop_files``) when they are stored.
        Raises as above.
        """
        task = {"do": "fetch", "system": system, "packages": write_list(packages), "time_s": FETCH_S}
        room = sum(package.size for package in packages) + REPORT_BYTES
        try:
            self._run_helper(self._name(number, "fetch"), task, user, max_bytes=room, is_wanted=is_wanted)
        except BadInput as error:
            raise Failed(f"The helper container's report can't be used: {error.message}.") from error
        folder = self._folder / self._name(number, "fetch") / "out"
        return tuple(_checked(package, folder / package.file) for package in packages)

    def drop_files(self, number: int) -> None:
        """What was fetched is no longer needed here."""
        self._drop_folder(self._name(number, "fetch"))

    def _name(self, number: int, what: str) -> str:
        return f"{self._prefix}{number}-{what}"

    def _run_helper(
        self, name: str, task: Mapping[str, Any], user: GateUser, *, max_bytes: int, is_wanted: Callable[[], bool]
    ) -> dict[str, Any]:
        try:
            helper = self._pack_task(name, task, max_bytes)
        except OSError as error:
            raise Unavailable("The folder for downloads in HERMIT_HOME can't be written. Look at the disk.") from error
        gate = self._open_gate(helper, task["system"], user)
        try:
            self._helpers.run_helper(helper, is_wanted=is_wanted)
            refused = explain_refusals(gate.usage())
        finally:
            gate.close()
        if not is_wanted():
            raise Stopped("HermitShell is stopping.")
        report = read_object(_read(helper.brought / "report.json", REPORT_BYTES))
        if report.get("ok") is not True:
            raise Failed(_sentence(task, report, refused))
        return report

    def _open_gate(self, helper: HelperSpec, system: str, user: GateUser) -> OpenGate:
        """Its way to the hosts of the index, and to nothing else."""
        assert helper.sockets is not None  # noqa: S101 - it was made with a folder for them
        policy = ExactHosts(self._outside.list_hosts(system), MOST_UP_BYTES)
        named = self._outside.list_named(system)
        return self._gates.open_gate(helper.sockets, policy, user, uid=helper.uid, gid=helper.gid, named=named)

    def _pack_task(self, name: str, task: Mapping[str, Any], max_bytes: int) -> HelperSpec:
        """The helper container's folders, with the task in one."""
        outside = {
            "pip_index_url": self._outside.pip_index_url,
            "npm_registry": self._outside.npm_registry,
            "max_bytes": MOST_BYTES,
        }
        certificates = self._outside.certificates()
        files = {"task.json": json.dumps({**task, **outside}).encode()} | (
            {"ca.pem": certificates} if certificates else {}
        )
        time_s = float(task["time_s"]) + _SPARE_S
        return helper_folder.make_folder(
            self._folder, name, RESOLVER, self._image(), files, time_s=time_s, max_bytes=max_bytes, has_sockets=True
        )

    def _drop_folder(self, name: str) -> None:
        helper_folder.remove_folder(self._folder, name)


def _read(path: Path, max_bytes: int) -> bytes:
    """A plain file that a container left, whatever else it may have made there."""
    try:
        with helper_folder.open_result(path) as file:
            if os.fstat(file.fileno()).st_size > max_bytes:
                raise Failed("The helper container's report is too long.")
            return file.read(max_bytes)
    except OSError as error:
        raise Failed(
            "This took too long or needed too much room, and was stopped. Ask for less, or try again later."
        ) from error


def _checked(package: Package, path: Path) -> Brought:
    kind, _, wanted = package.hash.partition(":")
    agreed, ours = hashlib.new(kind), hashlib.sha256()
    try:
        with helper_folder.open_result(path) as file:
            if os.fstat(file.fileno()).st_size != package.size:
                raise Failed(f"{package.name} is not of the size that was agreed to, so nothing was taken.")
            while chunk := file.read(_CHUNK):
                agreed.update(chunk)
                ours.update(chunk)
    except OSError as error:
        raise Failed(f"{package.name} did not arrive. Try again later.") from error
    if agreed.hexdigest() != wanted:
        raise Failed(f"{package.name} is not what was agreed to (its hash is another), so nothing was taken.")
    return Brought(package, path, ours.hexdigest())


def explain_refusals(usage: Sequence[HostUsage]) -> str:
    """Why the gate let something not through, and what to do about it; empty where it let all through. Names of hosts
    are strangers', but letters, figures, dots and dashes alone."""
    refused = [use for use in usage if use.verdict is not GateVerdict.ALLOWED and use.host not in ("", OTHERS)]
    foreign = _shown(refused, Reason.HOST_NOT_APPROVED, Reason.NOT_A_NAME, Reason.PORT)
    if foreign:
        return (
            f"The package index sends to {foreign}, which is none of its hosts, so that was refused. If you trust it, "
            "the operator can add it to HERMIT_PACKAGE_HOSTS."
        )
    if private := _shown(refused, Reason.PRIVATE):
        return (
            f"{private} leads to an address inside a private network, so it was not asked. If that is meant, the "
            "operator can add it to HERMIT_PRIVATE_HOSTS."
        )
    if silent := _shown(refused, Reason.NOT_FOUND, Reason.UNREACHABLE, Reason.UPSTREAM):
        reasons = ", ".join(dict.fromkeys(use.reason for use in refused))
        return f"{silent} can't be reached from this machine ({reasons}). './hermit doctor' says more."
    return ""


def _shown(refused: Sequence[HostUsage], *reasons: str) -> str:
    places = (
        use.host if use.port in (80, 443) else f"{use.host}:{use.port}" for use in refused if use.reason in reasons
    )
    return ", ".join(list(dict.fromkeys(places))[:_MOST_SHOWN])


def _sentence(task: Mapping[str, Any], report: Mapping[str, Any], refused: str) -> str:
    """What was the matter, for an agent and its person; what pip or npm said is quoted as a stranger's words."""
    system = task["system"]
    if refused:
        return refused
    said = report.get("said")
    is_quoted = isinstance(said, str) and bool(said) and report.get("why") != "too_large"
    quoted = f" It said: {one_line(escape_invisible(str(said)), 500)}" if is_quoted else ""
    sentences = {
        "not_found": "The index has no such package, or not in that version"
        + (", or not as a wheel for this Python (source packages are not built)." if system == PIP else "."),
        "conflict": "The packages, or what they need, don't go together.",
        "unreachable": "The package index can't be reached from the helper container. './hermit doctor' and "
        "docs/using.md (Packages) say what it needs.",
        "unfit": "A package among them can't be taken.",
        "slow": "Finding out took too long. Ask for fewer packages.",
        "too_large": f"They take more than {size_in_words(MOST_BYTES)}, which is the most at a time.",
        "changed": "A file is not what was agreed to (its size or hash is another), so nothing was taken.",
    }
    return sentences.get(str(report.get("why")), f"{system} could not do it.") + quoted
