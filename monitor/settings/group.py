"""What every group of settings is made of."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Group(BaseModel):
    """One section of the configuration; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid")


def setting(default: Any, description: str, **limits: Any) -> Any:
    """A setting with its default, its line of explanation and its limits."""
    factory = type(default) if isinstance(default, dict | list) else None
    if factory is not None and not default:
        return Field(default_factory=factory, description=description, **limits)
    return Field(default=default, description=description, **limits)
