"""The chaos suite itself: a plan comes out the same again, the model answers by the place in the conversation, and each
invariant complains about a run that breaks it, and about no good one."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cli.test import parse_seconds
from orchestrator.core.errors import BadInput
from tests.chaos.cases import DANGER, FACT, FILE, PLAN, TALK, WORK, Case, Cases
from tests.chaos.evidence import TABLES, Evidence
from tests.chaos.invariants import INVARIANTS
from tests.chaos.plan import ENGINE_RESTARTED, FAULTS, Size, make_plan

Change = Callable[[Evidence], Any]
API, PHONED, DANGEROUS, FILED = 1, 2, 3, 4
RUN, PLANNING, NOTING, LAST = 5, 6, 7, 8
CASES = {
    API: Case("case-api", WORK, "crab", "ada", "api"),
    PHONED: Case("case-phoned", TALK, "crab", "ada", "telegram"),
    DANGEROUS: Case("case-danger", DANGER, "crab", "ada", "telegram"),
    FILED: Case("case-filed", FILE, "crab", "ada", "telegram"),
    RUN: Case("case-run", TALK, "crab", "ada", "calendar"),
    PLANNING: Case("case-planning", PLAN, "crab", "ada", "api", plans="case-run"),
    NOTING: Case("case-noting", FACT, "crab", "ada", "api"),
    LAST: Case("case-last0", TALK, "crab", "ada", "api"),
}
DENIED = replace(CASES[DANGEROUS], decision="deny")
BUTTONS = {"inline_keyboard": [[{"text": "Approve"}, {"text": "Deny"}]]}
REFUSED = Case("case-refused", TALK, "crab", "ada", "telegram")


def good() -> Evidence:
    """A run in which each kind of thing happened once, and well."""
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    for number, case in CASES.items():
        told_at = None if case.surface == "api" else 2.0
        rows["turns"].append(
            {"id": number, "agent": "crab", "user": 1, "source": case.surface, "prompt": case.prompt, "claims": 1}
            | {"status": "done", "reply": case.reply, "error": None, "ended_at": 1.0, "told_at": told_at}
        )
        rows["audit"].append({"kind": "turn.done", "turn": number})
        rows["spending"].append(
            {"id": number, "turn": number, "agent": "crab", "day": "d", "state": "settled"}
            | {"cost_micro": 5, "cost_tokens": 2}
        )
    calls = len(CASES)
    rows["spending_days"] = [
        {"agent": "crab", "day": "d", "cost_micro": 5 * calls, "cost_tokens": 2 * calls}
        | {"reserved_micro": 0, "reserved_tokens": 0}
    ]
    rows["approvals"] = [{"id": "a", "turn": DANGEROUS, "step": 1, "status": "approved", "used_at": 1.0}]
    rows["facts"] = [{"text": "fact-of-case-noting"}]
    rows["agenda_entries"] = [{"id": 1, "title": "plan-for-case-run"}]
    rows["agenda_runs"] = [{"id": 1, "entry": 1, "turn": RUN, "outcome": "done", "ended_at": 1.0}]
    rows["deliveries"] = [
        {"agent": "crab", "user": 1, "name": "case-filed.txt", "sha256": "s", "status": "sent"}
        | {"destination": "telegram:1", "copy": "c"}
    ]
    rows["chat_inbox"] = [
        {"bot": 9, "update_id": 70 + n, "agent": "crab", "message": 100 + n, "handled_at": 1.0} for n in range(4)
    ]
    room: list[dict[str, Any]] = []
    for number, (ref, text) in enumerate(_letters(), 200):
        rows["chat_outbox"].append({"agent": "crab", "ref": ref, "state": "sent", "message": number, "why": None})
        room.append({"message_id": number, "text": text, "sha256": ""})
    room[-1] |= {"document": {"file_name": "case-filed.txt"}, "sha256": "s"}
    said: dict[str, int | None] = {case.name: None for case in CASES.values() if case.surface == "telegram"}
    said |= {case.name: number for number, case in CASES.items() if case.surface == "api"}
    return Evidence(
        cases={case.name: case for case in (*CASES.values(), REFUSED)},
        said=said | {REFUSED.name: None},
        phoned={"case-phoned": 100, "case-danger": 101, "case-filed": 102, REFUSED.name: 103},
        entered={"case-run"},
        rows=rows,
        users={"ada": 1},
        rooms={("crab", "ada"): room, ("crab", "eva"): []},
        ran={"case-api": ["1", "2", "3"], "case-danger": ["1"], "case-filed": ["1"]},
        out={("crab", 1, "case-filed.txt"): "s"},
        answered=Counter({case.name: 1 for case in CASES.values()}),
        told_by_api=dict.fromkeys(CASES, "done"),
        containers=["hermit-i-crab-1"],
        expected_containers={"hermit-i-crab-1"},
        outbox={"c"},
    )


def _letters() -> list[tuple[str, str]]:
    answers = [(f"turn:{number}:1", CASES[number].reply) for number in (PHONED, DANGEROUS, FILED, RUN)]
    return [*answers, ("update:9:73", "The disk is full. Send it again."), ("delivery:1", "")]


def _turn(number: int, **change: Any) -> Change:
    return lambda seen: seen.rows["turns"][number - 1].update(change)


def _row(table: str, **change: Any) -> Change:
    return lambda seen: seen.rows[table][0].update(change)


def _less(table: str) -> Change:
    return lambda seen: seen.rows[table].pop(0)


def _twice(table: str, **change: Any) -> Change:
    return lambda seen: seen.rows[table].append({**seen.rows[table][0], **change})


def _said_in(person: str, text: str, number: int = 200) -> Change:
    return lambda seen: seen.rooms["crab", person].append({"message_id": number, "text": text, "sha256": ""})


def _ended(number: int, n: int, exit_code: int | None) -> Change:
    step = {"turn": number, "n": n, "command": CASES[number].commands[n - 1], "exit_code": exit_code}
    return lambda seen: seen.rows["steps"].append(step)


def _all(*changes: Change) -> Change:
    return lambda seen: [change(seen) for change in changes]


COUNTEREXAMPLES: list[tuple[str, str, Change]] = [
    ("every_message_is_one_turn", "lost", _less("turns")),
    ("every_message_is_one_turn", "doubled", _twice("turns", id=99)),
    ("every_message_is_one_turn", "another turn than was said", lambda seen: seen.said.update({"case-api": 77})),
    ("every_message_is_one_turn", "refused without a word", lambda seen: seen.rooms["crab", "ada"].pop(4)),
    ("every_message_is_one_turn", "broken", lambda seen: seen.rooms["crab", "ada"][4].update(text="It went wrong")),
    ("every_message_is_one_turn", "run twice", lambda s: s.rows["turns"].append({**s.rows["turns"][RUN - 1], "id": 9})),
    ("every_turn_has_one_outcome", "open", _turn(API, status="running")),
    ("every_turn_has_one_outcome", "two ends", _twice("audit", kind="turn.failed")),
    ("every_turn_has_one_outcome", "another end", _row("audit", kind="turn.stopped")),
    ("every_turn_has_one_outcome", "no word", _all(_turn(API, status="failed"), _row("audit", kind="turn.failed"))),
    ("the_api_tells_the_outcome", "told otherwise", lambda seen: seen.told_by_api.update({API: "failed"})),
    ("what_is_done_was_done", "another reply", _turn(API, reply="something else")),
    ("what_is_done_was_done", "a command missing", lambda seen: seen.ran["case-api"].pop()),
    ("what_is_done_was_done", "one that ended well", _all(_ended(API, 3, 0), lambda s: s.ran["case-api"].pop())),
    ("what_is_done_was_done", "one never ended", _all(_ended(API, 3, None), lambda s: s.ran["case-api"].pop())),
    ("what_is_done_was_done", "another one failed", _all(_ended(API, 2, 1), lambda s: s.ran["case-api"].pop())),
    ("the_install_works_afterwards", "no answer", _turn(LAST, status="failed", error="x")),
    ("no_command_runs_twice", "twice", lambda seen: seen.ran["case-api"].append("3")),
    ("nothing_runs_without_approval", "denied", _row("approvals", status="denied", used_at=None)),
    ("nothing_runs_without_approval", "not asked", _less("approvals")),
    ("nothing_runs_without_approval", "never run", lambda seen: seen.ran.pop("case-danger")),
    ("nothing_runs_without_approval", "although denied", lambda seen: seen.cases.update({"case-danger": DENIED})),
    ("every_question_is_answered_once", "open", _row("approvals", status="pending")),
    ("every_question_is_answered_once", "used twice", _twice("approvals", id="b")),
    ("facts_are_noted_once", "lost", _less("facts")),
    ("facts_are_noted_once", "twice", _twice("facts")),
    ("every_answer_is_in_its_chat_once", "never told", lambda seen: seen.rooms["crab", "ada"].pop(0)),
    ("every_answer_is_in_its_chat_once", "twice", _said_in("ada", CASES[PHONED].reply)),
    ("every_answer_is_in_its_chat_once", "in another chat", _said_in("eva", CASES[PHONED].reply)),
    ("every_answer_is_in_its_chat_once", "no row", _less("chat_outbox")),
    ("every_reply_is_one_message", "a message too many", _said_in("eva", "hm", number=5)),
    ("every_reply_is_one_message", "a message too few", lambda seen: seen.rooms["crab", "ada"].pop(0)),
    ("every_reply_is_one_message", "given up", _row("chat_outbox", state="failed", why="too long")),
    ("every_reply_is_one_message", "two rows, one message", _twice("chat_outbox", ref="another")),
    ("chats_are_tidy", "a status message", _row("chat_outbox", ref="status:2")),
    ("chats_are_tidy", "buttons", lambda seen: seen.rooms["crab", "ada"][0].update(reply_markup=BUTTONS)),
    ("every_update_is_handled", "left lying", _row("chat_inbox", handled_at=None)),
    ("every_file_is_delivered_once", "never", _less("deliveries")),
    ("every_file_is_delivered_once", "twice", _twice("deliveries")),
    ("every_file_is_delivered_once", "not the bytes", _row("deliveries", sha256="t")),
    ("every_file_is_delivered_once", "not in the chat", lambda seen: seen.rooms["crab", "ada"].pop()),
    ("every_file_is_delivered_once", "from nowhere", lambda seen: seen.out.clear()),
    ("a_done_file_is_there", "gone", lambda seen: seen.out.clear()),
    ("copies_have_their_rows", "an orphan", lambda seen: seen.outbox.add("x")),
    ("copies_have_their_rows", "gone", lambda seen: seen.outbox.clear()),
    ("the_ledger_agrees", "another sum", _row("spending_days", cost_micro=1)),
    ("the_ledger_agrees", "held for ever", _row("spending", state="reserved")),
    ("the_ledger_agrees", "released and paid", _row("spending", state="released")),
    ("the_ledger_agrees", "no such day", _less("spending_days")),
    ("nothing_is_refunded", "sank", lambda seen: seen.refunds.append("crab")),
    ("every_answer_is_paid", "free", _row("spending", state="released", cost_micro=0)),
    ("runs_are_neither_lost_nor_doubled", "lost", _less("agenda_runs")),
    ("runs_are_neither_lost_nor_doubled", "doubled", _twice("agenda_runs", id=2)),
    ("runs_are_neither_lost_nor_doubled", "no end", _row("agenda_runs", ended_at=None)),
    ("runs_are_neither_lost_nor_doubled", "another end", _row("agenda_runs", outcome="failed")),
    ("entries_are_made_once", "lost", _less("agenda_entries")),
    ("entries_are_made_once", "doubled", _twice("agenda_entries", id=2)),
    ("no_container_is_stray", "a stranger", lambda seen: seen.containers.append("hermit-i-helper")),
    ("no_container_is_stray", "after down", lambda seen: seen.containers_after.append("hermit-i-crab-1")),
    ("no_file_is_left_over", "a lock", lambda seen: seen.leftovers.append("run/crab/1/x.lock")),
    ("the_database_is_whole", "broken", lambda seen: seen.integrity.append("row 5 is missing from index x")),
    ("no_secret_is_logged", "logged", lambda seen: seen.secrets_found.append("the token in orchestrator.log")),
]  # fmt: skip


@pytest.mark.parametrize("name", INVARIANTS)
def test_a_good_run_breaks_no_invariant(name: str) -> None:
    """Else every run would fail."""
    assert list(INVARIANTS[name](good())) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name, _, change in COUNTEREXAMPLES],
    ids=[f"{n}: {w}" for n, w, _ in COUNTEREXAMPLES],
)
def test_an_invariant_can_fail(name: str, change: Change) -> None:
    """With one thing changed it complains."""
    seen = copy.deepcopy(good())
    change(seen)
    assert list(INVARIANTS[name](seen))


@pytest.mark.parametrize("line", ["1", "2", "3"])
def test_a_command_on_record_as_failed_owes_no_line(line: str) -> None:
    """Nor is it held against one that it wrote its line all the same."""
    seen = copy.deepcopy(good())
    _ended(API, int(line), 1)(seen)
    assert list(INVARIANTS["what_is_done_was_done"](seen)) == []
    seen.ran["case-api"].remove(line)
    assert list(INVARIANTS["what_is_done_was_done"](seen)) == []


def test_a_command_on_record_as_failed_owes_no_file() -> None:
    """A full disk took the file, not the install."""
    seen = copy.deepcopy(good())
    _ended(FILED, 1, 1)(seen)
    seen.out.clear()
    assert list(INVARIANTS["a_done_file_is_there"](seen)) == []


def test_every_invariant_has_a_counterexample() -> None:
    """One that can't fail is a defect."""
    assert {name for name, _, _ in COUNTEREXAMPLES} == set(INVARIANTS)


def test_a_plan_is_its_seed() -> None:
    """The same again from the same seed, another from another."""
    assert make_plan(7, Size()) == make_plan(7, Size())
    assert make_plan(7, Size()).deeds != make_plan(8, Size()).deeds
    assert "seed 7" in make_plan(7, Size()).in_words()


def test_every_kind_of_fault_comes_up() -> None:
    """Within a few dozen seeds; the engine itself is restarted only where that is asked for."""
    dealt = {deed.what for seed in range(60) for deed in make_plan(seed, Size()).deeds if deed.kind == "fault"}
    assert dealt == set(FAULTS)
    asked = {d.what for seed in range(60) for d in make_plan(seed, Size(), restarts_engine=True).deeds}
    assert ENGINE_RESTARTED in asked


def test_the_model_answers_by_the_place_in_the_conversation() -> None:
    """The newest case that was asked for, and how many answers it had: what was asked before counts for nothing."""
    first, second = CASES[API], CASES[PHONED]
    cases = Cases([first, second])
    before = [{"role": "user", "content": first.prompt}, {"role": "assistant", "content": first.reply}]
    asked = [*before, {"role": "user", "content": f"A note.\n\n{second.prompt}"}]
    assert cases.about(before) == (first, 1)
    assert cases.about(asked) == (second, 0)
    told = [*asked, {"role": "assistant", "content": "{}"}, {"role": "user", "content": "Output: 1"}]
    assert cases.about(told) == (second, 1)
    assert cases.about([{"role": "user", "content": "Hello."}]) is None


@pytest.mark.parametrize(("text", "wanted"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("5", 300), ("0.5m", 30)])
def test_a_time_in_words(text: str, wanted: float) -> None:
    """Seconds, minutes, hours; a number alone is minutes."""
    assert parse_seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "0", "-5m", "ten", "5d", "m"])
def test_what_is_no_time(text: str) -> None:
    """It is refused, with what would be one."""
    with pytest.raises(BadInput, match="30m"):
        parse_seconds(text)
