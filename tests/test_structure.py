"""The shape of the code: sizes of functions and modules, names of classes, the formatter's word, import cycles."""

import ast
import io
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

HOME = Path(__file__).parent.parent
MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 500


@cache
def list_sources() -> dict[str, tuple[Path, str]]:
    """Path and text of every module under monitor/, by its dotted name."""
    sources = {}
    for file in sorted((HOME / "monitor").rglob("*.py")):
        path = file.relative_to(HOME)
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        sources[name] = (path, file.read_text("utf-8"))
    return sources


def test_no_module_is_too_long() -> None:
    sizes = {str(path): text.count("\n") for path, text in list_sources().values()}
    found = [f"{path}: {size}" for path, size in sizes.items() if size > MAX_MODULE_LINES]
    assert not found, f"modules of more than {MAX_MODULE_LINES} lines:\n" + "\n".join(found)


def test_no_function_is_too_long() -> None:
    found = [
        f"{path}:{node.lineno}: {node.name}, {node.end_lineno - node.lineno + 1}"
        for path, text in list_sources().values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert not found, f"functions of more than {MAX_FUNCTION_LINES} lines:\n" + "\n".join(found)


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path, text in list_sources().values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    found = [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]
    assert not found, "classes of one name:\n" + "\n".join(found)


def test_the_formatter_has_the_last_word() -> None:
    found = [
        f"{file.relative_to(HOME)}:{token.start[0]}"
        for folder in ("monitor", "benchmarks", "tests", "migrations")
        for file in sorted((HOME / folder).rglob("*.py"))
        for token in tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline)
        if token.type == tokenize.COMMENT and ("fmt: skip" in token.string or "fmt: off" in token.string)
    ]
    assert not found, "the formatter is switched off at:\n" + "\n".join(found)


def list_imports(name: str, path: Path, text: str, known: set[str]) -> set[str]:
    """The modules of ours that a module imports anywhere in it: at its top, in functions, and for type checking."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            inner = {f"{base}.{alias.name}" for alias in node.names}
            found |= {module if module in known else base for module in inner}
    return (found & known) - {name}


def find_cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected groups of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(graph[node]):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def test_no_modules_import_each_other() -> None:
    sources = list_sources()
    known = set(sources)
    graph = {name: list_imports(name, path, text, known) for name, (path, text) in sources.items()}
    assert len(graph["monitor.bootstrap"]) > 5
    assert not find_cycles(graph), f"import cycles, lazy and type-checking imports included: {find_cycles(graph)}"


def test_a_cycle_is_found() -> None:
    assert find_cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
