"""Code in languages other than bash and Python: words that delete, and texts that the code hands to a shell.

Owns one table of patterns. It is no parser: it knows what a deletion looks like when a person writes it plainly, and
asks rather once too often. SQL is read by statement: what drops, empties or deletes without saying which rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.approvals.bash.parts import Stdin
from orchestrator.approvals.bash.words import UNKNOWN, literal_word
from orchestrator.approvals.policy.parts import AskReason, Parts, PlainCommand, ShellText
from orchestrator.approvals.policy.python import check_python


@dataclass(frozen=True, slots=True)
class _Language:
    deletes: re.Pattern[str]
    runs: re.Pattern[str]
    makes: re.Pattern[str]
    """Code that is put together while it runs."""
    backquotes_run: bool = False


def _make_language(deletes: str, runs: str, *, makes: str = r"(?!)", backquotes_run: bool = False) -> _Language:
    return _Language(re.compile(deletes), re.compile(runs), re.compile(makes), backquotes_run)


MADE = "It runs code that is made while it runs"


_LANGUAGES = {
    "awk": _make_language(r"(?!)", r"\bsystem\s*\(|(?<!\|)\|(?!\|)&?(?=\s*\")"),
    "javascript": _make_language(
        r"\b(?:rm|unlink|rmdir|f?truncate|rimraf|emptyDir)\s*\(|\b(?:rm|unlink|rmdir|f?truncate|remove|emptyDir)Sync\b"
        r"|\bprocess\.kill\s*\(",
        r"\b(?:exec|execSync|spawn|spawnSync|execFile|execFileSync)\s*\(",
        makes=(
            r"\beval\s*\(|\bFunction\s*\(|\bvm\.(?:run|compile)\w*\s*\("
            r"|\b(?:require|import)\s*\((?!\s*['\"`][^'\"`]*['\"`]\s*\))"
        ),
    ),
    "julia": _make_language(r"\brm\s*\(", r"(?!)", backquotes_run=True),
    "lua": _make_language(r"\bos\.remove\b", r"\b(?:os\.execute|io\.popen)\b", makes=r"\bload(?:string)?\s*\("),
    "perl": _make_language(
        r"\b(?:unlink|rmtree|remove_tree|rmdir|truncate)\b|\bkill\s*[('\"\d-]",
        r"\b(?:system|exec|readpipe|qx|open)\b",
        makes=r"\beval\b(?!\s*\{)",
        backquotes_run=True,
    ),
    "php": _make_language(
        r"\b(?:unlink|rmdir|ftruncate)\s*\(",
        r"\b(?:system|exec|shell_exec|passthru|popen|proc_open)\b",
        makes=r"\b(?:eval|assert|create_function)\s*\(",
        backquotes_run=True,
    ),
    "r": _make_language(r"\b(?:unlink|file\.remove)\s*\(", r"\bsystem2?\s*\(", makes=r"\beval\s*\("),
    "ruby": _make_language(
        r"\b(?:unlink|safe_unlink|rmtree|rm_rf?|rm_f|rmdir|remove_entry\w*|remove_dir|remove_file|truncate)\b"
        r"|\b(?:File|Dir|Pathname)\b[^;\n]{0,80}\.delete\b|\bFileUtils\.(?:rm|remove)\b|\bProcess\.kill\b",
        r"\b(?:system|exec|spawn|popen\w*|capture\w*)\b|%x(?=[({\[])",
        makes=r"\b(?:instance_|class_|module_)?eval\b(?!\s*(?:\{|do\b))|\b(?:public_|__)?send(?:__)?\b\s*\(?\s*(?![:'\"\w])",
        backquotes_run=True,
    ),
    "tcl": _make_language(r"\bfile\s+delete\b", r"\bexec\b", makes=r"\b(?:eval|uplevel|subst)\b"),
}
_STRING = re.compile(r"""(?s)'((?:\\.|[^'\\])*)(?:'|\Z)|"((?:\\.|[^"\\])*)(?:"|\Z)|`((?:\\.|[^`\\])*)(?:`|\Z)""")
_BRACKETED = re.compile(r"\s*(?:\(([^)]{0,999})\)|\{([^}]{0,999})\}|\[([^\]]{0,999})\]|/([^/]{0,999})/)")
_BETWEEN = re.compile(r"[\s,(\[]*")
_ENDS = re.compile(r"\s*(?:[,)\];}|&]|\Z)")
_WORKED_OUT = re.compile(r"[$#]\{[^}]{0,200}\}")


def read_code(language: str, code: str) -> Parts:
    """The findings about the code, and the texts in it that are to be judged as shell."""
    if language == "python":
        yield from check_python(code)
    elif language == "sql":
        yield from _check_sql(code)
    else:
        yield from _scan_code(language, _LANGUAGES[language], code)


def _scan_code(language: str, rules: _Language, code: str) -> Parts:
    deletion = rules.deletes.search(code)
    if deletion:
        yield AskReason("It deletes files or stops processes", code[deletion.start() :])
    made = rules.makes.search(code)
    if made:
        yield AskReason(MADE, code[made.start() :])
    is_guessing = False
    for match in rules.runs.finditer(code):
        texts = _strings_at(code, match.end())
        if texts:
            stdin = Stdin(is_piped=match[0].startswith("|"))
            yield ShellText(texts[0], stdin, is_guess=True)
            yield PlainCommand(tuple(literal_word(text) for text in texts), is_guess=True)
        elif language == "tcl":
            yield ShellText(code[match.end() :].partition("\n")[0], is_guess=True)
        elif language == "awk":
            yield AskReason("It runs commands built from data", code[match.start() :])
        else:
            is_guessing = True
    for string in _STRING.finditer(code):
        if is_guessing or (rules.backquotes_run and string[3] is not None):
            yield ShellText(_string_value(string), is_guess=True)


def _strings_at(code: str, at: int) -> list[str]:
    """The literal strings of a call's arguments, as many as follow one another."""
    if code[at - 2 : at] in ("qx", "%x"):
        bracketed = _BRACKETED.match(code, at)
        return [next((text for text in bracketed.groups() if text is not None), "")] if bracketed else []
    found: list[str] = []
    while True:
        between = _BETWEEN.match(code, at)
        string = _STRING.match(code, between.end() if between else at)
        if string is None:
            return found
        at = string.end()
        is_whole = _ENDS.match(code, at)
        found.append(_string_value(string) + ("" if is_whole else UNKNOWN))


def _string_value(string: re.Match[str]) -> str:
    text = next(group for group in string.groups() if group is not None)
    text = re.sub(r"(?s)\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)
    return _WORKED_OUT.sub(UNKNOWN, text)


_SQL_NOISE = re.compile(r"(?s)'[^']*(?:'|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)")
_SQL_DROP = re.compile(r"(?i)\s*(?:drop\s+(?:table|database|schema)|truncate)\b")
_SQL_DROP_PART = re.compile(r"(?is)\s*alter\s+table\b.*\bdrop\b")
_SQL_CHANGE = re.compile(r"(?is)\s*(?:delete\s+from|update)\b|\s*with\b.*\b(?:delete\s+from|update)\b")
_SQL_WHERE = re.compile(r"(?i)\bwhere\b")
_SQL_SHELL = re.compile(r"(?m)^[ \t]*(?:\.(?:shell|system)|\\!)[ \t]+(.*)$")


def _check_sql(code: str) -> Parts:
    for statement in _SQL_NOISE.sub(" ", code).split(";"):
        if _SQL_DROP.match(statement) or _SQL_DROP_PART.match(statement):
            yield AskReason("It deletes a table or column with all its data", statement)
        elif _SQL_CHANGE.match(statement) and not _SQL_WHERE.search(statement):
            yield AskReason("It deletes or changes all rows of a table", statement)
    for line in _SQL_SHELL.finditer(code):
        yield ShellText(line[1])
