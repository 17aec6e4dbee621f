"""Reading a URL, once: what is shown to the person is what is connected to.

Strict where browsers guess: anything that two programs could read in two ways is refused with a sentence. Pure: no
name is looked up here, because the look-up alone would tell its server something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urljoin

import idna

from orchestrator.core.errors import BadInput
from orchestrator.web.ip_rules import Address, is_global, parse_address

MAX_URL_CHARS = 2_000
DEFAULT_PORTS = {"https": 443, "http": 80}
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_NAMED = re.compile(r"([^:\[\]]+)(?::([0-9]{1,5}))?")
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]{1,5}))?")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_LIKE_A_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HIDDEN_CONTROL = re.compile(r"%(?:[01][0-9A-Fa-f]|7[Ff])")
_LOCAL = frozenset(
    {"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "onion"}
)
_SAFE = "%!$&'()*+,;=:@/?[]~"
"""What stays as it is in a path and a query, beside letters, figures and ``-._``; the rest is sent as ``%XX``."""


@dataclass(frozen=True, slots=True)
class UrlRules:
    """What is accepted beyond https on its own port to the public internet."""

    plain_http: bool = False
    """Without encryption too: a person's explicit choice."""
    ports: frozenset[int] = frozenset(DEFAULT_PORTS.values())
    is_allowed: Callable[[Address], bool] = is_global
    """Whether an address may be connected to."""
    local_names: bool = False
    """Names of a private network too: an operator's explicit choice."""

    @classmethod
    def of_own_server(cls, scheme: str, port: int) -> UrlRules:
        """For one server that the operator named: wherever it stands, as it was named."""
        return cls(
            plain_http=scheme == "http",
            ports=frozenset({port}),
            is_allowed=lambda _address: True,
            local_names=True,
        )


@dataclass(frozen=True, slots=True)
class Link:
    """A URL that was read: these parts are shown, looked up, connected to and sent, and nothing else."""

    url: str
    """The whole, in the one form that is meant; without the fragment, which is never sent."""
    scheme: str
    host: str
    """In ASCII (punycode), lower case, without a last dot; an address without brackets."""
    port: int
    path: str
    query: str
    """Without its question mark; empty when there is none."""
    address: Address | None = None
    """When the host is one."""

    @property
    def target(self) -> str:
        """What is asked of the host."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def authority(self) -> str:
        """Host and, unless it is the usual one, port: as the header ``Host`` has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def readable_host(self) -> str:
        """The host in its own letters."""
        return idna.decode(self.host) if "xn--" in self.host else self.host


def parse_url(text: str, rules: UrlRules | None = None) -> Link:
    """The URL's parts. Raises BadInput with a sentence when it is unusable."""
    rules = rules or UrlRules()
    _check_characters(text)
    found = _PARTS.fullmatch(text)
    if not found:
        raise BadInput("The URL must be whole, like https://example.com/file.pdf.")
    scheme, authority, path, query = found[1].lower(), found[2], found[3] or "/", (found[4] or "?")[1:]
    _check_scheme(scheme, rules)
    if "@" in authority:
        raise BadInput("The URL holds a name or password before its host. Leave out everything up to the @.")
    host, port_text, address = _read_authority(authority, rules)
    port = int(port_text) if port_text else DEFAULT_PORTS[scheme]
    if port not in rules.ports:
        usual = " and ".join(str(number) for number in sorted(rules.ports))
        raise BadInput(f"The URL's port is {port}; only the ports {usual} are fetched from.")
    path, query = quote(path, safe=_SAFE), quote(query, safe=_SAFE)
    link = Link("", scheme, host, port, path, query, address)
    url = f"{scheme}://{link.authority}{link.target}"
    if len(url) > MAX_URL_CHARS:
        raise BadInput(f"The URL is too long: at most {MAX_URL_CHARS:,} characters.")
    return Link(url, scheme, host, port, path, query, address)


def follow_redirect(link: Link, location: str, rules: UrlRules | None = None) -> Link:
    """Where a redirect from ``link`` leads. Raises BadInput as `parse` does."""
    _check_characters(location)
    return parse_url(urljoin(link.url, location), rules)


def _check_characters(text: str) -> None:
    if len(text) > MAX_URL_CHARS:
        raise BadInput(f"The URL is too long: at most {MAX_URL_CHARS:,} characters.")
    if not text.isprintable() or any(char.isspace() for char in text):
        raise BadInput("The URL holds a space or an invisible character. Write a space as %20.")
    if "\\" in text:
        raise BadInput("The URL holds a backslash, which programs read in different ways. Use / or %5C.")
    if _HIDDEN_CONTROL.search(text):
        raise BadInput("The URL holds an encoded control character such as %0D or %0A.")


def _check_scheme(scheme: str, rules: UrlRules) -> None:
    if scheme == "http" and not rules.plain_http:
        raise BadInput("The URL begins with http, so anybody on the way could change the file. Use https.")
    if scheme not in DEFAULT_PORTS:
        raise BadInput("The URL must begin with https://.")


def _read_authority(authority: str, rules: UrlRules) -> tuple[str, str, Address | None]:
    """Host, port and, when the host is one, address."""
    found = _BRACKETED.fullmatch(authority) or _NAMED.fullmatch(authority)
    if not found:
        raise BadInput("The URL's host cannot be read. It must look like https://example.com/file.pdf.")
    if authority.startswith("["):
        address = parse_address(found[1]) if ":" in found[1] else None
        host = str(address)
    else:
        host = _ascii_host(found[1], rules)
        address = parse_address(host) if _ends_in_a_number(host) else None
    if address is None and (authority.startswith("[") or _ends_in_a_number(host)):
        raise BadInput("The URL's host is a number that is no usual internet address.")
    if address is not None and not rules.is_allowed(address):
        raise BadInput(
            f"The URL's host {host} is an address inside a private network. Only the internet is fetched from."
        )
    return host, found[2] or "", address


def _ascii_host(text: str, rules: UrlRules) -> str:
    """The name as it is looked up: ASCII, lower case, no last dot."""
    bad = BadInput("The URL's host is no usable name. Check its spelling.")
    try:
        host = text.lower() if text.isascii() else idna.encode(text, uts46=True).decode("ascii")
        host = host.removesuffix(".")
        labels = host.split(".")
        if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            raise bad
        for label in labels:
            # A label that only looks like punycode would be shown as something that it is not.
            if label.startswith("xn--") and idna.encode(idna.decode(label)).decode("ascii") != label:
                raise bad
    except UnicodeError:  # idna's errors are of this kind
        raise bad from None
    is_local = labels[-1] in _LOCAL or labels[-2:] == ["home", "arpa"]
    is_local = is_local or (len(labels) == 1 and not _ends_in_a_number(host))
    if is_local and not rules.local_names:
        raise BadInput(f"The URL's host {host} is a name inside a private network. Only the internet is fetched from.")
    return host


def _ends_in_a_number(host: str) -> bool:
    """Resolvers take such names for addresses, in ways of their own."""
    return _LIKE_A_NUMBER.fullmatch(host.rpartition(".")[2]) is not None
