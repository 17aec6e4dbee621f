"""``completion``: what lets a shell complete commands, options and names of agents, made from the parser itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from shlex import quote

from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help

_SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "PATH", "DIR", "COPY")
"""What stands for a file on this machine, but for the paths of ``files ls|get|rm``, which are in a workspace."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command; it tells of all that are added before or after it."""
    completion = commands.add_parser("completion", help="what lets your shell complete commands with Tab")
    add_help(
        completion,
        "Print a script that lets your shell complete commands, options and names of agents with Tab.",
        "completion bash > ~/.local/share/bash-completion/completions/hermit",
        'completion zsh > "${fpath[1]}/_hermit"',
        "completion fish > ~/.config/fish/completions/hermit.fish",
        more="For this shell alone, in bash or zsh:  source <(./hermit completion bash)",
    )
    completion.add_argument("shell", choices=_SHELLS, help="which shell")
    completion.set_defaults(run=partial(_run, commands))


@dataclass(frozen=True, slots=True)
class CompletionLevel:
    """What may come after some words of a command line."""

    path: str
    """Those words, such as ``agent rm``; empty at the beginning."""
    options: Mapping[str, str]
    """Each option with what its value is: words to choose from, ``FILE``, anything (``*``), or nothing where it has
    no value."""
    slots: tuple[str, ...]
    """The same for each word in turn, with ``AGENT`` for the name of an agent."""
    has_more: bool
    """The last of them may be repeated."""
    told: Mapping[str, str]
    """What each word and option does."""


def list_levels(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> Iterator[CompletionLevel]:
    """Every level of the command line, the top first. What has no help is for nobody to type."""
    yield CompletionLevel(
        "", {"--help": "", "--version": ""}, (" ".join(_told(commands)),), has_more=False, told=_told(commands)
    )
    yield from _beneath("", commands)


def _beneath(path: str, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> Iterator[CompletionLevel]:
    for name in _told(commands):
        yield from _level(f"{path} {name}".strip(), commands.choices[name])


def _level(path: str, parser: argparse.ArgumentParser) -> Iterator[CompletionLevel]:
    options: dict[str, str] = {}
    slots: list[str] = []
    told: dict[str, str] = {}
    has_more = False
    inner: list[argparse._SubParsersAction[argparse.ArgumentParser]] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to be read
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            inner.append(action)
            slots.append(" ".join(_told(action)))
            told |= _told(action)
        elif action.option_strings:
            options |= dict.fromkeys(action.option_strings, "" if action.nargs == 0 else _value(path, action))
            told |= dict.fromkeys(action.option_strings, (action.help or "").replace("%%", "%"))
        else:
            slots.append(_value(path, action))
            has_more = action.nargs in ("*", "+")
    yield CompletionLevel(path, options, tuple(slots), has_more, told)
    for group in inner:
        yield from _beneath(path, group)


def _told(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> dict[str, str]:
    return {action.dest: action.help or "" for action in commands._choices_actions}  # noqa: SLF001 - as above


def _value(path: str, action: argparse.Action) -> str:
    if action.choices is not None:
        return " ".join(map(str, action.choices))
    metavar = str(action.metavar or "")
    if metavar == "AGENT" or (path.startswith("agent ") and metavar == "NAME" and path != "agent create"):
        return "AGENT"
    is_there = path.startswith("files ") and metavar == "PATH"
    return "FILE" if metavar in _FILES and not is_there else "*"


def _run(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], _context: Context, options: argparse.Namespace
) -> int:
    known = list(list_levels(commands))
    scripts = {"bash": for_bash, "zsh": for_zsh, "fish": for_fish}
    sys.stdout.write(scripts[options.shell](known))
    return 0


# --- bash, and zsh by its layer for bash's completions -------------------------------------------------------------

_BASH = """\
# Completion of HermitShell's command, made by './hermit completion bash'.
_hermit_next() { # what the word after the words $1 and $2 further ones is
    case "$1:$2" in
@SLOTS@
        *) REPLY='*' ;;
    esac
}
_hermit_option() { # what the value of the option $2 after the words $1 is
    case "$1 $2" in
@VALUES@
        *) REPLY='' ;;
    esac
}
_hermit_options() { # the options after the words $1
    case "$1" in
@OPTIONS@
        *) REPLY='' ;;
    esac
}
_hermit() {
    local word rest want='' at='' count=0 i REPLY='' program=${COMP_WORDS[0]/#\\~/$HOME} IFS=$' \\t\\n'
    local now=${COMP_WORDS[COMP_CWORD]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $want ]]; then
            want=''
        elif [[ $word == -* ]]; then
            _hermit_option "$at" "$word"
            want=$REPLY
        else
            _hermit_next "$at" "$count"
            if [[ $REPLY != '*' && " $REPLY " == *" $word "* ]] && _hermit_is_command "${at:+$at }$word"; then
                at="${at:+$at }$word" count=0
            else
                count=$((count + 1))
            fi
        fi
    done
    COMPREPLY=()
    if [[ -z $want && $now == -* ]]; then
        _hermit_options "$at"
        want=$REPLY
    elif [[ -z $want ]]; then
        _hermit_next "$at" "$count"
        want=$REPLY
    fi
    case $want in
        '*') return ;;
        FILE)
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$now")
            return
            ;;
        AGENT) want=$("$program" agent list 2>/dev/null </dev/null | while read -r word rest; do
            [[ $word == NAME ]] || echo "$word"
        done) ;;
    esac
    while read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$want" -- "$now")
}
_hermit_is_command() {
    case "$1" in
@PATHS@
        *) return 1 ;;
    esac
}
"""


def for_bash(known: list[CompletionLevel]) -> str:
    """The script for bash."""
    return _bash(known) + "complete -o filenames -F _hermit hermit\n"


def for_zsh(known: list[CompletionLevel]) -> str:
    """The script for zsh."""
    return (
        "#compdef hermit\n"
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"
        "(( $+functions[complete] )) || { autoload -Uz bashcompinit && bashcompinit; }\n"
        f"{_bash(known)}complete -F _hermit hermit\n"
        '[[ $zsh_eval_context[-1] == loadautofunc ]] && _bash_complete -F _hermit "$@"\n'
        "true\n"
    )


def _bash(known: list[CompletionLevel]) -> str:
    slots, values = [], []
    for level in known:
        for n, slot in enumerate(level.slots):
            is_repeated = level.has_more and n == len(level.slots) - 1
            words = f"{quote(f'{level.path}:')}*" if is_repeated else quote(f"{level.path}:{n}")
            if slot != "*":
                slots.append(f"        {words}) REPLY={quote(slot)} ;;")
        for option, value in level.options.items():
            if value:
                values.append(f"        {quote(f'{level.path} {option}')}) REPLY={quote(value)} ;;")
    options = [f"        {quote(level.path)}) REPLY={quote(' '.join(level.options))} ;;" for level in known]
    paths = [f"        {quote(level.path)}) ;;" for level in known if level.path]
    script = _BASH
    for mark, lines in (("@SLOTS@", slots), ("@VALUES@", values), ("@OPTIONS@", options), ("@PATHS@", paths)):
        script = script.replace(mark, "\n".join(lines))
    return script


# --- fish ----------------------------------------------------------------------------------------------------------


def for_fish(known: list[CompletionLevel]) -> str:
    """The script for fish."""
    lines = [
        "# Completion of HermitShell's command, made by './hermit completion fish'.",
        "function __hermit_agents",
        "    set -l program (commandline -opc)[1]",
        "    eval $program agent list 2>/dev/null </dev/null | string match -rv '^NAME ' | string match -r '^\\S+'",
        "end",
        "complete -c hermit -f",
    ]
    for level in known:
        names = [one for slot in level.slots for one in slot.split() if one in level.told]
        where = _fish_where(level.path.split(), names)
        lines += [f"complete -c hermit{where} -a {quote(name)} -d {quote(level.told[name])}" for name in names]
        where = _fish_where(level.path.split(), [])
        if "AGENT" in level.slots:
            lines.append(f"complete -c hermit{where} -a '(__hermit_agents)'")
        if "FILE" in level.slots:
            lines.append(f"complete -c hermit{where} -F")
        lines += [_fish_option(where, option, value, level) for option, value in level.options.items()]
    return "\n".join(lines) + "\n"


def _fish_where(path: list[str], but: list[str]) -> str:
    """Where a line holds: after each of these words, and before any of those."""
    if not path:
        return " -n __fish_use_subcommand"
    conditions = [f"__fish_seen_subcommand_from {word}" for word in path]
    conditions += [f"not __fish_seen_subcommand_from {' '.join(but)}"] if but else []
    return f" -n {quote('; and '.join(conditions))}"


def _fish_option(where: str, option: str, value: str, level: CompletionLevel) -> str:
    name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
    takes = {"": "", "FILE": " -r -F", "*": " -x", "AGENT": " -x -a '(__hermit_agents)'"}
    takes_value = takes.get(value, f" -x -a {quote(value)}")
    return f"complete -c hermit{where} {name}{takes_value} -d {quote(level.told.get(option, ''))}"
