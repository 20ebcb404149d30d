"""Which backends are asked: those that the settings name, as far as they are there."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.settings import SearchSettings
from monitor.settings.search import BACKENDS

STUB = "stub"
ARCHIVE = "archive"

_WANT_A_KEY = ("bocha", "brave", "tavily")

ARCHIVE_ONLY = (
    "No backend that searches the web is set, so only what was gathered so far is searched: set search.backend."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Names of backends, and what should be said about how they came about."""

    names: Sequence[str]
    warnings: Sequence[str] = ()


def chosen(settings: SearchSettings) -> Choice:
    """The backends of the settings; an unknown name is warned of, and without any other the stub takes its place."""
    known = [name for name in settings.names if name in BACKENDS]
    unknown = [name for name in settings.names if name not in BACKENDS]
    instead = "it is left out" if known else "the stub takes its place, which finds nothing real"
    return Choice(names=known or [STUB], warnings=[f"{unknown_backend(name)}; {instead}." for name in unknown])


def for_gathering(settings: SearchSettings) -> Choice:
    """The backends whose results may become items, notes or sources: never the stub; without others, the archive."""
    choice = chosen(settings)
    real = [name for name in choice.names if name != STUB]
    return Choice(real, choice.warnings) if real else Choice([ARCHIVE], [*choice.warnings, ARCHIVE_ONLY])


def lacking(settings: SearchSettings, name: str) -> str | None:
    """What a backend cannot do without and does not have, and where that is set; None where nothing is missing."""
    if name in _WANT_A_KEY and settings.key(name) is None:
        return f"{name} has no key: set the environment variable {settings.key_variable(name)}"
    if name == "searxng" and settings.of(name).base_url is None:
        return "searxng has no address: set search.backends.searxng.base_url or SEARXNG_BASE_URL"
    return None


def unknown_backend(name: str) -> str:
    """What is wrong with a name, with the nearest that would be right."""
    near = difflib.get_close_matches(name, BACKENDS, n=1)
    meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(BACKENDS)}"
    return f"There is no search backend {name!r} ({meant})"
