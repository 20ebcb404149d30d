"""What ships: the distributions that an installation with every extra has, and their licences.

`python -m tests.package.shipped FOLDER` writes sbom.json (CycloneDX) and licences.md.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
_CLASSIFIER = "License :: "


@dataclass(frozen=True)
class Shipped:
    name: str
    version: str
    licence: str


def read_requirements() -> list[Requirement]:
    """The requirements of the base and of every extra, without the project's own names for them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    own = canonicalize_name(project["name"])
    return [entry for entry in map(Requirement, lines) if canonicalize_name(entry.name) != own]


def list_shipped() -> list[Shipped]:
    """Every distribution that is required here, directly or not, as it is installed."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = read_requirements()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            found[key[0]] = distribution(key[0])
        except PackageNotFoundError:
            raise AssertionError(f"{requirement} is not installed") from None
        waiting += _list_needed(found[key[0]], key[1])
    return [Shipped(name, entry.version, _read_licence(entry)) for name, entry in sorted(found.items())]


def _list_needed(entry: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for requirement in map(Requirement, entry.requires or []):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}) | {""}):
            yield requirement


def _read_licence(entry: Distribution) -> str:
    """The licence that the metadata states; what is no short name is cut at its first line. Empty where none is."""
    metadata = entry.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classifiers = [line.rsplit(" :: ", 1)[-1] for line in metadata.get_all("Classifier", []) if _is_licence(line)]
    return ", ".join(classifiers) or str(metadata.get("License") or "").strip().partition("\n")[0]


def _is_licence(classifier: str) -> bool:
    return classifier.startswith(_CLASSIFIER) and not classifier.endswith("OSI Approved")


def write_report(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shipped = list_shipped()
    names = {entry.name for entry in shipped}
    document = _describe_environment()
    components = [part for part in document["components"] if canonicalize_name(part["name"]) in names]
    references = {part["bom-ref"] for part in components} | {document["metadata"]["component"]["bom-ref"]}
    document["components"] = components
    document["dependencies"] = [
        {**entry, "dependsOn": [name for name in entry.get("dependsOn", []) if name in references]}
        for entry in document.get("dependencies", [])
        if entry["ref"] in references
    ]
    (folder / "sbom.json").write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    rows = [f"| {entry.name} | {entry.version} | {re.sub(r'[|]', '/', entry.licence)} |" for entry in shipped]
    table = "\n".join(["| distribution | version | licence |", "| --- | --- | --- |", *rows])
    (folder / "licences.md").write_text(f"{table}\n", encoding="utf-8")


def _describe_environment() -> Any:
    words = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    done = subprocess.run([*words, "--of", "JSON", sys.executable], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    write_report(Path(sys.argv[1]))
