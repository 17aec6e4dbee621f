"""The part of the composition root for files from the internet."""

from __future__ import annotations

from orchestrator.app.wiring import AppContext
from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.downloads.downloads import DownloadRequests
from orchestrator.capabilities.downloads.outcome import DownloadOutcomes
from orchestrator.capabilities.downloads.worker import DownloadWorker
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.jobs.pool import Jobs
from orchestrator.web.urls import UrlRules


def build_assets(context: AppContext, approvals: Approvals, jobs: Jobs) -> DownloadRequests:
    """Who asks a person about downloads, with the jobs that fetch them."""
    store, agents = context.store, context.agents
    rules = UrlRules(plain_http=context.settings.fetch_http)
    endings = DownloadOutcomes(store, context.broker, jobs)
    assets = DownloadRequests(
        store=store, agents=agents, approvals=approvals, grants=context.grants, jobs=jobs, endings=endings, rules=rules
    )
    landing = WorkspaceStore(context.workspaces, agents, context.reserve, context.home.path)
    internet, folder = context.parts.internet, context.home.scratch
    downloads = DownloadWorker(
        assets=assets, endings=endings, landing=landing, internet=internet, rules=rules, folder=folder
    )
    jobs.add_kind(downloads.kind)
    return assets
