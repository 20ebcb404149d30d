"""What was stored on the Settings page, laid between the file and the environment (contracts, section 7)."""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic_settings import EnvSettingsSource

from monitor.settings.complaints import reason_of
from monitor.settings.group import Group
from monitor.settings.model import ENV_PREFIX, Settings
from monitor.settings.places import SEALED, SERVICES, masked, places, variable_of
from monitor.settings.search import from_variables

Origin = Literal["default", "file", "stored", "environment"]


@dataclass(frozen=True)
class Overlay:
    """Settings with what was stored; `complaints` are the sentences about what could not be used, by path."""

    settings: Settings
    complaints: dict[str, str] = field(default_factory=dict)


def overlaid(base: Settings, stored: Mapping[str, Any], secrets: Mapping[str, str]) -> Overlay:
    """The settings of file and environment with what was stored between them.

    Each group is checked as a whole by its own model. Where it does not hold together, its stored values are taken one
    by one and those that spoil it are left out, with a complaint: one bad row does not undo the others.
    """
    outside = environment_values()
    by_group: dict[str, dict[str, Any]] = {}
    complaints: dict[str, str] = {}
    for path, value in sorted(stored.items()):
        place = places().get(path)
        if place is None or place.why_not:
            complaints[path] = "There is no such setting that can be stored."
        elif not _says(outside, path):
            by_group.setdefault(place.group, {})[path] = value
    changes: dict[str, Any] = {}
    for group, values in by_group.items():
        changes[group] = _with(base, group, values, complaints)
    settings = base.model_copy(update={name: value for name, value in changes.items() if value is not None})
    variables = None
    if changes.get("deliver") is not None:
        variables = {variable for target in base.deliver.targets for variable in target.variables()}
    return Overlay(_holding(settings, secrets, variables), complaints)


def origin_of(path: str, base: Settings, stored: Mapping[str, Any], outside: Mapping[str, Any]) -> Origin:
    """Who decides a setting: the environment, whose values are `outside`, the Settings page, the file, or nobody."""
    if _says(outside, path):
        return "environment"
    if path in stored:
        return "stored"
    return "file" if _is_set(base, path.split(".")) else "default"


def complaint_about(path: str, value: Any) -> str | None:
    """Why a value is not stored although its type may be right; None for one that is."""
    place = places().get(path)
    if place is None:
        return "There is no such setting."
    if place.why_not:
        return f"It cannot be stored: {place.why_not}. Set it in config.yaml or by {variable_of(path)}."
    if _says(environment_values(), path):
        return f"It is set by the environment ({variable_of(path)}) and cannot be changed here."
    if not _is_storable(value):
        return "It holds characters or numbers that cannot be kept."
    if path not in SEALED and masked(value) != value:
        return "It holds a password: addresses here have none."
    is_path = Path in (place.field.annotation, *get_args(place.field.annotation))
    if is_path and isinstance(value, str) and not Path(value).is_absolute():
        return "Give the whole path, from the root of the disk."
    return None


def environment_values() -> dict[str, Any]:
    """What the environment says, as nested settings."""
    own = EnvSettingsSource(Settings, env_prefix=ENV_PREFIX, env_nested_delimiter="__")()
    return _merged(from_variables(os.environ), own)


def _is_storable(value: Any) -> bool:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        return "\\u0000" not in text and bool(text.encode())
    except (ValueError, RecursionError):  # NaN, or halves of surrogate pairs
        return False


def _with(base: Settings, group: str, values: Mapping[str, Any], complaints: dict[str, str]) -> Any:
    """The group with the values; with those of them that hold together where they do not all."""
    try:
        return _checked(base, group, values)
    except ValidationError as error:
        found = _complaints(error, group, values)
        fitting: dict[str, Any] = {}
        for path, value in values.items():
            try:
                _checked(base, group, fitting | {path: value})
            except ValidationError as alone:
                complaints[path] = found.get(path) or reason_of(alone.errors()[0], is_told=path not in SEALED)
            else:
                fitting[path] = value
        return _checked(base, group, fitting) if fitting else None


def _checked(base: Settings, group: str, values: Mapping[str, Any]) -> Any:
    known = getattr(base, group)
    if not isinstance(known, Group):
        alone = base.model_copy()
        Settings.__pydantic_validator__.validate_assignment(alone, group, values[group])
        return getattr(alone, group)
    dump = known.model_dump(exclude_unset=True)
    for path, value in values.items():
        _put(dump, path.split(".")[1:], value)
    return type(known).model_validate(dump)


def _complaints(error: ValidationError, group: str, values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong, by the path that it is about: the longest one that the complaint's place begins with."""
    found: dict[str, str] = {}
    for one in error.errors():
        loc = [str(part) for part in one["loc"]]
        where = ".".join(loc if loc[:1] == [group] else [group, *loc])
        about = max((path for path in values if f"{where}.".startswith(f"{path}.")), key=len, default=None)
        if about is not None:
            found.setdefault(about, reason_of({**one, "loc": _within(one["loc"], about)}, is_told=about not in SEALED))
    return found


def _within(loc: tuple[int | str, ...], about: str) -> tuple[int | str, ...]:
    """The place of a complaint from its setting on: `(0, "url")` of a list of targets."""
    return ("", *loc[about.count(".") :])


def _holding(settings: Settings, secrets: Mapping[str, str], variables: Collection[str] | None) -> Settings:
    """The settings with the stored secrets at hand.

    Targets that were stored read of the environment only what the file's targets name: whoever may write them shall
    not read the environment of the process.
    """
    targets = [target.holding(secrets, variables=variables) for target in settings.deliver.targets]
    return settings.model_copy(
        update={
            "llm": settings.llm.holding(secrets),
            "search": settings.search.holding(secrets),
            "deliver": settings.deliver.model_copy(update={"targets": targets}),
        }
    )


def readers_of_secrets(settings: Settings) -> dict[str, tuple[str, Group]]:
    """The variables that keys and passwords are read from, each with who reads it: its name, and the group itself."""
    readers: dict[str, tuple[str, Group]] = {settings.llm.api_key_env: ("llm", settings.llm)}
    for service in SERVICES:
        if variable := settings.search.key_variable(service):
            readers.setdefault(variable, (f"search.{service}", settings.search))
    for target in settings.deliver.targets:
        for variable in target.variables():
            readers.setdefault(variable, (f"deliver.{target.name}", target))
    return readers


def _put(values: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        values = values.setdefault(part, {})
    values[path[-1]] = value


def _says(values: Any, path: str) -> bool:
    for part in path.split("."):
        if not isinstance(values, dict):
            return True
        if part not in values:
            return False
        values = values[part]
    return True


def _is_set(value: Any, path: list[str]) -> bool:
    """Whether somebody gave the value, down to its last part."""
    for part in path:
        if isinstance(value, dict):
            if part not in value:
                return False
            value = value[part]
        elif isinstance(value, BaseModel) and part in value.model_fields_set:
            value = getattr(value, part)
        else:
            return False
    return True


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
