"""The word list against the code: retired words and loops over `one` are refused, and docstrings say something."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent
WORDS = HOME / "docs" / "developers" / "words.md"
SCOPES = ("any", "class", "constant", "outside web")
MIN_DOCSTRING_WORDS = 6
STORED = {"standing", "way", "outset"}  # names of columns and of fields of the API: a rename needs a migration


@cache
def list_trees(*folders: str) -> tuple[tuple[Path, ast.Module], ...]:
    files = sorted(file for folder in folders for file in (HOME / folder).rglob("*.py"))
    return tuple((file.relative_to(HOME), ast.parse(file.read_text("utf-8"))) for file in files)


def read_retired_words() -> dict[str, str]:
    """Each retired word with the scope in which it is refused."""
    table = WORDS.read_text("utf-8").split("\n## Retired words\n", 1)[1]
    rows = re.findall(r"^\| ((?:`[a-z]+` ?)+) \| ([a-z ]+) \| .+ \|$", table, flags=re.MULTILINE)
    return {word: scope for words, scope in rows for word in re.findall(r"[a-z]+", words)}


def list_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that the module gives: classes, functions, parameters, attributes, locals and aliases."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno


def split_name(name: str) -> list[str]:
    """The words of a name in lower case: `HTTPDesk_one` is http, desk, one."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_refused(word: str, name: str, file: Path, scopes: dict[str, str]) -> bool:
    scope = scopes.get(word)
    if scope == "class":
        return name.lstrip("_")[:1].isupper() and not name.isupper()
    if scope == "constant":
        return name.isupper() and split_name(name)[0] == word
    if scope == "outside web":
        return "web" not in file.parts
    return scope == "any"


def test_the_table_of_retired_words_is_read() -> None:
    scopes = read_retired_words()
    assert set(scopes.values()) == set(SCOPES)
    assert scopes["sighting"] == "any"
    assert [split_name(name) for name in ("ItemDesk", "_told_by", "MOST_URLS")] == [
        ["item", "desk"],
        ["told", "by"],
        ["most", "urls"],
    ]


@pytest.mark.parametrize("folder", ["monitor", "benchmarks", "tests"])
def test_no_name_uses_a_retired_word(folder: str) -> None:
    scopes = read_retired_words()
    found = [
        f"{file}:{line}: {name}"
        for file, tree in list_trees(folder)
        for name, line in list_names(tree)
        if not name.startswith("test_")
        and name not in STORED
        and any(is_refused(word, name, file, scopes) for word in split_name(name))
    ]
    found += [
        str(file)
        for file, _ in list_trees(folder)
        if not file.stem.startswith("test_")
        and file.stem != "wire"
        and any(is_refused(word, file.stem, file, scopes) for word in split_name(file.stem))
    ]
    assert not found, f"{len(found)} names use words that docs/developers/words.md retires:\n" + "\n".join(found)


@pytest.mark.parametrize("folder", ["monitor", "benchmarks", "tests"])
def test_no_loop_calls_its_thing_one(folder: str) -> None:
    found = [
        f"{file}:{target.lineno}"
        for file, tree in list_trees(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
        for target in ast.walk(node.target)
        if isinstance(target, ast.Name) and target.id == "one"
    ]
    assert not found, f"{len(found)} loops say `for one in`; name the thing:\n" + "\n".join(found)


def test_every_docstring_says_more_than_a_name() -> None:
    found = []
    for file, tree in list_trees("monitor"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text is not None and len(text.split()) < MIN_DOCSTRING_WORDS:
                    found.append(f"{file}:{getattr(node, 'lineno', 1)}: {text}")
    assert not found, "these docstrings have five words or fewer; drop them, or say more:\n" + "\n".join(found)
