"""Python code on the command line: does it delete, stop processes or run dangerous commands.

Owns a look at the tokens (never at words inside strings or comments): names that delete, and what is handed to
``os.system``, ``subprocess`` and their like, which is judged as shell. It sees what a person writes plainly; names that
are put together at run time stay unseen.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orchestrator.approvals.bash.words import UNKNOWN, literal_word
from orchestrator.approvals.policy.parts import AskReason, Code, Parts, PlainCommand, ShellText

_DELETERS = frozenset({"rmtree", "unlink", "rmdir", "removedirs", "truncate", "ftruncate", "send2trash"})
_OF_OS = {"remove": "It deletes files", "kill": "It stops processes", "killpg": "It stops processes"}
_RUNS = re.compile(
    r"system|popen|Popen|check_call|check_output|getoutput|getstatusoutput|create_subprocess_(?:shell|exec)|posix_spawnp?"
    r"|exec[lv]p?e?|spawn[lv]p?e?"
)
_OF_SUBPROCESS = frozenset({"run", "call"})
_SQL = frozenset({"execute", "executemany", "executescript"})
_MODULES = frozenset({"os", "subprocess", "shutil", "builtins", "__builtins__", "pathlib"})
MADE = "It runs Python code that is made while it runs"
_MAX_ARGUMENT = 400  # tokens of one argument that are looked at
_UNKNOWN_NAME = "_hermit_unknown_"
_SKIPPED = frozenset({"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER"})


class _Token(NamedTuple):
    kind: str
    """``NAME``, ``STRING`` (``text`` is its value), ``OP`` or another."""
    text: str
    line: str


def check_python(code: str) -> Parts:
    """The findings about the code, and the texts that it hands to a shell."""
    try:
        tokens = _list_tokens(code.replace(UNKNOWN, _UNKNOWN_NAME))
    except (tokenize.TokenError, SyntaxError):
        yield AskReason("It runs Python code that couldn't be analysed", code)
        return
    modules = _module_names(tokens)
    is_guessing = False
    for at, token in enumerate(tokens):
        if token.kind != "NAME":
            continue
        before = tokens[at - 2].text if at > 1 and tokens[at - 1].text == "." else ""
        what = _judge_name(token, tokens, at, modules.get(before, "")) or _find_built_code(tokens, at, modules)
        if what:
            yield AskReason(what, token.line.strip())
        elif at + 1 < len(tokens) and tokens[at + 1].text == "(":
            handed = list(_handed_over(tokens, at, modules.get(before, "")))
            yield from handed
            is_guessing = is_guessing or (not handed and _is_runner(token.text, modules.get(before, "")))
    if is_guessing:  # the command was put into a variable first: any text in the code may be it
        yield from _guess_findings(tokens)


def _list_tokens(code: str) -> list[_Token]:
    found: list[_Token] = []
    pieces: list[str] = []  # of an f-string, where Python takes one apart
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            depth += 1
        elif kind == "FSTRING_END":
            depth -= 1
            if not depth:
                found.append(_Token("STRING", "".join(pieces), token.line))
                pieces.clear()
        elif depth:
            pieces.append(token.string if kind == "FSTRING_MIDDLE" else UNKNOWN)
        elif kind == "STRING":
            found.append(_Token(kind, _literal_value(token.string), token.line))
        elif kind not in _SKIPPED:
            found.append(_Token(kind, token.string, token.line))
    return found


def _literal_value(source: str) -> str:
    """What a string literal holds; the parts that an f-string works out are unknown."""
    prefix = source[: min(source.find(quote) for quote in "'\"" if quote in source)].lower()
    if "f" in prefix:
        inner = source[len(prefix) :].strip(source[len(prefix)])
        pieces = []
        for index, piece in enumerate(inner.replace("{{", "").replace("}}", "").split("{")):
            pieces.append(piece if not index else UNKNOWN + piece.partition("}")[2])
        return "".join(pieces)
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return source
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.replace(_UNKNOWN_NAME, UNKNOWN)


def _module_names(tokens: Sequence[_Token]) -> dict[str, str]:
    """Which module a name stands for, as far as ``os`` and ``subprocess`` go. The empty name: imported from them."""
    names = {"os": "os", "subprocess": "subprocess"}
    for at, token in enumerate(tokens[:-2]):
        if token.text == "import" and tokens[at + 1].text in ("os", "subprocess") and tokens[at + 2].text == "as":
            names[tokens[min(at + 3, len(tokens) - 1)].text] = tokens[at + 1].text
        if token.text == "from" and tokens[at + 1].text in ("os", "subprocess") and tokens[at + 2].text == "import":
            names[""] = tokens[at + 1].text
    return names


def _judge_name(token: _Token, tokens: Sequence[_Token], at: int, module: str) -> str:
    if token.text in _DELETERS:
        return "It deletes or truncates files"
    if token.text in _OF_OS and module == "os":
        tests_only = token.text == "kill" and [t.text for t in tokens[at : at + 6]][-2:] == ["0", ")"]
        return "" if tests_only else _OF_OS[token.text]
    return ""


def _find_built_code(tokens: Sequence[_Token], at: int, modules: Mapping[str, str]) -> str:
    """Code, or the name of what is called, is put together while it runs."""
    name, is_called = tokens[at].text, at + 1 < len(tokens) and tokens[at + 1].text == "("
    if not is_called or (at and tokens[at - 1].text in (".", "def", "class")):
        return ""
    first = _first_argument(tokens, at + 2)
    if name in ("exec", "eval", "compile", "__import__"):
        return "" if len(first) == 1 and first[0].kind == "STRING" else MADE
    if name == "getattr" and first and first[0].text in (*modules, *_MODULES):
        second = _first_argument(tokens, at + 2 + len(first) + 1)
        if len(second) != 1 or second[0].kind != "STRING":
            return MADE
        return "It deletes or cuts files" if second[0].text in (*_DELETERS, "remove") else ""
    return ""


def _is_runner(name: str, module: str) -> bool:
    return _RUNS.fullmatch(name) is not None or (name in _OF_SUBPROCESS and module == "subprocess")


def _handed_over(tokens: Sequence[_Token], at: int, module: str) -> Parts:
    """What the call at the token hands to a shell, a database or Python itself."""
    name = tokens[at].text
    if not _is_runner(name, module) and name not in _SQL and name not in ("exec", "eval"):
        return
    first = _first_argument(tokens, at + 2)
    if not any(token.kind == "STRING" for token in first):
        return
    if name in _SQL:
        yield Code("sql", _parse_text(first))
    elif name in ("exec", "eval"):
        if len(first) == 1:
            yield Code("python", first[0].text)
    elif first[0].text in ("[", "("):
        yield _parse_argv(first)
    else:
        yield ShellText(_parse_text(first), is_guess=True)


def _first_argument(tokens: Sequence[_Token], start: int) -> Sequence[_Token]:
    depth = 0
    end = start
    while end < min(len(tokens), start + _MAX_ARGUMENT):
        token = tokens[end]
        if token.kind == "OP":
            if not depth and token.text in (",", ")"):
                break
            depth += (token.text in "([{") - (token.text in ")]}")
        end += 1
    argument = tokens[start:end]
    is_named = len(argument) > 2 and argument[0].kind == "NAME" and argument[1].text == "="
    return argument[2:] if is_named else argument


def _parse_argv(argument: Sequence[_Token]) -> PlainCommand:
    """``["rm", "-r", name]`` as a command."""
    elements: list[list[_Token]] = [[]]
    for token in argument[1:]:
        if token.text in ("]", ")") and token.kind == "OP":
            break
        if token.text == "," and token.kind == "OP":
            elements.append([])
        else:
            elements[-1].append(token)
    return PlainCommand(tuple(literal_word(_parse_text(element)) for element in elements if element), is_guess=True)


def _parse_text(argument: Sequence[_Token]) -> str:
    """The text that an expression makes; what is not written out in it is unknown."""
    pieces: list[str] = []
    for at, token in enumerate(argument):
        following = argument[at + 1].text if at + 1 < len(argument) else ""
        if token.kind == "STRING":
            pieces.append(token.text)
        elif token.kind == "NAME" and following not in ("(", "."):
            pieces.append(UNKNOWN)
    return "".join(pieces)


def _guess_findings(tokens: Sequence[_Token]) -> Parts:
    for at, token in enumerate(tokens):
        if token.kind == "STRING":
            yield ShellText(token.text, is_guess=True)
        elif token.text == "[" and at + 1 < len(tokens) and tokens[at + 1].kind == "STRING":
            yield _parse_argv(tokens[at : at + _MAX_ARGUMENT])
