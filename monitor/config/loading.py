"""Loading the configuration: config.yaml, overridden by the environment."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from monitor.config.group import describe_first_error, forbid_unknown_keys, is_group, set_path
from monitor.config.model import ENV_PREFIX, Settings
from monitor.errors import SettingsError
from monitor.i18n.message import Message

MAX_YAML_BYTES = 2 * 1024**2
"""Enough for 5,000 sources."""

_MAX_YAML_DEPTH = 32
_MAX_YAML_NODES = 250_000  # with what an alias names counted as often as it is named; 5,000 sources have 150,000
_YamlLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _YamlTooLarge(yaml.YAMLError):
    """More than a file of settings holds; in the shape of the library's own errors with a place."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem)
        self.problem, self.problem_mark = problem, mark


def parse_yaml(text: str) -> Any:
    """Return the values of a YAML document that somebody may have written to do harm.

    `YAMLError` where it is none, is too large or too deep, or where its aliases multiply it: a few lines that name each
    other take gigabytes once merge keys copy them.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_YAML_BYTES:
        raise yaml.YAMLError(f"more than {MAX_YAML_BYTES // 1024**2} MB")
    _check_nesting(text)
    loader = _YamlLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _check_expanded_size(root)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _check_nesting(text: str) -> None:
    """Raise `YAMLError` for more levels or values than a list of settings has; reads no further than it must."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_YamlLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_YAML_DEPTH:
            raise _YamlTooLarge(f"more than {_MAX_YAML_DEPTH} levels", event.start_mark)
        if number > _MAX_YAML_NODES:
            raise _YamlTooLarge(f"more than {_MAX_YAML_NODES} values", event.start_mark)


def _check_expanded_size(root: Node) -> None:
    """Raise `YAMLError` where the document has too many values once each alias is replaced by what it names."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def measure(node: Node) -> int:
        if isinstance(node, ScalarNode):
            return 1
        if id(node) in open_nodes:
            raise _YamlTooLarge("an alias that contains itself", node.start_mark)
        if id(node) not in sizes:
            open_nodes.add(id(node))
            children = list(node.value) if isinstance(node, SequenceNode) else []
            if isinstance(node, MappingNode):
                children = [part for pair in node.value for part in pair]
            sizes[id(node)] = 1 + sum(map(measure, children))
            open_nodes.discard(id(node))
        if sizes[id(node)] > _MAX_YAML_NODES:
            raise _YamlTooLarge("aliases that multiply the document", node.start_mark)
        return sizes[id(node)]

    measure(root)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the file's mapping; `SettingsError` names the line where it is no YAML."""
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            raise SettingsError("config.large", path=path, limit_mb=MAX_YAML_BYTES // 1024**2)
        values = parse_yaml(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "YAML"
        line = mark.line + 1 if mark else 1
        raise SettingsError("config.no_yaml", path=path, line=line, reason=reason) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError("config.not_readable", path=path, reason=str(error)) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError("config.no_mapping", path=path, type=type(values).__name__)
    return values


def get_settings_path(config_path: Path | None) -> Path:
    """Return `--config`, else MONITOR_CONFIG, else config.yaml in this folder."""
    return config_path or Path(os.environ.get("MONITOR_CONFIG") or "config.yaml")


def load_settings(config_path: Path | None = None) -> Settings:
    """Return the settings in force, or raise `SettingsError` that names the key and the mend.

    A file that was named must exist; the default one may be absent: then the defaults hold.
    """
    path = get_settings_path(config_path)
    is_named = config_path is not None or "MONITOR_CONFIG" in os.environ
    if is_named and not path.is_file():
        raise SettingsError("config.no_file", path=path)
    values = read_yaml(path) if path.is_file() else {}
    forbid_unknown_keys(values, Settings, f"{path}")
    _forbid_unknown_variables()
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError(describe_first_error(error, str(path))) from None
    return settings.model_copy(update=_resolve_paths(settings, path.resolve().parent))


def _resolve_paths(settings: Settings, folder: Path) -> dict[str, Any]:
    url = settings.database_url
    if url.startswith("sqlite:///") and not url.startswith("sqlite:////") and url != "sqlite:///:memory:":
        url = f"sqlite:///{folder / url.removeprefix('sqlite:///')}"
    template = settings.briefing.template
    look = settings.briefing.model_copy(update={"template": folder / template if template else None})
    below = settings.export.folder
    export = settings.export.model_copy(update={"folder": folder / below if below else None})
    return {"data_dir": folder / settings.data_dir, "database_url": url, "briefing": look, "export": export}


def _forbid_unknown_variables() -> None:
    for variable in os.environ:
        if "__" in variable and variable.startswith(ENV_PREFIX):
            nested: dict[str, Any] = {}
            set_path(nested, variable.removeprefix(ENV_PREFIX).lower().split("__"), "")
            forbid_unknown_keys(nested, Settings, Message.of("config.variable", variable=variable))


_COMMENT_COLUMN = 46
_INDENT = "  "

_HEADER = f"""\
# The configuration of Monitor. Every setting is listed with its default; a deleted setting falls back to it.
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


def render_config(sources_yaml: str = "") -> str:
    """Return a whole config.yaml that loads to the defaults.

    `sources_yaml` are the entries of the list of sources; without them a comment shows how one is written.
    """
    lines = [_HEADER]
    for name, field in Settings.model_fields.items():
        if name == "sources":
            sources = f"sources:\n{sources_yaml.rstrip()}\n" if sources_yaml.strip() else _NO_SOURCES
            lines.append(f"\n# {field.description}\n{sources}")
        else:
            lines += _render_setting(name, field, "")
    return "\n".join(lines)


def _render_setting(name: str, field: FieldInfo, indent: str) -> list[str]:
    group = field.annotation
    if not is_group(group):
        line = f"{indent}{name}: {_dump_value(field.get_default(call_default_factory=True))}"
        return [f"{line:<{_COMMENT_COLUMN}}  # {field.description}"]
    lines = [] if indent else [""]
    lines.append(f"{indent}{name}:{'':<{_COMMENT_COLUMN - len(indent) - len(name) - 1}}  # {field.description}")
    for inner_name, inner in group.model_fields.items():
        lines += _render_setting(inner_name, inner, indent + _INDENT)
    return lines


def _dump_value(value: Any) -> str:
    plain = str(value) if isinstance(value, Path | StrEnum) else value
    return yaml.safe_dump(plain, default_flow_style=True, allow_unicode=True).removesuffix("...\n").strip()
