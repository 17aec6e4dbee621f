"""What looks like a secret, by name and by text; and what doesn't, so that people still read the list."""

from __future__ import annotations

import pytest

from orchestrator.operations.agent_import.secrets import find_secret, names_secret


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".env",
            "a/.env.local",
            "prod.env",
            "id_rsa",
            "x/id_ed25519.pub",
            "auth.json",
            "auth-profiles.json",
            ".netrc",
        ),
        *(
            "openclaw.json",
            "x/config.yaml",
            "config.json",
            "openclaw.json.bak.1",
            "server.pem",
            "a.KEY",
            "my_secrets.txt",
        ),
        *("credentials/x", ".ssh/known_hosts", "API-KEY.txt", "tokens.json", "passwords.kdbx", "vault.p12"),
    ],
)
def test_names(path: str) -> None:
    """Whatever their capitals."""
    assert names_secret(path)


@pytest.mark.parametrize(
    "path", ["SOUL.md", "memory/token-design.md", "skills/keyboard/SKILL.md", "notes.txt", "monkey.md"]
)
def test_other_names(path: str) -> None:
    """Notes are looked into instead."""
    assert not names_secret(path)


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-" + "a1B2" * 8,
        "the key is sk-proj-" + "Zz9_" * 8,
        "ghp_" + "a" * 36,
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "AIza" + "S" * 35,
        "bot 123456789:" + "A" * 35,
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "password: hunter22",
        "My WiFi Password is correcthorse",
        "**API key**: `abcd1234`",
        '"token": "0123456789"',
        "postgres://ada:s3cret@db.example/boat",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
    ],
)
def test_texts(text: str) -> None:
    """With what it seems to be, in words."""
    assert find_secret(text).startswith("a")


@pytest.mark.parametrize(
    "text",
    [
        "Prefers passwords managers to notebooks.",
        "The token ring was a network.",
        "https://example.org/a:b",
        "Skip the risk-taking; task-1234 is done.",
        "Meets at 12:30.",
        "api_key: <your key>",
    ],
)
def test_other_texts(text: str) -> None:
    """Talk about such things is none."""
    assert find_secret(text) == ""
