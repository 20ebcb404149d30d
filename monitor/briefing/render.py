"""A briefing in a format."""

from monitor.briefing.compose import Briefing
from monitor.briefing.layout import as_document
from monitor.formats.render import check_format, render


def render_briefing(briefing: Briefing, format_name: str) -> bytes:
    """The briefing in `md`, `html` or `json`, in UTF-8; `UsageError` for a format that this version cannot write."""
    if check_format(format_name) == "json":
        return (briefing.model_dump_json(indent=2, ensure_ascii=False) + "\n").encode()
    return render(as_document(briefing), format_name)
