"""Reading config.yaml."""

from pathlib import Path
from typing import Any

import yaml

from monitor.errors import SettingsError


def read_yaml(path: Path) -> dict[str, Any]:
    """The file's mapping; `SettingsError` names the line where it is no YAML."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "it is no YAML"
        raise SettingsError(
            f"{path}{where} cannot be read: {reason}; mend the file or write a new one with `monitor init`."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read ({error}): give a readable UTF-8 file.") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{path} must hold settings as `name: value`, not a {type(values).__name__}.")
    return values
