"""Addresses of clients and proxies, and the networks that settings and tokens name."""

import ipaddress
from collections.abc import Sequence

from pydantic_core import PydanticCustomError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_network(text: str) -> IpNetwork:
    """Return a network, of an address the one that it is alone in; `ValueError` for anything else."""
    return ipaddress.ip_network(text.strip(), strict=False)


def check_networks(networks: Sequence[str]) -> None:
    """Refuse a list of a setting in which something is no network."""
    for text in networks:
        try:
            parse_network(text)
        except ValueError:
            raise PydanticCustomError("config.no_network", "", {"network": text[:60]}) from None


def is_within(address: IpAddress, networks: Sequence[IpNetwork]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def parse_address(text: str) -> IpAddress | None:
    """Return an address, of one with a port or in brackets too; IPv4 written as IPv6 is IPv4."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
