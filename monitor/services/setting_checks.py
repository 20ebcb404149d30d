"""What is checked of stored settings that no type says: addresses, phases, backends."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from monitor.config.model import BACKENDS, Settings
from monitor.errors import UsageError
from monitor.services.settings import SettingCheck

MODEL_PHASES = ("navigate", "crawl", "summarise", "rank", "verify", "plan", "search", "modeling", "report")


def _check_public_url(settings: Settings) -> None:
    url = settings.web.public_url
    if url is None:
        return
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isprintable()
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError("settings.bad_public_url")


def _check_backends(settings: Settings) -> None:
    from monitor.search.registry import describe_unknown_backend

    for name in settings.search.backend_names:
        if name not in BACKENDS:
            raise UsageError(describe_unknown_backend(name))


def _check_phases(settings: Settings) -> None:
    for phase, model in settings.llm.models.items():
        if phase not in MODEL_PHASES or not model.strip():
            raise UsageError("settings.bad_phase", phase=phase, known=MODEL_PHASES)


def _check_model(settings: Settings) -> None:
    if not settings.llm.model.strip():
        raise UsageError("settings.no_model")


def _check_endpoint(settings: Settings) -> None:
    settings.llm.check_endpoint()


def check_delivery(settings: Settings) -> None:
    if settings.deliver.targets:
        from monitor.services.deliveries import check_targets

        check_targets(settings)


CHECKS: Mapping[str, SettingCheck] = {
    "llm.base_url": _check_endpoint,
    "llm.models": _check_phases,
    "llm.model": _check_model,
    "search.backend": _check_backends,
    "deliver.targets": check_delivery,
    "web.public_url": _check_public_url,
}
"""The checks that need nothing but the settings, by the path that they are about; each raises `UsageError`."""
