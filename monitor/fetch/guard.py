"""Which addresses may be asked: the public network, and what the administrator allows by name.

Pages are untrusted and their links, redirects and scripts lead anywhere; none of them may make this service talk to
the machines around it. The check is made on the address that is connected to, after the name was resolved, so that a
name which changes its answer between check and connection gains nothing.
"""

import asyncio
import ipaddress
import re
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable
from urllib.parse import urlsplit

import httpcore

from monitor.fetch.result import FetchError, build_fetch_error
from monitor.page import PageErrorCode

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

Resolver = Callable[[str, int], Awaitable[list[Address]]]

_DEFAULT_PORTS = {"http": 80, "https": 443}

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")

# The only part of IPv6 that is given out to the public; what lies outside is local, reserved or not yet thought of.
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")

# Ranges for the machinery of the network itself, parts of which count as public.
_SPECIAL_NETWORKS = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("192.88.99.0/24"))

# A metadata service that hides behind an address which counts as public.
_METADATA_ADDRESS = ipaddress.ip_address("168.63.129.16")

# Names that mean another machine in every network; a proxy may resolve them where we cannot.
_LOCAL_SUFFIXES = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa")

_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f]")


async def resolve_host(host: str, port: int) -> list[Address]:
    """The addresses of a name, in the order the system prefers them; `OSError` where there are none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).split("%", 1)[0]) for entry in found))


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public network, also when it is an IPv4 address in an IPv6 coat."""
    return all(_is_public_address(reading) for reading in _list_embedded_addresses(address))


def is_local_name(host: str) -> bool:
    """Whether a name means a machine of the own network by its form: a single word, or an ending kept for such use."""
    return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def is_obfuscated_ip(host: str) -> bool:
    """Whether a host is an IPv4 address written so that a reader would not see it: 2130706433, 0x7f.1, 127。0。0。1."""
    plain = unicodedata.normalize("NFKC", host).replace("。", ".").rstrip(".")
    try:
        ipaddress.ip_address(plain)
    except ValueError:
        try:
            socket.inet_aton(plain)
        except (OSError, UnicodeError):
            return False
        return True
    return plain != host.rstrip(".")


class Guard:
    """Decides about addresses; `allowed_private_hosts` are the exceptions, as `host:port` or as `host` for any port.

    An exception holds for the host as it is written there: another name for the same machine stays refused, or a
    stranger's DNS entry could borrow it. `own_hosts`, as `host:port`, are what this process itself serves; they may
    come and go while it lives.
    """

    def __init__(
        self,
        *,
        allowed_private_hosts: Collection[str] = (),
        own_hosts: Collection[str] = (),
        resolver: Resolver = resolve_host,
    ) -> None:
        self._allowed_private_hosts = frozenset(entry.strip().lower() for entry in allowed_private_hosts)
        self._own_hosts = own_hosts
        self._resolver = resolver

    def is_own_host(self, host: str) -> bool:
        """Whether this very process serves that `host:port`."""
        return host in self._own_hosts

    async def check(self, url: str, *, may_be_unresolved: bool = False) -> None:
        """Raises `FetchToolError` (InvalidUrl, Forbidden, NetworkError) where `url` must not or cannot be asked.

        `may_be_unresolved` is for requests that go through a proxy: a name that only the proxy can resolve passes.
        """
        host, port = self._split_url(url)
        try:
            await self.resolve(host, port)
        except FetchError as failure:
            if not (may_be_unresolved and failure.error.code is PageErrorCode.NETWORK):
                raise

    async def resolve(self, host: str, port: int) -> list[Address]:
        """The addresses that may be connected to for this host; the same errors as `check`."""
        host = host.strip("[]").rstrip(".").lower()
        if is_obfuscated_ip(host):
            raise build_fetch_error(PageErrorCode.FORBIDDEN, "page.address_disguised", host=host)
        literal = _parse_address(host)
        is_allowed = self._is_allowed(host, port)
        if literal is None and not is_allowed and is_local_name(host):
            raise _build_not_public_error(host, port)
        found = [literal] if literal else await self._resolve_name(host, port)
        if not is_allowed and not all(is_public(address) for address in found):
            raise _build_not_public_error(host, port)
        return found

    def _split_url(self, url: str) -> tuple[str, int]:
        try:
            parts = urlsplit(url.strip())
            host, port, scheme = parts.hostname, parts.port, parts.scheme.lower()
        except ValueError:
            raise build_fetch_error(PageErrorCode.INVALID_URL, "page.invalid_url", url=url[:200]) from None
        if scheme and scheme not in _DEFAULT_PORTS and (parts.netloc or not re.match(r"^\d+(/|$)", parts.path)):
            raise build_fetch_error(PageErrorCode.FORBIDDEN, "page.scheme_refused", scheme=scheme)
        # A backslash, a tab or a line end means one host to one reader of urls and another to the next.
        is_odd = _CONTROL_CHARS.search(url.strip()) or "\\" in parts.netloc or port == 0
        if not scheme or not host or is_odd or re.search(r"[\s<>\"'\\^`{|}%]", host):
            raise build_fetch_error(PageErrorCode.INVALID_URL, "page.invalid_url", url=url[:200])
        return host, port if port is not None else _DEFAULT_PORTS.get(scheme, 80)

    async def _resolve_name(self, host: str, port: int) -> list[Address]:
        try:
            found = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            may_retry = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
            raise build_fetch_error(
                PageErrorCode.NETWORK, "page.name_unresolved", host=host, may_retry=may_retry
            ) from error
        if not found:
            raise build_fetch_error(PageErrorCode.NETWORK, "page.name_no_address", host=host)
        return found

    def _is_allowed(self, host: str, port: int) -> bool:
        written = _format_host_port(host, port)
        return self.is_own_host(written) or not self._allowed_private_hosts.isdisjoint({host, f"[{host}]", written})


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects for the HTTP client: resolves, asks the guard, and connects to exactly the addresses it passed."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A stream to the first address that answers; the guard's refusal passes through as it is."""
        refusal: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in await self._guard.resolve(host, port):
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
        raise refusal or httpcore.ConnectError(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109, ARG002  the library's signature
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        """Refused: sites do not live in files."""
        raise build_fetch_error(PageErrorCode.FORBIDDEN, "page.socket_refused", path=path)

    async def sleep(self, seconds: float) -> None:
        """Waits, as the pool asks between attempts."""
        await asyncio.sleep(seconds)


def _build_not_public_error(host: str, port: int) -> FetchError:
    return build_fetch_error(PageErrorCode.FORBIDDEN, "page.address_private", host=_format_host_port(host, port))


def _is_public_address(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        return address in _GLOBAL_IPV6 and address.is_global
    is_special = address.is_multicast or address.is_reserved or any(address in network for network in _SPECIAL_NETWORKS)
    return address.is_global and not is_special and address != _METADATA_ADDRESS


def _list_embedded_addresses(address: Address) -> list[Address]:
    """The address and the IPv4 addresses that it carries, for those forms of IPv6 that a gateway may translate."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    carried: list[Address | None] = [address.sixtofour, address.teredo[1] if address.teredo else None]
    if address in _NAT64 or address in _IPV4_COMPATIBLE:
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    inner = [reading for reading in carried if reading is not None]
    # A NAT64 address is only as public as what it is translated to; the prefix itself says nothing.
    return inner if address in _NAT64 else [address, *inner]


def _parse_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _format_host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
