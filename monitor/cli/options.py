"""Options that are written once, as a mapping from the fields they fill, and given to commands."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Fields = Any
"""What an option may bring: text, a number, a word of a vocabulary, a list of texts, or None where it was not given."""

Command = TypeVar("Command", bound=Callable[..., None])


def with_options(options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command these options, each an annotation by the name of its field, in place of its `**fields`."""

    def added(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        command.__dict__["__signature__"] = signature.replace(parameters=[*own, *more])
        return command

    return added


def given(fields: Mapping[str, Fields]) -> dict[str, Any]:
    """The fields whose options were given."""
    return {name: value for name, value in fields.items() if value is not None and value != []}
