"""Judges a shell command before it runs: run, ask a person, or refuse. Pure: the same text gives the same verdict.

Owns ``judge_command`` and the sentences that a person reads. This is a guard against mistakes (lost data, acts that
cannot be undone, processes of others), not against malice: code can always do what no reader of it foresees, and the
container is the wall for that. It sees through the ordinary ways of writing a command (quotes, paths, wrappers, nested
shells, substitutions, here-documents, code given to interpreters) and asks when it cannot tell. It does not see into
files: scripts, makefiles and ``npm`` scripts run, and so does whatever a program does by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.approvals.bash.parser import read_script
from orchestrator.approvals.bash.parts import ParsedCommand, Problem, Redirect, Simple
from orchestrator.approvals.bash.words import UNKNOWN, Word
from orchestrator.approvals.policy import kinds
from orchestrator.approvals.policy.code import code_in
from orchestrator.approvals.policy.languages import read_code
from orchestrator.approvals.policy.options import commands_in_options, evaluated_later
from orchestrator.approvals.policy.parts import AskReason, Code, Part, Parts, PlainCommand, ShellText
from orchestrator.approvals.policy.rules import rule_on, rule_on_redirect
from orchestrator.approvals.policy.scripts import FoundScripts, named_in
from orchestrator.approvals.policy.variables import commands_of
from orchestrator.approvals.policy.wrappers import FED, MADE_UP, SHELLS, unwrap_command
from orchestrator.core.models import ApprovalPolicy, Ruling, Verdict

MAX_CHARS = 100_000
"""A longer command is refused."""
MAX_DEPTH = 8
"""Texts of code within texts (``bash -c "bash -c …"``); deeper ones ask."""
_MAX_WORK = 40_000  # characters of nested text that are read in all; more asks
_MAX_FINDINGS = 99
_DIRECT = 2  # from the text to a command in it, and from that to a finding about it
_PIECE_CHARS = 80

_UNREADABLE = "HermitShell couldn't fully analyse this command, so please check it"
_TOO_LONG = "It is too long or too deeply nested to analyse, so please check it"


def judge_command(command: str, approval: ApprovalPolicy) -> Verdict:
    """What happens to the command under the agent's approval policy."""
    refusal = _explain_unusable(command)
    if refusal:
        return Verdict(Ruling.REFUSE, refusal)
    if approval is ApprovalPolicy.OFF:
        return Verdict(Ruling.RUN)
    seen = _examine_command(command)
    if seen.findings:
        return Verdict(Ruling.ASK, _findings_sentence(seen.findings), _list_kinds(command, seen))
    if approval is ApprovalPolicy.ALL:
        return Verdict(Ruling.ASK, "This agent asks before every command.", kinds.exact_kind(command))
    return Verdict(Ruling.RUN)


def scripts_of(command: str) -> FoundScripts:
    """Which files of the workspace the command would run, as far as its words say."""
    seen = _examine_command(command)
    return named_in(seen.calls, kinds.folder_of(command, seen.names))


def _explain_unusable(command: str) -> str:
    """Why the command cannot be run at all, told to the model; empty when it can."""
    if len(command) > MAX_CHARS:
        return (
            f"The command is too long ({len(command)} characters, at most {MAX_CHARS}): "
            "write it to a script file in several smaller steps, then run the file."
        )
    if "\0" in command:
        return "The command holds a NUL character, which no shell can take: leave it out, or write it as \\0 to printf."
    try:
        command.encode()
    except UnicodeEncodeError:
        return "The command holds half a character (a lone surrogate) that cannot be sent as UTF-8: write it whole."
    return ""


@dataclass(slots=True)
class _Seen:
    """What there is in a command."""

    findings: list[AskReason] = field(default_factory=list)
    """Every reason to ask, in the order it is written."""
    calls: list[PlainCommand] = field(default_factory=list)
    """All commands in it."""
    is_direct: bool = True
    """Each finding is about what stands in the text itself, not in a text or behind a command within it."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all commands in it."""
        return frozenset(_command_name(call.words[0]) for call in self.calls)


def _examine_command(command: str) -> _Seen:
    seen = _Seen()
    todo: list[tuple[Part, int, int]] = [(ShellText(command, is_whole=True), 0, 0)]
    work = 0
    while todo and len(seen.findings) < _MAX_FINDINGS:
        part, depth, steps = todo.pop()
        if isinstance(part, AskReason):
            seen.findings.append(part)
            seen.is_direct = seen.is_direct and steps <= _DIRECT
            continue
        if isinstance(part, PlainCommand) and part.words:
            seen.calls.append(part)
        work += len(part.text) if depth and isinstance(part, ShellText) and not part.is_guess else 1
        if depth > MAX_DEPTH or work > _MAX_WORK:
            seen.findings.append(AskReason(_TOO_LONG, command))
            break
        found = [(inner, depth + isinstance(inner, ShellText | Code), steps + 1) for inner in _examine_part(part)]
        todo.extend(reversed(found))
    return seen


def _list_kinds(command: str, seen: _Seen) -> tuple[str, ...]:
    """What a person may allow instead of being asked: each finding's kind or, where one has none, this very text."""
    folder = kinds.folder_of(command, seen.names) if seen.is_direct else None
    found = [kinds.name_kinds(finding.act, folder) if finding.act else () for finding in seen.findings]
    every = tuple(dict.fromkeys(kind for named in found for kind in named))
    return every if all(found) and len(every) <= kinds.MOST_KINDS else kinds.exact_kind(command)


def _examine_part(part: ShellText | Code | PlainCommand) -> Parts:
    if isinstance(part, ShellText):
        return _look_at_text(part)
    if isinstance(part, Code):
        return read_code(part.language, part.text)
    return _look_at_call(part)


def _look_at_text(text: ShellText) -> Parts:
    reading = read_script(text.text.replace(UNKNOWN, "${_}"))
    if reading.problem and not text.is_guess:
        yield AskReason(_UNREADABLE if reading.problem is Problem.UNPARSABLE else _TOO_LONG, text.text)
    if not text.is_guess:
        yield from evaluated_later(reading, text.text)
    scratch = text.scratch | _scratch_variables(reading)
    yield from _by_fifo(reading)
    for part in reading.parts:
        if isinstance(part, str):
            yield ShellText(part, is_guess=text.is_guess, scratch=scratch)
        elif isinstance(part, Simple):
            if _is_fork_bomb(part):
                yield AskReason("It starts endless copies of itself", part.function)
            stdin = text.stdin if part.stdin.text is None and not part.stdin.is_piped else part.stdin
            words = _resolve_name(part.words, text, reading)
            yield PlainCommand(words, stdin, reading.own_jobs, text.is_guess, scratch)
        elif isinstance(part, Redirect) and not text.is_guess:
            yield from rule_on_redirect(part)


def _by_fifo(reading: ParsedCommand) -> Parts:
    """A shell that may read what another command writes into a pipe with a name."""
    calls = [part for part in reading.parts if isinstance(part, Simple) and part.words]
    names = {_command_name(call.words[0]) for call in calls}
    if names & {"mkfifo", "mknod"} and names & {*SHELLS, "source", ".", "eval"}:
        yield AskReason(FED, " ".join(word.raw for word in calls[0].words))


def _resolve_name(words: tuple[Word, ...], text: ShellText, reading: ParsedCommand) -> tuple[Word, ...]:
    """The words, with those for a variable that names the command where they can be told."""
    first = commands_of(words[0], text.text, reading) if words and text.is_whole else None
    return words if first is None else (*first, *words[1:])


def _scratch_variables(reading: ParsedCommand) -> frozenset[str]:
    """Variables that are set once, to what ``mktemp`` made."""
    names = [one.name for one in reading.assignments]
    return frozenset(one.name for one in reading.assignments if one.is_scratch and names.count(one.name) == 1)


def _is_fork_bomb(command: Simple) -> bool:
    return bool(command.function and command.is_forked and command.words and command.words[0].text == command.function)


def _look_at_call(call: PlainCommand) -> Parts:
    if not call.words:
        return
    name = _command_name(call.words[0])
    if not name:
        if not call.is_guess:
            yield call.make_finding(MADE_UP)
        return
    yield from rule_on(call, name)
    yield from commands_in_options(call, name)
    yield from unwrap_command(call, name)
    yield from code_in(call, name)


def _command_name(word: Word) -> str:
    """The command's name without its folders; empty when the shell makes it up, or when nothing is named."""
    name = word.text.rpartition("/")[2]
    if word.is_plain or word.text in ("[", "[["):
        return "" if name == "{}" else name
    # a known last part of an unknown path is enough: "$DIR/bin/tool"
    is_known = UNKNOWN not in name and "/" in word.text and not set(name) & set("*?[{")
    return name if is_known else ""


def _findings_sentence(findings: list[AskReason]) -> str:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    piece = _display_piece(first.piece)
    return f"{first.what}{': ' if piece else ''}{piece}{more}."


def _display_piece(piece: str) -> str:
    """The piece on one line, shortened, with everything invisible made visible."""
    short = piece.replace(UNKNOWN, "…").strip()
    cut = short[:_PIECE_CHARS] + ("…" if len(short) > _PIECE_CHARS else "")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)
