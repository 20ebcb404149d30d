"""What the distribution declares: every import, the extras and the module that knows them, licences, names alone."""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from monitor.extras import DISTRIBUTION, EXTRA_MODULES
from tests.package.shipped import list_shipped

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name != "all"}
FREE_LICENCE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Mozilla|Unlicense|LGPL|Lesser|HPND|Zlib|CC0)\b",
    re.IGNORECASE,
)
FORBIDDEN_LICENCE = re.compile(r"AGPL|Affero|SSPL|BUSL|Commons Clause", re.IGNORECASE)


def name_declared(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


def list_imports() -> dict[str, set[str]]:
    """The top-level modules of others that the program imports, each with the files that do."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "monitor").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.append(node.module)
            for name in names:
                found[name.partition(".")[0]].add(str(path.relative_to(ROOT)))
    return {name: files for name, files in found.items() if name not in sys.stdlib_module_names and name != "monitor"}


def test_everything_that_is_imported_is_declared() -> None:
    declared = name_declared([*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)])
    known = packages_distributions()
    undeclared = {
        module: files
        for module, files in list_imports().items()
        if declared.isdisjoint(map(canonicalize_name, known.get(module, [module])))
    }
    assert not undeclared


def test_modules_that_only_an_extra_brings_are_those_that_the_program_knows_to_be_missing() -> None:
    base, known = name_declared(PROJECT["dependencies"]), packages_distributions()
    for module in list_imports():
        names = {canonicalize_name(name) for name in known.get(module, [module])}
        if not names.isdisjoint(base):
            continue
        extras = {extra for extra, lines in EXTRAS.items() if not names.isdisjoint(name_declared(lines))}
        named = {extra for extra, modules in EXTRA_MODULES.items() if module in modules}
        assert named == extras or module == "certifi", (module, extras)


def test_the_extra_all_has_every_other_one() -> None:
    (line,) = PROJECT["optional-dependencies"]["all"]
    assert Requirement(line).extras == set(EXTRAS)
    assert canonicalize_name(Requirement(line).name) == DISTRIBUTION == PROJECT["name"]


def test_what_ships_has_a_known_licence_and_none_of_the_affero_kind() -> None:
    for entry in list_shipped():
        assert FREE_LICENCE.search(entry.licence), entry
        assert not FORBIDDEN_LICENCE.search(entry.licence), entry


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-build.lock", "requirements-dev.lock"])
def test_a_lock_has_names_versions_and_hashes_and_no_host(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    entries = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert all("==" in line for line in entries)
    assert text.count("--hash=sha256:") >= len(entries)


@pytest.mark.parametrize("python", [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line])
def test_on_each_python_the_lock_of_development_has_all_that_is_declared(python: str) -> None:
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pinned = [Requirement(line.removesuffix("\\")) for line in text.splitlines() if "==" in line]
    environment = {"python_version": python, "python_full_version": f"{python}.7"}
    there = {canonicalize_name(line.name) for line in pinned if not line.marker or line.marker.evaluate(environment)}
    groups = PYPROJECT["dependency-groups"]
    extras = [line for lines in EXTRAS.values() for line in lines]
    assert name_declared([*PROJECT["dependencies"], *extras, *groups["dev"], *groups["build"]]) <= there


def test_the_runtime_lock_has_no_tool_of_development() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    names = {canonicalize_name(line.partition("==")[0].partition("[")[0]) for line in text.splitlines() if "==" in line}
    assert names.isdisjoint({"pytest", "mypy", "ruff", "hatchling", "schemathesis"})
    assert name_declared(PROJECT["dependencies"]) <= names
