"""The documentation against the program: what can be set, typed, written and met stands in it, or a test names it."""

import difflib
import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from docs.tools.reference import render_pages
from monitor.cli.main import build_cli
from monitor.config.loading import render_config
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import AlarmKind, DeliveryKind, DeliveryStatus
from monitor.db.tables.research import ResearchStatus
from monitor.exports.registry import FORMATS
from monitor.i18n.catalogue import load_catalogue
from monitor.page import ChangeKind, PageErrorCode
from monitor.search.contract import SearchErrorCode
from monitor.services.sources.form import SourceForm, validate_form
from monitor.vocabulary import DateSource, Disposition, ItemType, RunStatus, SectionEnd, SourceKind

HOME = Path(__file__).parent.parent
DOCS = HOME / "docs"
REFERENCE = DOCS / "reference"
TEXTS = sorted([*HOME.glob("*.md"), *DOCS.rglob("*.md")])
SOURCES = "\nsources:\n"
MAX_LINES = 260
CHINESE = ".zh.md"
TRANSLATED = [
    page
    for room in ("users", "administrators", "reference")
    for page in sorted((DOCS / room).glob("*.md"))
    if not page.name.endswith(CHINESE)
]
BOLD_BEGINNINGS = ("evaluation", "first-steps", "service")  # of paragraphs, not labels
PAGES_WITH_LABELS = [
    page
    for room in ("users", "administrators")
    for page in sorted((DOCS / room).glob("*.md"))
    if page.name.split(".")[0] not in BOLD_BEGINNINGS
]
CODE_BLOCK = re.compile(r"^ *```.*?^ *```[ \t]*$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"```text\n.*", re.DOTALL)

IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)|<img\b[^>]*\bsrc=\"([^\"]+)\"")


def read(path: str) -> str:
    return (HOME / path).read_text(encoding="utf-8")


def settings_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Path, default and description of every setting, groups followed to their leaves."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from settings_of(kind, f"{prefix}{name}.")
        else:
            default = field.get_default(call_default_factory=True)
            plain = str(default) if isinstance(default, Path) else default
            yield f"{prefix}{name}", plain, field.description or ""


def as_row(path: str, default: Any, description: str) -> str:
    written = yaml.safe_dump(default, default_flow_style=True).removesuffix("...\n").strip()
    return f"| `{path}` | `{written}` | {description} |"


def commands(command: Any, path: str = "monitor") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by the words that are typed."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = command.make_context(path, ["--version"], resilient_parsing=True)
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), f"{path} {name}")


def sections_of(text: str) -> dict[str, str]:
    """The text under each heading that begins with a command in backticks, by the command's words."""
    found: dict[str, str] = {}
    for part in re.split(r"^#{2,4} ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if match := re.match(r"`(monitor(?: [a-z]+)*)", heading):
            found[match[1]] = f"{heading}\n{body}"
    return found


def test_the_configuration_file_is_the_template_with_its_own_sources() -> None:
    written = read("config.yaml")
    assert SOURCES in written, "config.yaml has no list of sources"
    expected = render_config(written.split(SOURCES, 1)[1])
    difference = difflib.unified_diff(written.splitlines(), expected.splitlines(), "config.yaml", "template", n=0)
    assert written == expected, "config.yaml is not what the settings say:\n" + "\n".join(difference)


def test_the_configuration_file_brings_ten_real_sources_that_wait_to_be_tried() -> None:
    rows = yaml.safe_load(read("config.yaml"))["sources"]
    assert len(rows) == 10
    for row in rows:
        form = validate_form(row, timezone="Asia/Shanghai")
        given = [
            name for name in ("focus_areas", "tags", "summary_language", "schedule", "timezone") if name not in row
        ]
        assert not given, f"the source {form.name} does not say its {given}"
        assert form.schedule is not None
        assert form.schedule.endswith("1-5"), f"{form.name} is not planned for weekdays"
        assert not form.enabled, f"{form.name} was never tried from here and must come disabled"


def test_the_references_are_what_the_program_says() -> None:
    rendered = render_pages()
    assert set(rendered) == {page.name for page in REFERENCE.glob("*.md")}
    stale = [name for name, text in rendered.items() if (REFERENCE / name).read_text("utf-8") != text]
    assert not stale, f"docs/reference has other {stale} than the program: run `make docs`"


def test_every_setting_stands_in_the_reference_as_it_is() -> None:
    page = read("docs/reference/settings.md")
    rows = re.findall(r"^\| `([a-z_.]+)` \| `(.*?)` \| .* \| (.*) \|$", page, flags=re.MULTILINE)
    documented = {path: (yaml.safe_load(default), description) for path, default, description in rows}
    true = {path: (default, description) for path, default, description in settings_of(Settings)}
    wrong = [as_row(path, *true[path]) for path in true if documented.get(path) != true[path]]
    assert not wrong, "docs/reference/settings.md lacks these rows, or has them otherwise:\n" + "\n".join(wrong)
    assert set(documented) == set(true), f"it has settings that are not there: {sorted(set(documented) - set(true))}"


def test_every_command_and_option_stands_in_the_reference() -> None:
    documented = sections_of(read("docs/reference/commands.md"))
    known = dict(commands(build_cli()))
    assert not known.keys() - documented.keys()
    missing = [
        f"`{path}` without {name}"
        for path, command in known.items()
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--") and name != "--help" and not re.search(rf"`{name}\b", documented[path])
    ]
    assert not missing, "the reference of commands has\n" + "\n".join(sorted(missing))


def test_the_pages_name_only_commands_and_options_that_are_there() -> None:
    known = {path: {name for part in command.params for name in part.opts} for path, command in commands(build_cli())}
    groups = {path.rpartition(" ")[0] for path in known} | {"monitor"}
    wrong = []
    for page in [page for room in ("users", "administrators") for page in sorted((DOCS / room).glob("*.md"))]:
        for typed in re.findall(r"`(monitor [a-z][^`]*)`|^(monitor [a-z].*)$", page.read_text("utf-8"), re.MULTILINE):
            words = "".join(typed).split("#")[0].split()
            path = next((" ".join(words[:end]) for end in (3, 2) if " ".join(words[:end]) in known), None)
            if path is None and " ".join(words[:2]) not in groups:
                wrong.append(f"{page.name}: {' '.join(words)}")
            options = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--config", "--debug"}
            wrong += [f"{page.name}: {path} {name}" for name in options if path and name not in known[path]]
    assert not wrong, "the pages tell of\n" + "\n".join(wrong)


def test_every_field_of_a_source_is_documented() -> None:
    page = read("docs/administrators/sources.md")
    missing = [name for name in SourceForm.model_fields if f"| `{name}` |" not in page]
    assert not missing, f"docs/administrators/sources.md has no row for {missing}"


def test_every_field_of_a_target_is_documented() -> None:
    page = read("docs/administrators/delivery.md")
    rows = re.findall(r"^\| `([a-z_]+)` \| (?:`(.*?)` )?\| (.*) \|$", page, flags=re.MULTILINE)
    documented = {name: (yaml.safe_load(default), description) for name, default, description in rows}
    for name, field in TargetSettings.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        assert documented.get(name) == (default, field.description), as_row(name, default, field.description or "")


def test_every_output_format_has_a_row_in_the_table_of_formats() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", read("docs/users/formats.md"), flags=re.MULTILINE)
    assert set(rows) == set(FORMATS)


@pytest.mark.parametrize("page", ["docs/users/commands.md", "docs/users/briefings.md"])
def test_the_pages_that_speak_of_formats_lead_to_their_table(page: str) -> None:
    assert "(formats.md)" in read(page)


@pytest.mark.parametrize(
    ("vocabulary", "page"),
    [
        (RunStatus, "docs/administrators/runs.md"),
        (SectionEnd, "docs/administrators/runs.md"),
        (PageErrorCode, "docs/administrators/runs.md"),
        (ChangeKind, "docs/administrators/runs.md"),
        (AlarmKind, "docs/administrators/health.md"),
        (DeliveryKind, "docs/administrators/delivery.md"),
        (DeliveryStatus, "docs/administrators/delivery.md"),
        (SourceKind, "docs/administrators/sources.md"),
        (SearchErrorCode, "docs/administrators/search.md"),
        (Disposition, "docs/users/briefings.md"),
        (DateSource, "docs/users/briefings.md"),
        (ItemType, "docs/users/briefings.md"),
        (ResearchStatus, "docs/users/research.md"),
    ],
)
def test_every_word_that_people_meet_is_explained(vocabulary: type[StrEnum], page: str) -> None:
    missing = [str(word) for word in vocabulary if f"`{word}`" not in read(page)]
    assert not missing, f"{page} does not explain {missing}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(HOME)))
def test_links_lead_somewhere_and_pages_stay_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    broken = [link for link in links if not (page.parent / link).exists()]
    assert not broken, f"{page.name} links to {broken}, which is not there"
    is_short = len(text.splitlines()) <= MAX_LINES or page.parent == REFERENCE
    assert is_short, f"{page.name} has grown past {MAX_LINES} lines"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(HOME)))
def test_the_images_of_a_page_are_there_and_not_empty(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    images = [name for pair in IMAGE.findall(text) for name in pair if name and "://" not in name]
    missing = [name for name in images if not (page.parent / name).is_file() or not (page.parent / name).stat().st_size]
    assert not missing, f"{page.name} shows {missing}, which is missing or empty"


def test_both_readmes_show_the_same_images_in_their_language() -> None:
    english, chinese = (["".join(pair) for pair in IMAGE.findall(read(name))] for name in ("README.md", "README.zh.md"))
    assert "docs/images/architecture.svg" in english
    assert [name.replace("/en/", "/zh/") for name in english] == chinese


def list_headings(text: str) -> list[int]:
    """The levels of the headings outside of code, in their order."""
    return [len(marks) for marks in re.findall(r"^(#+) ", CODE_BLOCK.sub("", text), flags=re.MULTILINE)]


def list_code(text: str) -> list[str]:
    """The fenced blocks of code without what may be translated: comments, and what the program shows."""
    blocks = (SHOWN.sub("```text", block) for block in CODE_BLOCK.findall(text))
    return [re.sub(r"(^|\s)#.*$", "", block, flags=re.MULTILINE) for block in blocks]


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_for_readers_has_a_chinese_twin_with_the_same_headings_and_code(page: Path) -> None:
    twin = page.with_suffix(CHINESE)
    assert twin.exists(), f"{page.relative_to(HOME)} has no {twin.name} beside it"
    english, chinese = page.read_text("utf-8"), twin.read_text("utf-8")
    assert list_headings(english) == list_headings(chinese), f"{twin.name} has other headings than {page.name}"
    assert list_code(english) == list_code(chinese), f"{twin.name} has other blocks of code than {page.name}"


def test_every_chinese_page_is_the_twin_of_an_english_one() -> None:
    orphans = [
        page.name
        for page in DOCS.rglob(f"*{CHINESE}")
        if not page.with_name(page.name.removesuffix(CHINESE) + ".md").exists()
    ]
    assert not orphans, f"there are no English pages for {orphans}"


def list_labels(language: str) -> set[str]:
    """All that the pages show in a language: in English that is what the Chinese catalogue translates, too."""
    shown = {form.strip() for forms in load_catalogue(language).values() for form in forms}
    return shown | set(load_catalogue("zh")) if language == "en" else shown


@pytest.mark.parametrize("page", PAGES_WITH_LABELS, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_is_bold_on_a_page_for_readers_is_called_so_by_the_program(page: Path) -> None:
    text = re.sub(r"`[^`]*`", "", CODE_BLOCK.sub("", page.read_text("utf-8")))
    bold = [label for path in re.findall(r"\*\*(.+?)\*\*", text) for label in path.split(" › ")]
    labels = list_labels("zh" if page.name.endswith(CHINESE) else "en")
    unknown = [label for label in bold if label not in labels]
    assert not unknown, f"no page, button or word of the program is called {unknown}"


def test_the_house_is_described_as_it_stands() -> None:
    documented = {
        name for page in DOCS.rglob("*.md") for name in re.findall(r"`([a-z_]+/[a-z_]+\.py)`", page.read_text("utf-8"))
    }
    gone = [
        name for name in sorted(documented) if not (HOME / "monitor" / name).exists() and not (HOME / name).exists()
    ]
    assert not gone, f"the documents name files that are not there: {gone}"
    house = read("docs/developers/house.md")
    rooms = [
        path.stem for path in (HOME / "monitor").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    untold = [
        room for room in rooms if not room.startswith("__") and not re.search(rf"^.*\b{room}\b", house, re.MULTILINE)
    ]
    assert not untold, f"docs/developers/house.md does not show the rooms {untold}"


def test_both_readmes_tell_the_same_commands() -> None:
    def typed(path: str) -> list[str]:
        blocks = re.findall(r"```sh\n(.*?)```", read(path), flags=re.DOTALL)
        return [line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]

    assert typed("README.md") == typed("README.zh.md")
    assert {"make demo", "make test"} <= set(typed("README.md"))


def test_every_decision_is_numbered_and_listed() -> None:
    pages = sorted(page.name for page in (DOCS / "decisions").glob("0*.md"))
    assert [page[:4] for page in pages] == [f"{number:04d}" for number in range(1, len(pages) + 1)]
    unlisted = [page for page in pages if f"]({page})" not in read("docs/decisions/README.md")]
    assert not unlisted, f"docs/decisions/README.md does not list {unlisted}"


def test_the_changelog_knows_this_version() -> None:
    released = re.findall(r"^## \[(.+?)\]", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert released[0] == "Unreleased"
    kept = sorted(file.stem for file in (HOME / "fixtures" / "releases").glob("*.json"))
    assert not set(kept) - set(released), f"CHANGELOG.md does not name {kept}"


def test_every_dependency_is_locked_with_its_hash_and_without_hosts() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    groups = project["dependency-groups"]
    asked = [*project["project"]["dependencies"], *chain(*project["project"]["optional-dependencies"].values())]
    own = project["project"]["name"]
    for name, lines in (
        ("requirements.lock", asked),
        ("requirements-dev.lock", [*asked, *groups["dev"], *groups["build"]]),
        ("requirements-docs.lock", groups["docs"]),
    ):
        names = {re.split(r"[^A-Za-z0-9._-]", line)[0].lower() for line in lines} - {own}
        lock = read(name)
        locked = dict(
            re.findall(r"^([a-z0-9._-]+)==\S+.*?((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)+)", lock, flags=re.MULTILINE)
        )
        assert not names - set(locked), f"{name} lacks {sorted(names - set(locked))}: run `make lock`"
        assert "://" not in lock, f"{name} names a host"
