"""The manifest that lets browsers install the desk as an app, to which other apps share pages."""

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from monitor.web.ui.rendering import Renderer

MANIFEST_MEDIA_TYPE = "application/manifest+json"
_COLOUR = "#0f4c5c"
_PAPER = "#fbfaf7"

router = APIRouter()


@router.get("/manifest.webmanifest")
async def manifest(renderer: Renderer) -> Response:
    """Browsers ask for it without cookies, so that everybody gets it, in the language of the browser."""
    icons = [
        {"src": renderer.href(f"/static/icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    content = {
        "id": renderer.href("/"),
        "name": "Monitor",
        "short_name": "Monitor",
        "description": renderer.gettext("Watches official sites and briefs the analysts who need to know."),
        "lang": "zh-CN" if renderer.language == "zh" else "en",
        "start_url": renderer.href("/"),
        "scope": renderer.href("/"),
        "display": "standalone",
        "theme_color": _COLOUR,
        "background_color": _PAPER,
        "icons": [*icons, {**icons[-1], "purpose": "maskable"}],
        "share_target": {
            "action": renderer.href("/sources/new"),
            "method": "GET",
            "enctype": "application/x-www-form-urlencoded",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
    }
    return JSONResponse(content, media_type=MANIFEST_MEDIA_TYPE)
