"""Commands that run other commands: what they would run.

Reads the table of wrappers (``nice``, ``timeout``, ``xargs``…); owns shells with a text to run (``bash -c``, ``eval``,
``trap``, ``ssh``), and those with a manner of their own (``env``, ``find``, ``parallel``). It passes on what is inside,
and finds fault only where the inside cannot be seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.approvals.bash.words import UNKNOWN, Word
from orchestrator.approvals.policy.parts import (
    Parts,
    PlainCommand,
    ShellText,
    has_option,
    join_words,
    list_operands,
    unknown_word,
)
from orchestrator.approvals.policy.wrapper_table import RUNNERS, WRAPPERS, Wrapper

FED = "It runs the output of another command, which can't be checked in advance"
MADE_UP = "It runs something that is only known once it runs"
READS_ITSELF = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-")


_KEYWORDS = frozenset({"time", "coproc"})
"""Words of the shell itself, behind which a command begins anew, assignments and all."""
_BEFORE_COMMAND = re.compile(r"[A-Za-z_]\w*\+?=|!$")

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish", "hush"})


def unwrap_command(call: PlainCommand, name: str) -> Parts:
    """What the command runs, if it is one that runs others."""
    if name in SHELLS:
        yield from _unwrap_shell(call)
    elif name in WRAPPERS:
        yield from _unwrap_plain(call, name)
    elif name in _SPECIAL:
        yield from _SPECIAL[name](call)
    elif name in RUNNERS and call.args and call.args[0].text == RUNNERS[name]:
        yield from _command_at(call, _skip_options(call.words, 2, Wrapper()))


def _unwrap_plain(call: PlainCommand, name: str) -> Parts:
    wrapper = WRAPPERS[name]
    start = _skip_options(call.words, 1, wrapper)
    if wrapper.asks_only and has_option(call.words[1:start], *(f"-{letter}" for letter in wrapper.asks_only)):
        return
    if name == "xargs":
        yield from _unwrap_xargs(call, start)
        return
    if name == "coproc" and any(word.raw in ("{", "(") for word in call.args):
        yield call.make_finding(MADE_UP)
    start += wrapper.skips
    while name in _KEYWORDS and start < len(call.words) and _BEFORE_COMMAND.match(call.words[start].text):
        start += 1
    yield from _command_at(call, start)


def _unwrap_xargs(call: PlainCommand, start: int) -> Parts:
    """The command that it makes of what it reads; with ``-I`` that stands where the command says so."""
    mark = ""
    for at, word in enumerate(call.words[1:start], 1):
        found = _REPLACES.fullmatch(word.text)
        if found:
            following = call.words[at + 1].text if at + 1 < start else "{}"
            mark = found[1] or found[2] or (following if word.text == "-I" else "{}")
    inner = call.words[start:]
    if not mark:
        yield from _command_at(call, start, unknown_word())
    elif inner and _is_injected(inner, mark):
        yield call.make_finding(FED)
    elif inner:
        words = tuple(
            Word(word.text.replace(mark, UNKNOWN), word.raw, word.is_plain and mark not in word.text) for word in inner
        )
        yield PlainCommand(words, call.stdin, call.own_jobs, call.is_guess, call.scratch)


_REPLACES = re.compile(r"-[a-zA-Z0-9]*I(.*)|-i(.*)|--replace(?:=.*)?")


def _is_injected(words: tuple[Word, ...], mark: str) -> bool:
    """What was read becomes part of a text that a shell runs, rather than a word of its own."""
    name = words[0].text.rpartition("/")[2]
    return name in (*SHELLS, "eval") and any(
        mark in word.text and (word.text != mark or at == 2) for at, word in enumerate(words)
    )


def _command_at(call: PlainCommand, start: int, *more: Word) -> Parts:
    if start < len(call.words):
        yield call.inner_command(start, *more)


def _skip_options(words: tuple[Word, ...], at: int, wrapper: Wrapper) -> int:
    """The index of the first operand."""
    while at < len(words):
        text = words[at].text
        if text == "--":
            return at + 1
        if not text.startswith("-") or text == "-":
            return at
        takes_next = any(name.startswith(text) for name in wrapper.long_valued)
        if not text.startswith("--"):
            valued = [index for index, letter in enumerate(text) if index and letter in wrapper.valued]
            takes_next = bool(valued) and valued[0] == len(text) - 1
        at += 2 if takes_next else 1
    return at


def _unwrap_shell(call: PlainCommand) -> Parts:
    """``bash -c TEXT``, ``bash -s``, ``bash FILE``, ``bash <<EOF``."""
    at, has_text, reads_input = 1, False, False
    while at < len(call.words):
        text = call.words[at].text
        if text[:1] not in ("-", "+") or text in ("-", "--"):
            break
        if not text.startswith("--"):
            has_text = has_text or (text[0] == "-" and "c" in text)
            reads_input = reads_input or (text[0] == "-" and "s" in text)
            at += sum(letter in "oO" for letter in text[1:])
        elif text in ("--rcfile", "--init-file"):
            at += 1
        elif text in ("--version", "--help"):
            return
        at += 1
    rest = call.words[at + 1 :] if at < len(call.words) and call.words[at].text in ("-", "--") else call.words[at:]
    if has_text:
        if rest:
            yield ShellText(rest[0].text, call.stdin, call.is_guess)
    elif rest and not reads_input and not is_input(rest[0]):
        return  # a script file: what is in it is not seen
    elif rest and rest[0].raw.startswith(("<(", "$")):
        yield call.make_finding(FED)
    else:
        yield from _unwrap_input(call)


def _unwrap_input(call: PlainCommand) -> Parts:
    """A shell that reads its text from its input."""
    if call.stdin.is_piped:
        yield call.make_finding(FED)
    elif call.stdin.text is not None:
        yield ShellText(call.stdin.text, is_guess=call.is_guess)


def is_input(script: Word) -> bool:
    """The file to run is no file, but what another command writes."""
    return script.text in READS_ITSELF or script.raw.startswith("<(")


def _unwrap_eval(call: PlainCommand) -> Parts:
    if any(UNKNOWN in word.text for word in call.args):
        yield call.make_finding(MADE_UP)
    else:
        yield ShellText(join_words(call.args), call.stdin, call.is_guess)


def _unwrap_source(call: PlainCommand) -> Parts:
    script = next(iter(list_operands(call.args)), None)
    if script is not None and is_input(script):
        if call.stdin.text is not None and not call.stdin.is_piped:
            yield ShellText(call.stdin.text, is_guess=call.is_guess)
        else:
            yield call.make_finding(FED)
    elif script is not None and UNKNOWN in script.text:
        yield call.make_finding(MADE_UP)


def _unwrap_trap(call: PlainCommand) -> Parts:
    action = next(iter(list_operands(call.args)), None)
    if action is not None and action.text != "-" and not has_option(call.args[:1], "-l", "-p"):
        yield ShellText(action.text, call.stdin, call.is_guess, call.scratch)


def _unwrap_alias(call: PlainCommand) -> Parts:
    for word in call.args:
        _, is_set, value = word.text.partition("=")
        if is_set:
            yield ShellText(value, is_guess=call.is_guess)


def _unwrap_env(call: PlainCommand) -> Parts:
    at = 1
    while at < len(call.words):
        text = call.words[at].text
        split = _ENV_TEXT.fullmatch(text)
        if split:
            first = split["text"] or split["long"] or ""
            rest = call.words[at + 1 :]
            yield ShellText(" ".join(["env", first, join_words(rest)]), call.stdin, call.is_guess)
            return
        if text.startswith("-") and UNKNOWN in text:
            yield call.make_finding(MADE_UP)
        if _ENV_VALUED.fullmatch(text):
            at += 2
        elif text.startswith("-") or "=" in text:
            at += 1
        else:
            break
    yield from _command_at(call, at)


_ENV_TEXT = re.compile(r"-[iv0]*S(?P<text>.*)|--s[^=]*(?:=(?P<long>.*))?", re.DOTALL)
_ENV_VALUED = re.compile(r"-[iv0]*[uC]|--[uc][a-z]*")


def _unwrap_find(call: PlainCommand) -> Parts:
    at = 1
    while at < len(call.words):
        if call.words[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(call.words) and call.words[end].text not in (";", "+"):
                end += 1
            inner = call.words[at + 1 : end]
            if inner and _is_injected(inner, "{}"):
                yield call.make_finding(FED)
            yield PlainCommand(inner, call.stdin, call.own_jobs, call.is_guess, call.scratch)
            at = end
        elif call.words[at].text == "-delete":
            yield call.make_finding("It deletes the files it finds")
        elif call.words[at].text.startswith("-") and UNKNOWN in call.words[at].text:
            yield call.make_finding(MADE_UP)
        at += 1


def _unwrap_fd(call: PlainCommand) -> Parts:
    for at, word in enumerate(call.words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            yield from _command_at(call, at + 1, unknown_word())
            return


def _unwrap_parallel(call: PlainCommand) -> Parts:
    """GNU parallel: a command before ``:::``, or whole commands behind it or from a pipe."""
    texts = [word.text for word in call.words]
    end = next((at for at, text in enumerate(texts) if text.startswith(":::")), len(texts))
    start = min(end, _skip_options(call.words, 1, _PARALLEL))
    if start < end:
        yield ShellText(join_words((*call.words[start:end], unknown_word())), call.stdin, call.is_guess)
    elif end < len(texts):
        for word in call.words[end + 1 :]:
            yield ShellText(word.text, is_guess=call.is_guess)
    else:
        yield from _unwrap_input(call)


_PARALLEL = Wrapper("jNnLsISadP", ("--jobs", "--max-args", "--colsep", "--results", "--joblog", "--delay"))


def _unwrap_watch(call: PlainCommand) -> Parts:
    start = _skip_options(call.words, 1, Wrapper("nq", ("--interval",)))
    yield ShellText(join_words(call.words[start:]), call.stdin, call.is_guess)


def _with_text(call: PlainCommand) -> Parts:
    """``script -c TEXT`` and ``flock FILE -c TEXT``."""
    for at, word in enumerate(call.args):
        if word.text.startswith("--command="):
            yield ShellText(word.text.partition("=")[2], call.stdin, call.is_guess)
        elif re.fullmatch(r"-[a-zA-Z]*c|--command", word.text) and at + 1 < len(call.args):
            yield ShellText(call.args[at + 1].text, call.stdin, call.is_guess)


def _unwrap_flock(call: PlainCommand) -> Parts:
    yield from _with_text(call)
    start = _skip_options(call.words, 1, Wrapper("wE", ("--wait", "--timeout", "--conflict-exit-code")))
    if start + 1 < len(call.words) and not call.words[start + 1].text.startswith("-"):
        yield call.inner_command(start + 1)


def _unwrap_ssh(call: PlainCommand) -> Parts:
    start = _skip_options(call.words, 1, Wrapper("BbcDEeFIiJLlmOopQRSWw")) + 1
    if start < len(call.words):
        yield ShellText(join_words(call.words[start:]), call.stdin, call.is_guess)
    elif start == len(call.words):
        yield from _unwrap_input(call)


def _at_jobs(call: PlainCommand) -> Parts:
    """``at`` and ``batch`` run later what they read now."""
    if not has_option(call.args, "-l", "-c", "-f"):
        yield from _unwrap_input(call)


_SPECIAL: dict[str, Callable[[PlainCommand], Parts]] = {
    ".": _unwrap_source,
    "alias": _unwrap_alias,
    "at": _at_jobs,
    "batch": _at_jobs,
    "env": _unwrap_env,
    "eval": _unwrap_eval,
    "fd": _unwrap_fd,
    "fdfind": _unwrap_fd,
    "find": _unwrap_find,
    "flock": _unwrap_flock,
    "parallel": _unwrap_parallel,
    "script": _with_text,
    "source": _unwrap_source,
    "ssh": _unwrap_ssh,
    "trap": _unwrap_trap,
    "watch": _unwrap_watch,
}
