"""Which commands ask, by name: the tables and the small rules that look at a command's options.

Owns what counts as a deletion, an irreversible act or an act on other processes. It sees one command at a time, already
freed of wrappers; what git does is in ``check_git``, what code in other languages does in ``code``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from orchestrator.approvals.bash.parts import Redirect
from orchestrator.approvals.bash.words import HOME, UNKNOWN, literal_word
from orchestrator.approvals.policy import kinds
from orchestrator.approvals.policy.git import check_git
from orchestrator.approvals.policy.kinds import Act
from orchestrator.approvals.policy.parts import AskReason, Parts, PlainCommand, has_option, list_operands

_DELETES = "It deletes files"
_DISK = "It formats or changes a disk"
_STOPS = "It stops processes"
_MACHINE = "It shuts the machine down"
_AS_ROOT = "It runs something as another user"
_PUBLISHES = "It publishes something to the outside"
_REMOTE = "It deletes or changes something outside"

_ASKING = {
    **dict.fromkeys(("rm", "unlink", "shred", "srm", "wipe", "rimraf", "del-cli", "trash-empty"), _DELETES),
    **dict.fromkeys(
        ("wipefs", "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "blkdiscard", "mke2fs"), _DISK
    ),
    **dict.fromkeys(("mkswap", "lvremove", "vgremove", "pvremove", "cryptsetup", "mkdosfs"), _DISK),
    **dict.fromkeys(("pkill", "killall", "killall5", "skill", "xkill"), _STOPS),
    **dict.fromkeys(("shutdown", "reboot", "halt", "poweroff", "telinit", "kexec"), _MACHINE),
    **dict.fromkeys(("sudo", "su", "doas", "pkexec", "runuser", "sudoedit"), _AS_ROOT),
    **dict.fromkeys(("dropdb", "dropuser"), "It deletes a database"),
}

_SUBCOMMANDS = {
    "aws s3": ("rm rb sync", _REMOTE),
    "cargo": ("publish yank", _PUBLISHES),
    "docker": ("rm rmi kill stop prune", _REMOTE),
    "docker system": ("prune", _REMOTE),
    "docker volume": ("rm prune", _REMOTE),
    "docker compose": ("down rm kill", _REMOTE),
    "gem": ("push yank", _PUBLISHES),
    "gh repo": ("delete archive", _REMOTE),
    "gh release": ("delete", _REMOTE),
    "helm": ("uninstall delete", _REMOTE),
    "kubectl": ("delete drain replace", _REMOTE),
    "npm": ("publish unpublish", _PUBLISHES),
    "podman": ("rm rmi kill stop prune", _REMOTE),
    "poetry": ("publish", _PUBLISHES),
    "redis-cli": ("flushall flushdb FLUSHALL FLUSHDB", "It empties a database"),
    "systemctl": ("poweroff reboot halt kexec stop kill disable mask isolate", _STOPS),
    "terraform": ("destroy apply", _REMOTE),
    "twine": ("upload", _PUBLISHES),
    "uv": ("publish", _PUBLISHES),
    "yarn": ("publish", _PUBLISHES),
}
"""By the words that go before, the words that ask."""

_WHOLE = ("-r", "-R", "--recursive")
_WRITABLE = ("/app/workspace", "/tmp", "/dev/fd", "/dev/shm")  # noqa: S108 - paths inside the cubicle, named and never opened
_LOG = re.compile(r"\.(?:log|out|err|tmp|pid|lock)$")
"""What is written anew each time; to begin it afresh loses nothing."""
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full"})


def rule_on(call: PlainCommand, name: str) -> Parts:
    """The findings about the command itself, whatever it may run inside."""
    if all(word.text in ("--help", "--version") for word in call.args) and call.args:
        return
    if name in ("rm", "unlink"):
        if not _is_scratch(call):
            yield call.make_finding(
                _DELETES, Act(kinds.DELETE, tuple(list_operands(call.args)), has_option(call.args, *_WHOLE))
            )
    elif name in _ASKING or name.startswith("mkfs"):
        if name in ("pkill", "killall") and has_option(call.args, "-0"):
            return
        what = _ASKING.get(name, _DISK)
        yield call.make_finding(what, Act(kinds.STOP) if what is _STOPS else None)
    elif name in _RULES:
        yield from _RULES[name](call)
    elif name in _FIRST_WORDS:
        yield from _check_subcommand(call, name)


def _is_scratch(call: PlainCommand) -> bool:
    """All that it deletes was made by ``mktemp`` in the same text."""
    places = list_operands(call.args)
    return bool(places) and all(_variable_name(word.raw) in call.scratch for word in places)


def _variable_name(raw: str) -> str:
    found = re.fullmatch(r'"?\$(?:(\w+)|\{(\w+)\})"?', raw)
    return (found[1] or found[2]) if found else ""


def rule_on_redirect(redirect: Redirect) -> Parts:
    """The findings about a redirection of output."""
    if leaves_workspace(redirect.target.text):
        yield AskReason("It writes outside the workspace", redirect.raw)
    elif redirect.empties and redirect.target.text not in _HARMLESS_TARGETS and not _LOG.search(redirect.target.text):
        yield AskReason("It empties a file", redirect.raw, Act(kinds.EMPTY, (redirect.target,)))


def leaves_workspace(path: str) -> bool:
    """The file lies outside what an agent may write. An unknown beginning is taken to be inside."""
    if path.startswith(UNKNOWN):
        return False
    known = path.partition(UNKNOWN)[0]
    full = posixpath.normpath(posixpath.join(HOME, known))
    if full in _HARMLESS_TARGETS:
        return False
    return not any(full == folder or full.startswith(folder + "/") for folder in _WRITABLE)


def _check_subcommand(call: PlainCommand, name: str) -> Parts:
    words = [name, *(word.text for word in list_operands(call.args))]
    for length in (1, 2):
        names, what = _SUBCOMMANDS.get(" ".join(words[:length]), ("", ""))
        if len(words) > length and words[length] in names.split():
            yield call.make_finding(what)
            return


def _check_dd(call: PlainCommand) -> Parts:
    if any(word.text.startswith("of=") and word.text != "of=/dev/null" for word in call.args):
        yield call.make_finding("It overwrites a file or a disk")


def _check_truncate(call: PlainCommand) -> Parts:
    if call.args:
        yield call.make_finding("It truncates files")


def _check_kill(call: PlainCommand) -> Parts:
    signal = call.args[0].text if call.args else ""
    if re.fullmatch(r"-(?:0|l.*|L|-list.*|-table)", signal) or [word.text for word in call.args[:2]] == ["-s", "0"]:
        return
    targets = call.args[2:] if signal in ("-s", "-n", "--signal") else call.args
    aimed = [
        word for word in targets if not re.fullmatch(r"-(?:[A-Z]\w*|\d+|-|-signal=\w+)", word.text) or word.raw == "-1"
    ]
    if len(aimed) > 1 and aimed[0].raw == "-1" == signal:
        aimed = aimed[1:]
    strangers = [word for word in aimed if not _is_own_job(word.raw, call.own_jobs)]
    if strangers:
        yield call.make_finding(_STOPS, Act(kinds.STOP))


def _is_own_job(raw: str, own_jobs: frozenset[str]) -> bool:
    bare = raw.strip('"')
    if re.fullmatch(r"\$\((?:cat |<) *[\w./-]+\.pid\)|`cat [\w./-]+\.pid`", bare):
        return True  # a server's own note of itself; others' processes are out of reach
    if re.fullmatch(r"%[\w%+-]*|\$!|\$\{!\}|\$\(jobs -p[r]?\)", bare):
        return True
    variable = re.fullmatch(r"\$(?:(\w+)|\{(\w+)\})", bare)
    return variable is not None and (variable[1] or variable[2]) in own_jobs


def _recursive_rule(what: str, verb: str) -> Callable[[PlainCommand], Parts]:
    def rule(call: PlainCommand) -> Parts:
        if has_option(call.args, "-R", "--recursive"):
            mode, *places = list_operands(call.args) or [literal_word("")]
            if verb == kinds.PERMISSIONS and _ADDS.fullmatch(mode.text):
                return
            yield call.make_finding(what, None if _has_reference(call) else Act(verb, tuple(places), is_whole=True))

    return rule


_ADDS = re.compile(r"(?:[ugoa]*\+[rwxX]+)(?:,[ugoa]*\+[rwxX]+)*")
"""Nobody loses a right by it."""


def _has_reference(call: PlainCommand) -> bool:
    """The mode comes from another file, so that the first operand is a path too."""
    return has_option(call.args, "--reference")


def _option_rule(*names: str, what: str) -> Callable[[PlainCommand], Parts]:
    def rule(call: PlainCommand) -> Parts:
        if has_option(call.args, *names):
            yield call.make_finding(what)

    return rule


def _check_rsync(call: PlainCommand) -> Parts:
    if has_option(call.args, "-n", "--dry-run"):
        return
    names = [word.text for word in call.args]
    if any(re.match(r"--(?:del(?:ete.*)?|remove-.*-files|force)$", name) for name in names):
        yield call.make_finding("It deletes files that are missing on the other side")


def _check_move(call: PlainCommand) -> Parts:
    places = [word.text for word in list_operands(call.args)]
    if len(places) > 1 and (places[-1] == "/dev/null" or _is_device(places[-1])):
        yield call.make_finding("It moves files onto a device, where they are lost")


def _check_copy(call: PlainCommand) -> Parts:
    places = [word.text for word in list_operands(call.args)]
    if len(places) > 1 and places[0] == "/dev/null":
        yield call.make_finding("It empties a file")
    elif len(places) > 1 and _is_device(places[-1]):
        yield call.make_finding("It overwrites a device")


def _is_device(path: str) -> bool:
    return path.startswith("/dev/") and leaves_workspace(path)


def _check_tee(call: PlainCommand) -> Parts:
    for word in list_operands(call.args):
        if leaves_workspace(word.text):
            yield call.make_finding("It writes outside the workspace")
            return


def _check_find(call: PlainCommand) -> Parts:
    for at, word in enumerate(call.args[:-1]):
        if word.text in ("-fprint", "-fprint0", "-fprintf", "-fls") and leaves_workspace(call.args[at + 1].text):
            yield call.make_finding("It writes outside the workspace")


def _check_tar(call: PlainCommand) -> Parts:
    if has_option(call.args, "--remove-files", "--recursive-unlink", "--delete"):
        yield call.make_finding("It deletes files, in the archive or after packing them")


def _seven_zip(call: PlainCommand) -> Parts:
    if any(word.text == "-sdel" for word in call.args) or (call.args and call.args[0].text == "d"):
        yield call.make_finding("It deletes files, in the archive or after packing them")


def _check_init(call: PlainCommand) -> Parts:
    if any(word.text in ("0", "6") for word in call.args):
        yield call.make_finding(_MACHINE)


def _check_crontab(call: PlainCommand) -> Parts:
    if has_option(call.args, "-r"):
        yield call.make_finding("It deletes all scheduled jobs")


_RULES: dict[str, Callable[[PlainCommand], Parts]] = {
    "7z": _seven_zip,
    "7za": _seven_zip,
    "7zr": _seven_zip,
    "7zz": _seven_zip,
    "chgrp": _recursive_rule("It changes the owner of whole folders", kinds.OWNER),
    "chmod": _recursive_rule("It changes the permissions of whole folders", kinds.PERMISSIONS),
    "chown": _recursive_rule("It changes the owner of whole folders", kinds.OWNER),
    "cp": _check_copy,
    "crontab": _check_crontab,
    "dd": _check_dd,
    "find": _check_find,
    "fuser": _option_rule("-k", "--kill", what=_STOPS),
    "git": check_git,
    "init": _check_init,
    "install": _check_copy,
    "kill": _check_kill,
    "mv": _check_move,
    "rsync": _check_rsync,
    "tar": _check_tar,
    "bsdtar": _check_tar,
    "tee": _check_tee,
    "truncate": _check_truncate,
    "zip": _option_rule(
        "-m", "--move", "-d", "--delete", what="It deletes files, in the archive or after packing them"
    ),
}
_FIRST_WORDS = frozenset(words.partition(" ")[0] for words in _SUBCOMMANDS)
