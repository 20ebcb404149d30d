"""What a site calls itself, by the title of its home page."""

import re

_TITLE_SEPARATOR = re.compile(r"\s*[|｜_—–·»>]\s*|\s+-+\s+|(?<=[\u3000-\u9fff])-+|-+(?=[\u3000-\u9fff])")
_NAME_AFFIXES = re.compile(r"^(欢迎(访问|光临|来到)|welcome to )|(门户)?(网站)?(首页)?$", re.IGNORECASE)
_GENERIC_NAME = re.compile(
    r"(网站|门户|官网)?(首页|主页)|home( ?page)?|welcome|index|start(seite)?|accueil|rss|atom|欢迎您?", re.IGNORECASE
)
_MAX_NAME_CHARS = 60


def extract_site_name(title: str) -> str:
    """Return the name of a site from the title of its home page: the first part that says more than "home"."""
    parts = [part.strip() for part in _TITLE_SEPARATOR.split(title)]
    name = next((part for part in parts if part and not _GENERIC_NAME.fullmatch(part)), "")
    return (_NAME_AFFIXES.sub("", name).strip() or name)[:_MAX_NAME_CHARS]
