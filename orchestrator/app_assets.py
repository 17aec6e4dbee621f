"""The part of the composition root for files from the internet."""

from __future__ import annotations

from orchestrator.app_builders import Ground
from orchestrator.approvals import Approvals
from orchestrator.assets.assets import Assets
from orchestrator.assets.downloads import Downloads
from orchestrator.assets.endings import Endings
from orchestrator.assets.landing import Landing
from orchestrator.capabilities.table import Finish
from orchestrator.fetch.urls import UrlRules


def build_assets(ground: Ground, approvals: Approvals, *, finish: Finish) -> tuple[Assets, Downloads]:
    """Who asks a person about downloads, and who fetches them."""
    store, agents = ground.store, ground.agents
    rules = UrlRules(plain_http=ground.settings.fetch_http)
    endings = Endings(store=store, broker=ground.broker, notices=ground.notices, finish=finish)
    assets = Assets(store=store, agents=agents, approvals=approvals, grants=ground.grants, endings=endings, rules=rules)
    landing = Landing(store, ground.workspaces, agents, ground.reserve, ground.home.path)
    downloads = Downloads(
        store=store,
        assets=assets,
        landing=landing,
        internet=ground.parts.internet,
        rules=rules,
        folder=ground.home.scratch,
    )
    return assets, downloads
