"""A briefing or a report as a file that a browser saves."""

from urllib.parse import quote

from fastapi import Response

from monitor.app.writing import WritingDesk
from monitor.briefing.compose import Briefing
from monitor.briefing.letter import MEDIA_TYPES, enclosure_name
from monitor.formats.render import check_format


async def export_of(briefing: Briefing, format_name: str, writing: WritingDesk) -> Response:
    """The file, to be saved and never to be shown as a page of ours; `UsageError` for a format that is not known."""
    check_format(format_name)
    content = await writing.briefing(briefing, format_name)
    plain = f"briefing-{briefing.period.until}.{format_name}"
    return saved_as(content, format_name, name=enclosure_name(briefing, format_name), plain=plain)


def saved_as(content: bytes, format_name: str, *, name: str, plain: str) -> Response:
    """The file under its name; `plain` is the name for browsers that read nothing but ASCII."""
    said = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='', errors='replace')}"
    kind = MEDIA_TYPES[format_name]
    return Response(
        content,
        media_type=f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        headers={"Content-Disposition": said},
    )
