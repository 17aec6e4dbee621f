"""Commands: whatever is written, the reader of bash and the judge come to one verdict and never fall over."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.approvals.bash.bodies import outline_script
from orchestrator.approvals.bash.parser import read_script
from orchestrator.approvals.bash.parts import Simple
from orchestrator.approvals.policy.judge import judge_command
from orchestrator.approvals.policy.languages import read_code
from orchestrator.core.models import ApprovalPolicy, Ruling
from tests.fuzzing import bounded

_WORD = st.sampled_from(
    ["rm", "-rf", "/", "ls", "$x", "${x:-rm}", '"a b"', "'c'", "a\\ b", "$(rm x)", "`rm x`", "*", "~", "{a,b}", "é",
     "\ud800", "x=1",
     "$((1+2))", "<(rm x)", "2>&1", ">f", "<<<y", "eval", "bash", "-c", "xargs", "env", "sudo", "find", "-exec",
     "\\;", "--", "git",
     "push", "-f", "python3", "import os;os.remove('a')", "$'\\x72m'", "!", "[[", "]]", "\t", "\x7f", "\u00a0",
     "\U000ca6c0"]
)  # fmt: skip
_SIMPLE = st.lists(_WORD, min_size=1, max_size=6).map(" ".join)
_QUOTED = st.sampled_from(["'{}'", '"{}"', "$({})", "`{}`", "bash -c '{}'", "eval \"{}\"", "python3 -c \"{}\"",
"f() {{ {}; }}; f", "({})",
    "cat <<E\n{}\nE\n", "cat <<'E' | sh\n{}\nE\n", "if {}; then {}; fi", "for i in {}; do {}; done",
    "case x in a) {};; esac", "while {}; do :; done",
    "{} | {}", "{} && {}", "{} &", "! {}", "xargs {}", "timeout 1 {}", "find . -exec {} \\;", "awk '{}'",
    "A=1 {}"])  # fmt: skip
_COMMANDS = st.recursive(
    _SIMPLE, lambda inner: st.builds(lambda form, text: form.replace("{}", text), _QUOTED, inner), max_leaves=5
)


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    """A command with a few characters put in, taken out or cut off."""
    text = draw(_COMMANDS)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(st.sampled_from(["", *"'\"`$(){}[]|&;<>\\\n\t#!=~* aé\0\r", "<<E", "$(", "\ud800"]))
            + text[at + draw(st.integers(0, 2)) :]
        )
    return text


@bounded(300)
@given(_mutated())
def test_any_command_gets_a_verdict_soon(command: str) -> None:
    """No command raises, hangs or ends the process; what runs unasked has no reason beside it, everything else has one
    line of printable words."""
    started = time.thread_time()
    verdict = judge_command(command, ApprovalPolicy.DANGEROUS)
    assert time.thread_time() - started < 3.0
    assert judge_command(command, ApprovalPolicy.ALL).ruling in (Ruling.ASK, Ruling.REFUSE)
    assert (verdict.ruling is Ruling.RUN) == (not verdict.reason)
    assert verdict.reason.isprintable()


@bounded(300)
@given(_mutated())
def test_what_is_read_was_written(command: str) -> None:
    """Every word that the reader reports stands in the text, and shortening puts nothing into it."""
    command = command.encode("utf-8", "replace").decode()
    reading = read_script(command)
    short = outline_script(command)
    assert len(short.text) <= len(command) + 20 * len(short.bodies)
    for part in reading.parts:
        if isinstance(part, Simple):
            assert all(word.raw in command or "\\\n" in command or short.bodies for word in part.words)


_CODE = st.lists(
    st.sampled_from(
        ["import os", "os", ".", "system", "remove", "(", ")", "'rm x'", '"', "'", '"""', "\n", "\\", "f'{", "}",
         "#", "%x{", "`", "=", ";", "exec",
         "subprocess.run", "[", "]", ",", "/*", "*/", "--", "//", "$", "\0", "é", "DELETE FROM t", "q(", "<<E",
         "lambda:", "b'\\xff'", "0x", "1e9"]
    ),
    max_size=20,
).map("".join)  # fmt: skip


@bounded(300)
@given(
    st.sampled_from(["python", "perl", "javascript", "ruby", "php", "awk", "sql", "lua", "r", "tcl", "julia"]),
    _CODE | st.text(max_size=80),
)
def test_any_code_is_read(language: str, code: str) -> None:
    """No code of any language makes its reader raise, and reading it again finds the same."""
    assert [repr(part) for part in read_code(language, code)] == [repr(part) for part in read_code(language, code)]
