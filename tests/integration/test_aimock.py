"""Our upstreams against aimock, a mock of many providers from npm that nobody here wrote.

It is the second opinion on our reading of the dialects: OpenAI's, Anthropic's and OpenRouter's. Its exact version and
hash are in ``tests/thirdparty/aimock``; it is installed once into ``.cache/npm``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.core.errors import Stopped, UpstreamFailed
from orchestrator.core.models import ModelRequest
from orchestrator.llm.upstreams.anthropic import Anthropic
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from tests.support.npm import find_npm

pytestmark = pytest.mark.thirdparty

ROOT = Path(__file__).parents[2]
PINNED = ROOT / "tests" / "thirdparty" / "aimock"
VERSION = "1.43.0"
KEY = "sk-test-0123456789"
DIALECTS = ("openai", "openrouter", "anthropic")
Client = OpenAICompatible | Anthropic


@pytest.fixture(scope="session")
def command() -> list[str]:
    """How to start aimock."""
    npm, node = find_npm()
    home = ROOT / ".cache" / "npm" / f"aimock-{VERSION}"
    cli = home / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if not cli.exists():
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name, home / name)
        install = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(home)]
        subprocess.run(install, check=True, capture_output=True, timeout=300)
    return [node, str(cli)]


@contextmanager
def running(command: list[str], *flags: str) -> Iterator[str]:
    """Aimock on a free port of loopback; gives ``http://127.0.0.1:PORT``."""
    argv = [*command, "--port", "0", "--fixtures", str(PINNED / "fixtures.json"), *flags]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8") as process:
        try:
            yield _address(process)
        finally:
            process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if match := re.search(r"listening on (http://\S+)", line):
            # Its log is read on, so that a full pipe never stops it.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return match[1]
    raise AssertionError("aimock did not start: " + "".join(seen))


@pytest.fixture(scope="module")
def address(command: list[str]) -> Iterator[str]:
    """One well-behaved aimock for the module."""
    with running(command) as found:
        yield found


@contextmanager
def connected(dialect: str, address: str) -> Iterator[Client]:
    """An upstream of that dialect."""
    client: Client
    if dialect == "anthropic":
        client = Anthropic(KEY, "claude-sonnet-4-5", base_url=address)
    else:
        base_url = f"{address}/api/v1" if dialect == "openrouter" else f"{address}/v1"
        client = OpenAICompatible(dialect, base_url, KEY, "gpt-4o", key_setting="OPENAI_API_KEY")
    try:
        yield client
    finally:
        client.close()


def request_of(text: str) -> ModelRequest:
    """A small call."""
    messages = ({"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": text})
    return ModelRequest("", messages, 200, json_object=False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer(dialect: str, address: str) -> None:
    """A streamed answer arrives whole, in parts, with its end."""
    with connected(dialect, address) as client:
        completion = client.complete(request_of("hello"))
        parts = list(completion)
    assert "".join(parts) == '{"message": "Hello, crab 🦀! Grüße.", "terminal": ""}'
    assert len(parts) > 1
    assert completion.finish_reason == "stop"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_counted_use(dialect: str, address: str) -> None:
    """The counts of the provider are the counts that we report."""
    with connected(dialect, address) as client:
        completion = client.complete(request_of("count"))
        assert "".join(completion) == "counted"
    assert (completion.use.prompt, completion.use.completion) == (123, 45)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_is_no_part_of_the_answer(dialect: str, address: str) -> None:
    """Reasoning that a provider streams beside the answer is left out."""
    with connected(dialect, address) as client:
        assert "".join(client.complete(request_of("think first"))) == "thought through"


REFUSALS = [
    ("too often", True, 7.0, "asked too often (429)"),
    ("wrong key", False, None, "refused the key (401)"),
    ("busy", True, None, "problem of its own (529)"),
    ("nobody has an answer to this", False, None, "(404)"),
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_refusals(dialect: str, address: str, number: int) -> None:
    """Its error answers become our sentences, without a word of theirs."""
    text, may_retry, wait_s, says_so = REFUSALS[number]
    with connected(dialect, address) as client, pytest.raises(UpstreamFailed) as failed:
        list(client.complete(request_of(text)))
    assert (failed.value.may_retry, failed.value.retry_after_s) == (may_retry, wait_s)
    assert says_so in failed.value.message
    assert "sk-test" not in failed.value.message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_truncated_stream(dialect: str, address: str) -> None:
    """A stream that breaks off after three pieces is a failure that may be tried again."""
    with connected(dialect, address) as client, pytest.raises(UpstreamFailed) as failed:
        list(client.complete(request_of("be cut")))
    assert failed.value.may_retry
    assert "broke off" in failed.value.message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_stopping_a_slow_answer(dialect: str, address: str) -> None:
    """A slow stream is stopped from another thread after its first piece."""
    with connected(dialect, address) as client:
        completion = client.complete(request_of("be slow"))
        deltas = iter(completion)
        assert next(deltas)
        threading.Timer(0.05, completion.close).start()
        with pytest.raises(Stopped):
            list(deltas)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("flag", "says_so"),
    [
        ("--chaos-drop", "(500)"),
        ("--chaos-malformed", "not a model's answer"),
        ("--chaos-disconnect", "broke off the connection"),
        ("--chaos-ratelimit", "(429)"),
    ],
)
def test_chaos(command: list[str], dialect: str, flag: str, says_so: str) -> None:
    """Each kind of chaos that aimock knows ends in a plain sentence, and all are worth another try."""
    with running(command, flag, "1") as address, connected(dialect, address) as client:
        for _ in range(3):
            with pytest.raises(UpstreamFailed) as failed:
                list(client.complete(request_of("hello")))
            assert says_so in failed.value.message
            assert failed.value.may_retry


@pytest.mark.parametrize("dialect", DIALECTS)
def test_latency_between_pieces(command: list[str], dialect: str) -> None:
    """Delays before the head and between pieces change nothing."""
    flags = ("--chaos-latency", "50", "--latency", "5", "--chunk-size", "3")
    with running(command, *flags) as address, connected(dialect, address) as client:
        assert "Grüße" in "".join(client.complete(request_of("hello")))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_many_at_once(dialect: str, address: str) -> None:
    """Eight threads with twenty calls each get all their answers."""
    answers: list[str] = []
    with connected(dialect, address) as client:

        def work() -> None:
            answers.extend("".join(client.complete(request_of("hello"))) for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 160
    assert len(set(answers)) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_models(dialect: str, address: str) -> None:
    """Its list of models can be read."""
    with connected(dialect, address) as client:
        assert client.list_models()
