"""What git can lose or overwrite for good: which of its commands ask.

Owns the table of subcommands. What git itself can bring back (a commit, a merge, a plain checkout of a branch) runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.approvals.policy import kinds
from orchestrator.approvals.policy.kinds import Act
from orchestrator.approvals.policy.parts import Parts, PlainCommand, ShellText, has_option, joined, operands

_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})


def git(call: PlainCommand) -> Parts:
    """The findings about one git command."""
    at = 1
    while at < len(call.words) and call.words[at].text.startswith("-"):
        if call.words[at].text == "-c" and at + 1 < len(call.words):
            yield from _alias(call.words[at + 1].text)
        at += 2 if call.words[at].text in _VALUED else 1
    if at >= len(call.words):
        return
    command = call.behind(at)
    rule = _RULES.get(command.words[0].text)
    what = rule(command) if rule else ""
    if what:
        yield call.found(what, _act(command, what))
    for at, word in enumerate(command.args):
        runs = re.fullmatch(r"(?:--extcmd=|--open-files-in-pager=|-O)(.+)", word.text)
        if command.words[0].text in ("difftool", "grep", "mergetool") and runs:
            yield ShellText(runs[1], is_guess=command.is_guess)
        elif command.words[0].text == "difftool" and word.text in ("-x", "--extcmd") and at + 1 < len(command.args):
            yield ShellText(command.args[at + 1].text, is_guess=command.is_guess)
    if command.words[0].text in _RUNS:
        yield from _RUNS[command.words[0].text](command)


def _act(command: PlainCommand, what: str) -> Act | None:
    """What a person may allow in advance of it."""
    if what is _LOSES_EDITS:
        return Act(kinds.DISCARD)
    remote = next(iter(operands(command.args)), None) if what is _OVERWRITES else None
    kind = f"{kinds.PUSH} {remote.text}" if remote is not None and remote.is_plain else ""
    return Act(kind) if kinds.is_kind(kind) else None


def _alias(setting: str) -> Parts:
    key, _, value = setting.partition("=")
    if key.startswith("alias.") and value.startswith("!"):
        yield ShellText(value[1:])


def _checkout(command: PlainCommand) -> str:
    args = command.args
    texts = [word.text for word in args]
    creates = has_option(args, "-b", "-B", "--orphan", "--track", "-t", "--detach")
    paths = len(operands(args)) > 1 and not creates
    if "--" in texts[:-1] or paths or any(text in (".", "./", "*", ":/") for text in texts):
        return _LOSES_EDITS
    is_file = not creates and any(_FILE.search(word.text) for word in operands(args))
    return _LOSES_EDITS if is_file or has_option(args, "-f", "--force") else ""


def _push(command: PlainCommand) -> str:
    if has_option(command.args, "-n", "--dry-run"):
        return ""
    if has_option(command.args, "-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "--prune"):
        return _OVERWRITES
    if any(word.text.startswith(("+", ":")) for word in operands(command.args)[1:]):
        return _OVERWRITES
    return ""


def _restore(command: PlainCommand) -> str:
    only_index = has_option(command.args, "--staged", "-S") and not has_option(command.args, "--worktree", "-W")
    return "" if only_index else _LOSES_EDITS


def _branch(command: PlainCommand) -> str:
    deletes = has_option(command.args, "-d", "--delete") and has_option(command.args, "-f", "--force")
    return "It deletes a branch with its commits" if deletes or has_option(command.args, "-D") else ""


def _first(words: str, what: str) -> Callable[[PlainCommand], str]:
    """The rule for subcommands of a subcommand, e.g. ``stash drop``."""
    names = frozenset(words.split())
    return lambda command: what if {word.text for word in command.args[:1]} & names else ""


def _options(*names: str, what: str, unless: tuple[str, ...] = ()) -> Callable[[PlainCommand], str]:
    def rule(command: PlainCommand) -> str:
        if unless and has_option(command.args, *unless):
            return ""
        return what if has_option(command.args, *names) else ""

    return rule


def _always(what: str, *, unless: tuple[str, ...] = ()) -> Callable[[PlainCommand], str]:
    return lambda command: "" if unless and has_option(command.args, *unless) else what


_FILE = re.compile(r"^\.{1,2}/|\.[A-Za-z][A-Za-z0-9]{0,4}$")
"""Looks like a file rather than a branch; git takes either."""
_OVERWRITES = "It overwrites or deletes what is on the remote"
_LOSES_EDITS = "It discards uncommitted changes"
_LOSES_HISTORY = "It discards history that git could still restore"

_RULES: dict[str, Callable[[PlainCommand], str]] = {
    "branch": _branch,
    "checkout": _checkout,
    "clean": _options("-f", "--force", what="It deletes files that git doesn't track", unless=("-n", "--dry-run")),
    "filter-branch": _always("It rewrites history"),
    "filter-repo": _always("It rewrites history"),
    "gc": _options("--prune", what=_LOSES_HISTORY),
    "prune": _always(_LOSES_HISTORY, unless=("-n", "--dry-run")),
    "push": _push,
    "read-tree": _options("--reset", what=_LOSES_EDITS),
    "reflog": _first("expire delete", _LOSES_HISTORY),
    "reset": _options("--hard", what=_LOSES_EDITS),
    "restore": _restore,
    "rm": _always("It deletes files", unless=("--cached", "-n", "--dry-run")),
    "stash": _first("drop clear", "It discards stashed changes"),
    "submodule": lambda command: (
        _LOSES_EDITS if _first("deinit", "x")(command) and has_option(command.args, "-f", "--force") else ""
    ),
    "switch": _options("-f", "--force", "--discard-changes", what=_LOSES_EDITS),
    "tag": _options("-d", "--delete", what="It deletes a tag"),
    "update-ref": _options("-d", what=_LOSES_HISTORY),
    "worktree": lambda command: (
        "It deletes a work tree" if _first("remove", "x")(command) and has_option(command.args, "-f", "--force") else ""
    ),
}


def _foreach(command: PlainCommand) -> Parts:
    words = [word for word in command.args if word.text not in ("--recursive", "--quiet", "-q")]
    if words and words[0].text == "foreach":
        yield ShellText(joined(words[1:]), is_guess=command.is_guess)


def _bisect(command: PlainCommand) -> Parts:
    if command.args and command.args[0].text == "run":
        yield command.behind(2)


def _rebase(command: PlainCommand) -> Parts:
    for at, word in enumerate(command.args):
        if word.text.startswith("--exec="):
            yield ShellText(word.text.partition("=")[2], is_guess=command.is_guess)
        elif word.text in ("-x", "--exec") and at + 1 < len(command.args):
            yield ShellText(command.args[at + 1].text, is_guess=command.is_guess)


_RUNS: dict[str, Callable[[PlainCommand], Parts]] = {"bisect": _bisect, "rebase": _rebase, "submodule": _foreach}
