"""A small application as offices have them: a login with a cookie, a form in steps that asks before it deletes, and a
table. What people did in it, it keeps."""

from __future__ import annotations

import html
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from tests.support.fake_internet import Visit, answer

_FORM = "<!doctype html><title>{title}</title><h1>{title}</h1><form method=post action={action}>{fields}</form>"
_LOGIN = (
    "<label>Name <input name=name></label><label>Password <input type=password name=password></label>"
    "<button>Log in</button>"
)
_STEP_1 = (
    "<label>Customer <input name=customer required></label><label>Kind <select name=kind><option>private"
    "<option>business</select></label><label><input type=checkbox name=urgent> Urgent</label><button>Next</button>"
)
_STEP_2 = (
    "<input type=hidden name=draft value={draft}><label>Amount <input name=amount type=number></label>"
    "<button onclick=\"return confirm('Book ' + this.form.amount.value + ' euro?')\">Book</button>"
)


@dataclass
class OfficeSite:
    """What answers at its name."""

    password: str
    bookings: list[dict[str, str]] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    _drafts: dict[str, dict[str, str]] = field(default_factory=dict)

    def __call__(self, visit: Visit) -> None:
        """One request."""
        head, _, body = visit.head.partition("\r\n\r\n")
        length = re.search(r"^content-length: *(\d+)", head, re.MULTILINE | re.IGNORECASE)
        while length and len(body) < int(length[1]) and (piece := visit.sock.recv(65536)):
            body += piece.decode("latin-1")
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        cookie = re.search(r"^cookie:.*\bsession=(\w+)", head, re.MULTILINE | re.IGNORECASE)
        is_in = cookie is not None and cookie[1] in self.sessions
        visit.send(self._answer(head.partition(" ")[0], visit.target, sent, is_in=is_in))

    def _answer(self, method: str, target: str, sent: dict[str, str], *, is_in: bool) -> bytes:
        if method == "POST" and target == "/login":
            return self._log_in(sent)
        if not is_in:
            return _shown("Log in", "/login", _LOGIN)
        if method == "POST" and target == "/new":
            draft = secrets.token_hex(8)
            self._drafts[draft] = sent
            return _shown("How much", "/book", _STEP_2.format(draft=draft))
        if method == "POST" and target == "/book":
            self.bookings.append({**self._drafts.pop(sent["draft"], {}), "amount": sent["amount"]})
            return answer(b"", "303 Done", Location="/")
        if method == "POST" and target.startswith("/delete/"):
            del self.bookings[int(target.rpartition("/")[2])]
            return answer(b"", "303 Done", Location="/")
        return _shown("New booking", "/new", _STEP_1) if target == "/new" else self._table()

    def _log_in(self, sent: dict[str, str]) -> bytes:
        if (sent.get("name"), sent.get("password")) != ("ada", self.password):
            return _shown("Wrong password", "/login", _LOGIN)
        session = secrets.token_hex(8)
        self.sessions.add(session)
        return answer(b"", "303 In", Location="/", Set_Cookie=f"session={session}; HttpOnly; Path=/")

    def _table(self) -> bytes:
        ask = "return confirm('Delete it?')"
        rows = "".join(
            f"<tr><td>{html.escape(one.get('customer', ''))}<td>{one['amount']}<td>"
            f'<form method=post action=/delete/{n} onsubmit="{ask}"><button>Delete row {n}</button></form>'
            for n, one in enumerate(self.bookings)
        )
        page = f"<!doctype html><title>Bookings</title><h1>Bookings</h1><a href=/new>New</a><table>{rows}</table>"
        return answer(page.encode(), Content_Type="text/html")


def _shown(title: str, action: str, fields: str) -> bytes:
    return answer(_FORM.format(title=title, action=action, fields=fields).encode(), Content_Type="text/html")
