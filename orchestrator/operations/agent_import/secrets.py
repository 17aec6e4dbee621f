"""What looks like a secret: by a file's name, or by what stands in a text. Rather one too many. Pure."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"(?:^|/)(?:\.env(?:\..*)?|.*\.env|\.netrc|\.npmrc|\.pypirc|\.git-credentials|id_(?:rsa|dsa|ecdsa|ed25519).*|"
    r"auth(?:-profiles)?\.json|(?:openclaw|clawdbot|moltbot|config)\.json5?(?:\.bak.*)?|config\.ya?ml|"
    r".*(?:secret|credential|password|passwd|api[_-]?key|token)[^/]*|.*\.(?:pem|key|p12|pfx|jks|kdbx|keystore|asc|gpg))$",
    re.IGNORECASE,
)
_FOLDERS = re.compile(r"(?:^|/)(?:credentials|secrets|\.ssh|\.gnupg|\.aws|oauth|identity|keys)/", re.IGNORECASE)
_PLAIN = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
"""Notes about tokens are no tokens; what stands in them is looked at."""

_TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")),
    ("an API key", re.compile(r"\b(?:sk|pk|rk)-(?:[a-z]+-)*[A-Za-z0-9_-]{16,}")),
    ("an API key", re.compile(r"\b(?:AIza[\w-]{30,}|AKIA[A-Z0-9]{12,}|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,})")),
    (
        "a token",
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,})"),
    ),
    ("a bot’s token", re.compile(r"\b\d{6,12}:[A-Za-z0-9_-]{30,}")),
    ("a token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}")),
    ("a password in an address", re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^/\s:@]{1,100}:[^/\s@]{3,200}@")),
    (
        "a password or key",
        re.compile(
            r"(?:api[ _-]?key|access[ _-]?key|secret|token|passw(?:or)?d|passphrase|pin|kennwort|passwort)[\"'`*]{0,3}"
            r"\s{0,3}(?:[:=]|\bis\b|\bist\b)\s{0,3}[\"'`*]{0,3}(?![<({\[])\S{4,}",
            re.IGNORECASE,
        ),
    ),
)


def names_secret(path: str) -> bool:
    """A file of this name usually holds secrets."""
    if _FOLDERS.search(path):
        return True
    return _NAMES.search(path) is not None and _PLAIN.search(path) is None


def find_secret(text: str) -> str:
    """What a text holds that looks like a secret, in words; empty for nothing."""
    return next((what for what, pattern in _TEXTS if pattern.search(text)), "")
