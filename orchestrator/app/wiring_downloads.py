"""The part of the composition root for files from the internet."""

from __future__ import annotations

from orchestrator.app.wiring import AppContext
from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.downloads.downloads import DownloadRequests
from orchestrator.capabilities.downloads.outcome import DownloadOutcomes
from orchestrator.capabilities.downloads.store_file import WorkspaceStore
from orchestrator.capabilities.downloads.worker import DownloadWorker
from orchestrator.jobs.pool import Jobs
from orchestrator.web.urls import UrlRules


def build_assets(ground: AppContext, approvals: Approvals, jobs: Jobs) -> DownloadRequests:
    """Who asks a person about downloads, with the jobs that fetch them."""
    store, agents = ground.store, ground.agents
    rules = UrlRules(plain_http=ground.settings.fetch_http)
    endings = DownloadOutcomes(store, ground.broker, jobs)
    assets = DownloadRequests(
        store=store, agents=agents, approvals=approvals, grants=ground.grants, jobs=jobs, endings=endings, rules=rules
    )
    landing = WorkspaceStore(ground.workspaces, agents, ground.reserve, ground.home.path)
    internet, folder = ground.parts.internet, ground.home.scratch
    downloads = DownloadWorker(
        assets=assets, endings=endings, landing=landing, internet=internet, rules=rules, folder=folder
    )
    jobs.add_kind(downloads.kind)
    return assets
