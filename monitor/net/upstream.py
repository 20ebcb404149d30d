"""The organisation's own proxy, `network.proxy`, as the next stop after the proxy of ours."""

import asyncio
import base64
import ssl
from urllib.parse import unquote, urlsplit

from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError
from python_socks.async_.asyncio.v2 import Proxy

from monitor.domain.page import PageErrorCode
from monitor.errors import SettingsError
from monitor.net.failure import failed

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_PORTS = {"http": 80, "https": 443}


class Upstream:
    """Leads connections through another proxy (http, https, socks4, socks5); `SettingsError` where the url is none.

    Names are resolved there, not here. `forwards` tells that it takes plain HTTP with the whole url in the first
    line, as HTTP proxies do: many of them allow tunnels to port 443 only.
    """

    def __init__(self, url: str, *, context: ssl.SSLContext) -> None:
        try:
            self._parts = urlsplit(url)
            scheme = self._parts.scheme.lower()
            is_secure = scheme == "https"
            plain = url.replace("https", "http", 1) if is_secure else url.replace("socks5h", "socks5", 1)
            self._context = context if is_secure else None
            self._proxy = Proxy.from_url(plain, rdns=True, proxy_ssl=self._context)
        except ValueError as error:
            raise SettingsError(
                f"network.proxy is not the url of a proxy ({error}); write http://host:port."
            ) from error
        self.forwards = scheme in _PORTS

    @property
    def authorization(self) -> list[tuple[bytes, bytes]]:
        """The header that carries the user and password of the setting, where it has them."""
        if self._parts.username is None:
            return []
        pair = f"{unquote(self._parts.username)}:{unquote(self._parts.password or '')}"
        return [(b"proxy-authorization", b"Basic " + base64.b64encode(pair.encode()))]

    async def tunnel(self, host: str, port: int, *, timeout_s: float) -> Streams:
        """A connection to host and port by way of the proxy; `FetchFailed` where it makes none."""
        try:
            stream = await self._proxy.connect(host, port, timeout=timeout_s)
        except ProxyTimeoutError as error:
            raise failed(PageErrorCode.TIMEOUT, "The proxy network.proxy did not connect in time.") from error
        except (ProxyError, ProxyConnectionError, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            raise failed(PageErrorCode.NETWORK, f"The proxy network.proxy did not connect ({reason}).") from error
        return stream.reader, stream.writer

    async def open(self, *, timeout_s: float) -> Streams:
        """A connection to the proxy itself, to ask it in plain HTTP; `FetchFailed` where it does not answer."""
        parts = self._parts
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.open_connection(
                    parts.hostname, parts.port or _PORTS[parts.scheme.lower()], ssl=self._context
                )
        except TimeoutError:
            raise failed(PageErrorCode.TIMEOUT, "The proxy network.proxy did not answer in time.") from None
        except OSError as error:
            raise failed(PageErrorCode.NETWORK, f"The proxy network.proxy does not answer ({error}).") from error
