"""Which addresses may be connected to: the public network, and what the administrator allows by name.

Pages are untrusted and their links, redirects and scripts lead anywhere; none of them may make this service talk to
the machines around it. The check applies to the address that is connected to, after the name was resolved, so a name
that changes its answer between check and connection gains nothing.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Protocol, Self
from urllib.parse import urlsplit

import httpcore
import httpx

from monitor.config.model import NetworkSettings
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[Address]]]
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
# The only part of IPv6 that is assigned to the public; the rest is local, reserved or unassigned.
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
# Ranges of network infrastructure, parts of which count as public.
_SPECIAL_NETWORKS = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("192.88.99.0/24"))
# A cloud metadata service behind an address that counts as public.
_METADATA_ADDRESS = ipaddress.ip_address("168.63.129.16")

# Names that mean another machine in every network; a proxy may resolve them where we cannot.
_LOCAL_SUFFIXES = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa")
_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f]")


async def resolve_host(host: str, port: int) -> list[Address]:
    """Return the addresses of a name in the order the system prefers; raise `OSError` if there are none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).split("%", 1)[0]) for entry in found))


def is_public(address: Address) -> bool:
    """Whether an address, and every IPv4 address embedded in it, belongs to the public network."""
    return all(_is_public_address(embedded) for embedded in _list_embedded_addresses(address))


def is_local_name(host: str) -> bool:
    """Whether a name means a machine of the local network by its form: a single label or a reserved suffix."""
    return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def is_obfuscated_ip(host: str) -> bool:
    """Whether a host is an IPv4 address in an unusual notation: 2130706433, 0x7f.1, 127。0。0。1."""
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


class ConnectionGuard(Protocol):
    """What a proxy asks before it connects."""

    async def check_host(self, host: str, port: int) -> bool:
        """Return whether the host is for the upstream proxy; raise `FetchError` if it must not be connected to."""
        ...

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Return the addresses to connect to; raises the errors of `check_host`."""
        ...


class Guard:
    """Decides which hosts may be requested; `allowed_private_hosts`, as `host:port` or `host`, are exceptions.

    An exception applies to the host as written: another name for the same machine stays refused, or anybody's DNS
    entry could use it. `own_hosts`, as `host:port`, are served by this process; they may change while it runs.

    `proxy_suffixes` are given where requests go through a proxy. It may know names that nobody knows here, and among
    them are the machines around it: a name that does not resolve here passes only with one of these endings.
    """

    def __init__(
        self,
        *,
        allowed_private_hosts: Collection[str] = (),
        own_hosts: Collection[str] = (),
        proxy_suffixes: Collection[str] | None = None,
        resolver: Resolver = resolve_host,
    ) -> None:
        self._allowed_private_hosts = frozenset(entry.strip().lower() for entry in allowed_private_hosts)
        self._own_hosts = own_hosts
        self._proxy_suffixes = proxy_suffixes
        self._resolver = resolver

    @classmethod
    def from_settings(
        cls,
        network: NetworkSettings,
        *,
        own_hosts: Collection[str] = (),
        service_hosts: Collection[str] = (),
        resolver: Resolver = resolve_host,
    ) -> Self:
        """Return the guard for pages; with `service_hosts`, the one for the services that these are."""
        return cls(
            allowed_private_hosts=[*network.allowed_private_hosts, *service_hosts],
            own_hosts=own_hosts,
            proxy_suffixes=None if network.proxy is None else network.proxy_suffixes,
            resolver=resolver,
        )

    def is_own_host(self, host: str) -> bool:
        return host in self._own_hosts

    async def check(self, url: str) -> None:
        """Raise `FetchError` (InvalidUrl, Forbidden, NetworkError) if `url` must not or cannot be requested."""
        await self.check_host(*_split_url(url))

    async def check_host(self, host: str, port: int) -> bool:
        """Raise the errors of `check` for a host; return whether it is for the proxy.

        A host that resolves here to private addresses, as only an exception may, is connected to directly: on the
        proxy's side the same address is another machine.
        """
        try:
            addresses = await self.resolve(host, port)
            return self._proxy_suffixes is not None and all(is_public(address) for address in addresses)
        except FetchError as failure:
            if self._proxy_suffixes is None or failure.error.code is not PageErrorCode.NETWORK:
                raise
            name = _normalize_host(host)
            is_for_proxy = any(name == suffix or name.endswith(f".{suffix}") for suffix in self._proxy_suffixes)
            if not is_for_proxy and not self._is_exception(name, port):
                raise FetchError.of(
                    PageErrorCode.NETWORK, "page.name_not_for_proxy", may_retry=failure.may_retry, host=name
                ) from failure
            return True

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Return the addresses to connect to for this host; raises the errors of `check`."""
        host = _normalize_host(host)
        if is_obfuscated_ip(host):
            raise FetchError.of(PageErrorCode.FORBIDDEN, "page.address_disguised", host=host)
        is_allowed = self._is_exception(host, port)
        try:
            addresses = [ipaddress.ip_address(host)]
        except ValueError:
            if not is_allowed and is_local_name(host):
                raise _build_private_error(host, port) from None
            addresses = await self._resolve_name(host, port)
        if not is_allowed and not all(is_public(address) for address in addresses):
            raise _build_private_error(host, port)
        return addresses

    def _is_exception(self, host: str, port: int) -> bool:
        written = _join_host_and_port(host, port)
        entries = {host, f"[{host}]", written}
        return written in self._own_hosts or not self._allowed_private_hosts.isdisjoint(entries)

    async def _resolve_name(self, host: str, port: int) -> list[Address]:
        try:
            addresses = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            may_retry = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
            raise FetchError.of(
                PageErrorCode.NETWORK, "page.name_unresolved", may_retry=may_retry, host=host
            ) from error
        if not addresses:
            raise FetchError.of(PageErrorCode.NETWORK, "page.name_no_address", host=host)
        return addresses


def _normalize_host(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


def _join_host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _build_private_error(host: str, port: int) -> FetchError:
    return FetchError.of(PageErrorCode.FORBIDDEN, "page.address_private", host=_join_host_and_port(host, port))


def _split_url(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url.strip())
        host, port, scheme = parts.hostname, parts.port, parts.scheme.lower()
    except ValueError:
        raise _build_invalid_url_error(url) from None
    if scheme and scheme not in _DEFAULT_PORTS and (parts.netloc or not re.match(r"^\d+(/|$)", parts.path)):
        raise FetchError.of(PageErrorCode.FORBIDDEN, "page.scheme_refused", scheme=scheme)
    # A backslash, a tab or a line end means one host to one URL parser and another to the next.
    is_ambiguous = _CONTROL_CHARS.search(url.strip()) or "\\" in parts.netloc or port == 0
    if not scheme or not host or is_ambiguous or re.search(r"[\s<>\"'\\^`{|}%]", host):
        raise _build_invalid_url_error(url)
    return host, port if port is not None else _DEFAULT_PORTS.get(scheme, 80)


def _build_invalid_url_error(url: str) -> FetchError:
    return FetchError.of(PageErrorCode.INVALID_URL, "page.invalid_url", url=url[:200])


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport, with connections made by `GuardedBackend`."""

    def __init__(self, context: ssl.SSLContext, guard: Guard) -> None:
        super().__init__(verify=context)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=GuardedBackend(guard),
        )


class ProxiedTransport(httpx.AsyncBaseTransport):
    """Sends requests through a proxy, which resolves and connects, and those for allowed private hosts directly.

    The check is here too, right before the proxy is asked, so that a name has no time to change its answer.
    """

    def __init__(self, context: ssl.SSLContext, guard: Guard, proxy: httpx.Proxy) -> None:
        self._direct = GuardedTransport(context, guard)
        self._proxied = httpx.AsyncHTTPTransport(verify=context, proxy=proxy)
        self._guard = guard

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host, port = request.url.raw_host.decode("ascii"), request.url.port
        is_for_proxy = await self._guard.check_host(host, port or _DEFAULT_PORTS[request.url.scheme])
        return await (self._proxied if is_for_proxy else self._direct).handle_async_request(request)

    async def aclose(self) -> None:
        await self._direct.aclose()
        await self._proxied.aclose()


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects for the HTTP client to exactly the addresses that the guard returned."""

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
        """Return a stream to the first address that accepts; the guard's `FetchError` passes through."""
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
        raise FetchError.of(PageErrorCode.FORBIDDEN, "page.socket_refused", path=path)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _is_public_address(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        return address in _GLOBAL_IPV6 and address.is_global
    is_special = address.is_multicast or address.is_reserved or any(address in network for network in _SPECIAL_NETWORKS)
    return address.is_global and not is_special and address != _METADATA_ADDRESS


def _list_embedded_addresses(address: Address) -> list[Address]:
    """Return the address and the IPv4 addresses in it, for those forms of IPv6 that a gateway may translate."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    embedded: list[Address | None] = [address.sixtofour, address.teredo[1] if address.teredo else None]
    if address in _NAT64 or address in _IPV4_COMPATIBLE:
        embedded.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    inner = [candidate for candidate in embedded if candidate is not None]
    # A NAT64 address is only as public as what it is translated to; the prefix itself says nothing.
    return inner if address in _NAT64 else [address, *inner]
