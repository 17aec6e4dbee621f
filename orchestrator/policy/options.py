"""Programs that run a command given by an option (``tar --to-command``), and texts that bash evaluates later.

Owns the tables. A command in an option is read like any other text; what only a running shell would see asks.
"""

from __future__ import annotations

import re

from orchestrator.policy.parts import Call, Finding, Parts, ShellText

LATER = "It leaves text for the shell to run later, which can't be checked in advance"

_COMMANDS = {
    "bsdtar": r"--use-compress-program",
    "compgen": r"-C",
    "complete": r"-C",
    "man": r"-P|--pager",
    "mapfile": r"-C",
    "readarray": r"-C",
    "rsync": r"-e|--rsh|--rsync-path",
    "sort": r"--compress-program",
    "tar": (
        r"-I|--use-compress-program|--to-command|--checkpoint-action|--info-script|--new-volume-script|--rsh-command"
    ),
    "zip": r"-TT|--unzip-command",
}
_UNSEEN = {"bind": r"-x", "enable": r"-f", "hash": r"-p"}
_EVALUATED = re.compile(r"(?<![\w-])(?:PS4|PROMPT_COMMAND|BASH_ENV|BASH_FUNC_\w+%*)\+?=|\$\{[^}\n]{0,200}@P\}")
_GIT_RUNS = re.compile(
    r"(?i)core\.(?:fsmonitor|sshcommand|pager|editor|askpass)|diff\.external|sequence\.editor|credential\.helper|pager\..+"
    r"|(?:diff|merge|filter|difftool|mergetool)\..+\.(?:command|textconv|driver|clean|smudge|process|cmd)"
)


def commands_in_options(call: Call, name: str) -> Parts:
    """The texts that the program would run because an option says so."""
    options = _COMMANDS.get(name)
    for at, word in enumerate(call.args):
        following = call.args[at + 1].text if at + 1 < len(call.args) else ""
        if name in _UNSEEN and re.match(_UNSEEN[name], word.text):
            yield call.found(LATER)
        if name == "git" and word.text == "-c":
            yield from _git_setting(call, following)
        match = re.match(rf"(?:{options})(?:=(.*)|(.+))?$", word.text, re.DOTALL) if options else None
        if match and not (match[2] and word.text.startswith("--")):
            text = match[1] or match[2] or following
            yield ShellText(text.removeprefix("exec="), call.stdin, call.is_guess)


def _git_setting(call: Call, setting: str) -> Parts:
    key, _, value = setting.partition("=")
    if key.lower() == "core.hookspath" and value != "/dev/null":
        yield call.found(LATER)
    elif _GIT_RUNS.fullmatch(key) and value not in ("", "true", "false"):
        yield ShellText(value.removeprefix("!"), is_guess=call.is_guess)


def evaluated_later(text: str) -> Parts:
    """A finding when the text sets what bash itself evaluates later."""
    found = _EVALUATED.search(text)
    if found:
        yield Finding(LATER, text[found.start() :])
