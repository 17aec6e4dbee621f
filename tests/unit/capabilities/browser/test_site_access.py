"""``orchestrator.capabilities.browser.site_access``: what a browser may reach, as the gate and the driver ask."""

from __future__ import annotations

import asyncio

import pytest

from orchestrator.capabilities.browser.known_hosts import MEASURING, STATIC
from orchestrator.capabilities.browser.site_access import Allowed, SiteAccess
from orchestrator.core.errors import NotFound
from orchestrator.web.sites import find_site, read_companion, read_site, site_of


def reaches(access: SiteAccess, host: str) -> bool:
    """The gate lets it through."""
    return access.judge(host, 443) is None


def test_nothing_is_reached_before_a_yes() -> None:
    """Not what serves fonts to everybody either."""
    access = SiteAccess()
    assert not any(reaches(access, host) for host in ("shop.test", "fonts.gstatic.com"))
    assert access.may_open("shop.test") is not None


def test_a_yes_for_once_ends_when_the_site_is_left() -> None:
    """It holds for the site and names below it, never for one above."""
    access = SiteAccess()
    access.allow_once("shop.test")
    assert all(reaches(access, host) for host in ("shop.test", "www.shop.test", "api.shop.test", "fonts.gstatic.com"))
    assert not any(reaches(access, host) for host in ("test", "notshop.test", "shop.test.evil.example"))
    assert access.set_open(["www.shop.test"]) == {"shop.test"}
    assert access.is_open("api.shop.test")
    assert not access.is_open("test")
    access.set_open(["about.test"])
    assert not reaches(access, "shop.test")
    assert not access.is_open("shop.test")
    assert access.may_open("shop.test") is not None


def test_what_is_granted_is_reached_while_it_is_open() -> None:
    """A page of it opens without a question; from pages of others it can't be reached."""
    access = SiteAccess()
    access.set_granted(Allowed(frozenset({"shop.test", "bank.test"}), frozenset({("cdn.example", "shop.test")})))
    assert not reaches(access, "shop.test")
    assert access.may_open("shop.test") is None
    access.note_pages(["shop.test"])
    assert reaches(access, "cdn.example")
    assert not reaches(access, "bank.test")
    access.set_open(["bank.test"])
    assert not reaches(access, "cdn.example")
    access.set_granted(Allowed())
    assert not reaches(access, "bank.test")


def test_going_on_to_another_site_shuts_the_one_before() -> None:
    """At once, so that open connections are looked at again; a yes for once outlasts it, as logins lead back."""
    narrowed: list[bool] = []
    access = SiteAccess(on_narrowed=lambda: narrowed.append(True))
    access.set_granted(Allowed(frozenset({"bank.test"}), frozenset({("cdn.example", "shop.test")})))
    access.allow_once("shop.test")
    access.note_pages(["shop.test"])
    assert reaches(access, "cdn.example")
    assert narrowed == []
    access.note_pages(["bank.test"])
    assert narrowed == [True]
    assert not reaches(access, "cdn.example")
    assert access.may_open("shop.test") is None
    access.note_pages(["shop.test"])
    assert reaches(access, "cdn.example")


def test_companions_go_with_their_site() -> None:
    """Those that were allowed for once too."""
    access = SiteAccess(allows_static=False)
    access.allow_once("shop.test")
    access.allow_companions("shop.test", ["img.example"])
    assert reaches(access, "img.example")
    assert not reaches(access, "fonts.gstatic.com")
    access.allow_once("other.test")
    access.set_open(["other.test"])
    assert not reaches(access, "img.example")
    access.allow_once("shop.test")
    assert not reaches(access, "img.example")


@pytest.mark.parametrize("host", ["doubleclick.net", "ad.doubleclick.net", "www.google-analytics.com"])
def test_who_measures_is_never_reached(host: str) -> None:
    """Whatever was allowed."""
    access = SiteAccess()
    access.allow_once(host)
    assert not reaches(access, host)


def test_pages_get_no_secret_that_is_not_there() -> None:
    """The driver is told."""
    with pytest.raises(NotFound):
        asyncio.run(SiteAccess().secret_for("mail", "https://shop.test"))


@pytest.mark.parametrize(
    ("host", "site"), [("www.shop.test", "shop.test"), ("shop.test", "shop.test"), ("www.test", "www.test")]
)
def test_a_site_is_its_host_without_www(host: str, site: str) -> None:
    """Unless nothing would be left of it but a whole country."""
    assert site_of(host) == site


def test_sites_are_read_as_people_write_them() -> None:
    """In the one form that is meant; what is no host is none."""
    assert read_site(" WWW.Shop.Test ") == "shop.test"
    assert read_site("bücher.example") == "xn--bcher-kva.example"
    assert read_companion("CDN.example", "www.shop.test") == "cdn.example with shop.test"
    assert [read_site(text) for text in ("shop.test/cart", "a b", "", "shop.test:8080", "me@shop.test")] == [None] * 5
    assert find_site("a.b.shop.test", frozenset({"shop.test", "b.shop.test"})) == "b.shop.test"


def test_the_lists_are_of_hosts() -> None:
    """In the form that the gate asks by; none is on both."""
    assert all(read_site(host) == host for host in MEASURING)
    assert not MEASURING & STATIC
