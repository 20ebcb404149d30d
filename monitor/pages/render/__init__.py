"""Pages drawn in Chromium: the only room that knows Playwright."""

from monitor.pages.render.renderer import Renderer

__all__ = ["Renderer"]
