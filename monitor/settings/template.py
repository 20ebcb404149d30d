"""The text of config.yaml: every setting with its default and its line of comment, made from the settings."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from monitor.settings.model import ENV_PREFIX, Settings

_COMMENT_COLUMN = 46
_INDENT = "  "
_HEAD = f"""\
# The configuration of Monitor. Every setting stands here with its default: what is deleted keeps it.
# An environment variable overrides a line of this file: {ENV_PREFIX}<SECTION>__<NAME>, as {ENV_PREFIX}LLM__BASE_URL.
# So does what is set on the desk under Settings.
# Relative paths are relative to the folder of this file. Secrets do not belong here but into the environment.
"""
_NO_SOURCES = """\
sources: []
# sources:
#   - name: Ministry of Examples
#     url: https://www.example.gov/
#     focus_areas: [energy, carbon market]
#     schedule: 0 7 * * 1-5          # minute, hour, day, month, weekday, in the time zone of the source
#     timezone: Europe/Berlin
#     tags: [energy]
"""


def config_text(sources_yaml: str = "") -> str:
    """A whole config.yaml that loads to the defaults.

    `sources_yaml` are the entries of the list of sources, each beginning with `- `, as they shall stand in the file;
    without them the list is empty and a comment shows how one is written.
    """
    lines = [_HEAD]
    for name, field in Settings.model_fields.items():
        if name == "sources":
            lines.append(f"\n# {field.description}\n{_sources(sources_yaml)}")
        else:
            lines += _setting(name, field, "")
    return "\n".join(lines)


def _sources(entries: str) -> str:
    return f"sources:\n{entries.rstrip()}\n" if entries.strip() else _NO_SOURCES


def _setting(name: str, field: FieldInfo, indent: str) -> list[str]:
    group = _group_of(field)
    if group is None:
        line = f"{indent}{name}: {_written(field.get_default(call_default_factory=True))}"
        return [f"{line:<{_COMMENT_COLUMN}}  # {field.description}"]
    lines = [] if indent else [""]
    lines.append(f"{indent}{name}:{'':<{_COMMENT_COLUMN - len(indent) - len(name) - 1}}  # {field.description}")
    for inner_name, inner in group.model_fields.items():
        lines += _setting(inner_name, inner, indent + _INDENT)
    return lines


def _written(value: Any) -> str:
    plain = str(value) if isinstance(value, Path) else value
    return yaml.safe_dump(plain, default_flow_style=True, allow_unicode=True).removesuffix("...\n").strip()


def _group_of(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
