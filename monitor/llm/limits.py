"""What a server says of itself: its models, the length of their context, how long to wait for the next request."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import httpx

from monitor.fetch.result import FetchError

_TIMEOUT_S = 5.0
_MAX_NAMES, _MAX_NAME_CHARS = 500, 200
_SHOW_PATH, _LOADED_PATH = "/api/show", "/api/ps"
_SIZES = ("max_model_len", "context_length", "context_window", "max_input_tokens", "n_ctx", "max_context_length")
_NAMES = ("id", "name", "model", "model_name")
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)
_OLLAMA_DEFAULT_TOKENS = 4096
_UNREACHED = "unreached"
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


class ContextSize(NamedTuple):
    """The length of a context in tokens, None where the server gives none; not `is_certain` where it may soon know."""

    tokens: int | None
    is_certain: bool = True


async def ask_context(client: httpx.AsyncClient, address: str, path: str, model: str) -> ContextSize:
    """Return the length of a model's context as its server gives it.

    Ollama says how long a context a model could have; the one in force is that of the model's file, else of the loaded
    model, else its default of 4,096 until the model is loaded.
    """
    if path == _SHOW_PATH:
        shown = await _fetch(client, address, path, {"model": model})
        if not isinstance(shown, Mapping):
            return ContextSize(None, is_certain=shown is not _UNREACHED)
        if found := _NUM_CTX.search(str(shown.get("parameters") or "")):
            return ContextSize(int(found[1]))
        loaded = _find_size(await _fetch(client, address, _LOADED_PATH), model)
        return ContextSize(loaded or _OLLAMA_DEFAULT_TOKENS, is_certain=loaded is not None)
    answer = await _fetch(client, address, path)
    return ContextSize(_find_size(answer, model), is_certain=answer is not _UNREACHED)


def read_model_names(answer: Any) -> list[str]:
    """Return the names that an answer of `/models` lists, each once, in alphabetical order; none of any other."""
    named = ((entry.get("id") or entry.get("name") or entry.get("model")) for entry in _iter_entries(answer))
    names = {name.strip() for name in named if isinstance(name, str) and len(name) <= _MAX_NAME_CHARS}
    return sorted(filter(None, names), key=str.casefold)[:_MAX_NAMES]


def read_pause(headers: Mapping[str, str], remaining_header: str | None) -> float:
    """Return the seconds to wait because no request is left, by the counting header and its `reset`; else 0."""
    if remaining_header is None or headers.get(remaining_header, "").strip() != "0":
        return 0.0
    return parse_duration(headers.get(remaining_header.replace("remaining", "reset"), "")) or 1.0


def parse_duration(text: str) -> float:
    """Return the seconds of a text as `1s`, `6m0s`, `250ms` or `12`; 0 for any other."""
    text = text.strip()
    if re.fullmatch(r"\d{1,4}(\.\d+)?", text):
        return float(text)
    found = _DURATION.fullmatch(text)
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups()) if found else (0.0,) * 4
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


async def _fetch(client: httpx.AsyncClient, address: str, path: str, body: dict[str, str] | None = None) -> Any:
    scheme, host, *_ = urlsplit(address)
    url = urlunsplit((scheme, host, path, "", ""))
    try:
        answer = await client.request("POST" if body else "GET", url, json=body, timeout=_TIMEOUT_S)
        return answer.json() if answer.status_code == httpx.codes.OK else None
    except (httpx.TransportError, OSError):
        return _UNREACHED
    except (httpx.HTTPError, ValueError, RecursionError, FetchError):
        return None


def _find_size(answer: Any, model: str) -> int | None:
    entries = list(_iter_entries(answer))
    named = [entry for entry in entries if any(_is_name(entry.get(key), model) for key in _NAMES)]
    for entry in named or (entries if len(entries) == 1 else []):
        for part in (entry, entry.get("model_info"), entry.get("top_provider"), entry.get("meta")):
            sizes = [part.get(key) for key in _SIZES] if isinstance(part, Mapping) else []
            found = next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool)), 0)
            if found >= 512:
                return found
    return None


def _iter_entries(answer: Any) -> Iterator[Mapping[str, Any]]:
    listed = answer
    if isinstance(answer, Mapping):
        listed = next((answer[key] for key in ("data", "models") if isinstance(answer.get(key), list)), [answer])
    yield from (entry for entry in listed if isinstance(entry, Mapping)) if isinstance(listed, list) else ()


def _is_name(value: Any, model: str) -> bool:
    return isinstance(value, str) and value.removesuffix(":latest") == model.removesuffix(":latest")
