"""What a provider signed about somebody, checked: by which key and in which way it is signed, for whom, when, and in
answer to which question. Pure. The libraries take a while to load, so they are loaded where somebody logs in so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.text import one_line

ALGORITHMS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519"), "OKP"),
}
"""Those with a public key, and the kind of key of each: no ``none``, and no HMAC, whose key anybody may know."""
LEEWAY_S = 120
"""By how much two clocks may differ."""
_FRESH_S = 600
_MOST_CHARS = 64 * 1024
_MOST_SUBJECT = 255
_LEAST_RSA_BITS = 2048
_MOST_KEYS = 50
_BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError)


class BadToken(Exception):
    """It doesn't hold; the text says why, for the log."""


class UnknownKey(BadToken):
    """It is signed by a key that the provider didn't show: it may have new ones."""


@dataclass(frozen=True, slots=True)
class ExpectedToken:
    """What a token must be the answer to."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str = ""
    """What came beside it; the token may name its hash."""
    algorithms: Collection[str] = tuple(ALGORITHMS)


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    """Who somebody is at the provider."""

    subject: str
    label: str
    """What the provider calls them."""
    names: tuple[str, ...]
    """What they could be called here, the best first."""
    groups: tuple[str, ...] | None
    """None where the provider doesn't say."""
    has_mfa: bool
    """It asked them for more than one proof."""


def read_id_token(
    token: str, keys: Sequence[Mapping[str, Any]], expected: ExpectedToken, *, now: float
) -> dict[str, Any]:
    """The claims of a token that holds. Raises BadToken, or UnknownKey when no key of ``keys`` is the one it names."""
    from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - see above
    from joserfc import jwt  # noqa: PLC0415
    from joserfc.errors import JoseError  # noqa: PLC0415

    if len(token) > _MOST_CHARS or token.count(".") != 2:
        raise BadToken("it is no signed token")
    allowed = [name for name in expected.algorithms if name in ALGORITHMS]
    try:
        found = jwt.decode(token, lambda signed: _find_key(signed.headers(), keys, allowed), algorithms=allowed)
        options = {
            "iss": {"essential": True, "value": expected.issuer},
            "aud": {"essential": True, "value": expected.client_id},
        }
        params = {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token}
        claims = CodeIDToken(found.claims, found.header, options, params)
        claims.validate(now=int(now), leeway=LEEWAY_S)
        _check_rest(claims, now)
    except JoseError as error:
        raise BadToken(one_line(f"its token doesn't hold ({error})", 200)) from None
    except _BROKEN as error:
        raise BadToken(f"its token can't be read ({type(error).__name__})") from None
    return dict(claims)


def read_identity(claims: Mapping[str, Any]) -> OidcIdentity:
    """Who the claims are about."""
    names = tuple(
        text.strip()[:64]
        for name in ("preferred_username", "name", "nickname", "given_name")
        if isinstance(text := claims.get(name), str) and text.strip() and text.isprintable()
    )
    email = claims.get("email")
    best = names or ((email,) if isinstance(email, str) and email.strip() and email.isprintable() else ())
    subject, groups, amr = str(claims["sub"]), claims.get("groups"), claims.get("amr")
    return OidcIdentity(
        subject,
        one_line((*best, subject)[0], 100),
        names,
        tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else None,
        has_mfa=isinstance(amr, list) and "mfa" in amr,
    )


def _find_key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]], allowed: Collection[str]) -> Any:
    """The one key that the header means."""
    from joserfc.jwk import import_key  # noqa: PLC0415 - see above

    alg, kid = header.get("alg"), header.get("kid")
    if not isinstance(alg, str) or alg not in allowed:
        raise BadToken(f"it is signed by {one_line(str(alg), 20)}, which is not accepted")
    fitting = [
        key
        for key in keys[:_MOST_KEYS]
        if key.get("kty") == ALGORITHMS[alg] and key.get("use", "sig") == "sig" and key.get("alg", alg) == alg
    ]
    meant = [key for key in fitting if kid is None or key.get("kid") == kid]
    if len(meant) != 1:
        raise UnknownKey("the key that signed it is not among the provider's keys")
    public = {name: value for name, value in meant[0].items() if name in ("kty", "n", "e", "crv", "x", "y")}
    if ALGORITHMS[alg] == "RSA" and len(str(public.get("n"))) * 6 < _LEAST_RSA_BITS:
        raise BadToken("the provider's key is too short")
    return import_key(public)


def _check_rest(claims: Mapping[str, Any], now: float) -> None:
    """What the library leaves to us."""
    subject, issued_at = claims["sub"], claims["iat"]
    if not isinstance(subject, str) or not 0 < len(subject) <= _MOST_SUBJECT or not subject.isprintable():
        raise BadToken("its subject is no usable id")
    if isinstance(issued_at, bool) or not now - _FRESH_S - LEEWAY_S < issued_at < now + LEEWAY_S:
        raise BadToken("it was not issued just now; check both clocks")
