"""Which addresses belong to the public internet. Pure: it looks nothing up.

An address in another's clothes (mapped, translated, tunnelled) is judged by the one inside. Tables of our own, from
IANA's registries of special addresses, because the standard library's answer differs between versions.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_NOT_GLOBAL_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network; connects to this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # behind carriers' translation; clouds keep services there
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's own service for its machines, at an address that looks public
        "169.254.0.0/16",  # link-local, and clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_NOT_GLOBAL_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocols' own, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4, given up by its makers
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def parse_address(text: str) -> Address | None:
    """The address that the text spells in the one usual way, or None: no zones, other number bases or short forms."""
    try:
        return IPv6Address(text) if ":" in text and "%" not in text else IPv4Address(text)
    except AddressValueError:
        return None


def is_global(address: Address) -> bool:
    """A packet to it leaves for the public internet and goes to one machine there."""
    address = unmap_address(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_GLOBAL_4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_global(_last_four(address))
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP and not is_global(_last_four(address)):
        return False
    return address in _GLOBAL_6 and not any(address in network for network in _NOT_GLOBAL_6)


def unmap_address(address: Address) -> Address:
    """The IPv4 address that a mapped one (``::ffff:1.2.3.4``) means; any other as it is."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _last_four(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
