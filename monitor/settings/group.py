"""What every group of settings is made of."""

import os
from collections.abc import Collection, Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr


class Group(BaseModel):
    """One section of the configuration; an unknown key is an error.

    Secrets are no settings: a group names the environment variables that hold them. One whose variable is not set may
    have been stored on the Settings page, and is then at hand here; it is in no dump and no message.
    """

    model_config = ConfigDict(extra="forbid")

    _stored_secrets: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _variables: Collection[str] | None = PrivateAttr(default=None)

    def holding(self, secrets: Mapping[str, str], *, variables: Collection[str] | None = None) -> Self:
        """The same with these stored secrets at hand, by the variable each stands for.

        Of the environment only `variables` are read then; None: any.
        """
        copy = self.model_copy()
        for name, value in (("_stored_secrets", secrets), ("_variables", variables)):
            setattr(copy, name, value)
        return copy

    def secret_in(self, variable: str) -> str | None:
        """The secret of that name: from the environment, else as it was stored."""
        return self._given(variable) or self._stored_secrets.get(variable) or None

    def origin_of_secret(self, variable: str) -> Literal["environment", "stored"] | None:
        """Where that secret comes from; None where there is none."""
        if self._given(variable):
            return "environment"
        return "stored" if self._stored_secrets.get(variable) else None

    def _given(self, variable: str) -> str | None:
        is_readable = self._variables is None or variable in self._variables
        return os.environ.get(variable) if is_readable else None


def setting(default: Any, description: str, **limits: Any) -> Any:
    """A setting with its default, its line of explanation and its limits."""
    factory = type(default) if isinstance(default, dict | list) else None
    if factory is not None and not default:
        return Field(default_factory=factory, description=description, **limits)
    return Field(default=default, description=description, **limits)
