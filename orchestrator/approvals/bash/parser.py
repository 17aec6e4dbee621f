"""From the text of a bash command to the simple commands in it, however nested.

Owns the reading: tree-sitter parses, a walk without recursion collects every command and every redirection with what
they stand in (a pipe, a here-document, a function). It decides nothing about danger and never runs anything. Reading is
bounded: the parser needs quadratic time and memory for hostile text, so long text is shortened first (here-documents
are data) or not read at all, and parsing ends at the first error. What cannot be read says so in
``ParsedCommand.problem``.
"""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from orchestrator.approvals.bash.bodies import Outline, outline_script
from orchestrator.approvals.bash.parts import NO_INPUT, Assignment, ParsedCommand, Problem, Redirect, Simple, Stdin
from orchestrator.approvals.bash.source import BashSource
from orchestrator.approvals.bash.words import UNKNOWN, UnreadableWord, Word, literal_word, unescape_heredoc

MAX_CHARS = 8_000
"""What the parser is given at most, here-documents apart; its worst case takes about a quarter of a second then."""
MAX_PIPES = 400
"""An unfinished pipeline costs the parser memory by the square of its length."""

_BASH = Language(tree_sitter_bash.language())
_SMALL = 1_500  # parsed without the detour that lets an error end the parse early
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_RESERVED = frozenset(
    re.split(" ", "! { } ( ) [[ ]] if then else elif fi for while until do done case esac select function in ;;")
)
_SILENT = frozenset({":", "true", "cat /dev/null", "echo -n", "printf ''", 'printf ""'})
_OWN_JOB = re.compile(r'(\w+)=("?)(?:\$!|\$\{!\})\2')
_BACKQUOTED = re.compile(r"(?<!\\)`((?:\\.|[^`\\])*)`", re.DOTALL)
_DELIMITER = re.compile(r"""\\?[\w.!%+:,@/-]+|'[\w.!%+:,@/ -]+'|"[\w.!%+:,@/ -]+\"""", re.ASCII)
_BLANK = re.compile(r"\s")
_SPLIT_ASSIGNMENT = re.compile(r"[\w\\\n]*\\\n[\w\\\n]*\+?=")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_PLAIN_VALUE = re.compile(r"""([\w./:@%+,-]*)|"([\w ./:@%+,=-]*)\"|'([\w ./:@%+,=-]*)'""")
_SUBSCRIPT = re.compile(r"""'[^']*\[[^']*(?:\$\(|`)""")
_ONE_LINE = frozenset(
    ["command", "redirected_statement", "file_redirect", "herestring_redirect", "declaration_command", "unset_command"]
)
_CASE_ENDS = frozenset({";;", ";&", ";;&"})
# not seen by the grammar: `$(` over two lines, and a `#` that begins no comment
_GLUED = re.compile(r"\$\\\n|\S(?:\\\n)+#|\\[ \t]#")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class _Context(NamedTuple):
    """What a node inherits from those around it."""

    stdin: Stdin = NO_INPUT
    own: Stdin | None = None  # a redirection that belongs to the last command of the node
    extra: tuple[Word, ...] = ()  # words that the grammar put behind a redirection, and that belong there too
    function: str = ""
    is_forked: bool = False
    empties: bool = False  # for a redirection: no command writes into it


def read_script(text: str) -> ParsedCommand:
    """What the text would run. Never raises on any text that encodes to UTF-8."""
    try:
        short = outline_script(text)
        if len(short.text) > MAX_CHARS or short.text.count("|") > MAX_PIPES:
            return ParsedCommand(problem=Problem.TOO_LONG)
        if _CONTROL.search(short.text) or _GLUED.search(short.text):
            return ParsedCommand(problem=Problem.UNPARSABLE)
        source = BashSource(short.text)
        root = _parse_source(source.bytes)
        if root is None or root.has_error:
            return ParsedCommand(problem=Problem.UNPARSABLE)
        return _Walk(source, short).walk_node(root)
    except UnreadableWord:
        return ParsedCommand(problem=Problem.UNPARSABLE)


def _parse_source(source: bytes) -> Node | None:
    """The root of the tree, or None when an error ended the parse early."""
    if len(source) <= _SMALL:
        tree = Parser(_BASH).parse(source)
        return tree.root_node if tree else None
    try:
        tree = Parser(_BASH).parse(lambda at, _: source[at : at + 4096], progress_callback=lambda _, failed: failed)
    except ValueError:  # how the binding says that the callback ended it
        return None
    return tree.root_node if tree else None


class _Walk:
    """One walk over one tree."""

    def __init__(self, source: BashSource, short: Outline) -> None:
        self._source = source
        self._short = short
        self._parts: list[Simple | Redirect | str] = []
        self._own_jobs: set[str] = set()
        self._other_variables: set[str] = set()
        self._assignments: list[Assignment] = []
        self._expands_prompt = False
        self._todo: list[tuple[Node, _Context]] = []

    def walk_node(self, root: Node) -> ParsedCommand:
        self._todo.append((root, _Context()))
        while self._todo:
            node, context = self._todo.pop()
            self._visit_node(node, context)
        jobs = frozenset(self._own_jobs - self._other_variables)
        return ParsedCommand(tuple(self._parts), jobs, tuple(self._assignments), self._expands_prompt)

    def _visit_node(self, node: Node, context: _Context) -> None:
        if not node.child_count:
            return
        if node.type in _ONE_LINE:
            self._source.check_one_line(node)
        match node.type:
            case "command":
                self._visit_command(node, context)
            case "redirected_statement":
                self._visit_redirected(node, context)
            case "pipeline" | "list" | "negated_command":
                self._visit_series(node, context)
            case "function_definition":
                name = node.child_by_field_name("name")
                self._visit_children(node, context._replace(function=self._source.raw_text(name) if name else ""))
            case "command_substitution" if self._source.raw_text(node).startswith("`"):
                self._visit_backquotes(node, context)
            case "process_substitution" if self._source.raw_text(node).lstrip().startswith(">("):
                self._visit_children(node, context._replace(stdin=Stdin(is_piped=True), own=None))
            case "heredoc_redirect":
                self._visit_heredoc(node, context)
            case "file_redirect":
                self._note_redirect(node, context)
                self._visit_children(node, context)
            case _:
                self._check_node(node)
                self._visit_children(node, context)

    def _check_node(self, node: Node) -> None:
        """Notes assignments. Raises where the grammar is known to read otherwise than bash."""
        match node.type:
            case "variable_assignment":
                self._note_assignment(node)
            case "string" | "expansion":
                self._source.check_nothing_hides(node)
                self._expands_prompt = self._expands_prompt or self._source.raw_text(node).endswith("@P}")
            case "test_command":
                self._expands_prompt = (
                    self._expands_prompt or _SUBSCRIPT.search(self._source.raw_text(node)) is not None
                )
            case "declaration_command" | "unset_command":
                words = self._source.list_words(
                    [child for child in node.children if child.type != "variable_assignment"]
                )
                self._parts.append(Simple(words, NO_INPUT, "", is_forked=False))
            case "simple_expansion" if _BLANK.search(self._source.raw_text(node).strip()):
                raise UnreadableWord  # `$ rm` is a dollar sign and a command

    def _visit_children(self, node: Node, context: _Context) -> None:
        stdin = context.own or context.stdin
        if context.extra:  # `A=1 >file B=2 rm x`: the grammar saw no command before the redirection
            self._add_command(context.extra, stdin, context)
        inner = _Context(stdin, function=context.function, is_forked=context.is_forked)
        forked = inner._replace(is_forked=True)
        following = ""
        for child in reversed(node.children):
            self._todo.append((child, forked if following == "&" else inner))
            following = child.type
            if following in _CASE_ENDS and node.type != "case_item":
                raise UnreadableWord

    def _visit_series(self, node: Node, context: _Context) -> None:
        """``a | b``, ``a && b``: a redirection behind it belongs to the last, a pipe to every one but the first."""
        is_forked = context.is_forked or node.type == "pipeline"
        inner = _Context(context.stdin, function=context.function, is_forked=is_forked)
        visits: list[tuple[Node, _Context]] = []
        for child in node.children:
            if child.type in ("|", "|&"):
                echoed = self._read_echo(visits[-1][0]) if visits else None
                inner = inner._replace(stdin=Stdin(is_piped=True, text=echoed))
            else:
                visits.append((child, inner))
        last, inner = visits[-1]
        visits[-1] = (last, inner._replace(own=context.own, extra=context.extra))
        self._todo.extend(reversed(visits))

    def _visit_redirected(self, node: Node, context: _Context) -> None:
        body, own, extra = None, context.own, context.extra
        redirects: list[Node] = []
        for child in node.children:
            if child.type not in _REDIRECTS:
                body = child
                continue
            redirects.append(child)
            own = self._read_input(child) or own
            extra += self._source.list_words(_words_behind(child))
        empties = body is None or self._writes_nothing(body)
        outside = context._replace(own=None, extra=(), empties=empties)
        self._todo.extend((redirect, outside) for redirect in reversed(redirects))
        if body is not None:
            self._todo.append((body, context._replace(own=own, extra=extra)))

    def _visit_command(self, node: Node, context: _Context) -> None:
        stdin = context.stdin
        for child in node.children:
            if child.type in _REDIRECTS:
                stdin = self._read_input(child) or stdin
        stdin = context.own or stdin  # written behind those, and the last one counts
        words = self._source.list_words(_word_nodes(node)) + context.extra
        if words and (words[0].raw in _RESERVED or _SPLIT_ASSIGNMENT.match(words[0].raw)):
            raise UnreadableWord  # the grammar took a keyword for a command: it lost its way without noticing
        self._add_command(words, stdin, context)
        self._visit_children(node, context._replace(extra=()))

    def _add_command(self, words: tuple[Word, ...], stdin: Stdin, context: _Context) -> None:
        command = tuple(dropwhile(lambda word: _ASSIGNMENT.match(word.raw), words))
        for word in words[: len(words) - len(command)]:
            self._assignments.append(Assignment(word.raw.partition("=")[0].rstrip("+"), word.raw))
        self._parts.append(Simple(command, stdin, context.function, context.is_forked))

    def _visit_backquotes(self, node: Node, context: _Context) -> None:
        """The grammar does not undo the backslashes of `` `…` ``, so a text that has some is read on its own."""
        raw = self._source.raw_text(node)[1:-1]
        if "\\" in raw:
            self._parts.append(re.sub(r"\\([$`\\\"])", r"\1", raw))
        else:
            self._visit_children(node, context)

    def _visit_heredoc(self, node: Node, context: _Context) -> None:
        body = _find_child(node, "heredoc_body")
        self._check_delimiter(node)
        if body is not None and self._is_live(node):
            # the grammar sees `$(…)` in a here-document, but not `…` in backquotes
            self._parts.extend(_BACKQUOTED.findall(self._source.mask_text(body)))
        self._visit_children(node, context)

    def _check_delimiter(self, heredoc: Node) -> None:
        """Raises when bash may end the here-document elsewhere than the grammar did."""
        start, end = _find_child(heredoc, "heredoc_start"), _find_child(heredoc, "heredoc_end")
        if start is None or end is None or not _DELIMITER.fullmatch(self._source.raw_text(start)):
            raise UnreadableWord
        if not self._source.ends_word(start) or self._source.next_char(end) not in ("", "\n"):
            raise UnreadableWord
        if self._source.raw_text(end).strip() != self._source.raw_text(start).strip("\\'\""):
            raise UnreadableWord
        body = _find_child(heredoc, "heredoc_body") or end
        if self._source.text_between(start, body).replace("\\\n", "").partition("\n")[2].strip():
            raise UnreadableWord  # a first line of data was taken for more of the command

    def _note_assignment(self, node: Node) -> None:
        if not self._source.is_last_word(node):
            raise UnreadableWord
        own_job = _OWN_JOB.fullmatch(self._source.raw_text(node))
        name, _, value = self._source.raw_text(node).partition("=")
        plain = _PLAIN_VALUE.fullmatch(value)
        self._assignments.append(
            Assignment(name.rstrip("+"), f"{name}={value}", plain and "".join(filter(None, plain.groups())))
        )
        if own_job:
            self._own_jobs.add(own_job[1])
        elif node.children:
            self._other_variables.add(self._source.raw_text(node.children[0]))

    def _note_redirect(self, node: Node, context: _Context) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        target = node.child_by_field_name("destination")
        if target is None:
            return
        word = self._source.last_word(target)
        if operator in ("<", "<&", "<&-", ">&-"):
            return
        if operator == ">&" and set(word.raw) & set("'\"$`\\"):
            raise UnreadableWord  # bash expands such a word even within single quotes
        if operator == ">&" and word.raw.isdigit():
            return
        empties = context.empties and operator not in (">>", "&>>", "<>")
        self._parts.append(Redirect(word, f"{operator} {word.raw}", empties))

    def _read_input(self, redirect: Node) -> Stdin | None:
        """What the redirection gives a command to read, or None when it is one of output."""
        if redirect.type == "herestring_redirect":
            return Stdin(text=self._source.last_word(redirect.children[-1]).text + "\n")
        if redirect.type == "heredoc_redirect":
            return Stdin(text=self._read_heredoc(redirect))
        if redirect.children[0].type != "<":
            return None
        target = redirect.child_by_field_name("destination")
        return Stdin(is_piped=target is not None and target.type == "process_substitution")

    def _read_heredoc(self, node: Node) -> str:
        body = _find_child(node, "heredoc_body")
        if body is None:
            return ""
        text = self._source.raw_text(body)
        if text.strip() in self._short.bodies:
            return self._short.bodies[text.strip()]
        if not self._is_live(node):
            return text
        return unescape_heredoc(_BACKQUOTED.sub(UNKNOWN, self._source.mask_text(body)))

    def _is_live(self, heredoc: Node) -> bool:
        start = _find_child(heredoc, "heredoc_start")
        return start is not None and not set(self._source.raw_text(start)) & set("'\"\\")

    def _read_echo(self, node: Node) -> str | None:
        """What a plain ``echo`` or ``printf`` writes into the pipe behind it."""
        if node.type != "command":
            return None
        name, *rest = self._source.list_words(_word_nodes(node)) or (literal_word(""),)
        if name.text not in ("echo", "printf"):
            return None
        return " ".join(word.text for word in rest)

    def _writes_nothing(self, body: Node) -> bool:
        return body.type == "command" and self._source.raw_text(body) in _SILENT


def _find_child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.children if child.type == kind), None)


def _word_nodes(command: Node) -> list[Node]:
    """The nodes of a command's words; the grammar may hide some behind a redirection."""
    nodes: list[Node] = []
    for child in command.children:
        if child.type in _REDIRECTS:
            nodes.extend(_words_behind(child))
        elif child.type != "variable_assignment":
            nodes.append(child)
    return nodes


def _words_behind(redirect: Node) -> list[Node]:
    if redirect.type == "heredoc_redirect":
        return redirect.children_by_field_name("argument")
    return redirect.children_by_field_name("destination")[1:]
