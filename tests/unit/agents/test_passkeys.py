"""``agents.passkeys``: who gets in is who has signed, at our address, for what was asked just now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import sha256, websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

from orchestrator.agents.passkeys import MOST, Passkeys
from orchestrator.agents.webauthn import Site
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError, TooMany
from tests.support.core_fixture import CoreFixture, core_fixture

HOME = Site("https://hermit.example")
PRESENT, VERIFIED, CREDENTIAL = 0x01, 0x04, 0x40


@dataclass
class Key:
    """A security key, with what it would say made wrong by the test."""

    id: bytes = b"credential-1"
    secret: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    count: int = 1
    handle: bytes = b""

    def make(self, options: dict[str, Any], *, origin: str = HOME.origin, flags: int = PRESENT | VERIFIED) -> Any:
        """What ``navigator.credentials.create`` gives."""
        self.handle = options["user"]["id"].encode()
        public = ES256.from_cryptography_key(self.secret.public_key())  # type: ignore[no-untyped-call]
        made = AttestedCredentialData.create(Aaguid(b"\0" * 16), self.id, public)
        signed = AuthenticatorData.create(
            sha256(options["rp"]["id"].encode()), AuthenticatorData.FLAG(flags | CREDENTIAL), self.count, made
        )
        response = {
            "clientDataJSON": websafe_encode(_client("webauthn.create", options["challenge"], origin)),
            "attestationObject": websafe_encode(AttestationObject.create("none", signed, {})),
        }
        return self._credential(response)

    def sign(
        self, options: dict[str, Any], *, origin: str = HOME.origin, flags: int = PRESENT | VERIFIED, host: str = ""
    ) -> Any:
        """What ``navigator.credentials.get`` gives."""
        self.count += 1
        signed = AuthenticatorData.create(
            sha256((host or options["rpId"]).encode()), AuthenticatorData.FLAG(flags), self.count
        )
        client = _client("webauthn.get", options["challenge"], origin)
        signature = self.secret.sign(signed + sha256(client), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": websafe_encode(client),
            "authenticatorData": websafe_encode(signed),
            "signature": websafe_encode(signature),
            "userHandle": self.handle.decode(),
        }
        return self._credential(response)

    def _credential(self, response: dict[str, str]) -> Any:
        named = websafe_encode(self.id)
        given = {"id": named, "rawId": named, "type": "public-key", "clientExtensionResults": {}, "response": response}
        return json.loads(json.dumps(given))


def _client(kind: str, challenge: str, origin: str) -> CollectedClientData:
    return CollectedClientData(json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode())


class Keyring:
    """A person with their keys."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.passkeys = Passkeys(install.store)
        self.user = install.member

    def add(self, key: Key, name: str = "phone", site: Site = HOME) -> str:
        """The key is theirs; the passkey's id."""
        ticket, options = self.passkeys.begin_new(self.user, site)
        return self.passkeys.finish_new(self.user.id, ticket, name, key.make(options, origin=site.origin)).id

    def enter(self, key: Key, **wrong: Any) -> int:
        """Log in by it."""
        ticket, options = self.passkeys.begin_login(HOME)
        return self.passkeys.finish_login(ticket, key.sign(options, **wrong))


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Keyring]:
    """No keys yet."""
    with core_fixture(tmp_path / "home") as install:
        yield Keyring(install)


def test_several_for_each_person_and_each_gets_them_in(ring: Keyring) -> None:
    """Named, listed and removed one by one; what is removed gets nobody in any more."""
    phone, usb = Key(b"phone"), Key(b"usb")
    first = ring.add(phone)
    assert not ring.passkeys.are_used_at(Site("https://other.example"))
    assert ring.passkeys.are_used_at(HOME)
    ring.add(usb, "usb key")
    ada = ring.install.operator
    ticket, options = ring.passkeys.begin_new(ada, HOME)
    adas = Key(b"ada")
    ring.passkeys.finish_new(ada.id, ticket, "laptop", adas.make(options))
    assert [ring.enter(key) for key in (phone, usb, adas, phone)] == [ring.user.id, ring.user.id, ada.id, ring.user.id]
    with pytest.raises(NotFound):
        ring.passkeys.remove(ada.id, first)
    ring.passkeys.remove(ring.user.id, first)
    with pytest.raises(BadInput):
        ring.enter(phone)
    assert [one.name for one in ring.passkeys.list_passkeys(ring.user.id)] == ["usb key"]
    assert [row.text for row in ring.install.audited("passkey.removed")] == ["Passkey phone was removed."]


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://hermit.example.evil.example"},
        {"origin": "http://hermit.example"},
        {"origin": "https://hermit.example:8443"},
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"host": "evil.example"},
    ],
    ids=str,
)
def test_what_was_signed_elsewhere_or_without_its_person_is_refused(ring: Keyring, wrong: dict[str, Any]) -> None:
    """Another origin, nobody there, nobody verified."""
    key = Key()
    ring.add(key)
    with pytest.raises(BadInput):
        ring.enter(key, **wrong)
    assert ring.enter(key) == ring.user.id


def test_no_answer_is_taken_twice_and_none_to_another_question(ring: Keyring) -> None:
    """A ticket is good once; what was signed for one challenge is worth nothing for another."""
    key = Key()
    ring.add(key)
    ticket, options = ring.passkeys.begin_login(HOME)
    signed = key.sign(options)
    assert ring.passkeys.finish_login(ticket, signed) == ring.user.id
    for again in (ticket, "", "x"):
        with pytest.raises(NotFound):
            ring.passkeys.finish_login(again, signed)
    with pytest.raises(BadInput):
        ring.passkeys.finish_login(ring.passkeys.begin_login(HOME)[0], signed)
    with pytest.raises(NotFound):
        ring.passkeys.finish_login(ring.passkeys.begin_new(ring.user, HOME)[0], signed)
    ticket, made = ring.passkeys.begin_new(ring.user, HOME)
    with pytest.raises(NotFound):
        ring.passkeys.finish_new(ring.install.operator.id, ticket, "theirs", Key(b"2").make(made))


def test_another_key_under_the_same_name_gets_nobody_in(ring: Keyring) -> None:
    """A signature is checked with the key that was kept, a handle with the person's; and a copy shows by its count."""
    key = Key()
    ring.add(key)
    with pytest.raises(BadInput):
        ring.enter(Key(key.id, count=50, handle=key.handle))
    with pytest.raises(BadInput):
        ring.enter(Key(key.id, key.secret, count=50, handle=websafe_encode(b"somebody else").encode()))
    copy = Key(key.id, key.secret, key.count, key.handle)
    assert ring.enter(key) == ring.user.id
    with pytest.raises(BadInput, match="copy"):
        ring.enter(copy)
    silent = Key(b"counts nothing", count=0)
    ring.add(silent)
    for _ in range(2):
        silent.count = -1  # signing makes it 0
        assert ring.enter(silent) == ring.user.id


def test_what_is_no_passkey_is_not_added(ring: Keyring) -> None:
    """Made elsewhere or unverified, there already, without a name, or one too many; an IP address has none."""
    for wrong in ({"origin": "https://evil.example"}, {"flags": PRESENT}):
        ticket, options = ring.passkeys.begin_new(ring.user, HOME)
        with pytest.raises(BadInput):
            ring.passkeys.finish_new(ring.user.id, ticket, "phone", Key().make(options, **wrong))
    ring.add(Key())
    with pytest.raises(Conflict):
        ring.add(Key())
    for name in ("", " ", "x" * 65, "a\nb", "a\u202eb"):
        with pytest.raises(BadInput):
            ring.add(Key(b"2"), name)
    for origin in ("http://127.0.0.1:3000", "https://[::1]", "http://hermit.example", "http://192.0.2.1"):
        with pytest.raises(Conflict):
            ring.passkeys.begin_login(Site(origin))
    ring.add(Key(b"local"), site=Site("http://localhost:3000"))
    for number in range(MOST - 2):
        ring.add(Key(b"more%d" % number))
    with pytest.raises(TooMany):
        ring.passkeys.begin_new(ring.user, HOME)


def test_whatever_is_sent_is_refused_in_a_sentence(ring: Keyring) -> None:
    """Cut, bent and foreign answers raise nothing but our own errors."""
    key = Key()
    ring.add(key)
    ticket, options = ring.passkeys.begin_login(HOME)
    good = key.sign(options)
    response = good["response"]
    bad: tuple[Any, ...] = (None, 5, "", "A", "A" * 400, {"a": 1}, [])
    bent: list[Any] = [{}, {"id": 1}, {"rawId": "a", "response": []}]
    bent += [{**good, "rawId": "ü"}, {**good, "response": None}]
    for name in ("clientDataJSON", "authenticatorData", "signature"):
        for other in (*bad, response[name][:9], response[name][::-1]):
            bent += [{**good, "response": {**response, name: other}}]
    for answer in bent:
        with pytest.raises(OrchestratorError):
            ring.passkeys.finish_login(ring.passkeys.begin_login(HOME)[0], answer)
        ticket, _ = ring.passkeys.begin_new(ring.user, HOME)
        with pytest.raises(OrchestratorError):
            ring.passkeys.finish_new(ring.user.id, ticket, "bent", answer)
