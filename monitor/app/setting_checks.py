"""What has to be true of settings beside their types before an administrator may store them."""

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from monitor.app.writing import examine_template
from monitor.errors import UsageError
from monitor.llm.servers import check_endpoint
from monitor.net.tls import tls_context
from monitor.search.choosing import unknown_backend
from monitor.settings import Settings
from monitor.settings.search import BACKENDS

Check = Callable[[Settings], object]

MODEL_PHASES = ("navigate", "crawl", "summarise", "rank", "plan", "search", "modeling", "report")
_PROXIES = ("http", "https", "socks4", "socks5", "socks5h")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.IGNORECASE)


def _check_proxy(settings: Settings) -> None:
    if settings.network.proxy is not None and not _is_url(settings.network.proxy, _PROXIES):
        raise UsageError(f"It is no address of a proxy: write {', '.join(f'{one}://…' for one in _PROXIES)}.")


def _check_browser(settings: Settings) -> None:
    endpoint = settings.pages.browser.endpoint
    if endpoint is not None and not _is_url(endpoint, ("ws", "wss", "http", "https")):
        raise UsageError("It is no address of a browser: write it as ws://host:port.")


def _check_public_url(settings: Settings) -> None:
    if settings.web.public_url is not None and not _is_url(settings.web.public_url, ("http", "https")):
        raise UsageError("It is no web address: write it as https://monitor.example.org.")


def _check_hosts(settings: Settings) -> None:
    for host in settings.network.allowed_private_hosts:
        if not _HOST.fullmatch(host.strip()):
            raise UsageError(f"{host!r} is no host: write it as 10.0.0.5 or 10.0.0.5:8099.")


def _check_certificates(settings: Settings) -> None:
    tls_context(ca_bundle=settings.network.ca_bundle, allow_legacy_tls=False)


def _check_backends(settings: Settings) -> None:
    for name in settings.search.names:
        if name not in BACKENDS:
            raise UsageError(f"{unknown_backend(name)}.")


def _check_phases(settings: Settings) -> None:
    for phase, model in settings.llm.models.items():
        if phase not in MODEL_PHASES or not model.strip():
            raise UsageError(f"{phase!r} is no phase, or has no model: the phases are {', '.join(MODEL_PHASES)}.")


def _check_model(settings: Settings) -> None:
    if not settings.llm.model.strip():
        raise UsageError("Name a model.")


CHECKS: Mapping[str, Check] = {
    "llm.base_url": lambda settings: check_endpoint(settings.llm),
    "llm.models": _check_phases,
    "llm.model": _check_model,
    "network.proxy": _check_proxy,
    "network.ca_bundle": _check_certificates,
    "network.allowed_private_hosts": _check_hosts,
    "pages.browser.endpoint": _check_browser,
    "search.backend": _check_backends,
    "web.public_url": _check_public_url,
    "briefing.template": examine_template,
}
"""The checks that need nothing but the settings, by the path that they are about; each raises `UsageError`."""


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme.lower() in schemes and bool(parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:
        return False
