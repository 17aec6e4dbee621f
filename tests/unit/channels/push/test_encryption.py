"""Encryption and signature, held against the RFCs' own examples and read back as a browser and a push service would."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from orchestrator.channels.push.encryption import MOST_TEXT_BYTES, check_keys, encrypt_message
from orchestrator.channels.push.lazy_crypto import load_vapid_key
from orchestrator.core.errors import Unavailable
from orchestrator.core.home import prepare_home
from tests.support.push_service import SubscribedBrowser, check_vapid, padded, unpadded


def key_of(text: str) -> ec.EllipticCurvePrivateKey:
    """A private key as the RFC writes it."""
    return ec.derive_private_key(int.from_bytes(padded(text), "big"), ec.SECP256R1())


def test_the_example_of_rfc_8291_comes_out_byte_for_byte() -> None:
    """Its section 5."""
    body = encrypt_message(
        b"When I grow up, I want to be a watermelon",
        p256dh=padded("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
        auth=padded("BTBZMqHH6r4Tts7J_aSIgg"),
        salt=padded("DGv6ra1nlYgDCS1FRnbzlw"),
        own=key_of("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
    )
    assert unpadded(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3j"
        "l7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_only_the_browser_opens_it_and_no_two_are_alike() -> None:
    """Salt and key are new each time; another browser's keys open nothing."""
    browser, other = SubscribedBrowser("https://a.test/1"), SubscribedBrowser("https://a.test/2")
    p256dh, auth = (padded(browser.subscription["keys"][name]) for name in ("p256dh", "auth"))
    bodies = [encrypt_message(b'{"title":"crab"}', p256dh=p256dh, auth=auth) for _ in range(2)]
    assert [browser.open_message(body) for body in bodies] == [{"title": "crab"}] * 2
    assert bodies[0] != bodies[1]
    assert b"crab" not in bodies[0]
    with pytest.raises(Exception, match=r"^$"):
        other.open_message(bodies[0])


def test_what_is_too_long_or_no_key_is_refused() -> None:
    """A message of any allowed length fits into what push services take."""
    browser = SubscribedBrowser("https://a.test/1")
    p256dh, auth = (padded(browser.subscription["keys"][name]) for name in ("p256dh", "auth"))
    assert len(encrypt_message(b"x" * MOST_TEXT_BYTES, p256dh=p256dh, auth=auth)) <= 4096
    with pytest.raises(ValueError, match="more than a notification holds"):
        encrypt_message(b"x" * (MOST_TEXT_BYTES + 1), p256dh=p256dh, auth=auth)
    check_keys(p256dh, auth)
    for wrong in ((p256dh[:-1] + b"\0", auth), (b"", auth), (p256dh, auth[:-1]), (b"\4" + bytes(64), auth)):
        with pytest.raises(ValueError):  # noqa: PT011 - each says it in its own words
            check_keys(*wrong)


def test_the_key_is_made_once_and_signs_for_one_service(tmp_path: Path) -> None:
    """For the owner alone; the word is for that origin, and not for long."""
    home = prepare_home(tmp_path)
    key = load_vapid_key(home)
    assert load_vapid_key(home).public == key.public
    assert home.push_key.stat().st_mode & 0o777 == 0o600
    header = key.build_header("https://push.test", subject="https://hermit.test", now=1_000_000.0)
    claims = check_vapid(header, audience="https://push.test", key=key.public)
    assert (claims["sub"], 0 < claims["exp"] - 1_000_000 <= 24 * 3600) == ("https://hermit.test", True)
    home.push_key.write_text("nonsense")
    with pytest.raises(Unavailable, match=r"push\.key"):
        load_vapid_key(home)
