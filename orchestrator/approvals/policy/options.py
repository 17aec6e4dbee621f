"""Programs that run a command given by an option (``tar --to-command``), and texts that bash evaluates later.

Owns the tables. A command in an option is read like any other text; what only a running shell would see asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.approvals.bash.parts import ParsedCommand
from orchestrator.approvals.policy.parts import AskReason, Parts, PlainCommand, ShellText

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
    "split": r"--filter",
    "tar": (
        r"-I|--use-compress-program|--to-command|--checkpoint-action|--info-script|--new-volume-script|--rsh-command"
    ),
    "zip": r"-TT|--unzip-command",
}
_UNSEEN = {"bind": r"-x", "enable": r"-f", "hash": r"-p"}
_EVALUATED = re.compile(r"(?:PS4|PROMPT_COMMAND|BASH_ENV|ENV|BASH_FUNC_\w+%*)(?:\+?=.*)?", re.DOTALL)
"""Names of variables whose value bash runs; as an argument of what sets variables, with a value or without."""
_SETTERS = frozenset(
    {"declare", "env", "export", "getopts", "let", "local", "mapfile", "printf", "read", "readarray", "readonly"}
) | {"test", "[", "typeset", "unset", "wait"}
_SUBSCRIPT = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)
"""In an array's subscript bash works a substitution out once more, though it stood in single quotes."""
_EXECUTES = re.compile(r"(?i)(?:exec|system|shell):(.*)", re.DOTALL)
_SED_RUNS = re.compile(
    r"(?:^|[;{}\n]|\d|[/$])\s*e(?:\s|$)|s(?P<d>[^\w\s])(?:\\.|(?!(?P=d)).)*(?P=d)(?:\\.|(?!(?P=d)).)*(?P=d)[gpIiMm0-9]*e"
)
_PROXIES = re.compile(r"(?i)-?o?(?:ProxyCommand|LocalCommand|KnownHostsCommand)[= ](.*)", re.DOTALL)
_GIT_RUNS = re.compile(
    r"(?i)core\.(?:fsmonitor|sshcommand|pager|editor|askpass)|diff\.external|sequence\.editor|credential\.helper|pager\..+"
    r"|(?:diff|merge|filter|difftool|mergetool)\..+\.(?:command|textconv|driver|clean|smudge|process|cmd)"
)


def commands_in_options(call: PlainCommand, name: str) -> Parts:
    """The texts that the program would run because an option, or its own small language, says so."""
    yield from _set_for_later(call, name)
    yield from _in_its_language(call, name)
    if name != "git" and name not in _UNSEEN and name not in _COMMANDS:
        return
    options, args = _COMMANDS.get(name), call.args
    for at, word in enumerate(args):
        following = args[at + 1].text if at + 1 < len(args) else ""
        if name in _UNSEEN and re.match(_UNSEEN[name], word.text):
            yield call.make_finding(LATER)
        if name == "git" and word.text == "-c":
            yield from _git_setting(call, following)
        match = re.match(rf"(?:{options})(?:=(.*)|(.+))?$", word.text, re.DOTALL) if options else None
        if match and not (match[2] and word.text.startswith("--")):
            text = match[1] or match[2] or following
            yield ShellText(text.removeprefix("exec="), call.stdin, call.is_guess)


def _git_setting(call: PlainCommand, setting: str) -> Parts:
    key, _, value = setting.partition("=")
    if key.lower() == "core.hookspath" and value != "/dev/null":
        yield call.make_finding(LATER)
    elif _GIT_RUNS.fullmatch(key) and value not in ("", "true", "false"):
        yield ShellText(value.removeprefix("!"), is_guess=call.is_guess)


def _set_for_later(call: PlainCommand, name: str) -> Parts:
    """Builtins that set a variable which bash runs, or work out a subscript once more."""
    if name not in _SETTERS:
        return
    for word in call.args:
        if _EVALUATED.fullmatch(word.text) or _SUBSCRIPT.search(word.text):
            yield call.make_finding(LATER)
            return


def _in_its_language(call: PlainCommand, name: str) -> Parts:
    rule = _RULES.get(name)
    if rule is not None:
        yield from rule(call, [word.text for word in call.args])


def _check_make(call: PlainCommand, texts: list[str]) -> Parts:
    """A makefile that comes from the input."""
    if "-" in texts or "/dev/stdin" in texts or "-f-" in texts:
        yield call.make_finding(LATER)


def _check_m4(call: PlainCommand, texts: list[str]) -> Parts:
    if call.stdin.is_piped or "syscmd" in (call.stdin.text or "") or "-" in texts:
        yield call.make_finding(LATER)


def _check_sed(call: PlainCommand, texts: list[str]) -> Parts:
    if any(_SED_RUNS.search(text) for text in _sed_scripts(texts)):
        yield call.make_finding(LATER)


def _check_editor(call: PlainCommand, texts: list[str]) -> Parts:
    """An editor or pager that is told to run something."""
    if any("!" in text or "system(" in text for text in texts):
        yield call.make_finding(LATER)


def _check_gdb(call: PlainCommand, texts: list[str]) -> Parts:
    if any(re.match(r"\s*(?:shell|!|python|source)", text) for text in texts):
        yield call.make_finding(LATER)


def _check_expect(call: PlainCommand, texts: list[str]) -> Parts:
    if "-c" in texts:
        yield call.make_finding(LATER)


def _check_ssh(call: PlainCommand, texts: list[str]) -> Parts:
    for found in filter(None, map(_PROXIES.fullmatch, texts)):
        yield ShellText(found[1], is_guess=call.is_guess)


def _check_socat(call: PlainCommand, texts: list[str]) -> Parts:
    for found in filter(None, map(_EXECUTES.match, texts)):
        yield ShellText(found[1].partition(",")[0], is_guess=call.is_guess)


def _check_strace(call: PlainCommand, texts: list[str]) -> Parts:
    for text in texts:
        if text.startswith("|"):
            yield ShellText(text.lstrip("|"), is_guess=call.is_guess)


_RULES: dict[str, Callable[[PlainCommand, list[str]], Parts]] = {
    **dict.fromkeys(("ed", "ex", "less", "more", "nvim", "vi", "vim"), _check_editor),
    **dict.fromkeys(("gmake", "make"), _check_make),
    **dict.fromkeys(("gsed", "sed"), _check_sed),
    **dict.fromkeys(("scp", "sftp", "ssh"), _check_ssh),
    "expect": _check_expect,
    "gdb": _check_gdb,
    "m4": _check_m4,
    "socat": _check_socat,
    "strace": _check_strace,
}
"""What programs run by a language or an option of their own."""


def _sed_scripts(texts: list[str]) -> list[str]:
    """What of sed's words is its language: behind -e, or else the first operand."""
    found = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-e", "--expression")]
    found += [text.partition("=")[2] for text in texts if text.startswith("--expression=")]
    found += [text[2:] for text in texts if re.match(r"-e.", text)]
    return found or [text for text in texts if not text.startswith("-")][:1]


def evaluated_later(reading: ParsedCommand, text: str) -> Parts:
    """A finding when the text sets what bash itself runs later, or has a value run as text."""
    for one in reading.assignments:
        if _EVALUATED.fullmatch(one.name):
            yield AskReason(LATER, one.raw)
            return
    if reading.expands_prompt:
        yield AskReason(LATER, text)
