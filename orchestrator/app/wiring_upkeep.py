"""What people use to look after an install: the doctor, proofs, backups and the look for a new version."""

from __future__ import annotations

from typing import TypedDict

from orchestrator.agents.cubicles import Cubicles
from orchestrator.app.wiring import AppContext, build_proofs
from orchestrator.core.audit import Audit
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


def build_upkeep(context: AppContext, cubicles: Cubicles, turns: Turns) -> UpkeepServices:
    """Each of them; nothing runs yet."""
    backups = Backups(context.home, Audit(context.store), context.broker)
    return UpkeepServices(
        doctor=DoctorRunner(context.parts.examine, context.broker),
        proofs=build_proofs(context, cubicles, turns),
        backups=backups,
        backup_schedule=BackupSchedule(context.store, backups),
        version_watch=VersionWatch(context.settings.update_url, context.parts.internet),
    )
