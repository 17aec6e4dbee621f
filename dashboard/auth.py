"""Who is asking, and whether they may. Everything needs a login unless its view is marked public; every change from a
browser session also needs our own page (``origin``) and its token (``csrf``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import current_app, g, request

from dashboard import cookies, csrf, origin
from dashboard.services import get_services
from orchestrator.core.errors import Forbidden, NotFound, Unauthorized
from orchestrator.core.models import Agent, CubicleKey, Role, Turn, User

View = TypeVar("View", bound=Callable[..., Any])

_SAFE = ("GET", "HEAD")
SMALL_BODY_BYTES = 16 * 1024
"""The most that is read of a request by nobody known, and of any form: a name and a password are shorter, and eight
thousand empty fields take a twentieth of a second to read."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_PUBLIC = "is_public"
_BY_SECRET = "is_by_secret"  # noqa: S105 - a mark's name
_OPERATOR = "is_for_operator"
_BY_TICKET = "is_by_ticket"


@dataclass(frozen=True, slots=True)
class Asker:
    """The person behind a request."""

    user: User
    session: str
    """The session's token, or empty for a request with an API token."""

    @property
    def is_operator(self) -> bool:
        """May do everything."""
        return self.user.role is Role.OPERATOR

    @property
    def surface(self) -> str:
        """Where the person sits, for the audit log."""
        return "dashboard" if self.session else "api"


def mark_public(view: View) -> View:
    """Mark a view that needs no login."""
    setattr(view, _PUBLIC, True)
    return view


def by_secret(view: View) -> View:
    """Mark a view for one program elsewhere, whose own secret the view asks for: no login and no page comes there, and
    neither counts."""
    setattr(view, _BY_SECRET, True)
    return mark_public(view)


def by_ticket(view: View) -> View:
    """Mark a view for what a browser itself sends and no page: it needs the login and our own origin as any change
    does, and in place of a page's token a ticket that the view asks for."""
    setattr(view, _BY_TICKET, True)
    return view


def operator_only(view: View) -> View:
    """Mark a view that members may not use."""
    setattr(view, _OPERATOR, True)
    return view


def current_asker() -> Asker | None:
    """Who is asking; None when nobody known is."""
    found = g.get("asker")
    return found if isinstance(found, Asker) else None


def require_asker() -> Asker:
    """Who is asking; raises Unauthorized when nobody known is."""
    found = current_asker()
    if found is None:
        raise Unauthorized("Log in first: send 'Authorization: Bearer TOKEN', or open the dashboard.")
    return found


def check_request() -> None:
    """Find out who asks and refuse what they may not do; runs before every view."""
    g.asker = None
    view = current_app.view_functions.get(request.endpoint or "")
    if view is None:
        return  # there is no such route, which is said next
    if getattr(view, _BY_SECRET, False) is True:
        return
    g.asker = _by_token() or _by_session()
    if g.asker is None or request.mimetype in _FORMS:
        request.max_content_length = SMALL_BODY_BYTES
    if not is_public(view):
        _check_rights(view)
        _check_agent()
    if request.method not in _SAFE:
        _check_change(has_ticket=getattr(view, _BY_TICKET, False) is True)
    elif g.asker is not None:
        origin.check_not_foreign()


def is_public(view: Callable[..., Any]) -> bool:
    """The view needs no login."""
    return getattr(view, _PUBLIC, False) is True


def is_for_operator(view: Callable[..., Any]) -> bool:
    """The view is not for members."""
    return getattr(view, _OPERATOR, False) is True


# --- what is whose ---------------------------------------------------------------------------------------------


def own_cubicle(agent: str) -> CubicleKey:
    """The asker's cubicle of an agent, or with ``?user=ID`` an operator's look into another person's.

    Raises NotFound for an unknown agent or user, Forbidden for a member who asks for somebody else's.
    """
    who = require_asker()
    get_services().agents.get(agent)
    wanted = request.args.get("user", "")
    if not wanted or wanted == str(who.user.id):
        return CubicleKey(agent, who.user.id)
    if not who.is_operator:
        raise Forbidden("Only an admin can look into another person's conversation.")
    if not wanted.isdecimal() or len(wanted) > 15:
        raise NotFound("There is no such user. GET /api/users lists them by number.")
    return CubicleKey(agent, get_services().users.get(int(wanted)).id)


def login_digest() -> str:
    """What stands for the login behind this request wherever it may be read."""
    who = require_asker()
    return get_services().users.login_of(who.session or _bearer_token(request.headers.get("Authorization", "")))


def login_holder() -> Callable[[], User | None]:
    """Whose the login behind this request is, to be asked at any time after it; None once it has ended."""
    who, users = require_asker(), get_services().users
    if who.session:
        return lambda: users.of_session(who.session)
    token = _bearer_token(request.headers.get("Authorization", ""))
    return lambda: users.of_token(token)


def own_turn(turn: int) -> Turn:
    """The turn, when it is the asker's to see; raises NotFound."""
    found = get_services().turns.get(turn)
    if not may_see(found.cubicle):
        raise NotFound(f"There is no turn {turn}.")
    return found


def may_see(key: CubicleKey) -> bool:
    """What belongs to this cubicle is the asker's to see: an operator's, or their own while they may use its agent."""
    who = require_asker()
    return who.is_operator or (key.user == who.user.id and get_services().access.is_open(key))


def own_agents() -> list[Agent]:
    """The agents that the asker may use."""
    return get_services().access.list_agents(require_asker().user)


# --- checks ----------------------------------------------------------------------------------------------------


def _by_token() -> Asker | None:
    header = request.headers.get("Authorization")
    if header is None:
        return None
    token = _bearer_token(header)
    user = get_services().users.of_token(token) if token else None
    if user is None:
        raise Unauthorized("This API token is not known. './hermit token create NAME' makes a new one.")
    return Asker(user, session="")


def _bearer_token(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _by_session() -> Asker | None:
    session = cookies.session_token()
    user = get_services().users.of_session(session) if session else None
    return None if user is None else Asker(user, session)


def _check_rights(view: Callable[..., Any]) -> None:
    who = require_asker()
    if is_for_operator(view) and not who.is_operator:
        raise Forbidden("Only an admin can do this.")


def _check_agent() -> None:
    """Wherever a path names an agent, a member finds those that they may use and no others."""
    who, agent = require_asker(), (request.view_args or {}).get("name")
    if agent is not None and not who.is_operator:
        get_services().access.check_open(CubicleKey(str(agent), who.user.id))


def _check_change(*, has_ticket: bool) -> None:
    if g.asker is not None and not g.asker.session:
        origin.check_not_foreign()
        return
    origin.check_own()
    if g.asker is not None and not has_ticket:
        csrf.check_token(g.asker.session)
