"""The people who may talk to the agents, for the operator: added, changed, let in by a link, logged out, removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard import origin
from dashboard.auth import operator_only, require_asker
from dashboard.languages import say
from dashboard.pages.frame import shell_frame
from dashboard.pages.you import zones
from dashboard.services import get_services
from orchestrator.agents import public_url as reach
from orchestrator.agents.install_settings import ADDRESS
from orchestrator.agents.oidc.rows import OidcAccount
from orchestrator.core.models import Role, User
from orchestrator.llm.person_budget import PersonBudget

pages = Blueprint("people", __name__)


@dataclass(frozen=True, slots=True)
class PersonView:
    """Somebody on the list."""

    user: User
    is_first: bool
    """The operator whose install it is, who stays."""
    is_viewer: bool
    has_password: bool
    budget: PersonBudget
    """What they spent over all agents, and may."""
    has_totp: bool
    account: OidcAccount | None
    """At the provider by which they log in."""
    closed: tuple[str, ...] = ()
    """The agents that they may not use."""

    @property
    def may(self) -> str:
        """What their role is called."""
        return say("Admin") if self.user.role is Role.OPERATOR else say("Member")


@pages.get("/people")
@operator_only
def users() -> str:
    """The whole page."""
    return render_template(
        "people.html",
        **shell_frame(),
        users=_views(),
        strangers=get_services().strangers(),
        zones=zones(),
        oidc=get_services().oidc.settings,
        **_reach(),
    )


@pages.get("/parts/strangers")
@operator_only
def strangers() -> str:
    """Who waits to be let in."""
    return render_template("parts/strangers.html", strangers=get_services().strangers())


@pages.get("/parts/people")
@operator_only
def rows() -> str:
    """The list."""
    return render_template("parts/people.html", users=_views(), oidc=get_services().oidc.settings)


@pages.get("/parts/address")
@operator_only
def address() -> str:
    """What login links begin with."""
    return render_template("parts/address.html", **_reach())


def _reach() -> dict[str, Any]:
    services = get_services()
    chosen = services.install_settings.list_settings().get(ADDRESS, "")
    address = reach.get_public_url(
        services.settings, services.install_settings, came_by=origin.own_origin(services.settings.public_url)
    )
    return {
        "address": address,
        "chosen_address": chosen,
        "is_local": reach.is_local(address),
        "settings": services.settings,
    }


def _views() -> list[PersonView]:
    known = get_services().users
    first, viewer = known.get_operator().id, require_asker().user.id
    closed, with_codes = get_services().access.list_closed(), get_services().second_factors.list_users()
    accounts = get_services().oidc.list_accounts()
    return [
        PersonView(
            user,
            user.id == first,
            user.id == viewer,
            known.has_password(user.id),
            get_services().budget.get_person_standing(user.id),
            user.id in with_codes,
            accounts.get(user.id),
            tuple(sorted(key.agent for key in closed if key.user == user.id)),
        )
        for user in known.list_users()
    ]
