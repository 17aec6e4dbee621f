"""What people use to look after an install: the doctor, proofs, backups, the look for a new version and
imports from other products."""

from __future__ import annotations

from typing import TypedDict

from orchestrator.agents.cubicles import Cubicles
from orchestrator.app.wiring import AppContext, build_proofs
from orchestrator.app.wiring_capabilities import Capabilities
from orchestrator.core.audit import Audit
from orchestrator.operations.agent_import.imports import Imports
from orchestrator.operations.backup.backups import Backups
from orchestrator.operations.backup.schedule import BackupSchedule
from orchestrator.operations.doctor.runner import DoctorRunner
from orchestrator.operations.new_version import VersionWatch
from orchestrator.operations.proof.proofs import Proofs
from orchestrator.turns.queue import Turns


class UpkeepServices(TypedDict):
    """Their part of what surfaces may call."""

    doctor: DoctorRunner
    proofs: Proofs
    backups: Backups
    backup_schedule: BackupSchedule
    version_watch: VersionWatch
    imports: Imports


def build_upkeep(context: AppContext, cubicles: Cubicles, turns: Turns, capabilities: Capabilities) -> UpkeepServices:
    """Each of them; nothing runs yet."""
    backups = Backups(context.home, Audit(context.store), context.broker)
    return UpkeepServices(
        doctor=DoctorRunner(context.parts.examine, context.broker),
        proofs=build_proofs(context, cubicles, turns),
        backups=backups,
        backup_schedule=BackupSchedule(context.store, backups),
        version_watch=VersionWatch(context.settings.update_url, context.parts.internet),
        imports=Imports(
            context.store,
            agents=context.agents,
            memories=capabilities.memories,
            calendar=capabilities.calendar,
            workspaces=context.workspaces,
            hooks=context.hooks,
        ),
    )
