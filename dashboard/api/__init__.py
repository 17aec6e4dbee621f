"""The HTTP API, one blueprint for each subject. ``BLUEPRINTS`` lists them all."""

from __future__ import annotations

from dashboard.api.agents import api as agents_api
from dashboard.api.approvals import api as approvals_api
from dashboard.api.apps import api as apps_api
from dashboard.api.assets import api as assets_api
from dashboard.api.audit import api as audit_api
from dashboard.api.backups import api as backups_api
from dashboard.api.branches import api as branches_api
from dashboard.api.browser import api as browser_api
from dashboard.api.budgets import api as budgets_api
from dashboard.api.calendar import api as calendar_api
from dashboard.api.checkpoints import api as checkpoints_api
from dashboard.api.conversations import api as conversations_api
from dashboard.api.cubicles import api as cubicles_api
from dashboard.api.deliveries import api as deliveries_api
from dashboard.api.doctor import api as doctor_api
from dashboard.api.events import api as events_api
from dashboard.api.file_changes import api as file_changes_api
from dashboard.api.files import api as files_api
from dashboard.api.grants import api as grants_api
from dashboard.api.health import api as health_api
from dashboard.api.imports import api as imports_api
from dashboard.api.lessons import api as lessons_api
from dashboard.api.mcp import api as mcp_api
from dashboard.api.me import api as me_api
from dashboard.api.memories import api as memories_api
from dashboard.api.messages import api as messages_api
from dashboard.api.notices import api as notices_api
from dashboard.api.oidc import api as oidc_api
from dashboard.api.openapi import api as openapi_api
from dashboard.api.packages import api as packages_api
from dashboard.api.page_secrets import api as page_secrets_api
from dashboard.api.passkeys import api as passkeys_api
from dashboard.api.prices import api as prices_api
from dashboard.api.proofs import api as proofs_api
from dashboard.api.providers import api as providers_api
from dashboard.api.push import api as push_api
from dashboard.api.questions import api as questions_api
from dashboard.api.search_engines import api as search_engines_api
from dashboard.api.second_factor import api as second_factor_api
from dashboard.api.settings import api as settings_api
from dashboard.api.strangers import api as strangers_api
from dashboard.api.telegram import api as telegram_api
from dashboard.api.tokens import api as tokens_api
from dashboard.api.users import api as users_api

BLUEPRINTS = (
    agents_api,
    approvals_api,
    apps_api,
    assets_api,
    audit_api,
    backups_api,
    browser_api,
    budgets_api,
    calendar_api,
    cubicles_api,
    deliveries_api,
    doctor_api,
    proofs_api,
    events_api,
    file_changes_api,
    files_api,
    grants_api,
    health_api,
    imports_api,
    me_api,
    branches_api,
    checkpoints_api,
    conversations_api,
    memories_api,
    messages_api,
    notices_api,
    openapi_api,
    packages_api,
    lessons_api,
    page_secrets_api,
    mcp_api,
    passkeys_api,
    oidc_api,
    prices_api,
    providers_api,
    push_api,
    questions_api,
    search_engines_api,
    second_factor_api,
    settings_api,
    strangers_api,
    telegram_api,
    tokens_api,
    users_api,
)
