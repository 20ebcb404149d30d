"""The environment that child processes get: where things are, and no secrets."""

import os
from collections.abc import Collection

_KEPT = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TZDIR", "TMPDIR", "TEMP", "TMP"),
        *("LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PYTHONHOME", "VIRTUAL_ENV"),
        *("FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "DISPLAY"),
    }
)


def build_child_environment(*, keep: Collection[str] = ()) -> dict[str, str]:
    """Return the variables of this process that say where things are, those of the locale, and those named in `keep`.

    An API key, `MONITOR_*` or a proxy with its password is none of these.
    """
    return {
        name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_") or name in keep
    }
