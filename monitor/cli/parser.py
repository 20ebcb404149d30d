"""Parsing the command line: commands are imported when chosen; help and errors are in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
from rich.cells import cell_len
from typer._click.core import Command, Context
from typer._click.exceptions import BadOptionUsage, BadParameter, MissingParameter, NoSuchOption
from typer._click.formatting import HelpFormatter
from typer.core import TyperGroup

from monitor.cli.layout import wrap_text
from monitor.cli.terminal import Terminal
from monitor.errors import UsageError
from monitor.i18n.catalogue import translate
from monitor.i18n.message import Message

_USAGE_WORDS = ("[OPTIONS]", "COMMAND [ARGS]...")
_TYPER_WORDS = (
    "Show this message and exit.",
    "Install completion for the current shell.",
    "Show completion for the current shell, to copy it or customize the installation.",
    "default: ",
    "required",
)


@dataclass(frozen=True)
class LazyCommand:
    """A command or group of commands: `module:attribute` below monitor.cli, and its line in the list of commands."""

    path: str
    help: str


class CommandGroup(TyperGroup):
    """Commands; those of `lazy_commands` are listed without being imported."""

    lazy_commands: Mapping[str, LazyCommand] = {}

    def list_commands(self, ctx: Context) -> list[str]:
        return [*self.lazy_commands, *super().list_commands(ctx)]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        entry = self.lazy_commands.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = entry.path.partition(":")
        target = getattr(import_module(f"monitor.cli.{module}"), attribute)
        command = typer.main.get_command(target if isinstance(target, typer.Typer) else _wrap(cmd_name, target))
        command.name, command.help = cmd_name, entry.help
        localize(command, _get_language(ctx))
        return command

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            code = (
                "usage.no_such_command_near" if (near := get_close_matches(args[0], names)) else "usage.no_such_command"
            )
            raise UsageError(code, typed=args[0], near=[f"'{name}'" for name in near], command=ctx.command_path)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        language = _get_language(ctx)
        rows = [(name, translate(language, entry.help)) for name, entry in self.lazy_commands.items()]
        rows += [(name, command.help or "") for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _wrap(name: str, function: Any) -> typer.Typer:
    app = build_group()
    app.command(name)(function)
    return app


def build_group(**options: Any) -> typer.Typer:
    """Return a Typer application that leaves help and errors to this module."""
    return typer.Typer(
        cls=CommandGroup, rich_markup_mode=None, pretty_exceptions_enable=False, **{"add_completion": False} | options
    )


class _LocalizedContext(Context):
    def make_formatter(self) -> HelpFormatter:
        formatter = _LocalizedFormatter(width=self.terminal_width, max_width=self.max_content_width)
        formatter.language = _get_language(self)
        return formatter


class _LocalizedFormatter(HelpFormatter):
    language = "en"

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        for words in _USAGE_WORDS:
            args = args.replace(words, translate(self.language, words))
        super().write_usage(prog, args, prefix or f"{translate(self.language, 'Usage')}: ")

    def write_heading(self, heading: str) -> None:
        super().write_heading(translate(self.language, heading))

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        self._write_lines(wrap_text(text, self.width, first=indent, rest=indent))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write terms and what they mean, wrapped by the columns that Chinese characters take."""
        indent = " " * self.current_indent
        width = min(max((cell_len(term) for term, _ in rows), default=0), col_max) + col_spacing
        rest = indent + " " * width
        for term, text in rows:
            begin = indent + term + " " * (width - cell_len(term))
            if cell_len(term) > width - col_spacing:
                self._write_lines([indent + term])
                begin = rest
            self._write_lines(wrap_text(translate_notes(self.language, text), self.width, first=begin, rest=rest))

    def _write_lines(self, lines: Sequence[str]) -> None:
        self.write("".join(f"{line.rstrip()}\n" for line in lines))


def translate_notes(language: str, text: str) -> str:
    """Return an option's help with what Typer adds to it, as `[default: 7]`, in the language."""
    if language != "en":
        for words in _TYPER_WORDS:
            text = text.replace(words, translate(language, words))
    return text


def localize(command: Command, language: str) -> None:
    """Give a command and those below it their help in the language; English sentences are its msgids."""
    command.context_class = _LocalizedContext
    command.help = translate(language, command.help or "")
    for param in command.params:
        param.help = translate(language, getattr(param, "help", None) or "")  # type: ignore[attr-defined]
    for child in getattr(command, "commands", {}).values():
        localize(child, language)


def describe_usage_error(error: typer.TyperException) -> Message:
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", None) or "monitor"
    if isinstance(error, NoSuchOption):
        near = sorted(error.possibilities or ())
        if near:
            return Message.of("usage.no_such_option_near", option=error.option_name, near=near, command=command)
        return Message.of("usage.no_such_option", option=error.option_name, command=command)
    if isinstance(error, MissingParameter):
        return Message.of("usage.missing_parameter", parameter=_get_hint(error), command=command)
    if isinstance(error, BadParameter):
        return Message.of(
            "usage.bad_value", parameter=_get_hint(error), reason=_describe_value_error(error), command=command
        )
    if isinstance(error, BadOptionUsage):
        return Message.of("usage.bad_option", option=error.option_name, command=command)
    if isinstance(context, Context) and isinstance(context.command, TyperGroup):
        return Message.of("usage.missing_command", command=command)
    return Message.of("usage.extra_arguments", command=command)


def _get_hint(error: BadParameter) -> str:
    hint = error.param_hint or (error.param.get_error_hint() if error.param is not None else "")
    return hint if isinstance(hint, str) else " / ".join(hint)


def _describe_value_error(error: BadParameter) -> Message:
    from pydantic import ValidationError

    from monitor.i18n.model import describe_validation_error

    if isinstance(error.__cause__, ValidationError):
        return describe_validation_error(error.__cause__.errors()[0])
    return Message.other(error.message)


def _get_language(context: Context) -> str:
    terminal = context.find_object(Terminal)
    return terminal.language if terminal is not None else "en"
