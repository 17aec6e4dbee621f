"""Commands about what lies in a person's workspace: files, web apps, the log, how much there is.

Every name in there was given by an agent: it is shown as such, and a file is sent as a private copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext, note_reply
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import AttachedFile, MessageBody, MessageButton
from orchestrator.channels.chat.system_text import (
    NoteLine,
    QuotedText,
    format_ago,
    format_count,
    format_size,
    show_foreign,
    system_note,
)
from orchestrator.core.errors import Forbidden, NotFound, TooLarge
from orchestrator.core.models import CubicleKey, User
from orchestrator.core.text import terminal_safe
from orchestrator.files.models import DirEntry, FilePath
from orchestrator.files.names import safe_name

FILE = "file"
MOST_BYTES = 50_000_000
"""What a bot may send."""
_FOLDERS = ("out", "in")
_ALL_FOLDERS = ("in", "out", "work", "www")
_MOST_LISTED, _MOST_BUTTONS, _MOST_APPS = 12, 6, 20
_MOST_NAMES = 5_000


@dataclass(frozen=True, slots=True)
class _Found:
    folder: str
    entry: DirEntry

    @property
    def path(self) -> tuple[bytes, ...]:
        return self.folder.encode(), self.entry.raw


def files(call: CommandCall) -> list[MessageBody]:
    """The newest files of ``out`` and ``in``; with a name, that file."""
    if call.message.argument.strip():
        return [_copy(call.context, call.key, _named(call.context, call.key, call.message.argument.strip()))]
    found = sorted(_every(call.context, call.key, _FOLDERS), key=lambda one: (-one.entry.modified, one.entry.raw))
    if not found:
        return note_reply(
            "No files yet", f"Files that {call.called} makes for you or that you send me are listed here."
        )
    lines: list[NoteLine] = [_line(one, call.context.now()) for one in found[:_MOST_LISTED]]
    if len(found) > _MOST_LISTED:
        lines.append(f"… and {len(found) - _MOST_LISTED:,} older ones. The dashboard has them all.")
    plain = [one for one in found[:_MOST_LISTED] if one.entry.kind == "file"][:_MOST_BUTTONS]
    buttons = tuple(
        (
            MessageButton(
                f"⬇ {show_foreign(QuotedText(one.entry.name, 40))}",
                call.make_button(FILE, _subject(call.key, one.path)),
            ),
        )
        for one in plain
    )
    hint = "Tap one to get it, or send /files NAME." if plain else "Send /files NAME to get one."
    return [MessageBody(system_note("Your files, newest first", *lines, "", hint), buttons=buttons)]


def _line(one: _Found, now: float) -> NoteLine:
    entry = one.entry
    what = (
        format_size(entry.size_bytes)
        if entry.kind == "file"
        else "a folder"
        if entry.kind == "folder"
        else "not a regular file"
    )
    return (QuotedText(f"{one.folder}/{entry.name}", 90), f" – {what}, {format_ago(entry.modified, now)}")


def workspace(call: CommandCall) -> list[MessageBody]:
    """How much lies where."""
    use = call.context.services.quota.use_of(call.key)
    about = {
        "out": "made for you",
        "in": "sent by you",
        "work": "what the agent works on",
        "www": "web apps",
    }
    counts = {folder: sum(1 for _ in _every(call.context, call.key, (folder,))) for folder in about}
    return note_reply(
        "Your workspace",
        f"{format_size(use.used_bytes)} of {format_size(use.limit_bytes)} used.",
        *(
            f"{folder}/ – {about[folder]}: {format_count(count, 'entry', 'entries')}"
            for folder, count in counts.items()
        ),
        f"/files lists the newest. {_at_home(call)}",
    )


def apps(call: CommandCall) -> list[MessageBody]:
    """The web apps that there are."""
    found = [
        one.entry.name
        for one in _every(call.context, call.key, ("www",))
        if one.entry.kind == "folder" and _has_page(call.context, call.key, one.entry.raw)
    ]
    if not found:
        return note_reply("No web apps yet", f"Ask {call.called} for one: “Make me a web page that …”.")
    names: list[NoteLine] = [("– ", QuotedText(name)) for name in sorted(found)[:_MOST_APPS]]
    return note_reply(format_count(len(found), "web app"), *names, _at_home(call))


def logs(call: CommandCall) -> list[MessageBody]:
    """The end of the agent's own log, as a file."""
    text = call.context.services.log_text(call.key)
    if not text.strip():
        return note_reply("No log yet", f"{call.called} records there what it does for you.")
    path = call.context.temp_files.write(terminal_safe(text).encode("utf-8", "backslashreplace"))
    rich = system_note(
        f"The end of {call.called}'s log", "Every thought, command and output, written by the agent itself."
    )
    return [MessageBody(rich, files=(AttachedFile(path, f"{call.agent}-log.txt", "document"),))]


COMMANDS = (
    ChatCommand("workspace", "What is in your workspace", workspace),
    ChatCommand("files", "Your files; with a name: get it", files),
    ChatCommand("logs", "What the agent has done, as a file", logs),
    ChatCommand("apps", "Your web apps", apps),
)


def handlers(context: CommandContext) -> dict[str, ButtonHandler]:
    """What the buttons do: one sends a file."""

    def send_file(taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        agent, owner, path = taken.subject.split(":")
        if int(owner) != user.id:
            raise Forbidden("These files belong to someone else.")
        parts = tuple(bytes.fromhex(part) for part in path.split("/"))
        body = _copy(context, CubicleKey(agent, user.id), parts)
        return PressResult("Here it comes.", also=body)

    return {FILE: send_file}


def _copy(context: CommandContext, key: CubicleKey, path: FilePath) -> MessageBody:
    """A private copy of a file, under its name."""
    app = context.store.traits.label
    try:
        with context.services.workspaces.copy_out(
            key, path, max_bytes=MOST_BYTES, keep_in=context.temp_files.ensure_folder()
        ) as copy:
            kept, name, size_bytes = copy.path, copy.name, copy.size_bytes
    except TooLarge as error:
        raise TooLarge(
            f"I can send files of at most {format_size(MOST_BYTES)} on {app}. This one is in the dashboard."
        ) from error
    if kept is None or not size_bytes:
        raise NotFound(f"This file is empty, and {app} doesn't accept empty files.")
    sent = AttachedFile(kept, safe_name(name), "document")
    return MessageBody(system_note(f"From {key.agent}'s workspace", format_size(size_bytes)), files=(sent,))


def _named(context: CommandContext, key: CubicleKey, wanted: str) -> tuple[bytes, ...]:
    """Where a file of this name is: as a path, else in ``out``, else in ``in``."""
    folder, _, rest = wanted.lstrip("/").partition("/")
    if rest and folder in _ALL_FOLDERS:
        return (folder.encode(), *(part.encode("utf-8", "surrogateescape") for part in rest.split("/")))
    for one in _every(context, key, _FOLDERS):
        if wanted in (one.entry.name, f"{one.folder}/{one.entry.name}"):
            return one.path
    raise NotFound("There is no file with this name. /files lists the newest.")


def _every(context: CommandContext, key: CubicleKey, folders: tuple[str, ...]) -> Iterator[_Found]:
    for folder in folders:
        listing = context.services.workspaces.list_folder(key, (folder,), limit=_MOST_NAMES)
        yield from (_Found(folder, entry) for entry in listing.entries if not entry.raw.startswith(b"."))


def _has_page(context: CommandContext, key: CubicleKey, app: bytes) -> bool:
    listing = context.services.workspaces.list_folder(key, (b"www", app), limit=_MOST_NAMES)
    return any(entry.raw == b"index.html" and entry.kind == "file" for entry in listing.entries)


def _subject(key: CubicleKey, path: tuple[bytes, ...]) -> str:
    return f"{key.agent}:{key.user}:{'/'.join(part.hex() for part in path)}"


def _at_home(call: CommandCall) -> str:
    return f"On the computer I run on, the dashboard shows everything: {call.context.services.settings.url}"
