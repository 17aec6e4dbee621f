"""What git can lose or overwrite for good: which of its commands ask.

Owns the table of subcommands. What git itself can bring back (a commit, a merge, a plain checkout of a branch) runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.approvals.policy import kinds
from orchestrator.approvals.policy.kinds import Act
from orchestrator.approvals.policy.parts import Parts, PlainCommand, ShellText, has_option, join_words, list_operands

_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})


def check_git(call: PlainCommand) -> Parts:
    """The findings about one git command."""
    at = 1
    while at < len(call.words) and call.words[at].text.startswith("-"):
        if call.words[at].text == "-c" and at + 1 < len(call.words):
            yield from _check_alias(call.words[at + 1].text)
        at += 2 if call.words[at].text in _VALUED else 1
    if at >= len(call.words):
        return
    command = call.inner_command(at)
    rule = _RULES.get(command.words[0].text)
    what = rule(command) if rule else ""
    if what:
        yield call.make_finding(what, _name_act(command, what))
    for at, word in enumerate(command.args):
        runs = re.fullmatch(r"(?:--extcmd=|--open-files-in-pager=|-O)(.+)", word.text)
        if command.words[0].text in ("difftool", "grep", "mergetool") and runs:
            yield ShellText(runs[1], is_guess=command.is_guess)
        elif command.words[0].text == "difftool" and word.text in ("-x", "--extcmd") and at + 1 < len(command.args):
            yield ShellText(command.args[at + 1].text, is_guess=command.is_guess)
    if command.words[0].text in _RUNS:
        yield from _RUNS[command.words[0].text](command)


def _name_act(command: PlainCommand, what: str) -> Act | None:
    """What a person may allow in advance of it."""
    if what is _LOSES_EDITS:
        return Act(kinds.DISCARD)
    remote = next(iter(list_operands(command.args)), None) if what is _OVERWRITES else None
    kind = f"{kinds.PUSH} {remote.text}" if remote is not None and remote.is_plain else ""
    return Act(kind) if kinds.is_kind(kind) else None


def _check_alias(setting: str) -> Parts:
    key, _, value = setting.partition("=")
    if key.startswith("alias.") and value.startswith("!"):
        yield ShellText(value[1:])


def _check_checkout(command: PlainCommand) -> str:
    args = command.args
    texts = [word.text for word in args]
    creates = has_option(args, "-b", "-B", "--orphan", "--track", "-t", "--detach")
    paths = len(list_operands(args)) > 1 and not creates
    if "--" in texts[:-1] or paths or any(text in (".", "./", "*", ":/") for text in texts):
        return _LOSES_EDITS
    is_file = not creates and any(_FILE.search(word.text) for word in list_operands(args))
    return _LOSES_EDITS if is_file or has_option(args, "-f", "--force") else ""


def _check_push(command: PlainCommand) -> str:
    if has_option(command.args, "-n", "--dry-run"):
        return ""
    if has_option(command.args, "-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "--prune"):
        return _OVERWRITES
    if any(word.text.startswith(("+", ":")) for word in list_operands(command.args)[1:]):
        return _OVERWRITES
    return ""


def _check_restore(command: PlainCommand) -> str:
    only_index = has_option(command.args, "--staged", "-S") and not has_option(command.args, "--worktree", "-W")
    return "" if only_index else _LOSES_EDITS


def _check_branch(command: PlainCommand) -> str:
    deletes = has_option(command.args, "-d", "--delete") and has_option(command.args, "-f", "--force")
    return "It deletes a branch with its commits" if deletes or has_option(command.args, "-D") else ""


def _first_word_rule(words: str, what: str) -> Callable[[PlainCommand], str]:
    """The rule for subcommands of a subcommand, e.g. ``stash drop``."""
    names = frozenset(words.split())
    return lambda command: what if {word.text for word in command.args[:1]} & names else ""


def _option_rule(*names: str, what: str, unless: tuple[str, ...] = ()) -> Callable[[PlainCommand], str]:
    def rule(command: PlainCommand) -> str:
        if unless and has_option(command.args, *unless):
            return ""
        return what if has_option(command.args, *names) else ""

    return rule


def _always_rule(what: str, *, unless: tuple[str, ...] = ()) -> Callable[[PlainCommand], str]:
    return lambda command: "" if unless and has_option(command.args, *unless) else what


_FILE = re.compile(r"^\.{1,2}/|\.[A-Za-z][A-Za-z0-9]{0,4}$")
"""Looks like a file rather than a branch; git takes either."""
_OVERWRITES = "It overwrites or deletes what is on the remote"
_LOSES_EDITS = "It discards uncommitted changes"
_LOSES_HISTORY = "It discards history that git could still restore"

_RULES: dict[str, Callable[[PlainCommand], str]] = {
    "branch": _check_branch,
    "checkout": _check_checkout,
    "clean": _option_rule("-f", "--force", what="It deletes files that git doesn't track", unless=("-n", "--dry-run")),
    "filter-branch": _always_rule("It rewrites history"),
    "filter-repo": _always_rule("It rewrites history"),
    "gc": _option_rule("--prune", what=_LOSES_HISTORY),
    "prune": _always_rule(_LOSES_HISTORY, unless=("-n", "--dry-run")),
    "push": _check_push,
    "read-tree": _option_rule("--reset", what=_LOSES_EDITS),
    "reflog": _first_word_rule("expire delete", _LOSES_HISTORY),
    "reset": _option_rule("--hard", what=_LOSES_EDITS),
    "restore": _check_restore,
    "rm": _always_rule("It deletes files", unless=("--cached", "-n", "--dry-run")),
    "stash": _first_word_rule("drop clear", "It discards stashed changes"),
    "submodule": lambda command: (
        _LOSES_EDITS if _first_word_rule("deinit", "x")(command) and has_option(command.args, "-f", "--force") else ""
    ),
    "switch": _option_rule("-f", "--force", "--discard-changes", what=_LOSES_EDITS),
    "tag": _option_rule("-d", "--delete", what="It deletes a tag"),
    "update-ref": _option_rule("-d", what=_LOSES_HISTORY),
    "worktree": lambda command: (
        "It deletes a work tree"
        if _first_word_rule("remove", "x")(command) and has_option(command.args, "-f", "--force")
        else ""
    ),
}


def _check_foreach(command: PlainCommand) -> Parts:
    words = [word for word in command.args if word.text not in ("--recursive", "--quiet", "-q")]
    if words and words[0].text == "foreach":
        yield ShellText(join_words(words[1:]), is_guess=command.is_guess)


def _check_bisect(command: PlainCommand) -> Parts:
    if command.args and command.args[0].text == "run":
        yield command.inner_command(2)


def _check_rebase(command: PlainCommand) -> Parts:
    for at, word in enumerate(command.args):
        if word.text.startswith("--exec="):
            yield ShellText(word.text.partition("=")[2], is_guess=command.is_guess)
        elif word.text in ("-x", "--exec") and at + 1 < len(command.args):
            yield ShellText(command.args[at + 1].text, is_guess=command.is_guess)


_RUNS: dict[str, Callable[[PlainCommand], Parts]] = {
    "bisect": _check_bisect,
    "rebase": _check_rebase,
    "submodule": _check_foreach,
}
