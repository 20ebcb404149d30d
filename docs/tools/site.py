# ruff: noqa: INP001 -- a script beside the documents, not a package
"""What mkdocs does to a page of the docs site beyond Markdown (`hooks` in mkdocs.yml)."""

import re
from typing import Any

from mkdocs.exceptions import PluginError

_LANGUAGE_LINE = re.compile(r"^\[(?:中文|English)\]\([^)]+\)\n+", re.MULTILINE)
"""The link to the page in the other language, for readers of the files; the site has a switch."""

_CHINESE_LINK = re.compile(r"(\]\([^)\s]+)\.zh\.md(?=[#)])")
"""A Chinese page links to Chinese pages; the i18n plugin wants the name without a language."""

_OUTSIDE_LINK = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?!users/|administrators/|developers/|reference/|decisions/|schemas/)[^)\s]*\)"
)
"""A link out of docs/, to a file of the repository: its words stay."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    markdown = _LANGUAGE_LINE.sub("", markdown, count=1)
    markdown = _CHINESE_LINK.sub(r"\1.md", markdown)
    return _OUTSIDE_LINK.sub(r"\1", markdown)


_LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//|<link\b[^>]*stylesheet[^>]*(?:https?:)?//"
)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that loads anything from elsewhere: the site works without a network."""
    if found := _LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads from elsewhere: {found.group()}")
    return output
