"""Telegram's updates: real ones of every kind, with anything at all in place of any of their fields."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels.chat.events import MembershipChange, StrangerMessage
from orchestrator.channels.chat.inbox import LANES, Inbox, Lane, WaitingEvent, chat_of
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.channels.telegram.update_filter import sort_update
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.core.models import Role, User
from tests.fuzzing import bounded
from tests.support.bot_api import BotApi
from tests.support.chat_fakes import telegram_store
from tests.support.core_fixture import core_fixture
from tests.unit.channels.telegram.test_update_filter import Scene

ADA, EVE, ENABLED = 42, 666, -5
Json = dict[str, Any]


@dataclass
class Post:
    """What a bot got, where it is kept, and which group it hears."""

    updates: list[Json]
    me: BotIdentity
    group: int
    inbox: Inbox
    updates_in: UpdateInbox


def _people(number: int) -> User | None:
    return User(1, "ada", Role.OPERATOR, (("telegram", ADA),), "UTC") if number == ADA else None


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    """Somebody known and somebody unknown do everything that one can do, in private and in two groups."""
    with BotApi() as api, core_fixture(tmp_path / "home") as install:
        token = api.bot("Crab", username="crab_bot")
        ada, eve = api.person(ADA, "Ada", username="ada_l"), api.person(EVE, "Eve")
        group, other = api.group("The lab", token, ada, eve), api.group("Elsewhere", token, ada)
        me = BotIdentity(api.bot_user(token)["id"], "crab_bot", "Crab", can_read_groups=False)
        scene = Scene(api, token, me, ada, eve, group, other)
        for who in (ada, eve):
            who.opens(token)
            for where in (token, group, other) if who is ada else (token, group):
                said = who.says(
                    where, "/stop@crab_bot now", entities=[{"type": "bot_command", "offset": 0, "length": 14}]
                )
                who.edits(said, "@crab_bot 123456")
                who.says(where, "so 🦀", reply_to=said)
                who.sends_document(where, "a.pdf", b"%PDF", caption="look")
                who.sends_photo(where)
                who.sends_voice(where)
                who.sends_sticker(where)
                who.sends_location(where)
                who.sends_contact(where)
            who.presses(scene.bot_says(who), data="ok:1")
            who.presses(scene.bot_says(group), data="ok:2")
            who.blocks(token)
            who.unblocks(token)
        other.removes(token)
        updates = api.pending(token)
        rows = telegram_store(install.store)
        inbox = Inbox(rows)
        kept = UpdateInbox(
            rows, inbox, users=lambda _, number: _people(number), groups_enabled=lambda _, chat: chat == group.id
        )
        yield Post(updates, scene.me, group.id, inbox, kept)


_NUMBERS = st.sampled_from(
    [ADA, EVE, ENABLED, 0, -1, 7, 777000, 1087968824, 2**31, 2**53, 2**63, -(2**63), 2**70, 1.0, 42.5, True, "42"]
)
_TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        "",
        "/start",
        "123456",
        "\ud83e",
        "\0",
        "@crab_bot",
        "private",
        "supergroup",
        "bot_command",
        "x" * 5000,
        "\u202e",
        "a\r\nb",
    ]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | _NUMBERS | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_TEXTS | st.sampled_from(["id", "type", "from", "chat"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something in it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _changed(update: Json, data: st.DataObject) -> Json:
    """The update with a few of its fields changed, gone, doubled or swapped."""
    made = copy.deepcopy(update)
    for _ in range(data.draw(st.integers(1, 4))):
        places = list(_places(made))
        *above, last = data.draw(st.sampled_from(places))
        holder: Any = made
        for key in above:
            holder = holder[key]
        what = data.draw(st.sampled_from(["other", "gone", "nested", "swapped"]))
        if what == "gone":
            del holder[last]
        elif what == "nested":
            holder[last] = [holder[last]]
        elif what == "swapped" and isinstance(holder, dict):
            holder[data.draw(st.sampled_from(sorted({str(place[-1]) for place in places})))] = holder[last]
        else:
            holder[last] = data.draw(_ANY)
        if not made:
            return made
    return made


def _is_ada(update: Json) -> bool:
    """Whether Telegram itself says that Ada did it."""
    kinds = [part for part in update.values() if isinstance(part, dict)]
    return any(isinstance(part.get("from"), dict) and part["from"].get("id") == ADA for part in kinds)


@bounded(300)
@given(st.data())
def test_no_update_breaks_the_inbox_and_strangers_get_nothing(post: Post, data: st.DataObject) -> None:
    """Whatever stands in an update's fields, it is kept or let go without an error, comes back as it was kept, and does
    something only when it says that an allowed person did it; of anybody else there is at most that they were there."""
    update = _changed(data.draw(st.sampled_from(post.updates)), data)
    found = sort_update(update, agent="crab", me=post.me, users=_people, groups_enabled=lambda chat: chat == post.group)
    kept = post.updates_in.save_updates("crab", post.me, [update])
    if found is None:
        assert kept.chats == ()
        return
    repr(found).encode()
    assert 0 <= found.update < 2**53
    if not isinstance(found, StrangerMessage | MembershipChange):
        assert found.sender.id == ADA
        assert _is_ada(update)
        assert found.place.is_private == (found.place.chat == ADA)
        assert found.place.is_private or found.place.chat == post.group
    if isinstance(found, StrangerMessage):
        assert set(asdict(found)) == {"agent", "bot", "update", "sender", "six_digits"}
        assert found.sender.id != ADA
    again = [waiting.item for lane in LANES if (waiting := _first(post.inbox, chat_of(found), lane))]
    assert all(json.dumps(asdict(item)) for item in again)
    post.inbox.mark_done(*again, found)


def _first(inbox: Inbox, chat: int, lane: Lane) -> WaitingEvent | None:
    return inbox.first_waiting("crab", chat, lane)
