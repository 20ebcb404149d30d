"""The configuration (contracts, section 7)."""

from monitor.settings.loading import load_settings, settings_path
from monitor.settings.model import (
    BrowserSettings,
    DeliverSettings,
    LlmSettings,
    NetworkSettings,
    PagesSettings,
    ResearchSettings,
    Settings,
    SweepSettings,
    WebSettings,
    WorkSettings,
)
from monitor.settings.retrieval import RetrievalSettings, WeightSettings
from monitor.settings.search import BackendSettings, SearchSettings

__all__ = [
    "BackendSettings",
    "BrowserSettings",
    "DeliverSettings",
    "LlmSettings",
    "NetworkSettings",
    "PagesSettings",
    "ResearchSettings",
    "RetrievalSettings",
    "SearchSettings",
    "Settings",
    "SweepSettings",
    "WebSettings",
    "WeightSettings",
    "WorkSettings",
    "load_settings",
    "settings_path",
]
