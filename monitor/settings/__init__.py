"""The configuration (contracts, section 7)."""

from monitor.settings.loading import load_settings, settings_path
from monitor.settings.model import (
    BackendSettings,
    BrowserSettings,
    DeliverSettings,
    LlmSettings,
    NetworkSettings,
    PagesSettings,
    ResearchSettings,
    SearchSettings,
    Settings,
    SweepSettings,
    WebSettings,
    WeightSettings,
    WorkSettings,
)

__all__ = [
    "BackendSettings",
    "BrowserSettings",
    "DeliverSettings",
    "LlmSettings",
    "NetworkSettings",
    "PagesSettings",
    "ResearchSettings",
    "SearchSettings",
    "Settings",
    "SweepSettings",
    "WebSettings",
    "WeightSettings",
    "WorkSettings",
    "load_settings",
    "settings_path",
]
