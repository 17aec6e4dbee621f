"""What is left after a run, gathered from everywhere: the database, the Bot API server's record, the engine, folders
and logs. Plain data, so that the invariants are functions of it and can be tried on evidence that was made up."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.cases import Case, Cases
from tests.chaos.install import Install
from tests.chaos.quiet import files_out, reading
from tests.chaos.record import Record

Row = dict[str, Any]
TABLES = (
    *("turns", "steps", "approvals", "spending", "spending_days", "deliveries", "agenda_entries", "agenda_runs"),
    *("chat_inbox", "chat_outbox", "facts", "audit"),
)


@dataclass(frozen=True)
class Evidence:
    """Everything that the invariants look at."""

    cases: dict[str, Case]
    said: dict[str, int | None]
    phoned: dict[str, int]
    """Cases that were said on Telegram; the numbers of the messages."""
    entered: set[str]
    rows: dict[str, list[Row]]
    users: dict[str, int]
    """People by name, with their numbers."""
    rooms: dict[tuple[str, str], list[Row]]
    """The messages of bots, by agent and person, as they stand in the chats."""
    ran: dict[str, list[str]]
    """By case, the lines that its commands have written."""
    out: dict[tuple[str, int, str], str]
    """The SHA-256 of every file in ``out/``, by agent, user and name."""
    answered: Counter[str]
    """How many whole answers the model gave, by case."""
    refunds: list[str] = field(default_factory=list)
    told_by_api: dict[int, str] = field(default_factory=dict)
    """Turns, and the status that the API shows."""
    containers: list[str] = field(default_factory=list)
    """Those of this install that run when all is quiet."""
    expected_containers: set[str] = field(default_factory=set)
    containers_after: list[str] = field(default_factory=list)
    """Those that are there after ``./hermit down``."""
    leftovers: list[str] = field(default_factory=list)
    """Lock files, sockets and half-made files that nobody needs."""
    outbox: set[str] = field(default_factory=set)
    """The names of private copies of deliveries."""
    secrets_found: list[str] = field(default_factory=list)
    integrity: list[str] = field(default_factory=lambda: ["ok"])

    def turns_of(self, case: Case) -> list[Row]:
        """The turns that this case became."""
        return [turn for turn in self.rows["turns"] if case.prompt in turn["prompt"]]

    def has_failed(self, turn: Row, command: str) -> bool:
        """The exit code of this command of a turn is on record, and is not 0."""
        codes = [
            row["exit_code"] for row in self.rows["steps"] if (row["turn"], row["command"]) == (turn["id"], command)
        ]
        return any(codes) and 0 not in codes

    def refusals_of(self, case: Case) -> list[str]:
        """What a person was told instead of their message being taken, on Telegram."""
        number = self.phoned.get(case.name)
        updates = [
            f"update:{row['bot']}:{row['update_id']}"
            for row in self.rows["chat_inbox"]
            if row["agent"] == case.agent and row["message"] == number and number is not None
        ]
        messages = [
            row
            for row in self.rows["chat_outbox"]
            if row["ref"] in updates and row["agent"] == case.agent and row["state"] == "sent"
        ]
        numbers = [row["message"] for row in messages]
        room = self.rooms.get((case.agent, case.person), [])
        return [str(message.get("text", "")) for message in room if message["message_id"] in numbers]

    def counts(self) -> Counter[str]:
        """For the summary."""
        turns = self.rows["turns"]
        ends = Counter({f"turns {status}": n for status, n in Counter(turn["status"] for turn in turns).items()})
        asked = Counter(f"approvals {one['status']}" for one in self.rows["approvals"])
        told = [one for one in self.rows["chat_outbox"] if one["state"] == "sent"]
        return ends + asked + Counter({
            "messages by API": sum(self.cases[name].surface == "api" for name in self.said),
            "messages by Telegram": sum(self.cases[name].surface == "telegram" for name in self.said),
            "messages refused in words": sum(len(self.refusals_of(self.cases[name])) for name in self.phoned),
            "commands": len(self.rows["steps"]),
            "files delivered": len(self.rows["deliveries"]),
            "runs of the calendar": len(self.rows["agenda_runs"]),
            "letters to Telegram": len(told),
            "model calls": len(self.rows["spending"]),
        })  # fmt: skip


def gathered(install: Install, cases: Cases, record: Record) -> Evidence:
    """All that can be seen while the install runs and is quiet."""
    with contextlib.closing(reading(install.database)) as db:
        rows = {table: [dict(row) for row in db.execute(f"SELECT * FROM {table}")] for table in TABLES}  # noqa: S608 - names from above
    running = [
        str(found.name)
        for found in install.client.containers.list(filters={"label": f"hermitshell.install={install.install_id}"})
    ]
    return Evidence(
        cases=cases.by_name,
        said=record.said,
        phoned=record.phoned,
        entered=record.entered,
        rows=rows,
        users=install.users,
        rooms={
            (agent, person): _from_bot(install, agent, person) for agent in install.bot_of for person in install.people
        },
        ran=_ran(install.home),
        out={
            (path.parts[-4], int(path.parts[-3]), path.name): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files_out(install.home)
        },
        answered=Counter(install.moods.answered),
        refunds=record.refunds,
        told_by_api={
            int(turn["id"]): str(install.api.get(f"/turns/{turn['id']}")["status"])
            for turn in rows["turns"]
            if turn["user"] == install.users["ada"]
        },
        containers=running,
        expected_containers={
            f"hermit-{install.install_id}-{turn['agent']}-{turn['user']}" for turn in rows["turns"] if turn["claims"]
        },
        outbox={path.name for path in (install.home / "outbox").iterdir()},
        leftovers=list(_leftovers(install.home, sockets=False)),
    )


def engine_after(install: Install) -> dict[str, Any]:
    """What can be seen once the install is down."""
    found = install.client.containers.list(all=True, filters={"label": f"hermitshell.install={install.install_id}"})
    with contextlib.closing(reading(install.database)) as db:
        integrity = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
        integrity += [f"foreign key: {tuple(row)}" for row in db.execute("PRAGMA foreign_key_check")]
    return {
        "containers_after": [str(one.name) for one in found],
        "leftovers": list(_leftovers(install.home, sockets=True)),
        "integrity": integrity,
        "secrets_found": list(_secrets(install)),
    }


def _from_bot(install: Install, agent: str, person: str) -> list[Row]:
    found = install.bots.messages(install.people[person], bot=install.bot_of[agent])
    return [
        {**message, "sha256": _sha256_of(install, message)}
        for message in found
        if message.get("from", {"is_bot": True})["is_bot"]
        and (message["chat"]["id"], message["message_id"]) not in install.from_before
    ]


def _sha256_of(install: Install, message: Row) -> str:
    document = message.get("document")
    return "" if document is None else hashlib.sha256(install.bots.bytes_of(document["file_id"])).hexdigest()


def _ran(home: Path) -> dict[str, list[str]]:
    return {
        path.name.removeprefix("ran-"): path.read_text(encoding="utf-8").splitlines()
        for path in (home / "workspaces").glob("*/*/work/ran-*")
    }


def _leftovers(home: Path, *, sockets: bool) -> Iterator[str]:
    """Doors stand while the install does; a pid file is emptied and stays."""
    for path in sorted((home / "run").rglob("*")):
        is_door = path.name == "door.sock" and not sockets
        if not path.is_dir() and not is_door and path.name != "orchestrator.pid":
            yield str(path.relative_to(home))
    for folder in ("scratch", "helpers", "studio", "browser"):
        if (home / folder).exists():
            yield from (str(path.relative_to(home)) for path in sorted((home / folder).iterdir()))
    for pattern in ("**/*.new", "telegram/answer-*.md"):
        yield from (str(path.relative_to(home)) for path in sorted(home.glob(pattern)))


def _secrets(install: Install) -> Iterator[str]:
    logs = [path for path in install.home.rglob("*") if path.is_file() and ".log" in path.name]
    for path in logs:
        text = path.read_text(encoding="utf-8", errors="replace")
        yield from (
            f"{what} in {path.relative_to(install.home)}" for what, value in install.secrets.items() if value in text
        )
