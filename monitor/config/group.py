"""What every group of settings is made of."""

import difflib
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from monitor.errors import SettingsError


class SettingsGroup(BaseModel):
    """One section of the configuration; an unknown key is an error.

    Secrets are no settings: a group names the environment variables that hold them. One whose variable is not set may
    have been stored on the Settings page, and is then at hand here; it is in no dump and no message.
    """

    model_config = ConfigDict(extra="forbid")

    _stored_secrets: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _variables: Collection[str] | None = PrivateAttr(default=None)

    def bind_secrets(self, secrets: Mapping[str, str], *, variables: Collection[str] | None = None) -> Self:
        """The same with these stored secrets at hand, by the variable each stands for.

        Of the environment only `variables` are read then; None: any.
        """
        copy = self.model_copy()
        for name, value in (("_stored_secrets", secrets), ("_variables", variables)):
            setattr(copy, name, value)
        return copy

    def get_secret(self, variable: str) -> str | None:
        """The secret of that name: from the environment, else as it was stored."""
        return self._read_variable(variable) or self._stored_secrets.get(variable) or None

    def get_secret_origin(self, variable: str) -> Literal["environment", "stored"] | None:
        """Where that secret comes from; None where there is none."""
        if self._read_variable(variable):
            return "environment"
        return "stored" if self._stored_secrets.get(variable) else None

    def _read_variable(self, variable: str) -> str | None:
        is_readable = self._variables is None or variable in self._variables
        return os.environ.get(variable) if is_readable else None


def setting(default: Any, description: str, **limits: Any) -> Any:
    """A setting with its default, its line of explanation and its limits."""
    factory = type(default) if isinstance(default, dict | list) else None
    if factory is not None and not default:
        return Field(default_factory=factory, description=description, **limits)
    return Field(default=default, description=description, **limits)


_MAX_VALUE_CHARS = 60

_SECRET_SUFFIXES = ("url", "database_url", "storage_url", "proxy")


def forbid_unknown_keys(values: dict[str, Any], model: type[BaseModel], where: str, prefix: str = "") -> None:
    """`SettingsError` for the first key that `model` does not know; it names the nearest one that it does."""
    for key, value in values.items():
        field = model.model_fields.get(str(key))
        if field is None:
            raise SettingsError(f"Unknown setting `{prefix}{key}` in {where}{_suggest_key(str(key), model, prefix)}")
        for name, inner, part in _iter_groups(field.annotation, value, f"{prefix}{key}"):
            forbid_unknown_keys(part, inner, where, f"{name}.")


def format_validation_error(error: ValidationError, where: str) -> str:
    """The first complaint of a validation, as one sentence; what may hold a secret is not repeated in it."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"The setting `{name}` in {where} is missing."
    given, message = _extract_value_and_message(first)
    verdict = f"cannot be {given}" if given else "is wrong"
    return f"The setting `{name}` in {where} {verdict}: {message}."


def format_error_detail(error: ErrorDetails, *, shows_value: bool = True, shows_location: bool = True) -> str:
    """One complaint as a sentence to stand beside the setting.

    `is_told` says whether the value may be repeated, `has_place` whether to say where within the value it is.
    """
    given, message = _extract_value_and_message(error)
    entry = ".".join(str(part) for part in error["loc"][1:])
    where = f" ({entry})" if entry and shows_location else ""
    return f"It cannot be {given}{where}: {message}." if given and shows_value else f"It is wrong{where}: {message}."


def _extract_value_and_message(error: ErrorDetails) -> tuple[str, str]:
    """The value, where it may be told and is short, and what is wrong with it."""
    given = error.get("input")
    message = error["msg"].removeprefix("Value error, ").rstrip(".")
    last = str(error["loc"][-1]) if error["loc"] else ""
    is_told = not isinstance(given, dict | list) and not last.endswith(_SECRET_SUFFIXES)
    shown = repr(given)
    return shown if is_told and len(shown) <= _MAX_VALUE_CHARS else "", f"{message[:1].lower()}{message[1:]}"


def _suggest_key(key: str, model: type[BaseModel], prefix: str) -> str:
    near = difflib.get_close_matches(key.lower(), model.model_fields, n=1, cutoff=0.5)
    if near:
        return f": did you mean `{prefix}{near[0]}`?"
    return f": known there are {', '.join(model.model_fields)}."


def _iter_groups(annotation: Any, value: Any, name: str) -> Iterator[tuple[str, type[BaseModel], dict[str, Any]]]:
    """The groups within a setting's value, with their names: itself, the entries of a list, or those of a mapping."""
    inner = next((arg for arg in (annotation, *get_args(annotation)) if _is_group(arg)), None)
    if inner is None:
        return
    entries: list[tuple[str, Any]] = [(name, value)]
    if get_origin(annotation) is list and isinstance(value, list):
        entries = [(f"{name}.{number}", one) for number, one in enumerate(value)]
    elif get_origin(annotation) is dict and isinstance(value, dict):
        entries = [(f"{name}.{key}", one) for key, one in value.items()]
    for path, one in entries:
        if isinstance(one, dict):
            yield path, inner, one


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
