"""What must be true after any run of the chaos suite, whatever was broken in it. Each invariant is a function of the
evidence that gives its complaints; each has a counterexample in ``test_invariants.py``, since one that can't fail says
nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.chaos.cases import DANGER, FACT, FILE, PLAN
from tests.chaos.evidence import Evidence, Row

ENDED = ("done", "failed", "stopped")
Invariant = Callable[[Evidence], Iterator[str]]


# --- messages --------------------------------------------------------------------------------------------------


def every_message_is_one_turn(seen: Evidence) -> Iterator[str]:
    """What was said became a turn, once, or was refused in words on Telegram, once; what was planned, never two."""
    for case in seen.cases.values():
        found, refusals = seen.turns_of(case), seen.refusals_of(case)
        if case.name in seen.said and len(found) + len(refusals) != 1:
            yield f"{case.name} ({case.surface}) became {len(found)} turns and {len(refusals)} refusals"
        elif len(found) > 1:
            yield f"{case.name} (planned) became {len(found)} turns"
        yield from (f"{case.name} broke what handles it: {text}" for text in refusals if "went wrong" in text)
    for name, turn in seen.said.items():
        if turn is not None and turn not in [found["id"] for found in seen.turns_of(seen.cases[name])]:
            yield f"{name} was said to be turn {turn}, and is not"


def every_turn_has_one_outcome(seen: Evidence) -> Iterator[str]:
    """A final status, and one end of it in the audit log, the same."""
    ends = defaultdict(list)
    for row in seen.rows["audit"]:
        if row["kind"] in [f"turn.{status}" for status in ENDED]:
            ends[row["turn"]].append(row["kind"])
    for turn in seen.rows["turns"]:
        if turn["status"] not in ENDED or turn["ended_at"] is None:
            yield f"turn {turn['id']} is {turn['status']}"
        elif ends[turn["id"]] != [f"turn.{turn['status']}"]:
            yield f"turn {turn['id']} is {turn['status']}, the audit log says {ends[turn['id']]}"
        elif turn["status"] == "failed" and not turn["error"]:
            yield f"turn {turn['id']} failed without a word"


def the_api_tells_the_outcome(seen: Evidence) -> Iterator[str]:
    """Whoever asks the API for a turn hears how it ended."""
    for turn in seen.rows["turns"]:
        told = seen.told_by_api.get(turn["id"])
        if told is not None and told != turn["status"]:
            yield f"turn {turn['id']} is {turn['status']}, the API says {told}"


def what_is_done_was_done(seen: Evidence) -> Iterator[str]:
    """A turn that says it is done has said its reply; each of its commands has written its line, in its order. Only a
    command whose failure is on record, as on a full disk, need not have done so."""
    for case in seen.cases.values():
        for turn in seen.turns_of(case):
            if turn["status"] != "done":
                continue
            if case.reply not in (turn["reply"] or ""):
                yield f"{case.name}, turn {turn['id']}, replied {turn['reply']!r}"
            lines, commands = seen.ran.get(case.name, []), enumerate(case.commands, 1)
            wanted = [str(n) for n, one in commands if str(n) in lines or not seen.has_failed(turn, one)]
            if case.kind != DANGER and lines != wanted:
                yield f"{case.name}, turn {turn['id']}, is done, and {lines} of {wanted} ran"


def the_install_works_afterwards(seen: Evidence) -> Iterator[str]:
    """Everybody who was asked once all was healed has answered."""
    for case in seen.cases.values():
        if case.name.startswith("case-last") and [turn["status"] for turn in seen.turns_of(case)] != ["done"]:
            yield f"{case.name} of {case.agent}: {[(t['status'], t['error']) for t in seen.turns_of(case)]}"


# --- commands --------------------------------------------------------------------------------------------------


def no_command_runs_twice(seen: Evidence) -> Iterator[str]:
    """Each command wrote its line once, or never."""
    for name, lines in seen.ran.items():
        if len(set(lines)) != len(lines):
            yield f"{name} ran {lines}"


def nothing_runs_without_approval(seen: Evidence) -> Iterator[str]:
    """A dangerous command that ran was approved and its approval used; denied, expired and withdrawn ones never ran."""
    for case in seen.cases.values():
        if case.kind != DANGER:
            continue
        turns = [turn["id"] for turn in seen.turns_of(case)]
        asked = [row for row in seen.rows["approvals"] if row["turn"] in turns]
        is_used = any(row["status"] == "approved" and row["used_at"] is not None for row in asked)
        has_run = bool(seen.ran.get(case.name))
        if has_run and not is_used:
            yield f"{case.name} ran, and its approvals are {[(r['status'], r['used_at']) for r in asked]}"
        if has_run and case.decision != "approve":
            yield f"{case.name} ran although the answer was {case.decision}"
        if is_used and not has_run and [t["status"] for t in seen.turns_of(case)] == ["done"]:
            yield f"{case.name} was approved and is done, and never ran"


def every_question_is_answered_once(seen: Evidence) -> Iterator[str]:
    """No question is left open, and no step was asked about twice with both answers used."""
    used = Counter((row["turn"], row["step"]) for row in seen.rows["approvals"] if row["used_at"] is not None)
    yield from (f"turn {turn}, step {step}: {n} approvals were used" for (turn, step), n in used.items() if n > 1)
    for row in seen.rows["approvals"]:
        if row["status"] == "pending":
            yield f"approval {row['id']} of turn {row['turn']} is pending"
        if row["used_at"] is not None and row["status"] != "approved":
            yield f"approval {row['id']} was used and is {row['status']}"


def facts_are_noted_once(seen: Evidence) -> Iterator[str]:
    """What an agent was to remember is there once when its turn is done."""
    noted = Counter(row["text"] for row in seen.rows["facts"])
    for case in seen.cases.values():
        times = noted[f"fact-of-{case.name}"]
        is_done = "done" in [turn["status"] for turn in seen.turns_of(case)]
        if case.kind == FACT and (times > 1 or (is_done and times != 1)):
            yield f"{case.name} was noted {times} times"


# --- Telegram --------------------------------------------------------------------------------------------------


def every_answer_is_in_its_chat_once(seen: Evidence) -> Iterator[str]:
    """A turn from Telegram, and one that the calendar began for somebody with a chat, has its messages there, once."""
    for case in seen.cases.values():
        room = (case.agent, case.person)
        for turn in seen.turns_of(case):
            if turn["source"] not in ("telegram", "calendar") or room not in seen.rooms:
                continue
            stored_messages = [row for row in seen.rows["chat_outbox"] if row["ref"].startswith(f"turn:{turn['id']}:")]
            if not stored_messages or turn["told_at"] is None:
                yield f"turn {turn['id']} ({case.name}) was never told"
            texts = [message.get("text", "") for message in seen.rooms[room]]
            times = sum(case.reply in text for text in texts)
            if turn["status"] == "done" and times != 1:
                yield f"the reply of turn {turn['id']} ({case.name}) is in its chat {times} times"
    for case in seen.cases.values():
        others = [room for room in seen.rooms if room != (case.agent, case.person)]
        if any(case.reply in str(message.get("text", "")) for room in others for message in seen.rooms[room]):
            yield f"the reply of {case.name} is in somebody else's chat"


def every_reply_is_one_message(seen: Evidence) -> Iterator[str]:
    """What the outbox says was sent is in a chat, and nothing is in a chat that the outbox knows nothing of: a message
    that came twice would be that."""
    for agent in {agent for agent, _ in seen.rooms}:
        rows = [row for row in seen.rows["chat_outbox"] if row["agent"] == agent]
        for row in rows:
            if row["state"] != "sent" and row["why"] != "withdrawn":
                yield f"letter {row['ref']} is {row['state']}: {row['why']}"
        sent = Counter(row["message"] for row in rows if row["state"] == "sent")
        there = Counter(
            message["message_id"] for (whose, _), room in seen.rooms.items() if whose == agent for message in room
        )
        yield from (f"{agent}: message {n} stands for {times} letters" for n, times in sent.items() if times > 1)
        refs = {row["message"]: row["ref"] for row in rows}
        for number in sorted(set(sent) - set(there)):
            if not refs[number].startswith("status:"):
                yield f"{agent}: letter {refs[number]} was sent as message {number}, which is not there"
        for (whose, person), messages in seen.rooms.items():
            for message in messages if whose == agent else ():
                if message["message_id"] not in sent:
                    text = str(message.get("text", message.get("caption", "")))
                    yield f"{agent}, {person}: nobody posted message {message['message_id']}: {text[:80]!r}"


def chats_are_tidy(seen: Evidence) -> Iterator[str]:
    """What a turn showed of its progress is gone, and no question that is decided can still be answered."""
    passing = {(row["agent"], row["message"]) for row in seen.rows["chat_outbox"] if row["ref"].startswith("status:")}
    for (agent, person), messages in seen.rooms.items():
        for message in messages:
            text = str(message.get("text", ""))
            if (agent, message["message_id"]) in passing:
                yield f"{agent}, {person}: a status message is left: {text[:80]!r}"
            rows = message.get("reply_markup", {}).get("inline_keyboard", [])
            if "Approve" in [button["text"] for row in rows for button in row]:
                yield f"{agent}, {person}: a question still has its buttons: {text[:80]!r}"


def every_update_is_handled(seen: Evidence) -> Iterator[str]:
    """Nothing that came in was left lying."""
    for row in seen.rows["chat_inbox"]:
        if row["handled_at"] is None:
            yield f"update {row['update_id']} of {row['agent']} was not handled"


# --- files -----------------------------------------------------------------------------------------------------


def every_file_is_delivered_once(seen: Evidence) -> Iterator[str]:
    """Each file in ``out/`` has one delivery that ended well, and is in the chat once where it went there."""
    messages = [message for room in seen.rooms.values() for message in room if "document" in message]
    sent = Counter((message["document"]["file_name"], message["sha256"]) for message in messages)
    rows = defaultdict(list)
    for row in seen.rows["deliveries"]:
        rows[row["agent"], row["user"], row["name"]].append(row)
    for place, sha256 in seen.out.items():
        found = [(row["status"], row["sha256"]) for row in rows[place]]
        if found != [("sent", sha256)]:
            yield f"{'/'.join(map(str, place))} has the deliveries {found}"
        for row in rows[place]:
            times = sent[row["name"], row["sha256"]]
            if times != row["destination"].startswith("telegram:"):
                yield f"{row['name']} went to {row['destination']}, and is in chats {times} times"
    for place in rows.keys() - seen.out.keys():
        yield f"{place} was delivered, and nobody made it"


def a_done_file_is_there(seen: Evidence) -> Iterator[str]:
    """A turn that is done and was to make a file has made it, unless its command is on record as failed."""
    for case in seen.cases.values():
        place = (case.agent, seen.users[case.person], case.file)
        for turn in seen.turns_of(case) if case.kind == FILE else ():
            has_failed = any(seen.has_failed(turn, command) for command in case.commands)
            if turn["status"] == "done" and not has_failed and place not in seen.out:
                yield f"{case.file} is not in out/"


def copies_have_their_rows(seen: Evidence) -> Iterator[str]:
    """Every private copy of a delivery belongs to a row, and every row's copy is there."""
    known = {row["copy"] for row in seen.rows["deliveries"] if row["copy"]}
    yield from (f"{name} belongs to no delivery" for name in sorted(seen.outbox - known))
    yield from (f"the copy {name} is gone" for name in sorted(known - seen.outbox))


# --- money -----------------------------------------------------------------------------------------------------


def the_ledger_agrees(seen: Evidence) -> Iterator[str]:
    """The sums of each day are those of its calls; nothing is held any more, and what was released cost nothing."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in seen.rows["spending"]:
        sums[row["agent"], row["day"]][0] += row["cost_micro"]
        sums[row["agent"], row["day"]][1] += row["cost_tokens"]
        if row["state"] == "reserved":
            yield f"call {row['id']} is held for ever"
        if row["state"] == "released" and (row["cost_micro"] or row["cost_tokens"]):
            yield f"call {row['id']} was released and cost {row['cost_micro']}"
    for day in seen.rows["spending_days"]:
        told, found = [day["cost_micro"], day["cost_tokens"]], sums.pop((day["agent"], day["day"]), [0, 0])
        if told != found or day["reserved_micro"] or day["reserved_tokens"]:
            yield f"{day['agent']} on {day['day']}: {told} and {day['reserved_micro']} held, its calls make {found}"
    yield from (f"{agent} has calls on {day}, and no such day" for agent, day in sums)


def nothing_is_refunded(seen: Evidence) -> Iterator[str]:
    """What an agent had spent never sank while somebody watched."""
    yield from seen.refunds


def every_answer_is_paid(seen: Evidence) -> Iterator[str]:
    """For each whole answer that the model gave a call was booked."""
    paid = Counter(row["turn"] for row in seen.rows["spending"] if row["state"] in ("settled", "kept"))
    for name, answers in seen.answered.items():
        turns = seen.turns_of(seen.cases[name]) if name in seen.cases else []
        booked = sum(paid[turn["id"]] for turn in turns)
        if name in seen.cases and answers > booked:
            yield f"{name} had {answers} answers, and {booked} calls were booked"


# --- the calendar ----------------------------------------------------------------------------------------------


def runs_are_neither_lost_nor_doubled(seen: Evidence) -> Iterator[str]:
    """Each entry has come due once, and its run is one turn that has ended as the run says."""
    turns = {turn["id"]: turn for turn in seen.rows["turns"]}
    runs = defaultdict(list)
    for run in seen.rows["agenda_runs"]:
        runs[run["entry"]].append(run)
        if run["ended_at"] is None or run["turn"] is None:
            yield f"run {run['id']} is {run['outcome']} without an end or a turn"
        elif turns.get(run["turn"], {}).get("status") != run["outcome"]:
            yield f"run {run['id']} is {run['outcome']}, its turn is not"
    for entry in seen.rows["agenda_entries"]:
        if len(runs[entry["id"]]) != 1:
            yield f"{entry['title']} has run {len(runs[entry['id']])} times"
    made = Counter(run["turn"] for run in seen.rows["agenda_runs"])
    for turn in seen.rows["turns"]:
        if turn["source"] == "calendar" and made[turn["id"]] != 1:
            yield f"turn {turn['id']} of the calendar has {made[turn['id']]} runs"


def entries_are_made_once(seen: Evidence) -> Iterator[str]:
    """What was put into the calendar is there once, by whomever; what a done turn planned, too."""
    titles = Counter(entry["title"] for entry in seen.rows["agenda_entries"])
    yield from (f"{title} is in the calendar {times} times" for title, times in titles.items() if times > 1)
    planned = {
        case.plans
        for case in seen.cases.values()
        if case.kind == PLAN and "done" in [turn["status"] for turn in seen.turns_of(case)]
    }
    for name in sorted(planned | seen.entered):
        if not titles[seen.cases[name].title]:
            yield f"{seen.cases[name].title} is not in the calendar"


# --- what is left behind ---------------------------------------------------------------------------------------


def no_container_is_stray(seen: Evidence) -> Iterator[str]:
    """Of each cubicle at most one container runs and nothing else of this install does; after ``down``, none."""
    yield from (f"{name} runs" for name in seen.containers if name not in seen.expected_containers)
    yield from (f"{name} runs {n} times" for name, n in Counter(seen.containers).items() if n > 1)
    yield from (f"{name} is there after 'down'" for name in seen.containers_after)


def no_file_is_left_over(seen: Evidence) -> Iterator[str]:
    """No lock file, socket or half-made file is left."""
    yield from seen.leftovers


def the_database_is_whole(seen: Evidence) -> Iterator[str]:
    """SQLite's own check, and that of foreign keys."""
    yield from (line for line in seen.integrity if line != "ok")


def no_secret_is_logged(seen: Evidence) -> Iterator[str]:
    """Neither tokens nor keys are in any log."""
    yield from seen.secrets_found


INVARIANTS: dict[str, Invariant] = {
    invariant.__name__: invariant
    for invariant in (
        every_message_is_one_turn,
        every_turn_has_one_outcome,
        the_api_tells_the_outcome,
        what_is_done_was_done,
        the_install_works_afterwards,
        no_command_runs_twice,
        nothing_runs_without_approval,
        every_question_is_answered_once,
        facts_are_noted_once,
        every_answer_is_in_its_chat_once,
        every_reply_is_one_message,
        chats_are_tidy,
        every_update_is_handled,
        every_file_is_delivered_once,
        a_done_file_is_there,
        copies_have_their_rows,
        the_ledger_agrees,
        nothing_is_refunded,
        every_answer_is_paid,
        runs_are_neither_lost_nor_doubled,
        entries_are_made_once,
        no_container_is_stray,
        no_file_is_left_over,
        the_database_is_whole,
        no_secret_is_logged,
    )
}
__all__ = ["INVARIANTS", "Row"]
