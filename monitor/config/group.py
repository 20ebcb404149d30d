"""The parts of every group of settings: fields, secrets, and what is said of a wrong value."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeGuard, get_args, get_origin
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from monitor.config.secrets import SecretBindings
from monitor.errors import SettingsError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error


class SettingsGroup(BaseModel):
    """One section of the configuration; an unknown key is an error.

    Secrets are no settings: a group names the environment variables that hold them. One whose variable is not set may
    have been stored on the Settings page, and is then at hand here for the host that it was given for; it is in no
    dump and no message.
    """

    model_config = ConfigDict(extra="forbid")

    _secrets: SecretBindings = PrivateAttr(default_factory=SecretBindings)

    @property
    def secrets(self) -> SecretBindings:
        return self._secrets

    def bind_secrets(self, secrets: SecretBindings) -> Self:
        copy = self.model_copy()
        copy._secrets = secrets  # noqa: SLF001 -- of this class
        return copy


def set_path(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Put a value into nested settings, and make the groups that it stands in."""
    for part in path[:-1]:
        values = values.setdefault(part, {})
    values[path[-1]] = value


def setting(default: Any, description: str, **limits: Any) -> Any:
    """Declare a setting with its default, its line of explanation and its limits."""
    factory = type(default) if isinstance(default, dict | list) else None
    if factory is not None and not default:
        return Field(default_factory=factory, description=description, **limits)
    return Field(default=default, description=description, **limits)


_MAX_VALUE_CHARS = 60
_SECRET_SUFFIXES = ("url", "database_url", "storage_url", "proxy")


def forbid_unknown_keys(values: dict[str, Any], model: type[BaseModel], where: str | Message, prefix: str = "") -> None:
    """Raise `SettingsError` for the first key that `model` does not know; it names the nearest one that it does."""
    for key, value in values.items():
        field = model.model_fields.get(str(key))
        if field is None:
            near = difflib.get_close_matches(str(key).lower(), model.model_fields, n=1, cutoff=0.5)
            setting_name = f"{prefix}{key}"
            if near:
                raise SettingsError("config.unknown_near", setting=setting_name, where=where, near=f"{prefix}{near[0]}")
            raise SettingsError("config.unknown", setting=setting_name, where=where, known=list(model.model_fields))
        for name, inner, part in _iter_groups(field.annotation, value, f"{prefix}{key}"):
            forbid_unknown_keys(part, inner, where, f"{name}.")


def describe_first_error(error: ValidationError, where: str | Message) -> Message:
    """Return the first complaint of a validation; what may hold a secret is not repeated in it."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return Message.of("config.missing", setting=name, where=where)
    reason = describe_validation_error(first)
    value = _get_shown_value(first)
    if value:
        return Message.of("config.bad_value", setting=name, where=where, value=value, reason=reason)
    return Message.of("config.wrong", setting=name, where=where, reason=reason)


def describe_error_detail(error: ErrorDetails, *, shows_value: bool = True, shows_place: bool = True) -> Message:
    """Return one complaint, to stand beside its setting; the value, and the place within it, only where it may."""
    entry = ".".join(str(part) for part in error["loc"][1:] if shows_place)
    place, reason = f" ({entry})" if entry else "", describe_validation_error(error)
    value = _get_shown_value(error) if shows_value else ""
    if value:
        return Message.of("config.this_bad_value", value=value, place=place, reason=reason)
    return Message.of("config.this_wrong", place=place, reason=reason)


def _get_shown_value(error: ErrorDetails) -> str:
    """Return the value where it is short and holds no secret, else an empty text."""
    value = error.get("input")
    last = str(error["loc"][-1]) if error["loc"] else ""
    is_secret = isinstance(value, dict | list) or last.endswith(_SECRET_SUFFIXES) or "extra_headers" in error["loc"]
    return "" if is_secret or len(repr(value)) > _MAX_VALUE_CHARS else repr(value)


def check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("config.no_time_zone") from None
    return name


def is_group(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _iter_groups(annotation: Any, value: Any, name: str) -> Iterator[tuple[str, type[BaseModel], dict[str, Any]]]:
    """Yield the groups within a setting's value: itself, the entries of a list, or those of a mapping."""
    inner = next((arg for arg in (annotation, *get_args(annotation)) if is_group(arg)), None)
    if inner is None:
        return
    entries: list[tuple[str, Any]] = [(name, value)]
    if get_origin(annotation) is list and isinstance(value, list):
        entries = [(f"{name}.{number}", entry) for number, entry in enumerate(value)]
    elif get_origin(annotation) is dict and isinstance(value, dict):
        entries = [(f"{name}.{key}", entry) for key, entry in value.items()]
    for path, entry in entries:
        if isinstance(entry, dict):
            yield path, inner, entry
