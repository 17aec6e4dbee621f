"""``agents.oidc``: who gets in is whoever the provider names in answer to our own question, and has connected that
account before. Everything that is wrong with an answer is refused, and nothing has changed then."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from joserfc.jwk import ECKey, RSAKey

from orchestrator.agents.oidc.flow import GOOD_FOR_S, FlowKeys
from orchestrator.agents.oidc.logins import OidcAnswer, OidcArrival, OidcLogins
from orchestrator.agents.oidc.provider import OidcProvider
from orchestrator.core.config import load
from orchestrator.core.errors import (
    BadInput,
    ConfigError,
    Conflict,
    Forbidden,
    NotFound,
    OrchestratorError,
    TooMany,
    Unavailable,
)
from orchestrator.core.models import Role
from orchestrator.core.oidc_settings import SECRET as SECRET_NAME
from orchestrator.web.limits import Internet
from tests.support.core_fixture import CoreFixture, core_fixture
from tests.support.fake_internet import FakeInternet
from tests.support.oidc_provider import CLIENT, METADATA_PATH, FakeOidcProvider, fake_oidc_provider
from tests.support.push_service import unpadded

ORIGIN = "http://127.0.0.1:3000"
HUGE = b'{"issuer": "' + b"x" * 300_000 + b'"}'


@dataclass
class Sso:
    """An install with a provider, and the person who is known there."""

    core: CoreFixture
    provider: FakeOidcProvider
    logins: OidcLogins
    now: list[float]

    def arrive(self, path: str = "/", **other: str) -> OidcArrival:
        """All the way there and back, with an answer that is partly another."""
        start = self.logins.begin_login(path)
        return self.logins.finish(start.cookie, OidcAnswer(**(self._brought(start.url) | other)))

    def connect(self, user: int = 1) -> OidcArrival:
        """Somebody who is in connects the account that the provider names."""
        users = self.core.users
        start = self.logins.begin_connection(user, users.login_of(users.new_session(user, "by a test")))
        return self.logins.finish(start.cookie, OidcAnswer(**self._brought(start.url)))

    def _brought(self, url: str) -> dict[str, str]:
        brought = self.provider.visit(url)
        return {"state": brought["state"], "code": brought["code"], "issuer": brought["iss"]}

    def again(self, **settings: str) -> Sso:
        """The same install started again, with other settings."""
        return Sso(self.core, self.provider, *_logins(self.core, self.provider, **settings))


def _logins(core: CoreFixture, provider: FakeOidcProvider, **settings: str) -> tuple[OidcLogins, list[float]]:
    now = [0.0]
    given = load(provider.environment(**settings) | {"HERMIT_HOME": str(core.home)}, core.home)
    speaker = OidcProvider(given.oidc, given.secrets.get(SECRET_NAME), Internet(), clock=lambda: now[0])
    made = OidcLogins(
        core.store,
        core.users,
        given.oidc,
        speaker,
        key="key",
        origin=ORIGIN,
        now=lambda: time.time() + now[0],
    )
    return made, now


@pytest.fixture
def sso(tmp_path: Path) -> Iterator[Sso]:
    """A fresh one, where ada has connected her account."""
    with core_fixture(tmp_path / "home") as core, fake_oidc_provider() as provider:
        made = Sso(core, provider, *_logins(core, provider))
        made.connect()
        yield made


def refused(sso: Sso, kind: type[OrchestratorError] = BadInput, **other: str) -> str:
    """The sentence with which somebody doesn't get in; nobody new is here then, and no account is anybody's."""
    before = sso.core.users.list_users(), sso.logins.list_accounts()
    with pytest.raises(kind) as error:
        sso.arrive(**other)
    assert (sso.core.users.list_users(), sso.logins.list_accounts()) == before
    return error.value.message


# --- who gets in -------------------------------------------------------------------------------------------------


def test_whoever_has_connected_their_account_gets_in_by_it(sso: Sso) -> None:
    """As themselves, to where they wanted; what they are called there may have changed."""
    sso.provider.person["preferred_username"] = "ada.l"
    arrival = sso.arrive("/agents/crab")
    assert (arrival.user.name, arrival.path, arrival.is_new, arrival.is_connection) == (
        "ada",
        "/agents/crab",
        False,
        False,
    )
    account = sso.logins.account_of(1)
    assert account is not None
    assert (account.label, account.used_at is not None) == ("ada.l", True)
    assert [row.text for row in sso.core.audited("oidc.connected")] == ["The account ada at Authentik was connected."]


def test_nobody_else_gets_in_whatever_they_are_called(sso: Sso) -> None:
    """The same name, the same address, even one that was looked at: it is another account."""
    sso.provider.person = {
        "sub": "somebody-else",
        "preferred_username": "ada",
        "name": "ada",
        "email": "ada@example.org",
        "email_verified": True,
    }
    assert "Nobody here has connected this account at Authentik" in refused(sso, Forbidden)
    assert "Nobody here has connected" in sso.core.audited("login.failed")[-1].text


def test_an_account_is_one_persons_and_a_person_has_one(sso: Sso) -> None:
    """Each way round; the same once more is fine."""
    with pytest.raises(Conflict, match="Somebody else here has connected"):
        sso.connect(sso.core.member.id)
    with pytest.raises(Conflict, match="connected an account already"):
        sso.connect()
    assert list(sso.logins.list_accounts()) == [1]


def test_connecting_needs_the_login_that_began_it(sso: Sso) -> None:
    """Whoever was logged out meanwhile connects nothing."""
    users, member = sso.core.users, sso.core.member.id
    sso.provider.person = {"sub": "bob-at-home"}
    start = sso.logins.begin_connection(member, users.login_of(users.new_session(member, "by a test")))
    users.log_out_everywhere(member)
    with pytest.raises(Forbidden, match="logged out meanwhile"):
        sso.logins.finish(start.cookie, OidcAnswer(**sso._brought(start.url)))
    assert sso.logins.account_of(member) is None


def test_somebody_new_becomes_a_member_where_the_settings_say_so(sso: Sso) -> None:
    """A member, never more, under a name that is free; from then on it is their account."""
    open_to_all = sso.again(HERMIT_OIDC_NEW_PEOPLE="members")
    sso.provider.person = {"sub": "new", "preferred_username": "ada", "role": "operator", "groups": ["admins"]}
    first, second = open_to_all.arrive(), open_to_all.arrive()
    assert (first.user.name, first.user.role, first.is_new) == ("ada 2", Role.MEMBER, True)
    assert (second.user.id, second.is_new) == (first.user.id, False)


@pytest.mark.parametrize("groups", [None, [], ["others"], "family", [["family"]], {"family": 1}])
def test_a_group_lets_in_nobody_else(sso: Sso, groups: Any) -> None:
    """Also somebody who has connected their account before: taken out of the group, they don't get in."""
    closed = sso.again(HERMIT_OIDC_GROUP="family")
    sso.provider.person["groups"] = groups
    assert "not in the group" in refused(closed, Forbidden)
    sso.provider.person["groups"] = ["others", "family"]
    assert closed.arrive().user.id == 1
    sso.provider.person = {"sub": "new", "name": "Cleo", "groups": ["family"]}
    assert closed.arrive().user.name == "Cleo"


def test_groups_and_names_may_be_told_elsewhere(sso: Sso) -> None:
    """At the userinfo endpoint, about the same person alone; what is signed comes first."""
    closed = sso.again(HERMIT_OIDC_GROUP="family")
    sso.provider.person = {"sub": "new"}
    sso.provider.userinfo = {"sub": "new", "name": "Dora", "groups": ["family"], "iss": "x"}
    assert closed.arrive().user.name == "Dora"
    sso.provider.userinfo["sub"] = "ada-at-home"
    assert "somebody else" in refused(closed)


# --- the way there and back --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        ({"state": "x" * 43}, NotFound),
        ({"state": ""}, NotFound),
        ({"state": "\udcff"}, NotFound),
        ({"issuer": "https://evil.example"}, BadInput),
        ({"issuer": ""}, BadInput),
        ({"code": "guessed"}, BadInput),
        ({"code": ""}, BadInput),
        ({"code": "x" * 4_001}, BadInput),
        ({"error": "access_denied", "code": ""}, BadInput),
    ],
)
def test_another_answer_than_that_to_our_question(
    sso: Sso, other: dict[str, str], kind: type[OrchestratorError]
) -> None:
    """Another state, another provider's answer, another code."""
    refused(sso, kind, **other)


def test_an_error_of_the_provider_is_no_text_of_ours(sso: Sso) -> None:
    """Only its kind is told."""
    assert "(access_denied)" in refused(sso, code="", error="access_denied")
    assert "<b>" not in refused(sso, code="", error="<b>call 0800 123</b>")


def test_an_answer_counts_once_and_in_the_browser_that_asked(sso: Sso) -> None:
    """Not again, not with another's cookie, not with one that was changed, not too late."""
    start = sso.logins.begin_login("/")
    answer = OidcAnswer(**sso._brought(start.url))
    body, _, signature = start.cookie.partition(".")
    padded = body + "=" * (-len(body) % 4)
    fields = json.loads(base64.urlsafe_b64decode(padded)) | {"user": 1}
    forged = base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode() + "." + signature
    for cookie in (
        "",
        "x.y",
        forged,
        sso.logins.begin_login("/").cookie,
        FlowKeys("other key").write_cookie(FlowKeys("other key").new_flow(time.time(), path="/")),
    ):
        with pytest.raises(NotFound, match="took too long, or began in another browser"):
            sso.logins.finish(cookie, answer)
    assert sso.logins.finish(start.cookie, answer).user.id == 1
    with pytest.raises(NotFound):
        sso.logins.finish(start.cookie, answer)
    late = sso.logins.begin_login("/")
    brought = OidcAnswer(**sso._brought(late.url))
    sso.now[0] += GOOD_FOR_S + 1
    with pytest.raises(NotFound):
        sso.logins.finish(late.cookie, brought)


def test_the_answer_of_another_login_is_refused(sso: Sso) -> None:
    """Somebody else's code under our state: its verifier and its nonce are not ours."""
    theirs = sso._brought(sso.logins.begin_login("/").url)
    refused(sso, code=theirs["code"])


def test_a_code_that_was_used_is_refused_after_a_restart_too(sso: Sso) -> None:
    """What is remembered in memory is gone then; the provider takes it once."""
    start = sso.logins.begin_login("/")
    answer = OidcAnswer(**sso._brought(start.url))
    assert sso.again().logins.finish(start.cookie, answer).user.id == 1
    with pytest.raises(BadInput, match="invalid_grant"):
        sso.logins.finish(start.cookie, answer)


def test_what_the_browser_keeps_holds_no_secret(sso: Sso) -> None:
    """Neither what the token must repeat nor what redeems the code is in it."""
    start = sso.logins.begin_login("/")
    asked = parse_qs(urlsplit(start.url).query)
    kept = base64.urlsafe_b64decode(start.cookie.partition(".")[0] + "===").decode()
    assert asked["state"][0] in kept
    assert asked["nonce"][0] not in kept


def test_wrong_answers_are_throttled(sso: Sso) -> None:
    """All together; each costs the provider a question."""
    for _ in range(100):
        refused(sso, code="guessed")
    refused(sso, TooMany, code="guessed")


# --- the token ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another client"},
        {"aud": ["another client"]},
        {"aud": [CLIENT, "another client"]},
        {"aud": [CLIENT, "another client"], "azp": "another client"},
        {"azp": "another client"},
        {"aud": None},
        {"exp": -600},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": 3_600},
        {"iat": -3_600},
        {"iat": True},
        {"iat": None},
        {"nbf": 3_600},
        {"nonce": "another"},
        {"nonce": None},
        {"sub": ""},
        {"sub": None},
        {"sub": 7},
        {"sub": "x" * 256},
        {"sub": "a\nb"},
        {"at_hash": "another"},
    ],
    ids=repr,
)
def test_a_token_for_something_else(sso: Sso, claims: dict[str, Any]) -> None:
    """For another client, by another issuer, of another time (in seconds from now), in answer to another question."""
    now = int(time.time())
    sso.provider.claims = {
        name: now + value if name in ("exp", "iat", "nbf") and type(value) is int else value
        for name, value in claims.items()
    }
    assert "refused" in refused(sso)


def unsigned(claims: dict[str, Any], alg: str = "none") -> str:
    """A token that says that it needs no signature, or that it has one."""
    head, body = (unpadded(json.dumps(part).encode()) for part in ({"alg": alg, "kid": "one"}, claims))
    return f"{head}.{body}."


def with_demand(claims: dict[str, Any], key: rsa.RSAPrivateKey) -> str:
    """A token that is signed well, and demands that something is understood which nobody knows."""
    header = {"alg": "RS256", "kid": "one", "crit": ["x"], "x": 1}
    head, body = (unpadded(json.dumps(part).encode()) for part in (header, claims))
    return f"{head}.{body}.{unpadded(key.sign(f'{head}.{body}'.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def by_hmac(claims: dict[str, Any], key: bytes) -> str:
    """A token that is signed by what everybody knows."""
    token = unsigned(claims, "HS256")
    return token + unpadded(hmac.digest(key, token[:-1].encode(), "sha256"))


def test_tokens_that_are_signed_in_no_way_that_counts(sso: Sso) -> None:
    """They say what they should, and are unsigned; signed by HMAC with the public key, which everybody knows; by
    another's key under the same name; changed, cut or no token at all."""
    provider, sign = sso.provider, sso.provider.sign
    pem, der = provider.key.as_pem(private=False), provider.key.as_der(private=False)
    other, own = RSAKey.generate_key(2048, {"kid": "one"}), provider.key.private_key
    assert isinstance(own, rsa.RSAPrivateKey)
    wrong: dict[str, Callable[[dict[str, Any]], str]] = {
        "unsigned": unsigned,
        "hmac": lambda claims: by_hmac(claims, pem),
        "hmac of its other form": lambda claims: by_hmac(claims, der),
        "another's key": lambda claims: sign(claims, key=other),
        "another's claims": lambda claims: ".".join(
            (sign(claims).split(".")[0], unsigned({**claims, "sub": "x"}).split(".")[1], sign(claims).split(".")[2])
        ),
        "cut": lambda claims: sign(claims).rpartition(".")[0],
        "without its signature": lambda claims: sign(claims).rpartition(".")[0] + ".",
        "five parts": lambda _: "a.b.c.d.e",
        "empty": lambda _: "",
        "no json": lambda _: "e30.e30.e30",
        "long": lambda claims: sign(claims) + "A" * 70_000,
        "its own key in its head": lambda claims: sign(claims, key=other, jwk=other.as_dict(private=False), kid="two"),
        "something that must be understood": lambda claims: with_demand(claims, own),
    }
    for name, forge in wrong.items():
        provider.forge = forge
        assert refused(sso), name
    provider.forge = sign
    assert sso.arrive().user.id == 1


def test_a_symmetric_key_among_its_keys_signs_nothing(sso: Sso) -> None:
    """Nor does one that is said to be for something else, or too short; and which of two is meant must be clear."""
    provider, public = sso.provider, sso.provider.key.as_dict(private=False)
    shown: tuple[list[Any], ...] = (
        [],
        [{"kty": "oct", "k": "c2VjcmV0", "kid": "one"}],
        [{**public, "use": "enc"}],
        [{**public, "alg": "ES256"}],
        [{**public, "kid": "other"}],
        [public, public],
        [{"kty": "RSA", "kid": "one"}],
        [{**public, "n": public["n"][:100]}],
        ["no key"],
    )
    for keys in shown:
        provider.shown_keys = keys
        assert refused(sso.again())


def test_other_ways_to_sign_that_count(sso: Sso) -> None:
    """A curve; and a lone key needs no name."""
    sso.provider.key = ECKey.generate_key("P-256", {"kid": "two"})
    sso.provider.algorithm = "ES256"
    assert sso.again().arrive().user.id == 1
    sso.provider.metadata = {"id_token_signing_alg_values_supported": ["RS256"]}
    assert "is not allowed" in refused(sso.again())


def test_keys_are_read_again_when_the_provider_has_new_ones(sso: Sso) -> None:
    """Not for each unknown name, which anybody may make up, but after a while."""
    assert sso.arrive().user.id == 1
    sso.provider.key = RSAKey.generate_key(2048, {"kid": "two"})
    sso.provider.asked.clear()
    refused(sso)
    assert sso.provider.asked.count("/keys") == 0
    sso.now[0] += 31
    assert sso.arrive().user.id == 1
    assert sso.provider.asked.count("/keys") == 1
    sso.arrive()
    assert (sso.provider.asked.count("/keys"), sso.provider.asked.count(METADATA_PATH)) == (1, 0)
    sso.now[0] += 3_600
    sso.arrive()
    assert sso.provider.asked.count(METADATA_PATH) == 1


def test_more_than_one_proof_is_what_the_provider_says_it_is(sso: Sso) -> None:
    """By the one word that the standard has for it."""
    for amr in (None, [], ["pwd", "otp"]):
        sso.provider.claims = {"amr": amr}
        assert not sso.arrive().has_mfa
    sso.provider.claims = {"amr": ["pwd", "mfa"]}
    assert sso.arrive().has_mfa
    sso.provider.claims = {"amr": "mfa"}
    assert refused(sso)


# --- a provider that is down, or up to something -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, b"<html>"), "JSON"),
        ((200, {}, HUGE), "more than 256 kB"),
        ((200, {}, b"[" * 50_000), "JSON"),
        ((404, {}, b"{}"), "status 404"),
        ((302, {"Location": "http://169.254.169.254/"}, b""), "sends on"),
        ((302, {"Location": "/other"}, b""), "sends on"),
        ((200, {}, b"{}"), "calls itself None"),
    ],
    ids=["html", "huge", "deep", "missing", "away", "elsewhere", "nobody"],
)
def test_a_provider_that_does_not_describe_itself(
    sso: Sso, answer: tuple[int, dict[str, str], bytes], said: str
) -> None:
    """One sentence says what is wrong and what to do; it is not asked again at once."""
    sso.provider.raw[METADATA_PATH] = answer
    fresh = sso.again()
    sso.provider.asked.clear()
    for _ in range(3):
        with pytest.raises(Unavailable, match=f"Authentik can't be used now.*{said}.*Log in another way"):
            fresh.logins.begin_login("/")
    assert sso.provider.asked == [METADATA_PATH]
    sso.provider.raw.clear()
    fresh.now[0] += 11
    assert fresh.arrive().user.id == 1


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"token_endpoint": "https://10.0.0.1/token"},
        {"token_endpoint": "https://intranet/token"},
        {"token_endpoint": "file:///etc/passwd"},
        {"token_endpoint": None},
        {"jwks_uri": "http://example.org/keys"},
        {"jwks_uri": "https://[::1]/keys"},
        {"jwks_uri": ["https://example.org"]},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "data:text/html,x"},
        {"userinfo_endpoint": "https://192.168.1.1/"},
        {"id_token_signing_alg_values_supported": ["none", "HS256"]},
        {"code_challenge_methods_supported": ["plain"]},
    ],
    ids=repr,
)
def test_a_provider_that_leads_somewhere_else(sso: Sso, metadata: dict[str, Any]) -> None:
    """To another host within a network, to no address at all, to what is not safe: it is not followed."""
    sso.provider.metadata = metadata
    with pytest.raises(Unavailable):
        sso.again().logins.begin_login("/")


def test_a_name_that_leads_inside_is_not_connected_to(sso: Sso) -> None:
    """The provider names another host, and that host's address is one of a private network."""
    settings = load(
        sso.provider.environment(HERMIT_OIDC_ISSUER="https://auth.example", HERMIT_PUBLIC_URL="https://h.example"),
        sso.core.home,
    )
    internet = FakeInternet(names={"auth.example": [["10.0.0.7"]], "keys.example": [["10.0.0.8"]]})
    provider = OidcProvider(settings.oidc, "", Internet(network=internet))
    with pytest.raises(Unavailable, match="could not be reached"):
        provider.get_metadata()  # at its own address it is asked, wherever that is
    assert internet.connected == [("10.0.0.7", 443)]
    with pytest.raises(Unavailable, match="private network"):
        provider._ask(provider._link("https://keys.example/"))
    assert len(internet.connected) == 1


def test_a_provider_that_breaks_in_the_middle(sso: Sso) -> None:
    """Of the exchange, or of its keys."""
    sso.provider.raw["/token"] = (200, {}, HUGE)
    refused(sso, Unavailable)
    sso.provider.raw["/token"] = (200, {}, b'{"id_token": 7}')
    refused(sso)
    sso.provider.raw["/token"] = (401, {}, b'{"error": "invalid_client"}')
    assert "HERMIT_OIDC_CLIENT_SECRET" in refused(sso, Unavailable)
    sso.provider.raw["/token"] = (500, {}, b"oh <b>")
    assert "status 500" in refused(sso)
    sso.provider.raw = {"/keys": (200, {}, b"{}")}
    refused(sso.again(), Unavailable)


# --- ways out ----------------------------------------------------------------------------------------------------


def test_the_only_way_in_is_not_given_up(sso: Sso) -> None:
    """With a password it is; an operator may take it away anyhow."""
    with pytest.raises(Conflict, match="your only way in"):
        sso.logins.disconnect(1)
    sso.core.users.set_password(1, "correct horse battery")
    sso.logins.disconnect(1)
    with pytest.raises(NotFound):
        sso.logins.disconnect(1)
    assert "Nobody here" in refused(sso, Forbidden)
    sso.connect(sso.core.member.id)
    sso.logins.unlink(sso.core.member.id, by="ada")
    with pytest.raises(NotFound):
        sso.logins.unlink(sso.core.member.id, by="ada")
    assert [row.text for row in sso.core.audited("oidc.disconnected")] == [
        "The account at Authentik was disconnected.",
        "The account at Authentik was taken away by ada.",
    ]


def test_an_account_goes_with_its_person_and_belongs_to_its_provider(sso: Sso) -> None:
    """At another provider the same id is somebody else."""
    sso.provider.person = {"sub": "bob-at-home"}
    sso.connect(sso.core.member.id)
    other = sso.again(HERMIT_OIDC_ISSUER="https://other.example", HERMIT_PUBLIC_URL="https://h.example")
    assert (other.logins.account_of(1), other.logins.list_accounts()) == (None, {})
    sso.core.users.remove(sso.core.member.id)
    assert list(sso.logins.list_accounts()) == [1]


# --- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"HERMIT_OIDC_ISSUER": "http://auth.example.org"}, "HERMIT_OIDC_ISSUER"),
        ({"HERMIT_OIDC_ISSUER": "auth.example.org"}, "HERMIT_OIDC_ISSUER"),
        ({"HERMIT_OIDC_ISSUER": "https://a:b@auth.example.org"}, "HERMIT_OIDC_ISSUER"),
        ({"HERMIT_OIDC_ISSUER": "https://auth.example.org/?x=1"}, "HERMIT_OIDC_ISSUER"),
        ({"HERMIT_OIDC_ISSUER": "https://[::"}, "HERMIT_OIDC_ISSUER"),
        ({"HERMIT_OIDC_ISSUER": ""}, "HERMIT_OIDC_CLIENT_ID"),
        ({"HERMIT_OIDC_CLIENT_ID": ""}, "HERMIT_OIDC_CLIENT_ID"),
        ({"HERMIT_OIDC_NEW_PEOPLE": "operators"}, "HERMIT_OIDC_NEW_PEOPLE"),
        ({"HERMIT_OIDC_NAME": "x" * 301}, "HERMIT_OIDC_NAME"),
        ({"HERMIT_HOST": "0.0.0.0"}, "HERMIT_PUBLIC_URL"),
    ],
)
def test_settings_that_cannot_be_meant(tmp_path: Path, changed: dict[str, str], named: str) -> None:
    """Each is named."""
    usual = {"HERMIT_OIDC_ISSUER": "https://auth.example.org/", "HERMIT_OIDC_CLIENT_ID": "hermit"}
    assert load(usual, tmp_path).oidc.issuer == "https://auth.example.org/"
    with pytest.raises(ConfigError, match=named):
        load(usual | changed, tmp_path)


def test_the_secret_reaches_no_log(tmp_path: Path, sso: Sso) -> None:
    """It is among the secrets."""
    settings = load(sso.provider.environment(), tmp_path)
    assert settings.secrets.get(SECRET_NAME) in settings.secrets.list_values()
    assert settings.secrets.get(SECRET_NAME) not in repr(settings)


def test_without_a_provider_nothing_begins(sso: Sso) -> None:
    """And there are no accounts."""
    off = dict.fromkeys(sso.provider.environment(), "")
    without = sso.again(**off)
    assert (without.logins.account_of(1), without.logins.list_accounts()) == (None, {})
    for deed in (lambda: without.logins.begin_login("/"), lambda: without.logins.finish("", OidcAnswer(""))):
        with pytest.raises(NotFound, match="HERMIT_OIDC_ISSUER"):
            deed()
