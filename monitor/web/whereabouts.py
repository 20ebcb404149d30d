"""Where a request is in our own tree of addresses, whatever prefix a proxy put before it."""

from urllib.parse import quote, urlsplit

from fastapi import Request

_FOR_PROGRAMS = ("/api", "/feeds", "/metrics", "/healthz", "/readyz", "/static")


def own_path(request: Request) -> str:
    """The path without the prefix of the proxy."""
    path, prefix = str(request.scope["path"]), str(request.scope.get("root_path", ""))
    is_within = bool(prefix) and (path == prefix or path.startswith(f"{prefix}/"))
    return (path[len(prefix) :] or "/") if is_within else path


def is_of_pages(request: Request) -> bool:
    """Whether a person looks at the answer: everything but API, feeds and what programs ask."""
    path = own_path(request)
    return not any(path == start or path.startswith(f"{start}/") for start in _FOR_PROGRAMS)


def prefix_of(public_url: str | None) -> str:
    """The path under which a proxy shows the service, empty where it is the root."""
    return urlsplit(public_url or "").path.rstrip("/")


def sign_in_path(request: Request) -> str:
    """The sign-in page, from which one comes back to what was asked for."""
    query = f"?{request.url.query}" if request.url.query else ""
    wanted = f"{own_path(request)}{query}"
    prefix = str(request.scope.get("root_path", ""))
    return f"{prefix}/sign-in" + (f"?next={quote(wanted, safe='')}" if wanted != "/" else "")


def own_address(text: str | None) -> str:
    """A path of ours that somebody wants to be sent to; `/` for anything that could lead elsewhere."""
    is_ours = text is not None and text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if text is not None and is_ours and text.isprintable() and "\\" not in text else "/"
