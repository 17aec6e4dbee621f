"""What the reading of bash sees: the commands, their words, what feeds them, and what it does not trust itself with."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.approvals.bash.bodies import outline_script
from orchestrator.approvals.bash.parser import MAX_CHARS, read_script
from orchestrator.approvals.bash.parts import ParsedCommand, Problem, Redirect, Simple, Stdin
from orchestrator.approvals.bash.words import UNKNOWN


def _commands(reading: ParsedCommand) -> list[Simple]:
    return [part for part in reading.parts if isinstance(part, Simple)]


def _texts(text: str) -> list[list[str]]:
    reading = read_script(text)
    assert reading.problem is Problem.NONE
    return [[word.text for word in command.words] for command in _commands(reading)]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("ls -la", [["ls", "-la"]]),
        ("", []),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("(a; { b; })", [["a"], ["b"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("for x in 1 2; do a $x; done", [["a", UNKNOWN]]),
        ("case $x in a|b) c;; *) d;& e) f;; esac", [["c"], ["d"], ["f"]]),
        ("A=1 B=$(c) d", [["d"], ["c"]]),
        ("a 2>/dev/null b >c d", [["a", "b", "d"]]),
        ("a && b 2>x c", [["a"], ["b", "c"]]),
        (">x a b", [["a", "b"]]),
        ("a <<E b\nc\nE", [["a", "b"]]),
        ("a <<E | b\nc\nE\nd", [["a"], ["b"], ["d"]]),
        ("a $(b `c` \"$(d)\") <(e)", [["a", UNKNOWN, UNKNOWN], ["b", UNKNOWN, UNKNOWN], ["c"], ["d"], ["e"]]),
        ("3>&1 a 4>b", [["a"]]),
        ("exec {fd}>x", [["exec"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("[[ -f x ]] && a", [["a"]]),
    ],
)  # fmt: skip
def test_commands_are_found_wherever_they_stand(text: str, commands: list[list[str]]) -> None:
    """Every simple command of a text is read, with the words that are its own."""
    assert _texts(text) == commands


@pytest.mark.parametrize(
    ("written", "text", "is_plain"),
    [
        ("a", "a", True),
        ("r\\m", "rm", True),
        ("'a b'", "a b", True),
        ('a"b c"d', "ab cd", True),
        ('"a\\"\\$\\x"', 'a"$\\x', True),
        ("$'\\x72\\155\\u0021\\t'", "rm!\t", True),
        ("$'a\\0b'", "a", True),
        ('$"rm"', "rm", True),
        ("r\\\nm", "rm", True),
        ("~/x", "/app/workspace/work/x", True),
        ("$HOME/x", "/app/workspace/work/x", True),
        ('"${HOME}"', "/app/workspace/work", True),
        ("a$b", "a" + UNKNOWN, False),
        ('"${b:-c}d"', UNKNOWN + "d", False),
        ("$(b)", UNKNOWN, False),
        ("*.c", "*.c", False),
        ("'*.c'", "*.c", True),
        ("{a,b}", "{a,b}", False),
        ("{}", "{}", True),
        ("é", "é", True),
    ],
)
def test_words_are_read_as_the_shell_reads_them(written: str, text: str, *, is_plain: bool) -> None:
    """Quotes and escapes are undone; what only a running shell knows is marked."""
    (command,) = [command for command in _commands(read_script("x " + written)) if command.words[0].text == "x"]
    assert (command.words[1].text, command.words[1].is_plain) == (text, is_plain)
    assert command.words[1].raw == written


@pytest.mark.parametrize(
    ("text", "stdin"),
    [
        ("a", Stdin()),
        ("a < file", Stdin()),
        ("x | a", Stdin(is_piped=True)),
        ("x | (y; a)", Stdin(is_piped=True)),
        ("x | a < file", Stdin()),
        ("echo b c | a", Stdin(is_piped=True, text="b c")),
        ("a < <(x)", Stdin(is_piped=True)),
        ("a <<< 'b c'", Stdin(text="b c\n")),
        ("a <<'E'\n$b `c`\nE", Stdin(text="$b `c`\n")),
        ("a <<E\n$b \\$c\nE", Stdin(text=UNKNOWN + " $c\n")),
        ("a <<E\n$(b) \\`c\\` ${d}\nE", Stdin(text=f"{UNKNOWN} `c` {UNKNOWN}\n")),
        ("a <<E\n\\item $b\n\\\\$c\nE", Stdin(text=f"\\item {UNKNOWN}\n\\{UNKNOWN}\n")),
        ("x && a <<E\nb\nE", Stdin(text="b\n")),
        ("{ a; } <<E\nb\nE", Stdin(text="b\n")),
        ("x | a <<E\nb\nE", Stdin(text="b\n")),
    ],
)
def test_what_a_command_reads_is_known(text: str, stdin: Stdin) -> None:
    """A pipe, a here-document or a here-string reaches the command it belongs to."""
    assert [command.stdin for command in _commands(read_script(text)) if command.words[0].text == "a"] == [stdin]


@pytest.mark.parametrize(
    ("text", "redirects"),
    [
        ("a > b", [("b", False)]),
        ("a >> b 2>&1 3>&-", [("b", False)]),
        ("> b", [("b", True)]),
        (": > b", [("b", True)]),
        (": >> b", [("b", False)]),
        ("a &> $b", [(UNKNOWN, False)]),
        ("cat <<E > b\nc\nE", [("b", False)]),
        ("while a; do b; done > c < d", [("c", False)]),
    ],
)
def test_redirections_are_found(text: str, redirects: list[tuple[str, bool]]) -> None:
    """Each redirection of output is read, and whether it only empties its file."""
    found = [part for part in read_script(text).parts if isinstance(part, Redirect)]
    assert [(part.target.text, part.empties) for part in found] == redirects


def test_own_jobs_are_variables_that_hold_nothing_else() -> None:
    """A variable counts as an own job only while all that is put into it is ``$!``."""
    assert read_script('a & X=$!; Y="$!"; kill $X').own_jobs == {"X", "Y"}
    assert read_script("a & X=$!; X=1; kill $X").own_jobs == frozenset()


def test_text_in_backquotes_with_backslashes_is_handed_on() -> None:
    """Backquotes within backquotes are read on their own, one level undone."""
    assert "echo `rm x`" in read_script("echo `echo \\`rm x\\``").parts


@pytest.mark.parametrize(
    "text",
    [
        "echo 'a",
        "if a; then b",
        "a )",
        "ls\n\\rm x",
        "a\x01",
        "a\rb",
        "a <<'E'x\nb\nEx",
        "coproc X { a; b; }",
        "echo $\\\n(rm)",
    ],
)
def test_what_is_not_understood_says_so(text: str) -> None:
    """Broken text, and text on which the grammar and bash disagree, is reported and not half read."""
    reading = read_script(text)
    assert (reading.problem, reading.parts) == (Problem.UNPARSABLE, ())


def test_long_text_is_not_read() -> None:
    """Text that could cost the parser too much is left alone; long data in here-documents is no such text."""
    assert read_script("a " * MAX_CHARS).problem is Problem.TOO_LONG
    data = "x | y $(z) 'q\n" * 2_000
    reading = read_script(f"cat > a <<'E' && b\n{data}E\nc")
    assert [command.words[0].text for command in _commands(reading)] == ["cat", "b", "c"]
    assert _commands(reading)[0].stdin.text == data


@pytest.mark.parametrize(
    "first_line",
    ['echo "', "echo '", "echo $(", "echo `", "echo $((1<<E", "echo \\", "x=${a:-", "cat << 'E'x"],
)
def test_only_sure_data_is_taken_out(first_line: str) -> None:
    """Behind a line whose quotes may go on, nothing is taken for a here-document."""
    text = f"{first_line}\ncat <<'E'\n" + "rm x\n" * 500 + "E\n"
    shortened = outline_script(text)
    assert shortened.text == text


def test_taken_out_data_can_be_put_back() -> None:
    """Nothing is lost: each line that stands for data leads to it."""
    body = "rm x\n" * 500
    shortened = outline_script(f"cat <<'E' | cat - <<-F\n{body}E\n\t$(x)\n\tF\nls")
    ((key, taken),) = shortened.bodies.items()
    assert taken == body
    assert shortened.text == f"cat <<'E' | cat - <<-F\n{key}\nE\n\t$(x)\n\tF\nls"


@settings(max_examples=300)
@given(st.text(alphabet="rm x\n'\"`$(){}|&;<>E\\#=*~[]!-\r\té\u202e", max_size=60))
def test_any_text_is_read_the_same_way_twice(text: str) -> None:
    """Reading never raises and depends on nothing but the text."""
    assert read_script(text) == read_script(text)
