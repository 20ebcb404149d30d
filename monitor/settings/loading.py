"""Loading the configuration: config.yaml, overridden by the environment."""

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from monitor.errors import SettingsError
from monitor.settings.complaints import explain, forbid_unknown_keys
from monitor.settings.file import read_yaml
from monitor.settings.model import ENV_PREFIX, Settings


def settings_path(given: Path | None) -> Path:
    """Where the configuration is: `--config`, else MONITOR_CONFIG, else config.yaml here."""
    return given or Path(os.environ.get("MONITOR_CONFIG") or "config.yaml")


def load_settings(given: Path | None = None) -> Settings:
    """The settings in force, or `SettingsError` with one sentence that names the key and the mend.

    A file that was named must exist; the default one may be absent: then the defaults hold.
    """
    path = settings_path(given)
    is_named = given is not None or "MONITOR_CONFIG" in os.environ
    if is_named and not path.is_file():
        raise SettingsError(
            f"There is no configuration file {path}: name another one, or write it with `monitor --config {path} init`."
        )
    values = read_yaml(path) if path.is_file() else {}
    forbid_unknown_keys(values, Settings, f"{path}")
    _forbid_unknown_variables()
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError(explain(error, str(path))) from None
    return settings.model_copy(update=_absolute(settings, path.resolve().parent))


def _absolute(settings: Settings, folder: Path) -> dict[str, Any]:
    url = settings.database_url
    if url.startswith("sqlite:///") and not url.startswith("sqlite:////") and url != "sqlite:///:memory:":
        url = f"sqlite:///{folder / url.removeprefix('sqlite:///')}"
    template = settings.briefing.template
    look = settings.briefing.model_copy(update={"template": folder / template if template else None})
    return {"data_dir": folder / settings.data_dir, "database_url": url, "briefing": look}


def _forbid_unknown_variables() -> None:
    names = {name.lower() for name in Settings.model_fields}
    for variable in os.environ:
        if "__" not in variable or not variable.startswith(ENV_PREFIX):
            continue
        path = variable.removeprefix(ENV_PREFIX).lower().split("__")
        if path[0] in names:
            nested: Any = ""
            for part in reversed(path):
                nested = {part: nested}
            forbid_unknown_keys(nested, Settings, f"the environment variable {variable}")
        else:
            forbid_unknown_keys({path[0]: ""}, Settings, f"the environment variable {variable}")
