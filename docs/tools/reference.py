# ruff: noqa: INP001 -- a script beside the documents, not a package
"""Write docs/reference from the program: commands, settings, API, events and errors, in English and Chinese.

`python docs/tools/reference.py` writes the pages; `make docs` calls it. A test compares what is committed with what
this gives. `reference.zh.po` has the Chinese of all that the program says in English alone.
"""

import ast
import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
import yaml
from babel.messages.pofile import read_po
from pydantic import BaseModel

from monitor import errors
from monitor.bootstrap import open_app
from monitor.cli.main import build_cli
from monitor.cli.parser import translate_notes
from monitor.cli.terminal import Terminal
from monitor.config.group import is_group
from monitor.config.model import Settings
from monitor.config.stored import SettingInfo, format_variable_name, get_setting_infos
from monitor.db import migrate
from monitor.i18n.catalogue import LANGUAGES, load_catalogue
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind
from monitor.web.app import create_web_app
from monitor.web.problems import find_status

HOME = Path(__file__).parents[2]
REFERENCE = HOME / "docs" / "reference"
CHINESE = Path(__file__).with_name("reference.zh.po")

RUN_EVENTS = {
    EventKind.PHASE: "A phase, and how far it is.",
    EventKind.SECTION: "A section that begins, or has ended.",
    EventKind.PAGE: "A list page that was read.",
    EventKind.ASKED: "A model is asked.",
    EventKind.ANSWERED: "A model has answered, or failed.",
    EventKind.SAVED: "An item was saved.",
    EventKind.FALLBACK: "Something fell back or failed, with the reason.",
    EventKind.STEP: "Any other sign of life; not kept.",
}
"""What each kind of a run's events tells; a kind without a sentence here is an error."""


class Words:
    """The language of a page: `words("List runs")` is its sentence for the English one."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.used: set[str] = set()
        self.chinese: dict[str, str] = {}
        if language == "zh":
            with CHINESE.open("rb") as file:
                self.chinese = {str(entry.id): str(entry.string) for entry in read_po(file, locale="zh") if entry.id}

    def __call__(self, english: str) -> str:
        if self.language == "en" or not english:
            return english
        self.used.add(english)
        if not self.chinese.get(english):
            raise LookupError(f"{CHINESE.name} has no Chinese for {english!r}")
        return self.chinese[english]


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(columns)
    lines = [heads, ["---"] * len(heads), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def begin_page(words: Words, name: str, title: str, *paragraphs: str) -> list[str]:
    other = ("[中文]", f"{name}.zh.md") if words.language == "en" else ("[English]", f"{name}.md")
    lines = [f"# {words(title)}", "", f"{other[0]}({other[1]})", ""]
    for paragraph in paragraphs:
        lines += [words(paragraph), ""]
    return lines


# Commands


def render_commands(words: Words) -> list[str]:
    root: Any = build_cli(words.language)
    context = root.make_context("monitor", ["--version"], resilient_parsing=True, obj=Terminal(words.language))
    lines = begin_page(
        words,
        "commands",
        "Commands",
        "Every command with its arguments and options, as `--help` shows them. The [guide](../users/commands.md) says "
        "which one to use when, and what programs exchange with it.",
        "These options stand before the command; `--help` may stand after any command.",
    )
    lines += render_options(root, context, words)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        lines += render_command(command, name, context, words, level=2)
    return lines


def render_command(command: Any, name: str, parent: Any, words: Words, level: int) -> list[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    children = getattr(command, "commands", {})
    arguments = [] if children else [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    lines = [f"{'#' * level} `{' '.join([context.command_path, *arguments])}`", "", command.help or "", ""]
    lines += render_options(command, context, words)
    for child_name, child in children.items():
        lines += render_command(child, child_name, context, words, level + 1)
    return lines


def render_options(command: Any, context: Any, words: Words) -> list[str]:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in parameter.opts:
            rows.append((code(record[0]), cell(translate_notes(words.language, record[1]))))
    return table((words("option"), words("meaning")), rows) if rows else []


# Settings


def render_settings(words: Words) -> list[str]:
    lines = begin_page(
        words,
        "settings",
        "Settings",
        "Every setting with its default and its limits. The [guide](../administrators/settings.md) says where a value "
        "comes from and how secrets are kept.",
        "The environment variable of a setting is its name in capitals, with `MONITOR_` before it and two underscores "
        "for each dot.",
        "Desk: `yes` can be changed under Settings and holds within two seconds; `restart` too, but from the next "
        "start on; `–` is set in the file or the environment alone.",
    )
    example = next(iter(Settings.model_fields["llm"].annotation.model_fields))  # type: ignore[union-attr]
    lines += ["```sh", f"{format_variable_name(f'llm.{example}')}=false monitor sweep --all", "```", ""]
    single = [name for name, field in Settings.model_fields.items() if not is_group(field.annotation)]
    lines += [f"## {words('Of the whole service')}", "", *render_setting_rows(Settings, "", single, words)]
    for name, field in Settings.model_fields.items():
        if is_group(field.annotation):
            lines += [f"## `{name}`: {words(field.description or '')}", ""]
            lines += render_setting_rows(field.annotation, f"{name}.", list(field.annotation.model_fields), words)
    return lines


def render_setting_rows(model: type[BaseModel], prefix: str, names: list[str], words: Words) -> list[str]:
    rows = [
        (f"`{path}`", code(dump_value(field)), describe_limits(field), describe_place(path, words), cell(words(about)))
        for path, field, about in iter_settings(model, prefix, names)
    ]
    columns = ("setting", "default", "values", "desk", "meaning")
    return table((words(column) for column in columns), rows)


def iter_settings(model: type[BaseModel], prefix: str, names: list[str]) -> Iterator[tuple[str, Any, str]]:
    for name in names:
        field = model.model_fields[name]
        if is_group(field.annotation):
            yield from iter_settings(field.annotation, f"{prefix}{name}.", list(field.annotation.model_fields))
        else:
            yield f"{prefix}{name}", field, field.description or ""


def dump_value(field: Any) -> str:
    default = field.get_default(call_default_factory=True)
    plain = str(default) if isinstance(default, Path | StrEnum) else default
    return yaml.safe_dump(plain, default_flow_style=True).removesuffix("...\n").strip()


def describe_limits(field: Any) -> str:
    """Return the choices or bounds of a setting, else its type."""
    kinds = flatten_union(field.annotation)
    choices = [str(value).lower() if isinstance(value, bool) else str(value) for value in list_choices(kinds)]
    if choices:
        return " ".join(code(choice) for choice in choices)
    signs = {annotated_types.Ge: ("≥", "ge"), annotated_types.Gt: (">", "gt"), annotated_types.Le: ("≤", "le")}
    bounds = [
        f"{signs[type(limit)][0]} {getattr(limit, signs[type(limit)][1])}"
        for limit in field.metadata
        if type(limit) in signs
    ]
    names = {int: "int", float: "float", bool: "`true` `false`", list: "list", dict: "map"}
    kind = next((names[name] for name in (get_origin(kind) or kind for kind in kinds) if name in names), "text")
    return ", ".join([kind, *bounds])


def flatten_union(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, UnionType):
        return [kind for part in get_args(annotation) for kind in flatten_union(part) if kind is not type(None)]
    return [annotation]


def list_choices(kinds: list[Any]) -> list[Any]:
    choices = [value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
    return [*choices, True, False] if choices and bool in kinds else choices


def describe_place(path: str, words: Words) -> str:
    info: SettingInfo | None = get_setting_infos().get(path)
    if info is None:  # a map of services, each with its own fields
        return words("yes")
    if info.not_storable_reason is not None:
        return "–"
    return words("restart") if info.needs_restart else words("yes")


# API


async def load_schema() -> dict[str, Any]:
    """Return the OpenAPI document of a service that has nothing set."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), database_url=f"sqlite:///{folder}/monitor.db")
        migrate.upgrade(settings.database_url)
        async with open_app(settings) as app:
            return create_web_app(app).openapi()


def render_api(words: Words, schema: dict[str, Any]) -> list[str]:
    lines = begin_page(
        words,
        "api",
        "HTTP API",
        "Every request of the API. The full schema, with the shape of every answer and examples, is served at "
        "`/api/openapi.json`.",
        "Programs sign in with `Authorization: Bearer TOKEN`. Errors are `application/problem+json` with a "
        "[code](errors.md). Lists answer with `next`; send it back as `cursor` until it is null.",
    )
    by_tag: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            row = (f"`{method.upper()} {path}`", cell(words(operation["summary"])), list_inputs(operation, schema))
            by_tag[operation["tags"][0]].append(row)
    for tag, rows in by_tag.items():
        lines += [f"## `{tag}`", "", *table((words("request"), words("meaning"), words("takes")), rows)]
    return lines


def list_inputs(operation: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return the names of the query's parameters, and of the body's fields in braces."""
    query = [code(part["name"]) for part in operation.get("parameters", ()) if part["in"] == "query"]
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {}).get("schema", {})
    reference = body.get("$ref") or next((part["$ref"] for part in body.get("anyOf", ()) if "$ref" in part), "")
    shape = schema["components"]["schemas"].get(reference.rpartition("/")[2], body)
    fields = list(shape.get("properties", ()))
    return " ".join([*query, *([code("{" + ", ".join(fields) + "}")] if fields else [])])


# Events


def render_events(words: Words, _: dict[str, Any]) -> list[str]:
    schema = json.loads((HOME / "docs" / "schemas" / "research-event.json").read_text("utf-8"))
    lines = begin_page(
        words,
        "events",
        "Events",
        "Runs and researches tell what they do as a `text/event-stream`. Each event has an `id`; who comes back with "
        "`Last-Event-ID` misses none and gets none twice.",
    )
    lines += [f"## {words('Of a run')}: `GET /api/v1/runs/{{run_id}}/events`", ""]
    lines += [words("The field `event` is the kind; `data` is a JSON object with the fields below that apply."), ""]
    kinds = [("`status` `end`", words("The status of the run; `end` is the last event of a stream."))]
    kinds += [(f"`{kind}`", words(RUN_EVENTS[kind])) for kind in EventKind]
    lines += table(("`event`", words("meaning")), kinds)
    lines += [" ".join(f"`{name}`" for name in ("at", *Progress.model_fields)), ""]
    lines += [f"## {words('Of a research')}: `GET /api/v1/research/{{taskId}}/events`", ""]
    lines += [
        words(
            "Messages have no `event`; `data` is this object, and "
            "[research-event.json](../schemas/research-event.json) its schema."
        ),
        "",
    ]
    rows = [*list_properties(schema, words), *list_properties(schema["$defs"]["Payload"], words, "payload.")]
    lines += table((words("field"), words("values"), words("meaning")), rows)
    return lines


def list_properties(schema: dict[str, Any], words: Words, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for name, entry in schema["properties"].items():
        target = json.loads(json.dumps(entry))
        if "$ref" not in target or prefix:
            values = " ".join(code(str(value)) for value in target.get("enum", ())) or describe_type(target)
            yield f"`{prefix}{name}`", values, cell(words(target.get("description", "")))


def describe_type(entry: dict[str, Any]) -> str:
    kinds = entry.get("type", "object")
    return " ".join([kinds] if isinstance(kinds, str) else kinds)


# Errors


def render_errors(words: Words, _: dict[str, Any]) -> list[str]:
    lines = begin_page(
        words,
        "errors",
        "Errors",
        "The codes that the API answers with in `code`, and commands with `--json` in `error.code`. Words in braces "
        "are arguments, which stand in `args`. Exit codes are those of the command line.",
    )
    sentences = load_catalogue(words.language)
    by_class: dict[str, set[str]] = defaultdict(set)
    for name, key in sorted(find_raised_codes()):
        if key in sentences:
            by_class[name].add(key)
    for name in sorted(by_class):
        kind = getattr(errors, name)
        status = find_status(kind)
        lines += [f"## {status}: `{name}` ({words('exit code')} {kind.exit_code})", ""]
        rows = [(f"`{key}`", cell(sentences[key][0])) for key in sorted(by_class[name])]
        lines += table((words("code"), words("sentence")), rows)
    return lines


def find_raised_codes() -> Iterator[tuple[str, str]]:
    """Each class of errors with the codes that it is made with anywhere in the program."""
    names = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.UsageError | errors.WorkFailed)
    }
    for file in sorted((HOME / "monitor").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str) and "." in first.value:
                    yield node.func.id, first.value


# Pages


def render_pages() -> dict[str, str]:
    """Return every page of the reference by its file's name."""
    schema = asyncio.run(load_schema())
    pages: dict[str, Callable[[Words], list[str]]] = {
        "commands": render_commands,
        "settings": render_settings,
        "api": lambda words: render_api(words, schema),
        "events": lambda words: render_events(words, schema),
        "errors": lambda words: render_errors(words, schema),
    }
    rendered: dict[str, str] = {}
    for language in LANGUAGES:
        words = Words(language)
        for name, render in pages.items():
            ending = ".zh.md" if language == "zh" else ".md"
            rendered[f"{name}{ending}"] = "\n".join(render(words)).rstrip() + "\n"
        if unused := words.chinese.keys() - words.used:
            raise LookupError(f"{CHINESE.name} translates what nothing says: {sorted(unused)}")
    return rendered


def main() -> None:
    for name, text in render_pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
