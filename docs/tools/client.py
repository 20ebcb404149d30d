# ruff: noqa: INP001 -- a script beside the documents, not a package
"""Write a typed Python client of the API into out/client: `make client`.

openapi-python-client makes it of the OpenAPI document. What it cannot express is left out of the document first, and
one fault of what it writes is mended.
"""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from docs.tools.reference import HOME, load_schema

OUT = HOME / "out" / "client"
PACKAGE = "monitor_client"
GENERATOR = HOME / ".venv" / "client" / "bin" / "openapi-python-client"  # it wants an older typer than the program
_JSON_TYPES = ("application/json", "application/problem+json")
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_CONFIG = {
    "package_name_override": PACKAGE,
    "content_type_overrides": {"application/problem+json": "application/json"},
    "post_hooks": [],
}


def simplify(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with everything that is no JSON, such as files, feeds and streams, as bytes."""
    simple: dict[str, Any] = json.loads(json.dumps(document))
    for methods in simple["paths"].values():
        for operation in methods.values():
            for part in (*operation["responses"].values(), operation.get("requestBody", {})):
                if part.get("content") and not set(part["content"]) <= set(_JSON_TYPES):
                    part["content"] = _BINARY
    return simple


def generate(document: dict[str, Any], folder: Path) -> Path:
    """Write the client package into the folder and return its path; what the generator says stands in the error."""
    folder.mkdir(parents=True, exist_ok=True)
    described, config, package = folder / "openapi.json", folder / "config.json", folder / PACKAGE
    described.write_text(json.dumps(simplify(document)), "utf-8")
    config.write_text(json.dumps(_CONFIG), "utf-8")
    command = [str(GENERATOR), "generate", "--path", str(described)]
    command += ["--config", str(config), "--meta", "none", "--output-path", str(package), "--overwrite"]
    command += ["--fail-on-warning"]
    subprocess.run(command, check=True, cwd=folder)  # noqa: S603 -- made of our own words
    for module in (package / "api").rglob("*.py"):
        mended = rename_quote(module.read_text("utf-8"))
        module.write_text(mended, "utf-8")
    (package / "py.typed").touch()
    return package


def rename_quote(code: str) -> str:
    """Give urllib's `quote` another name where the operation has a parameter `quote`, which hides it."""
    if not re.search(r"^    quote: ", code, re.MULTILINE):
        return code
    code = code.replace("import quote\n", "import quote as quote_path\n")
    return re.sub(r"\bquote\(str\(", "quote_path(str(", code)


if __name__ == "__main__":
    document = asyncio.run(load_schema())
    generate(document, OUT)
    (OUT.parent / "openapi.json").write_text(json.dumps(document, ensure_ascii=False), "utf-8")
