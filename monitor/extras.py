"""The extras of the distribution: what each one brings, and the error where one is missing.

The base reads pages over HTTP, sweeps by rule and serves the pages; what needs an extra says so when it is asked for.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal

from monitor.errors import ExtraMissing, MonitorError

DISTRIBUTION = "monitor-briefings"
Extra = Literal["browser", "documents", "export", "identity", "mcp", "models", "notify", "traces"]

EXTRA_MODULES: Mapping[Extra, frozenset[str]] = {
    "browser": frozenset({"playwright"}),
    "documents": frozenset({"docx", "icalendar", "openpyxl", "pypdfium2", "trafilatura"}),
    "export": frozenset({"obstore", "pyarrow"}),
    "identity": frozenset({"authlib", "joserfc", "webauthn"}),
    "mcp": frozenset({"mcp", "mcp_types"}),
    "models": frozenset({"json_repair", "openai"}),
    "notify": frozenset({"apprise", "css_inline", "requests", "urllib3"}),
    "traces": frozenset({"opentelemetry"}),
}
"""The modules that no base installation has. What `postgres` brings, DBOS requires in the base as well."""


def check_extra(extra: Extra, error_class: type[MonitorError] = ExtraMissing) -> None:
    """Raise the error where the extra is not installed, or not whole."""
    if any(find_spec(name) is None for name in EXTRA_MODULES[extra]):
        raise _build_error(extra, error_class)


@contextmanager
def needs_extra(extra: Extra, error_class: type[MonitorError] = ExtraMissing) -> Iterator[None]:
    """Raise the error where an import in this block finds that the extra is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA_MODULES[extra]:
            raise
        raise _build_error(extra, error_class) from error


def _build_error(extra: Extra, error_class: type[MonitorError]) -> MonitorError:
    return error_class("extra.missing", extra=extra, distribution=DISTRIBUTION)
